"""A protected link over the hosts of a lab: `airtoll link` seals their packets, and the air carries open frames.

This is the system of Hayajneh et al., section IV: the keys of the handshake go to the hosts' processors, the cards know
nothing of security. One host runs the access point's end, the others stations' ends; each has the link's device beside
the lab's, with its addresses on it.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any, Final

import tomli_w

from airtoll.errors import AirtollError
from airtoll.labs.base import last_words
from airtoll.labs.namespace import NamespaceHost, python_command
from airtoll.link_status import ask_link
from airtoll.study.factors import Ip

_DEVICE: Final = "airtoll0"
_NAME: Final = "airtoll"
_RUN: Final = (
    "import sys, pathlib; from airtoll._rust import run_link; "
    "run_link(sys.argv[1] == 'ap', pathlib.Path(sys.argv[2]))"
)
_CONNECT_TIMEOUT_S: Final = 20.0
_END_TIMEOUT_S: Final = 5.0
_PREFIX_BITS: Final[Mapping[Ip, int]] = {"ipv4": 24, "ipv6": 64}


@dataclass(frozen=True)
class Member:
    """A host that takes part."""

    host: NamespaceHost
    mac: str
    addresses: Mapping[Ip, str]


class Overlay:
    """A link that stands."""

    def __init__(self, ends: Sequence["_End"]) -> None:
        """The access point's end is the first."""
        self._ends = ends

    def facts(self) -> dict[str, Any]:
        """What the ends agreed on; AirtollError if they say different things."""
        ap, *stations = self._ends
        members = ap.status()["link"]["members"]
        ciphers = {member["cipher"] for member in members}
        ciphers |= {station.status()["link"]["cipher"] for station in stations}
        if len(ciphers) != 1:
            raise AirtollError(f"the link's ends use different ciphers: {', '.join(sorted(ciphers))}")
        return {"cipher": ciphers.pop(), "wpa_key_mgmt": members[0]["akm"]}

    def counters(self) -> dict[str, Any]:
        """Totals of all ends since they were started; AirtollError if one has ended."""
        totals = [end.status()["counters"] for end in self._ends]
        crypto_ns = sum(way["crypto_ns"] for one in totals for way in one.values())
        return {
            "crypto_s": crypto_ns / 1e9,
            "link_cpu_s": sum(end.cpu_s() for end in self._ends),
            "link_dropped": sum(_dropped(one) for one in totals),
        }


@contextmanager
def overlay(
    access_point: Member,
    stations: Sequence[Member],
    *,
    interface: str,
    cipher: str,
    akm: str,
    passphrase: str,
) -> Iterator[Overlay]:
    """Start the ends and wait until all stations are connected; leaving the context ends them.

    Raises AirtollError if one ends, or the stations are not connected in time.
    """
    with TemporaryDirectory(prefix="airtoll-link-") as name:
        folder = Path(name)
        secret = folder / "passphrase"
        secret.touch(mode=0o600)
        secret.write_text(f"{passphrase}\n", encoding="ascii")
        common = {
            "name": _NAME,
            "device": _DEVICE,
            "akm": akm,
            "ciphers": [cipher],
            "passphrase_file": secret.name,
            "ethernet": {"interface": interface},
        }
        listed = [
            {"address": station.mac, "addresses": list(station.addresses.values())} for station in stations
        ]
        own = [f"{address}/{_PREFIX_BITS[ip]}" for ip, address in access_point.addresses.items()]
        ends: list[_End] = []
        try:
            of_ap = {**common, "addresses": own, "pool": False, "station": listed}
            ends.append(_End(access_point.host, "ap", folder, of_ap))
            of_sta = {**common, "bssid": access_point.mac}
            ends += [_End(station.host, "sta", folder, of_sta) for station in stations]
            deadline = time.monotonic() + _CONNECT_TIMEOUT_S
            for end in ends[1:]:
                end.wait_connected(deadline)
            yield Overlay(ends)
        finally:
            for end in reversed(ends):
                end.close()


class _End:
    """One end: its process, and what it says on its socket."""

    def __init__(self, host: NamespaceHost, role: str, folder: Path, config: Mapping[str, Any]) -> None:
        self._host = host.name
        # In a folder that the ends create, as the user whom they become can remove their sockets from it alone.
        self._socket = folder / "run" / f"{host.name}.sock"
        path = folder / f"{host.name}.toml"
        path.write_text(tomli_w.dumps({**config, "status_socket": str(self._socket)}), encoding="utf-8")
        self._process = host.popen([*python_command(_RUN), role, str(path)])

    def status(self) -> dict[str, Any]:
        """What it says of itself; AirtollError if it has ended or does not answer."""
        try:
            answer = ask_link(self._socket, "status")
        except OSError as error:
            # Its socket goes before it.
            self._check_running(patience_s=0.5)
            raise AirtollError(f"the link's end on {self._host}: {error.strerror or error}") from None
        found: dict[str, Any] = json.loads(answer)
        return found

    def wait_connected(self, deadline: float) -> None:
        """Return when it has keys and addresses."""
        while True:
            with suppress(OSError):
                found = json.loads(ask_link(self._socket, "status"))["link"]
                if found.get("connected") and found["addresses"]:
                    return
            self._check_running()
            if time.monotonic() > deadline:
                raise AirtollError(f"the link's end on {self._host} was not connected in time")
            time.sleep(0.01)

    def cpu_s(self) -> float:
        """CPU time so far."""
        return self._process.cpu_s()

    def close(self) -> None:
        """End it, and wait until it has ended."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=_END_TIMEOUT_S)
        except TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def _check_running(self, patience_s: float = 0.0) -> None:
        with suppress(TimeoutExpired):
            self._process.wait(patience_s)
            stdout, stderr = self._process.communicate()
            raise AirtollError(f"the link's end on {self._host} ended: {last_words(stderr, stdout)}")


def _dropped(totals: Mapping[str, Any]) -> int:
    """Packets of programs that an end dropped on their way out."""
    outbound = totals["outbound"]
    return sum(outbound[why] for why in ("unsent", "exhausted", "too_long"))
