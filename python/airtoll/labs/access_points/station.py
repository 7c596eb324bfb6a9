"""A station of a real network, and its report of the negotiated settings."""

import json
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from airtoll.agent.agentless import AgentlessHost
from airtoll.agent.host import AgentHost
from airtoll.agent.processes import AgentProcess
from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.labs import enterprise, hostapd, iw, joining
from airtoll.labs.access_points import agentless
from airtoll.labs.access_points.agentless import NotJoinedError
from airtoll.labs.access_points.lending import TIMEOUT_S, LentInterface
from airtoll.labs.journal import HostJournal
from airtoll.labs.network import Network

_JOIN_S: Final = 30.0  # several scans of wpa_supplicant
_JOIN_BY_HAND_S: Final = 60.0
_POLL_S: Final = 0.5
_QUIET_S: Final = 5.0  # a station that joins by itself needs no message

_REMEDIES: Final[Mapping[str, str]] = {
    "Permission denied": "add the user to the group netdev and connect anew, or set become = 'sudo'",
    "wpa_cli: No such file": "apt-get install wpasupplicant",
    "No such file": "start wpa_supplicant with -O /run/wpa_supplicant, or set join = 'airtoll'",
}
"""Words of wpa_cli that does not reach wpa_supplicant, and what to do."""

_REPORTED: Final = ("ssid", "bssid", "pairwise_cipher", "key_mgmt")
"""The keys in the status of a wpa_supplicant that has joined a network."""

_ESCAPE: Final = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES: Final[Mapping[bytes, bytes]] = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"e": b"\x1b"}


class NetworkStation(Protocol):
    """A station that can join a network. After its connection was lost, a new host requires a new station."""

    @property
    def host(self) -> AgentHost | AgentlessHost:
        """The station's host."""
        ...

    def join(self, network: Network) -> dict[str, Any]:
        """Join the network. Returns the station's report (`report`). Raises AirtollError with the reason."""
        ...

    def stay(self, network: Network) -> dict[str, Any]:
        """Wait until the station is in the network that it joined before, which may have been away. As `join`."""
        ...

    def leave(self) -> None:
        """Leave the network. Does nothing if the station has not joined."""
        ...

    def restore(self) -> None:
        """Restore the state before the first `join`. Raises AirtollError if that fails; then the journal keeps it."""
        ...


class OwnStation:
    """A station whose wpa_supplicant airtoll runs."""

    def __init__(self, host: AgentHost, interface: str, journal: HostJournal) -> None:
        self.host = host
        self._interface = interface
        self._lent = LentInterface(journal, host, interface)
        self._process: AgentProcess | None = None
        self._known: list[str] = []  # mismatches after the last joining

    def join(self, network: Network) -> dict[str, Any]:
        """Join the network. Returns the station's report. Raises AirtollError with wpa_supplicant's reason."""
        self.leave()
        self._lent.take(network.country)
        folder = Path(self.host.folder())
        control = folder / "wpa_supplicant"
        files = [
            ("wpa_supplicant.conf", hostapd.station(network, folder=folder, control=control)),
            *enterprise.files(network.profile, folder, network.secret, network.certificates),
        ]
        for name, content in files:
            self.host.put(str(folder / name), content.encode(), mode=0o600)
        file = str(folder / "wpa_supplicant.conf")
        argv = ["wpa_supplicant", *joining.LOG, "-D", "nl80211", "-i", self._interface, "-c", file]
        self._process = self.host.popen(argv)
        doing = f"host {self.host.name}: wpa_supplicant on {self._interface}"
        joining.wait_for(joining.JOINED, doing, self._interface, self._process, _JOIN_S)
        found = report(self.host, self._interface, str(control))
        self._known = mismatches(network, found)
        return found

    def stay(self, network: Network) -> dict[str, Any]:
        """Wait until wpa_supplicant is in the network, else join anew. Raises AirtollError with the reason."""
        control = str(Path(self.host.folder()) / "wpa_supplicant")
        try:
            return _awaited(self.host, self._interface, network, _JOIN_S, control, self._known)
        except AirtollError:  # it has gone, or has given up the network
            return self.join(network)

    def leave(self) -> None:
        """Leave the network by ending wpa_supplicant."""
        if self._process is not None:
            joining.end(self._process)
            self._process = None

    def restore(self) -> None:
        """Leave the network and return the interface to its earlier state. Raises AirtollError if that fails."""
        self.leave()
        self._lent.give_back()


class StationByHand:
    """A station that joins without airtoll: by NetworkManager, which knows the network, or by its user."""

    def __init__(
        self, host: AgentHost | AgentlessHost, interface: str, timeout_s: float = _JOIN_BY_HAND_S
    ) -> None:
        self.host = host
        self._interface = interface
        self._timeout_s = timeout_s
        self._known: list[str] = []

    def join(self, network: Network) -> dict[str, Any]:
        """Wait until the station reports the network. Returns its report. Raises AirtollError if it does not join.

        The report may still have mismatches at the end of the time. Before, they may be those of the earlier network,
        which usually has the same name.
        """
        found = _awaited(self.host, self._interface, network, self._timeout_s)
        self._known = mismatches(network, found)
        return found

    def stay(self, network: Network) -> dict[str, Any]:
        """Wait until the station reports the network. Raises AirtollError if it does not join."""
        return _awaited(self.host, self._interface, network, self._timeout_s, known=self._known)

    def leave(self) -> None:
        """Do nothing: the station leaves when the network changes."""

    def restore(self) -> None:
        """Do nothing: airtoll changed nothing."""


def _awaited(
    host: AgentHost | AgentlessHost,
    interface: str,
    network: Network,
    timeout_s: float,
    control: str | None = None,
    known: Sequence[str] = (),
) -> dict[str, Any]:
    """The station's report when it is in the network, with the known mismatches at most.

    At the end of the time, it may have others.
    """
    began_s = time.monotonic()
    until_s = began_s + timeout_s
    is_quiet = True
    while True:
        try:
            found = report(host, interface, control)
            is_late = time.monotonic() > until_s
            ssid = found.get("ssid", network.ssid)  # macOS hides it
            wrong = mismatches(network, found)
            if ssid == network.ssid and (is_late or set(wrong) <= set(known)):
                return found
            where = f"it has joined {ssid!r}" if ssid != network.ssid else "; ".join(wrong)
        except NotJoinedError as error:
            where = str(error)
        if time.monotonic() > until_s:
            raise AirtollError(
                f"host {host.name}: {interface} did not join {network.ssid!r} within "
                f"{timeout_s:.0f} s ({where}): join the network on the host"
            )
        if is_quiet and time.monotonic() > began_s + _QUIET_S:
            why = f"host {host.name}: {interface} must join {network.ssid!r} ({where})"
            joining.say_that_it_waits(until_s - time.monotonic(), why)
            is_quiet = False
        time.sleep(_POLL_S)


def report(host: AgentHost | AgentlessHost, interface: str, control: str | None = None) -> dict[str, Any]:
    """The settings that a station negotiated: the facts of `joining.joined`, its `ssid` and the access point's `bssid`.

    A host without an agent reports less (`access_points.agentless`).

    wpa_supplicant reports the ciphers and the key management, through the control interface in the folder `control`
    (default: its own default). nl80211 reports the channel, its width and the protection of management frames. Raises
    NotJoinedError if the station has no network, AirtollError if wpa_supplicant does not answer.
    """
    if isinstance(host, AgentlessHost):
        return agentless.report(host, interface)
    status = _ask(host, interface, control, "status")
    if status.get("wpa_state") != "COMPLETED":
        raise NotJoinedError(f"host {host.name}: {interface} has no network")
    if (missing := next((name for name in _REPORTED if name not in status), None)) is not None:
        raise AirtollError(f"host {host.name}: wpa_cli on {interface}: its status has no {missing}")
    channel, protects = iw.channel(host, interface), iw.protects_management(host, interface)
    if channel is None or protects is None:  # it has left since
        raise NotJoinedError(f"host {host.name}: {interface} has no network")
    frequency_mhz, bandwidth_mhz = channel
    facts = joining.joined(status | {"FREQUENCY": f"{frequency_mhz}", "WIDTH": f"{bandwidth_mhz} MHz"})
    return {**facts, "ieee80211w": protects, "ssid": _ssid(status["ssid"]), "bssid": status["bssid"]}


def _ssid(encoded: str) -> str:
    """The SSID, which wpa_supplicant prints with escapes (printf_encode)."""

    def octet(escape: re.Match[bytes]) -> bytes:
        return bytes.fromhex(escape[1].decode()) if escape[1] else _ESCAPES.get(escape[2], escape[2])

    return _ESCAPE.sub(octet, encoded.encode()).decode(errors="replace")


def _ask(host: AgentHost, interface: str, control: str | None, request: str) -> dict[str, str]:
    # The socket of wpa_cli need not be in /tmp, which may be read-only.
    sockets = ["-s", host.folder(), *([] if control is None else ["-p", control])]
    doing = f"host {host.name}: wpa_cli on {interface}"
    try:
        done = host.run(["wpa_cli", *sockets, "-i", interface, request], TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise AirtollError(f"{doing}: no answer within {TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        words = last_words(done.stderr, done.stdout)
        remedy = next((f": {remedy}" for part, remedy in _REMEDIES.items() if part in words), "")
        raise AirtollError(f"{doing}: {words}{remedy}")
    return joining.pairs(done.stdout.decode(errors="replace"))


def mismatches(network: Network, found: Mapping[str, Any]) -> list[str]:
    """The differences between a station's report and the network, one line each. A run with any is invalid.

    Values that the station does not report are not compared.
    """
    asked = {"ssid": network.ssid, "cipher": network.profile.cipher, **joining.expected(network)}
    return [
        f"{fact} is {_word(found[fact])}, expected {_word(value)}"
        for fact, value in asked.items()
        if fact in found and found[fact] != value
    ]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
