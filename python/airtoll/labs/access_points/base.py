"""A network, the interface of every kind of access point, and the hosts that restore themselves."""

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from airtoll.agent.connection import LostError
from airtoll.agent.host import AgentHost
from airtoll.errors import UsageError
from airtoll.labs.base import last_words
from airtoll.study.factors import GuardInterval, Phy
from airtoll.study.security import EAP, SecurityProfile

_SSID_MAX_B: Final = 32
_PASSPHRASE: Final = re.compile(r"[ -~]{8,63}")  # IEEE Std 802.11-2020, J.4.1
_WEP_DIGITS: Final = {"wep40": 10, "wep104": 26}
_NO_CONNECTION: Final = 255
_WITHOUT_HT: Final = (*_WEP_DIGITS, "tkip")
_RADAR: Final = range(52, 145)
"""Channels of the 5 GHz band that radar detection can close (DFS)."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network that an access point shall offer. Raises UsageError for values that no access point accepts."""

    level: str  # the level of the factor `security`
    profile: SecurityProfile  # with a value for every key (`SecurityProfile.on`)
    ssid: str
    secret: str = field(repr=False)  # the passphrase, or the WEP key in hexadecimal digits; "" without either
    phy: Phy
    bandwidth_mhz: int
    gi: GuardInterval
    channel: int  # the primary channel
    qos: bool = True  # whether the stations send QoS Data frames
    beacon_interval_tu: int = 100
    country: str | None = None  # of the regulatory domain; None leaves the host's own

    def __post_init__(self) -> None:
        octets = self.ssid.encode()
        if not 0 < len(octets) <= _SSID_MAX_B or not self.ssid.isprintable():
            raise UsageError(f"ssid {self.ssid!r}: expected 1 to {_SSID_MAX_B} printable octets")
        if self.country is not None and not re.fullmatch(r"[A-Z]{2}", self.country):
            raise UsageError(f"country {self.country!r}: expected two capital letters, such as DE")
        if not (1 <= self.channel <= 14 or 36 <= self.channel <= 177):
            raise UsageError(f"channel {self.channel}: expected 1 to 14 or 36 to 177")
        if (digits := _WEP_DIGITS.get(self.profile.cipher)) is not None:
            if not re.fullmatch(rf"[0-9A-Fa-f]{{{digits}}}", self.secret):
                raise UsageError(f"security '{self.level}': its key must be {digits} hexadecimal digits")
        elif self.has_passphrase and not _PASSPHRASE.fullmatch(self.secret):
            raise UsageError(
                f"security '{self.level}': its passphrase must be 8 to 63 printable ASCII characters"
            )

    @property
    def has_passphrase(self) -> bool:
        """Whether the keys derive from a passphrase."""
        akms = set(self.profile.akms)
        return bool(akms) and "owe" not in akms and not EAP & akms

    @property
    def channel_mhz(self) -> int:
        """The centre of the primary channel (IEEE Std 802.11-2020, 17.3.8.4.2 and Annex E)."""
        if self.channel == 14:
            return 2484
        return (2407 if self.channel < 14 else 5000) + 5 * self.channel

    @property
    def secondary(self) -> Literal[-1, 0, 1]:
        """The place of the secondary channel: above (1) or below (-1) the primary channel; 0 without one."""
        if self.bandwidth_mhz < 40:
            return 0
        if self.channel <= 14:
            return 1 if self.channel <= 7 else -1
        return 1 if (self.channel - self._first) // 4 % 2 == 0 else -1

    @property
    def centre_of_80_mhz(self) -> int:
        """The number of the centre of the 80 MHz channel in the 5 GHz band that contains the primary channel."""
        return self._first + (self.channel - self._first) // 16 * 16 + 6

    @property
    def _first(self) -> int:
        return 149 if self.channel >= 149 else 36


def obstacle(network: Network) -> str | None:
    """Return why no kind of access point that airtoll drives can offer the network, or None."""
    if network.profile.cipher.startswith("enhanced"):
        return f"security '{network.level}': no access point has Enhanced CCMP; lab air has it"
    if network.channel in _RADAR:
        return f"channel {network.channel} is subject to radar detection: use a channel from 36 to 48 or from 149"
    if network.channel <= 14 and network.phy in ("ofdm", "vht"):
        return f"channel {network.channel} is in the 2.4 GHz band, which phy {network.phy} does not have"
    if network.channel > 14 and network.phy in ("dsss", "erp"):
        return f"channel {network.channel} is in the 5 GHz band, which phy {network.phy} does not have"
    if network.phy in ("ht", "vht") and network.profile.cipher in _WITHOUT_HT:
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

    def restore(self) -> None:
        """Restore the state before the first `switch`. Raises AirtollError if that fails; then the journal keeps it."""
        ...


class Runner(Protocol):
    """A host on which commands run, also at the end of the connection. `AgentHost` is one."""

    name: str

    def run(
        self, argv: Sequence[str], timeout_s: float, stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command to completion. Raises subprocess.TimeoutExpired after killing it."""
        ...

    def at_end(self, argv: Sequence[str], stdin: bytes | None = None) -> int:
        """Let the command run when the connection ends for any reason. Returns a number for `forget_at_end`."""
        ...

    def forget_at_end(self, number: int) -> None:
        """Forget a command of `at_end`."""
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

    def at_end(self, argv: Sequence[str], stdin: bytes | None = None) -> int:
        """Let the command run when the connection ends for any reason. Returns a number for `forget_at_end`."""
        return self._through.at_end(self._command(argv), stdin)

    def forget_at_end(self, number: int) -> None:
        """Forget a command of `at_end`."""
        self._through.forget_at_end(number)
