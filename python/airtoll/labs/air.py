"""Lab `air`: real programs and the real Linux TCP/IP stack over emulated air. Each host has a TUN device."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from airtoll import _rust
from airtoll.labs.base import Lab, Link, lab_lacks
from airtoll.labs.emulated import (
    IPS,
    NO_NAMESPACES,
    PACKAGES,
    WPA_PASSPHRASE,
    Emulator,
    air_scenario,
    configure,
    facts_of,
    key,
    known_of,
    pairs,
    passphrase_of,
    unshare_options,
    wep_key,
)
from airtoll.labs.namespace import NamespaceHost, python_command
from airtoll.labs.overlay import Member, Overlay, overlay
from airtoll.labs.sim import obstacle
from airtoll.study.cell import Cell
from airtoll.study.contract import KEYS
from airtoll.study.factors import FACTORS, STATIONS, level_text
from airtoll.study.link import LinkSettings
from airtoll.study.quantity import one_of
from airtoll.study.security import AKMS, GROUP, SecurityProfile, is_enhanced

_OF_HOSTS: Final = ("sae", "wpa-psk-sha256")
"""The key managements of `airtoll link`, which seals frames on the hosts; the first is the default."""

_BEACON_KEY_OCTETS = 16  # of BIP-CMAC-128

_EMULATOR = python_command("import sys; from airtoll._rust import emulate; sys.exit(emulate())")


class Air(Lab):
    """An access point, stations and a server behind it as namespaces of this machine, joined by the emulator."""

    name = "air"

    def check(self, cell: Cell) -> str | None:
        """Return why this lab does not support the cell, or None if it does."""
        of_cipher, settings = self._of_cipher(cell)
        profile = self._profiles[cell.security].on(settings)
        return (
            next(_of_profile(cell.security, profile), None)
            or next(self._obstacles(of_cipher, settings), None)
            or obstacle(air_scenario(of_cipher, settings))
        )

    def _obstacles(self, cell: Cell, settings: LinkSettings) -> Iterator[str]:
        """Reasons why this lab does not support a cell that the medium would support."""
        given = settings.given()
        for setting in given:
            if self.name not in KEYS[setting].labs:
                yield f"link.{setting}: lab air cannot set it; lab sim can"
        for factor, declared in FACTORS.items():
            level, levels = getattr(cell, factor), declared.labs.get(self.name)
            if levels is not None and level not in levels:
                yield f"{factor} '{level_text(factor, level)}': lab air supports {_levels(factor, levels)}"
        most = _datagram_senders(cell)
        if cell.transport == "udp" and cell.stations > most:
            yield (
                f"stations '{cell.stations}': lab air supports at most {most} over UDP with topology "
                f"'{cell.topology}' and direction '{cell.direction}', because iperf3 cannot start a stream on a link "
                "that other streams fill; lab sim has no limit"
            )
        if _is_sealed_by_link(cell) and settings.wpa_key_mgmt not in (None, *_OF_HOSTS):
            given_akms = " and ".join(SecurityProfile(wpa_key_mgmt=settings.wpa_key_mgmt).akms)
            yield f"wpa_key_mgmt '{given_akms}': Enhanced CCMP on the host requires {one_of(_OF_HOSTS)}"

    def missing(self) -> str | None:
        """Return what prevents the lab from running on this machine, with the remedy, or None."""
        return missing_command() if self._clock == "virtual" else missing()

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        """Bring the link up. Leaving the context takes it down."""
        cell, settings = self._of_cipher(cell)
        by_link = _is_sealed_by_link(cell)
        overhead_b = _rust.link_overhead(cell.security) if by_link else None
        beacon_key = key(f"airtoll beacon key {seed}", _BEACON_KEY_OCTETS)
        words = {"security": "open"} if by_link else {}
        config = {
            "scenario": air_scenario(cell, settings, seed=seed, **words).wire(),
            "device": "ethernet" if by_link else "ip",
            "wep_key": wep_key(cell, seed),
            "wpa_passphrase": WPA_PASSPHRASE,
            "beacon_key": beacon_key,
            "clock": self._clock,
            "pcap": None if pcap is None else str(pcap),
        }
        emulator = Emulator(config, self.name, _EMULATOR)
        with ExitStack() as stack:
            stack.enter_context(emulator)
            hosts = {role: emulator.host(role) for role in emulator.roles}
            for host in hosts.values():
                configure(host, emulator, overhead_b, settings)
            link = stack.enter_context(_overlay(cell, settings, hosts, emulator)) if by_link else None
            rate_kbit_per_s = emulator.facts.get("rate_kbit_per_s")
            known = known_of(cell, settings, seed, self._clock, rate_kbit_per_s, blocks_senders=False)
            facts = {
                **emulator.facts,
                "beacon_key": beacon_key if settings.beacon_prot and cell.security != "open" else None,
                "link_overhead_bytes": overhead_b,
                **facts_of(cell, settings, known, self._clock, self._stacks.get(cell.stack)),
                **(link.facts() if link else {}),
            }
            facts["wpa_passphrase"] = passphrase_of(facts["wpa_key_mgmt"])

            def counters() -> dict[str, Any]:
                counted = emulator.counters()
                if cell.sealed_at == "host":
                    counted["host_crypto_s"] = counted["crypto_s"]
                return counted | (link.counters() if link else {})

            yield Link(
                hosts=hosts,
                addresses=emulator.addresses,
                facts=facts,
                counters=counters,
                pairs=pairs(cell),
                known=known,
            )


def _overlay(
    cell: Cell, settings: LinkSettings, hosts: Mapping[str, NamespaceHost], emulator: "Emulator"
) -> AbstractContextManager[Overlay]:
    """The link that seals the cell's packets between the stations and the access point or the server behind it."""
    members = {
        role: Member(host, emulator.macs[role], {ip: emulator.addresses[role, ip] for ip in IPS})
        for role, host in hosts.items()
    }
    access_point = "server" if cell.topology == "wired-ap" else "ap"
    return overlay(
        members[access_point],
        [member for role, member in members.items() if role.startswith("sta")],
        interface=_rust.DEVICE_NAME,
        cipher=cell.security,
        akm=str(settings.wpa_key_mgmt or _OF_HOSTS[0]),
        passphrase=WPA_PASSPHRASE,
    )


def _of_profile(level: str, profile: SecurityProfile) -> Iterator[str]:
    """Reasons why the emulator cannot build the frames of a security profile that hostapd supports."""
    for akm in profile.akms:
        if AKMS[akm].exchange == "eap":
            yield f"security '{level}': lab air does not support 802.1X (wpa_key_mgmt {akm}); lab linux does"
        elif not AKMS[akm].is_offered:
            yield f"security '{level}': lab air does not support wpa_key_mgmt {akm}; lab linux does"
    if len(profile.ciphers) > 1:
        yield f"security '{level}': lab air supports a single pairwise cipher"
    if profile.group not in (None, profile.cipher):
        yield f"security '{level}': lab air supports a group cipher only if it is the pairwise cipher"
    if profile.wpa not in (None, profile.suite.wpa):
        yield f"security '{level}': lab air supports wpa 1 only for tkip, and wpa 2 for other ciphers"
    if profile.sae_pwe == 0:
        yield f"security '{level}': lab air supports sae_pwe 1 and 2 (hash-to-element), not 0"
    if {*(profile.sae_groups or ()), profile.owe_group or GROUP} != {GROUP}:
        yield f"security '{level}': lab air supports only group {GROUP} of SAE and OWE"


def _is_sealed_by_link(cell: Cell) -> bool:
    """Whether `airtoll link` seals the frames on the hosts, above their cards."""
    return is_enhanced(cell.security) and cell.sealed_at == "host"


def _datagram_senders(cell: Cell) -> int:
    """Highest number of stations, or of pairs, at which the last can start while the others fill the AP's queue."""
    if cell.direction == "both":
        return 3
    return 4 if cell.topology == "through-ap" else len(STATIONS.labs[Air.name])


def _levels(factor: str, levels: tuple[Any, ...]) -> str:
    """Format the supported levels of a factor."""
    texts = [level_text(factor, level) for level in levels]
    return f"{texts[0]} to {texts[-1]}" if factor == "stations" else ", ".join(texts)


@cache
def missing_command() -> str | None:
    """Return the commands that the lab lacks, with the remedy, or None."""
    return lab_lacks(Air.name, PACKAGES)


@cache
def missing() -> str | None:
    """Return what prevents the lab from running on this machine in real time, with the remedy, or None."""
    reasons = [command] if (command := missing_command()) is not None else []
    tun = Path("/dev/net/tun")
    if not tun.exists():
        reasons.append("lab air requires /dev/net/tun: modprobe tun, or pass the device to the container")
    elif not os.access(tun, os.R_OK | os.W_OK):
        reasons.append("lab air cannot open /dev/net/tun: run as root, or chmod 0666 /dev/net/tun")
    if command is None and unshare_options() is None:  # which requires the command unshare
        reasons.append(f"lab air {NO_NAMESPACES}")
    return "; ".join(reasons) or None
