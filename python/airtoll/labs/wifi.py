"""The effect of security on the Wi-Fi of a host: where frames are sealed, aggregation, and paths around the CPU.

Linux tells it in debugfs (mac80211), sysfs and nl80211, and only to root. A fact that the host does not tell is None.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.host import PeerStatistics
from airtoll.labs.access_points.agentless import NotJoinedError
from airtoll.labs.access_points.station import report

_TIMEOUT_S: Final = 10.0
_UPLOADED: Final = 1
"""KEY_FLAG_UPLOADED_TO_HARDWARE in `flags` of a key (net/mac80211/key.h)."""

# Argument: the interface. Each line is a name, a tab and a value.
_READ: Final = r"""
interface=$1
say() { printf '%s\t%s\n' "$1" "$2"; }
phy=$(cat "/sys/class/net/$interface/phy80211/name" 2>/dev/null)
say phy "$phy"
say driver "$(basename "$(readlink "/sys/class/net/$interface/device/driver" 2>/dev/null)" 2>/dev/null)"
debug=/sys/kernel/debug/ieee80211/$phy
[ -d "$debug/keys" ] && say debugfs yes
for key in "$debug"/keys/*/; do
    [ -r "$key/flags" ] && say key "$(cat "$key/flags") $(cat "$key/algorithm" 2>/dev/null)"
done
for station in "$debug/netdev:$interface"/stations/*/; do
    [ -r "$station/agg_status" ] && sed 's/^/aggregation\t/' "$station/agg_status"
done
say power_save "$(iw dev "$interface" get power_save 2>/dev/null)"
say country "$(iw reg get 2>/dev/null | sed -n 's/^country \(..\):.*/\1/p' | head -n 1)"
say managed "$(nmcli -g GENERAL.STATE device show "$interface" 2>/dev/null)"
for module in /sys/module/mt79*/parameters/wed_enable; do
    [ -r "$module" ] && say wed "$(cat "$module")"
done
say flows "$(nft list flowtables 2>/dev/null | tr '\n' ' ')"
"""

SealedIn = Literal["hardware", "software"]


@dataclass(frozen=True)
class Wifi:
    """Facts of a wireless interface."""

    interface: str
    phy: str | None  # None: not a wireless interface of Linux
    driver: str | None
    sealed_in: SealedIn | None  # frames of the pairwise key
    ciphers: tuple[str, ...]  # of the installed keys, in the words of mac80211
    aggregates: bool | None  # whether a block acknowledgement agreement for sending exists
    power_save: bool | None
    country: str | None  # of the regulatory domain
    managed_by: str | None  # a program other than airtoll that holds the interface
    offloads: tuple[str, ...]  # paths of packets around the CPU
    link: dict[str, object] | None  # the station's report of its network
    mlo_links: Mapping[str, PeerStatistics] = field(default_factory=dict)  # by link ID; empty without MLO
    silent: str | None = None  # why wpa_supplicant does not report the network, with the remedy

    def verdict(self) -> str:
        """One sentence about the cost of security on this host."""
        if self.phy is None:
            return f"{self.interface} is not a wireless interface, so its security cannot be examined."
        if self.silent is not None and not self.ciphers:
            return f"The security of {self.interface} is unknown: {self.silent}"
        if self.link is None and not self.ciphers:
            return f"{self.interface} has joined no network, so no key is in use."
        of = f"{self.interface} ({self.driver or 'unknown driver'})"
        if self.sealed_in is None:
            return f"The place where {of} seals frames is unknown: reading debugfs requires root."
        if self.sealed_in == "hardware":
            sentence = f"The card of {of} seals frames: security costs air, and no CPU of the host."
        else:
            sentence = f"The host's CPU seals the frames of {of}: security costs air and CPU."
        if self.aggregates is False:
            sentence += " No block acknowledgement agreement exists: each frame is sent alone."
        return sentence

    def warnings(self) -> Iterator[str]:
        """Properties that disturb a measurement, with the remedy, one line each."""
        if self.power_save:
            yield f"power save is on: iw dev {self.interface} set power_save off"
        if self.country == "00":
            yield "the regulatory domain is not set: iw reg set DE (your country)"
        if self.managed_by is not None:
            yield f"NetworkManager holds the interface ({self.managed_by}); join = 'airtoll' takes and returns it"
        for path in self.offloads:
            yield f"{path} carries packets around the CPU; with some drivers, only without security"

    def facts(self) -> dict[str, object]:
        """The facts for the record, without the station's report."""
        return {name: value for name, value in asdict(self).items() if name not in ("link", "silent")}

    def evidence(self) -> Iterator[tuple[str, str]]:
        """Every fact by its name."""
        yield "driver", self.driver or "unknown"
        yield "keys", ", ".join(self.ciphers) or "none, or not readable"
        yield "sealed in", self.sealed_in or "unknown"
        yield "aggregation", {True: "yes", False: "no", None: "unknown"}[self.aggregates]
        for name, value in (self.link or {}).items():
            yield name, str(value)
        for link_id, of_link in self.mlo_links.items():
            sent, received = (_megabytes(octets) for octets in (of_link.tx_bytes, of_link.rx_bytes))
            yield f"link {link_id}", f"{sent} sent, {received} received since the association"


def interfaces(host: AgentHost) -> list[str]:
    """The wireless interfaces of a host. Raises AirtollError if the host does not answer."""
    script = 'for phy in /sys/class/net/*/phy80211; do [ -e "$phy" ] && basename "${phy%/*}"; done; true'
    done = host.run(["sh", "-c", script], _TIMEOUT_S)
    return done.stdout.decode(errors="replace").split()


def examine(host: AgentHost, interface: str) -> Wifi:
    """The facts of a wireless interface. Raises AirtollError if the host does not answer."""
    try:
        done = host.run(["sh", "-c", _READ, "sh", interface], _TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise AirtollError(
            f"host {host.name}: {interface} was not examined within {_TIMEOUT_S:.0f} s"
        ) from None
    link: dict[str, object] | None = None
    silent = None
    try:
        link = report(host, interface)
    except NotJoinedError:
        pass
    except AirtollError as error:  # no wpa_supplicant, or one that does not answer this user
        silent = str(error)
    try:
        found = parse(interface, done.stdout.decode(errors="replace"), link)
    except ValueError:
        raise AirtollError(f"host {host.name}: what it tells of {interface} is not readable") from None
    if found.phy is None:
        return found
    return replace(found, mlo_links=_mlo_links(host, interface), silent=silent)


def _mlo_links(host: AgentHost, interface: str) -> Mapping[str, PeerStatistics]:
    """The links to the only peer: the access point of a station."""
    with host.sampling(1, [interface], machine=False) as sampled:
        pass
    peers = list(sampled.readings[0].peers.get(interface, {}).values())
    return peers[0].links if len(peers) == 1 else {}


def _megabytes(octets: int | None) -> str:
    return "an unknown amount" if octets is None else f"{octets / 1e6:.1f} MB"


def parse(interface: str, text: str, link: dict[str, object] | None) -> Wifi:
    """The facts in the output of the script."""
    lines = [line.partition("\t")[::2] for line in text.splitlines()]

    def value(name: str) -> str | None:
        return next((value for own, value in lines if own == name and value), None)

    keys = [value.split(maxsplit=1) for name, value in lines if name == "key"]
    power_save = value("power_save")
    managed = value("managed")
    return Wifi(
        interface=interface,
        phy=value("phy"),
        driver=value("driver"),
        sealed_in=_place([int(flags, 16) for flags, *_ in keys]) if value("debugfs") else None,
        ciphers=tuple(dict.fromkeys(cipher for _, *ciphers in keys for cipher in ciphers)),
        aggregates=_aggregates([value for name, value in lines if name == "aggregation"]),
        power_save=None if power_save is None else power_save.endswith("on"),
        country=value("country"),
        managed_by=managed if managed is not None and managed.startswith("100") else None,
        offloads=tuple(_offloads(value("wed"), value("flows"))),
        link=link,
    )


def _place(flags: Sequence[int]) -> SealedIn | None:
    if not flags:
        return None
    return "hardware" if all(flag & _UPLOADED for flag in flags) else "software"


def _aggregates(lines: Sequence[str]) -> bool | None:
    """Whether a row of `agg_status` has an agreement in its column TX: TID, RX, DTKN, SSN, TX, DTKN, pending."""
    rows = [row for line in lines if re.match(r"\d", line) and len(row := line.split()) >= 5]
    return any(row[4] != "0" for row in rows) if rows else None


def _offloads(wed: str | None, flows: str | None) -> Iterator[str]:
    if wed in ("Y", "1"):
        yield "Wireless Ethernet Dispatch (WED)"
    if flows and "flags offload" in flows:
        yield "hardware flow offload"
