"""The interface of every kind of access point, and a host without an agent."""

import shlex
import subprocess
from collections.abc import Sequence
from typing import Any, Final, Protocol

from airtoll.agent.connection import LostError
from airtoll.agent.host import AgentHost
from airtoll.agent.processes import AgentProcess
from airtoll.host import last_words
from airtoll.labs.network import Network
from airtoll.study.phys import PHYS
from airtoll.study.security import scheme

_NO_CONNECTION: Final = 255
_RADAR: Final = range(52, 145)
"""Channels of the 5 GHz band that radar detection can close (DFS)."""


def obstacle(network: Network) -> str | None:
    """Return why no kind of access point that airtoll drives can offer the network, or None."""
    if network.profile.suite.hostapd is None:
        return (
            f"security '{network.level}': no access point has {scheme(network.profile.suite)}; lab air has it"
        )
    if network.channel in _RADAR:
        return f"channel {network.channel} is subject to radar detection: use a channel from 36 to 48 or from 149"
    phy = PHYS[network.phy]
    if network.band not in phy.bands:
        return (
            f"channel {network.channel} is in the {network.band} band, which phy {network.phy} does not have"
        )
    if phy.is_ht and not network.profile.suite.is_current:
        return (
            f"security '{network.level}': access points turn phy {network.phy} off with WEP and TKIP "
            "(IEEE Std 802.11-2020, 12.6.3): use phy ofdm or erp"
        )
    return None


class AccessPoint(Protocol):
    """An access point whose network can be changed."""

    name: str

    def obstacle(self, network: Network) -> str | None:
        """Return why this access point cannot offer the network, or None if it can."""
        ...

    def switch(self, network: Network) -> dict[str, Any]:
        """Offer the network. Returns facts for the record, without secrets, when stations can join.

        Raises AirtollError with the reason if the access point does not offer the network in time.
        """
        ...

    def is_up(self) -> bool:
        """Whether the access point still offers the network of the last `switch`, as far as this process can know."""
        ...

    def restore(self) -> None:
        """Restore the state before the first `switch`. Raises AirtollError if that fails; then the journal keeps it."""
        ...


class ShellHost:
    """A host without an agent, behind a command of another host, such as `ssh root@192.168.1.1`.

    The agent of the other host also runs the commands of `at_end`, so they run even if this process is killed.
    """

    def __init__(self, name: str, through: AgentHost, shell: Sequence[str]) -> None:
        """`shell` runs its last argument, the text of a command, in a shell of the host."""
        self.name = name
        self._through = through
        self._shell = tuple(shell)

    def _command(self, argv: Sequence[str]) -> list[str]:
        return [*self._shell, shlex.join(argv)]

    def run(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command to completion. Raises subprocess.TimeoutExpired after killing it.

        Raises LostError for the exit status 255, with which ssh(1) reports that it has no connection.
        """
        done = self._through.run(self._command(argv), timeout_s, stdin)
        if done.returncode == _NO_CONNECTION:
            raise LostError(f"host {self.name}: {last_words(done.stderr, done.stdout)}")
        return done

    def popen(self, argv: Sequence[str], *, stdin: bool = False) -> AgentProcess:
        """Start a command."""
        return self._through.popen(self._command(argv), stdin=stdin)

    def at_end(self, argv: Sequence[str], stdin: bytes | None = None) -> str:
        """Let the command run when the connection ends for any reason. Returns an identifier for `forget_at_end`."""
        return self._through.at_end(self._command(argv), stdin)

    def forget_at_end(self, kept: str) -> None:
        """Forget a command of `at_end`, also of an earlier connection. Waits for its end if it is running."""
        self._through.forget_at_end(kept)
