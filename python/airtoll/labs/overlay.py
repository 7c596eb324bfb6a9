"""A protected link over the hosts of a lab: `airtoll link` seals their packets, and the air carries open frames.

This is the system of Hayajneh et al., section IV: the keys of the handshake go to the hosts' processors, and the cards
know nothing about security. One host runs the access point's end, the others run stations' ends. Each host has the
link's device, with its addresses, beside the lab's.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any, Final

import tomli_w

from airtoll.documents import read_json
from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.labs import joining
from airtoll.labs.namespace import NamespaceHost, python_command
from airtoll.link_status import STATUS, ask_link
from airtoll.study.factors import Ip

_DEVICE: Final = "airtoll0"
_NAME: Final = "airtoll"
_RUN: Final = (
    "import sys, pathlib; from airtoll._rust import run_link; "
    "run_link(sys.argv[1] == 'ap', pathlib.Path(sys.argv[2]))"
)
_CONNECT_TIMEOUT_S: Final = 20.0
_PREFIX_BITS: Final[Mapping[Ip, int]] = {"ipv4": 24, "ipv6": 64}


@dataclass(frozen=True)
class Member:
    """A host that takes part in the link."""

    host: NamespaceHost
    mac: str
    addresses: Mapping[Ip, str]


class Overlay:
    """A link whose stations are connected."""

    def __init__(self, ends: Sequence["_End"]) -> None:
        """`ends`: the access point's end first, then the stations'."""
        self._ends = ends

    def facts(self) -> dict[str, Any]:
        """The negotiated cipher and AKM. Raises AirtollError if the ends use different ciphers."""
        ap, *stations = self._ends
        members = ap.status()["link"]["members"]
        ciphers = {member["cipher"] for member in members}
        ciphers |= {station.status()["link"]["cipher"] for station in stations}
        if len(ciphers) != 1:
            raise AirtollError(f"the link's ends use different ciphers: {', '.join(sorted(ciphers))}")
        return {"cipher": ciphers.pop(), "wpa_key_mgmt": members[0]["akm"]}

    def counters(self) -> dict[str, Any]:
        """Totals of all ends since their start. Raises AirtollError if an end has exited."""
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
    """Start the ends and wait until all stations are connected. Leaving the context ends them.

    Raises AirtollError if an end exits, or if the stations do not connect in time.
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
            of_sta = {**common, "bssid": access_point.mac, "assigned": own}
            ends += [_End(station.host, "sta", folder, of_sta) for station in stations]
            deadline = time.monotonic() + _CONNECT_TIMEOUT_S
            for end in ends[1:]:
                end.wait_connected(deadline)
            yield Overlay(ends)
        finally:
            for end in reversed(ends):
                end.close()


class _End:
    """One end of the link: its process and its status socket."""

    def __init__(self, host: NamespaceHost, role: str, folder: Path, config: Mapping[str, Any]) -> None:
        self._host = host.name
        # The ends create this folder: after they drop privileges, they can remove their sockets only from there.
        self._socket = folder / "run" / f"{host.name}.sock"
        path = folder / f"{host.name}.toml"
        path.write_text(tomli_w.dumps({**config, "status_socket": str(self._socket)}), encoding="utf-8")
        self._process = host.popen([*python_command(_RUN), role, str(path)])

    def status(self) -> dict[str, Any]:
        """The end's status. Raises AirtollError if the end has exited or does not answer."""
        try:
            answer = ask_link(self._socket, "status")
        except OSError as error:
            # The socket disappears before the process does.
            self._check_running(patience_s=0.5)
            raise AirtollError(f"the link's end on {self._host}: {error.strerror or error}") from None
        return self._read(answer)

    def _read(self, answer: str) -> dict[str, Any]:
        return read_json(STATUS, answer, f"the link's end on {self._host}")

    def wait_connected(self, deadline: float) -> None:
        """Wait until the end has keys and addresses."""
        while True:
            with suppress(OSError):
                found = self._read(ask_link(self._socket, "status"))["link"]
                if found.get("connected") and found["addresses"]:
                    return
            self._check_running()
            if time.monotonic() > deadline:
                raise AirtollError(f"the link's end on {self._host} did not connect in time")
            time.sleep(0.01)

    def cpu_s(self) -> float:
        """CPU time of the end so far."""
        return self._process.cpu_s()

    def close(self) -> None:
        """End the process and wait for it."""
        joining.end(self._process)

    def _check_running(self, patience_s: float = 0.0) -> None:
        with suppress(TimeoutExpired):
            self._process.wait(patience_s)
            stdout, stderr = self._process.communicate()
            raise AirtollError(f"the link's end on {self._host} ended: {last_words(stderr, stdout)}")


def _dropped(totals: Mapping[str, Any]) -> int:
    """Outbound packets of programs that an end dropped."""
    outbound = totals["outbound"]
    return sum(outbound[why] for why in ("unsent", "exhausted", "too_long"))
