"""The wireless interface of a host, lent by NetworkManager for a measurement."""

import re
import time
from typing import Final

from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.host import last_words, succeed
from airtoll.labs.journal import HostChange, HostJournal

TIMEOUT_S: Final = 10.0
"""Time for a command that changes an interface."""

_FREE_S: Final = 5.0
_POLL_S: Final = 0.1

_UNMANAGED: Final = 10
"""NetworkManager's state of a device that it leaves alone (NM_DEVICE_STATE_UNMANAGED); a lower number is unknown."""

_IFF_UP: Final = 1  # netdevice(7)

# Arguments: interface, type, "up" or "down", bridge or "".
_RETURN: Final = """
ip link set "$1" down && iw dev "$1" set type "$2" || exit
if [ "$4" ]; then ip link set "$1" master "$4"; else ip link set "$1" nomaster; fi || exit
if [ "$3" = up ]; then ip link set "$1" up; fi
"""

_TYPES: Final = {"AP": "__ap", "P2P-client": "managed", "P2P-GO": "__ap"}
"""Types of an interface as `iw` prints them, where it accepts another word."""


class LentInterface:
    """A wireless interface of a host that airtoll uses alone, from `take` to `give_back`."""

    def __init__(self, journal: HostJournal, host: AgentHost, interface: str) -> None:
        self._journal = journal
        self._host = host
        self._interface = interface
        self._changes: list[HostChange] = []
        self._taken = False

    def take(self, country: str | None) -> None:
        """Take the interface from NetworkManager, and set the regulatory domain. Does nothing the second time.

        Raises AirtollError if the host lacks the interface, or if another wpa_supplicant controls it.
        """
        if self._taken:
            return
        interface = self._interface
        self._journal.recover(self._host)
        state = self._state()
        if self._is_managed():
            self._before("NetworkManager", ["nmcli", "device", "set", interface, "managed", "yes"])
            self._do("nmcli", "device", "set", interface, "managed", "no")
        self._wait_until_free()
        if country is not None and (domain := self._domain()) != country:
            self._before("the regulatory domain", ["iw", "reg", "set", domain])
            self._do("iw", "reg", "set", country)
        self._before(f"the interface {interface}", ["sh", "-c", _RETURN, "sh", interface, *state])
        self._taken = True

    def give_back(self) -> None:
        """Return the interface to its earlier state. Raises AirtollError if that fails."""
        while self._changes:
            self._changes[-1].revert()
            self._changes.pop()
        self._taken = False

    def _before(self, what: str, argv: list[str]) -> None:
        self._changes.append(self._journal.before(self._host, what, argv))

    def _do(self, *argv: str) -> str:
        doing = f"host {self._host.name}: {' '.join(argv)}"
        return succeed(self._host, argv, TIMEOUT_S, doing).decode(errors="replace")

    def _state(self) -> tuple[str, str, str]:
        """The arguments of `_RETURN` after the interface."""
        device = f"/sys/class/net/{self._interface}"
        flags, master = self._host.texts(f"{device}/flags", f"{device}/master/uevent")
        done = self._host.run(["iw", "dev", self._interface, "info"], TIMEOUT_S)
        kind = re.search(rb"^\ttype (.+)$", done.stdout, re.MULTILINE)
        if kind is None or flags is None or not re.fullmatch(r"0x[0-9a-f]{1,8}", flags.strip()):
            words = last_words(done.stderr, done.stdout)
            raise AirtollError(
                f"host {self._host.name}: {self._interface} is not a wireless interface: {words} (iw dev)"
            )
        bridge = re.search(r"^INTERFACE=(.+)$", master or "", re.MULTILINE)
        return (
            _TYPES.get(word := kind[1].decode(errors="replace"), word),
            "up" if int(flags, 16) & _IFF_UP else "down",
            "" if bridge is None else bridge[1],
        )

    def _wait_until_free(self) -> None:
        """Wait until no wpa_supplicant controls the interface: NetworkManager takes a moment to tell its own."""
        until_s = time.monotonic() + _FREE_S
        while True:
            argv = ["wpa_cli", "-s", self._host.folder(), "-i", self._interface, "ping"]
            answer = self._host.run(argv, TIMEOUT_S)
            if not answer.stdout.strip().endswith(b"PONG"):
                return
            if time.monotonic() > until_s:
                raise AirtollError(
                    f"host {self._host.name}: another wpa_supplicant controls {self._interface}: stop it "
                    f"(systemctl stop wpa_supplicant@{self._interface})"
                )
            time.sleep(_POLL_S)

    def _is_managed(self) -> bool:
        """Whether NetworkManager runs on the host and manages the interface."""
        argv = ["nmcli", "--get-values", "GENERAL.STATE", "device", "show", self._interface]
        done = self._host.run(argv, TIMEOUT_S)
        # "100 (connected)", in the language of the host
        state = re.match(rb"\d{1,9}", done.stdout)
        return done.returncode == 0 and state is not None and int(state[0]) > _UNMANAGED

    def _domain(self) -> str:
        """The regulatory domain of the host; "00" is the world's."""
        found = re.search(r"^country (\w\w):", self._do("iw", "reg", "get"), re.MULTILINE)
        return "00" if found is None else found[1]
