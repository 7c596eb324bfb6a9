"""Lab `linux`: the Wi-Fi stack of Linux without radios. hostapd, wpa_supplicant and mac80211 as shipped, above the
medium of lab `air`.

Each host has a radio of mac80211_hwsim in a network namespace of its own. mac80211 builds, protects and acknowledges
the frames and chooses their rates; a process (Rust, `wlan_emulator::hwsim`) moves them between the radios in the time
that the medium gives them. The lab runs in a guest, whose kernel has mac80211_hwsim with the changes that a medium
requires (`airtoll.guest`).
"""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from socket import AF_UNIX, SOCK_DGRAM, socket
from tempfile import TemporaryDirectory
from typing import Any, Final

from airtoll import _rust
from airtoll.clock import Clock
from airtoll.errors import AirtollError
from airtoll.labs import enterprise, hostapd, iw, minstrel, wire
from airtoll.labs.base import SYSTEM_PATH, Link, PeerStatistics, lab_lacks, last_words, succeed
from airtoll.labs.emulated import (
    IPS,
    PACKAGES,
    WPA_PASSPHRASE,
    Emulator,
    air_scenario,
    configure,
    facts_of,
    known_of,
    pairs,
    passphrase_of,
    wep_key,
)
from airtoll.labs.lines import Lines
from airtoll.labs.namespace import Command, NamespaceHost, python_command
from airtoll.labs.sim import obstacle
from airtoll.study.cell import Cell, resolved
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.security import SecurityProfile, with_ready_made

CAN_SET: Final = (
    *("band", "wpa_key_mgmt", "ieee80211w", "beacon_prot", "beacon_interval", "error_model", "rate_control"),
    "rts_threshold",
    *("congestion_control", "window", "udp_buffer", "timestamps", "sack", "segmentation_offload"),
    *("ip_fragments", "wired_rate", "wired_delay"),
)
"""The settings of a study's [link] that this lab supports."""

RADIOS: Final = python_command(
    "import sys; from airtoll._rust import emulate_radios; sys.exit(emulate_radios())"
)
_INTERFACE: Final = _rust.DEVICE_NAME
_JOIN_TIMEOUT_S: Final = 10.0
_COMMAND_TIMEOUT_S: Final = 10.0
_LOG: Final = ("-f", "/dev/stdout")  # without it, the programs buffer their output
_BEACON_INTERVAL_TU: Final = 100  # hostapd's default
_BEACON_INTERVALS_TU: Final = range(15, 10_001)  # from the minimum of hostapd to the maximum of cfg80211

# Sends ten datagrams to the discard port of the address: minstrel applies a fixed rate only after it has reported
# frames for 50 ms, and ARP and neighbour discovery are over.
_GREET: Final = """
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as greeter:
    for _ in range(10):
        try:
            greeter.sendto(b"greeting", (sys.argv[1], 9))
        except ConnectionRefusedError:
            pass
        time.sleep(0.02)
"""


class Linux:
    """An access point and stations with radios of mac80211_hwsim, and the medium beneath them."""

    name = "linux"
    virtual = False

    def __init__(
        self,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        clock: Clock = "virtual",
        profiles: Mapping[str, SecurityProfile] | None = None,
    ) -> None:
        """The arguments are those of `Air`."""
        self._clock = clock
        self._link = link or LinkSettings()
        self._stacks = stacks or {}
        self._profiles = with_ready_made(profiles)

    def _resolved(self, cell: Cell) -> tuple[Cell, LinkSettings, SecurityProfile]:
        """The cell with its cipher as its security level, its settings of the link, and its profile."""
        of_cipher, settings = resolved(cell, self._link, self._stacks, self._profiles)
        if settings.beacon_interval is None:  # hostapd always sends beacons
            settings = settings.model_copy(update={"beacon_interval": _BEACON_INTERVAL_TU})
        return of_cipher, settings, self._profiles[cell.security].on(settings)

    def check(self, cell: Cell) -> str | None:
        """Return why this lab does not support the cell, or None if it does."""
        of_cipher, settings, profile = self._resolved(cell)
        return (
            next(self._obstacles(cell, settings), None)
            or next(hostapd.obstacles(cell.security, profile, cell), None)
            or obstacle(air_scenario(of_cipher, settings))
        )

    def _obstacles(self, cell: Cell, settings: LinkSettings) -> Iterator[str]:
        if self._clock == "real":
            yield "lab linux requires the virtual clock: --clock virtual"
        for setting in settings.given():
            if setting not in CAN_SET:
                yield f"link.{setting}: lab linux cannot set it"
        if (interval_tu := settings.beacon_interval) is not None and interval_tu not in _BEACON_INTERVALS_TU:
            yield (
                f"link.beacon_interval '{interval_tu} TU': hostapd always sends beacons, and lab linux supports "
                f"{_BEACON_INTERVALS_TU[0]} to {_BEACON_INTERVALS_TU[-1]} TU"
            )
        if cell.crypto_at == "card" and cell.security != "open":
            yield "crypto_at 'card': lab linux seals frames on the host; labs air and sim have cards"

    def missing(self) -> str | None:
        """Return what prevents the lab from running on this machine, with the remedy, or None."""
        return _missing_command()

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        """Bring the link up. Leaving the context takes it down."""
        of_cipher, settings, profile = self._resolved(cell)
        config = {
            "scenario": air_scenario(of_cipher, settings, seed=seed).wire(),
            "clock": self._clock,
            "pcap": None if pcap is None else str(pcap),
        }
        secret = wep_key(of_cipher, seed) or WPA_PASSPHRASE
        with ExitStack() as stack:
            emulator = stack.enter_context(Emulator(config, self.name, RADIOS))
            hosts = {role: emulator.host(role) for role in emulator.roles}
            on_air = {role: host for role, host in hosts.items() if role != "server"}
            bridge = wire.lay(hosts["ap"], hosts["server"], emulator) if "server" in hosts else None
            bss = hostapd.Bss(
                channel=emulator.facts["channel"],
                channel_mhz=emulator.facts["channel_mhz"],
                qos=emulator.facts["edca"],
                beacon_interval_tu=settings.beacon_interval or _BEACON_INTERVAL_TU,
                bridge=bridge,
            )
            network = stack.enter_context(_network(on_air, profile, of_cipher, bss, secret))
            for role, host in hosts.items():
                device = bridge if role == "ap" and bridge is not None else _INTERFACE
                configure(host, emulator, None, settings, device)
            for role, host in on_air.items():
                if settings.rate_control == "minstrel":
                    iw.allow_rates(host, _INTERFACE, minstrel.up_to(of_cipher, bss.channel_mhz))
                else:
                    minstrel.fix(role, of_cipher)
            for station, server in pairs(cell):
                for ip in IPS:
                    _greet(hosts[station], emulator.addresses[server, ip])
                    _greet(hosts[server], emulator.addresses[station, ip])
            known = replace(known_of(of_cipher, settings, emulator, seed, self._clock), blocks_senders=True)
            if settings.rate_control == "minstrel":
                known = replace(known, rate_kbit_per_s=None)
            facts = {
                **emulator.facts,
                **network,
                "rate_kbit_per_s": known.rate_kbit_per_s,
                "ssid": hostapd.SSID,
                "programs": hostapd.versions(),
                **facts_of(of_cipher, settings, known, self._clock, self._stacks.get(cell.stack)),
                "wpa_passphrase": passphrase_of(network["wpa_key_mgmt"]),
            }
            roles = {mac: role for role, mac in emulator.macs.items()}

            def peers() -> dict[tuple[str, str], PeerStatistics]:
                found = {}
                for role, host in on_air.items():
                    attempts = minstrel.attempts(role)
                    for mac, statistics in iw.peers(host, _INTERFACE).items():
                        found[role, roles[mac]] = replace(statistics, attempts=attempts.get(mac, {}))
                return found

            yield Link(
                hosts=hosts,
                addresses=emulator.addresses,
                facts=facts,
                counters=emulator.counters,
                pairs=pairs(cell),
                known=known,
                expected=_expected(profile, of_cipher, bss),
                peers=peers,
            )


@contextmanager
def _network(
    hosts: Mapping[str, NamespaceHost],
    profile: SecurityProfile,
    cell: Cell,
    bss: hostapd.Bss,
    secret: str,
) -> Iterator[dict[str, Any]]:
    """Hostapd on the access point and wpa_supplicant on the stations, connected. Yields what they negotiated.

    Raises AirtollError if a program exits, or if a station does not connect in time.
    """
    for role, host in hosts.items():
        # hostapd and wpa_supplicant bring the devices up. With a link-local address, the kernel would solicit routers.
        silent = ["ip", "link", "set", _INTERFACE, "addrgenmode", "none"]
        succeed(host, silent, _COMMAND_TIMEOUT_S, f"lab linux: configuring {role}")
    with TemporaryDirectory(prefix="airtoll-linux-") as name, ExitStack() as stack:
        folder = Path(name)
        control = folder / "control"

        def start(role: str, text: str, argv: list[str]) -> Command:
            file = folder / f"{role}.conf"
            file.touch(mode=0o600)
            file.write_text(text, encoding="ascii")
            process = hosts[role].popen([*argv, str(file)])
            stack.callback(_end, process)
            return process

        for file, content in enterprise.files(profile, folder, secret):
            (folder / file).write_text(content, encoding="ascii")
        if (argv := enterprise.radius_server(profile, folder)) is not None:
            up = ["ip", "link", "set", "lo", "up"]
            succeed(hosts["ap"], up, _COMMAND_TIMEOUT_S, "lab linux: configuring ap")
            radius = hosts["ap"].popen(argv)
            stack.callback(_end, radius)
            _wait_for(enterprise.RADIUS_READY, "freeradius", radius)
        control.mkdir()
        text = hostapd.access_point(
            profile, cell, bss, interface=_INTERFACE, folder=folder, control=control / "ap", secret=secret
        )
        _wait_for("AP-ENABLED", "hostapd", start("ap", text, ["hostapd", *_LOG]))
        stations = [role for role in hosts if role.startswith("sta")]
        supplicants = []
        for role in stations:
            text = hostapd.station(profile, bss, folder=folder, control=control / role, secret=secret)
            argv = ["wpa_supplicant", *_LOG, "-D", "nl80211", "-i", _INTERFACE, "-c"]
            supplicants.append(start(role, text, argv))
        began_s = time.monotonic()
        for role, process in zip(stations, supplicants, strict=True):
            _wait_for("CTRL-EVENT-CONNECTED", f"wpa_supplicant on {role}", process)
        joined_s = time.monotonic() - began_s
        keys = {role: _pairwise_key(role) for role in stations}
        facts, *others = [
            {"cipher": key[0] if (key := keys[role]) else "open", **_joined(role, control / role)}
            for role in stations
        ]
        for other in others:
            for fact, value in facts.items():
                if other[fact] != value:
                    raise AirtollError(
                        f"lab linux: the stations joined with different {fact}: {value} and {other[fact]}"
                    )
        yield {
            **facts,
            "joining_ms": joined_s * 1e3,
            "temporal_keys": {role: key[1] for role, key in keys.items() if key is not None},
        }


def _end(process: Command) -> None:
    process.terminate()
    process.communicate()


_GAVE_UP: Final = b"CTRL-EVENT-SSID-TEMP-DISABLED"
"""The event with which wpa_supplicant reports that it does not try the network again soon."""

_WHY: Final = (
    *(b"CTRL-EVENT-EAP-TLS-CERT-ERROR", b"EAP-MSCHAPV2: failure", b"CTRL-EVENT-EAP-FAILURE"),
    *(b"4-Way Handshake failed", b"CTRL-EVENT-AUTH-REJECT", b"CTRL-EVENT-ASSOC-REJECT"),
)
"""Words in the lines with which wpa_supplicant explains that it gave up, the most telling first."""


def _wait_for(event: str, program: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the program prints a line with the event. Raises AirtollError with the reason otherwise."""
    assert process.stdout is not None
    lines = Lines(process.stdout)
    until_s = time.monotonic() + _JOIN_TIMEOUT_S
    printed: list[bytes] = []
    with suppress(TimeoutError):
        while (line := lines.next(until_s)) is not None:
            printed.append(line.removeprefix(f"{_INTERFACE}: ".encode()))
            if event.encode() in line:
                return
            if _GAVE_UP in line:
                break
    reasons = (line for why in _WHY for line in printed if why in line)
    words = last_words(next(reasons, b"\n".join(printed)))
    raise AirtollError(f"lab linux: {program}: {words}")


def _joined(role: str, control: Path) -> dict[str, Any]:
    """Facts of a station's link, as wpa_supplicant and the kernel report them."""
    status = _ask(control, "STATUS", "SIGNAL_POLL")
    (peer,) = (minstrel.DEBUG / role / f"netdev:{_INTERFACE}" / "stations").iterdir()
    return {
        "wpa_key_mgmt": hostapd.key_management(status["key_mgmt"]),
        "ieee80211w": "MFP" in (peer / "flags").read_text(encoding="ascii").split(),
        "group_cipher": status.get("group_cipher"),
        "frequency_mhz": int(status["FREQUENCY"]),
        "bandwidth_mhz": int(status["WIDTH"].split()[0]),  # "80 MHz", "20 MHz (no HT)"
        **enterprise.facts(status),
    }


def _expected(profile: SecurityProfile, cell: Cell, bss: hostapd.Bss) -> dict[str, Any]:
    """The facts of `_joined` that the cell determines."""
    return {
        "wpa_key_mgmt": profile.akm,
        "ieee80211w": profile.ieee80211w != "disabled",
        "frequency_mhz": bss.channel_mhz,
        "bandwidth_mhz": cell.bandwidth,
        "eap": profile.eap,
    }


def _ask(control: Path, *requests: str) -> dict[str, str]:
    """The answers of wpa_supplicant to requests through its control interface (wpa_ctrl.h), as one mapping."""
    answers: dict[str, str] = {}
    with socket(AF_UNIX, SOCK_DGRAM) as client:
        client.settimeout(_COMMAND_TIMEOUT_S)
        client.bind(str(control.with_suffix(".client")))
        client.connect(str(control / _INTERFACE))
        for request in requests:
            client.send(request.encode())
            lines = client.recv(4096).decode(errors="replace").splitlines()
            answers |= dict(line.split("=", 1) for line in lines if "=" in line)
    return answers


_SUITES: Final[Mapping[str, str]] = {
    "00-0f-ac:1": "wep40",
    "00-0f-ac:2": "tkip",
    "00-0f-ac:4": "ccmp",
    "00-0f-ac:5": "wep104",
    "00-0f-ac:8": "gcmp",
    "00-0f-ac:9": "gcmp256",
    "00-0f-ac:10": "ccmp256",
}
"""Cipher suites by selector (IEEE Std 802.11-2020, Table 9-149)."""


def _pairwise_key(role: str) -> tuple[str, str] | None:
    """Cipher and key, in hexadecimal digits, that mac80211 of a station uses with the access point; None if open."""
    keys = sorted((minstrel.DEBUG / role / "keys").iterdir())
    # A WEP key belongs to no station.
    for key in [*(key for key in keys if (key / "station").exists()), *keys]:
        selector = (key / "algorithm").read_text(encoding="ascii").strip()
        digits = (key / "key").read_text(encoding="ascii").strip()
        return _SUITES.get(selector, selector), digits
    return None


def _greet(host: NamespaceHost, address: str) -> None:
    """Send the first datagrams to the address."""
    argv = [*python_command(_GREET), address]
    succeed(host, argv, _COMMAND_TIMEOUT_S, f"lab linux: {host.name} cannot reach {address}")


@cache
def _missing_command() -> str | None:
    """Return the first command that the lab lacks, with the remedy, or None."""
    return lab_lacks("linux", {**hostapd.PROGRAMS, "iw": "iw", **PACKAGES}, SYSTEM_PATH)
