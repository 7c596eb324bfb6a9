"""An access point that a command of the user sets up.

The command gets the network in environment variables, in hostapd's words, and in a JSON object on standard input,
which alone has the secret. Exit status 0 means that stations can join.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from airtoll.errors import AirtollError, UsageError
from airtoll.host import last_words
from airtoll.labs import hostapd
from airtoll.labs.access_points import base
from airtoll.labs.journal import HostChange, HostJournal, Runner
from airtoll.labs.network import Network

_TIMEOUT_S: Final = 300.0
_PREFIX: Final = "AIRTOLL_"


class Hook:
    """A command of the user, which runs on the controller with the action `apply` or `restore`."""

    name = "hook"

    def __init__(self, controller: Runner, command: Sequence[str], journal: HostJournal) -> None:
        """Raises UsageError if the command does not exist."""
        program = shutil.which(command[0])
        if program is None:
            raise UsageError(f"hook: {command[0]!r} is not a program of this machine")
        self._command = [str(Path(program).absolute()), *command[1:]]
        self._controller = controller
        self._journal = journal
        self._change: HostChange | None = None

    def obstacle(self, network: Network) -> str | None:
        """Return why no access point can offer the network, or None: only the command knows its access point."""
        return base.obstacle(network)

    def switch(self, network: Network) -> dict[str, Any]:
        """Run the command with the action `apply`. Raises AirtollError with its last words if it fails."""
        if self._change is None:
            self._journal.recover(self._controller)
            argv, stdin = self._call("restore")
            self._change = self._journal.before(self._controller, "the access point by the hook", argv, stdin)
        argv, stdin = self._call("apply", network)
        doing = f"hook {self._command[0]}"
        try:
            done = self._controller.run(argv, _TIMEOUT_S, stdin)
        except subprocess.TimeoutExpired:
            raise AirtollError(f"{doing}: did not end within {_TIMEOUT_S:.0f} s") from None
        if done.returncode != 0:
            words = last_words(done.stderr, done.stdout)
            if network.secret:
                words = words.replace(network.secret, "(the secret)")
            raise AirtollError(f"{doing}: exit status {done.returncode}: {words}")
        return {"kind": self.name, "program": Path(self._command[0]).name}

    def _call(self, action: str, network: Network | None = None) -> tuple[list[str], bytes]:
        """The command of an action and its standard input."""
        words = {} if network is None else {"level": network.level, **of_network(network)}
        variables = {"action": action, **words}
        secret = {} if network is None else {"secret": network.secret}
        argv = ["env", *(f"{_PREFIX}{name.upper()}={value}" for name, value in variables.items())]
        return [*argv, *self._command], json.dumps({**variables, **secret}).encode()

    def is_up(self) -> bool:
        """True: only the command knows its access point."""
        return True

    def restore(self) -> None:
        """Run the command with the action `restore`. Raises AirtollError if it fails."""
        if self._change is not None:
            self._change.revert()
            self._change = None


def of_network(network: Network) -> dict[str, object]:
    """The network without its secret: PHY, width and cipher in the words of studies, the rest in hostapd's."""
    words = {"phy": network.phy, "bandwidth": network.bandwidth_mhz, "cipher": network.profile.cipher}
    return {**words, **hostapd.words(network)}
