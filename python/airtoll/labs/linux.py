"""Lab `linux`: the Wi-Fi stack of Linux. hostapd, wpa_supplicant and mac80211 as shipped, above the medium of lab
`air` or above radios of this machine.

Each host has a radio in a network namespace of its own. mac80211 builds, protects and acknowledges the frames and
chooses their rates. Without radios of the machine, the radios are those of mac80211_hwsim, and a process (Rust,
`wlan_emulator::hwsim`) moves the frames between them in the time that the medium gives them. The lab then runs in a
guest, whose kernel has mac80211_hwsim with the changes that a medium requires (`airtoll.guest`).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import permutations
from pathlib import Path
from socket import AF_UNIX, SOCK_DGRAM, socket
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

from airtoll import _rust
from airtoll.clock import Clock
from airtoll.errors import AirtollError
from airtoll.host import SYSTEM_PATH, Process, RadioRate, succeed
from airtoll.labs import enterprise, hostapd, iw, joining, minstrel, radios, wire
from airtoll.labs.base import Lab, Link, lab_lacks, obstacles_of_radios
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
from airtoll.labs.namespace import NamespaceHost, python_command
from airtoll.labs.network import Network
from airtoll.labs.sim import obstacle
from airtoll.study.cell import Cell, Plan
from airtoll.study.contract import KEYS
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.security import SecurityProfile

RADIOS: Final = python_command(
    "import sys; from airtoll._rust import emulate_radios; sys.exit(emulate_radios())"
)
_HOSTS: Final = python_command("import sys; from airtoll._rust import hold_hosts; sys.exit(hold_hosts())")
_INTERFACE: Final = _rust.DEVICE_NAME
_JOIN_TIMEOUT_S: Final = 10.0
_COMMAND_TIMEOUT_S: Final = 10.0
_BEACON_INTERVAL_TU: Final = 100  # hostapd's default
_BEACON_INTERVALS_TU: Final = range(15, 10_001)  # from the minimum of hostapd to the maximum of cfg80211

# Sends ten datagrams to the discard port of each address: minstrel applies a fixed rate only after it has reported
# frames for 50 ms, and ARP and neighbour discovery are over.
_GREET: Final = """
import socket, sys, time
for address in sys.argv[1:]:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as greeter:
        for _ in range(10):
            try:
                greeter.sendto(b"greeting", (address, 9))
            except ConnectionRefusedError:
                pass
            time.sleep(0.02)
"""


class Linux(Lab):
    """An access point and stations with radios of mac80211_hwsim and the medium beneath them, or of this machine."""

    name = "linux"

    def __init__(
        self,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        profiles: Mapping[str, SecurityProfile] | None = None,
        clock: Clock = "virtual",
        own_radios: Sequence[str] = (),
    ) -> None:
        """`own_radios` are radios of this machine: the access point's, then the stations'. The rest is as in `Lab`."""
        super().__init__(link, stacks, profiles, clock)
        self._radios = own_radios

    @classmethod
    def of(cls, plan: Plan, inventory: Path | None) -> Self:  # noqa: ARG003  (only lab hosts has an inventory)
        """The lab with the settings of the plan."""
        return cls(plan.link, plan.stacks, plan.profiles, plan.clock, plan.radios)

    def _resolved(self, cell: Cell) -> tuple[Cell, LinkSettings, SecurityProfile]:
        """The cell with its cipher as its security level, its settings of the link, and its profile."""
        of_cipher, settings = self._of_cipher(cell)
        if settings.beacon_interval is None:  # hostapd always sends beacons
            settings = settings.model_copy(update={"beacon_interval": _BEACON_INTERVAL_TU})
        return of_cipher, settings, self._profiles[cell.security].on(settings)

    def check(self, cell: Cell) -> str | None:
        """Return why this lab does not support the cell, or None if it does."""
        of_cipher, settings, profile = self._resolved(cell)
        return (
            next(self._obstacles(cell, settings), None)
            or next(hostapd.obstacles(cell.security, profile, cell.bandwidth), None)
            or enterprise.obstacle(cell.security, profile)
            or obstacle(air_scenario(of_cipher, settings))
        )

    def _obstacles(self, cell: Cell, settings: LinkSettings) -> Iterator[str]:
        if self._radios:
            yield from self._obstacles_of_radios(cell, settings)
        elif self._clock == "real":
            yield "lab linux requires the virtual clock (--clock virtual) or radios of this machine (--radios)"
        for setting in settings.given():
            if (program := KEYS[setting].set_by) is not None:
                yield f"link.{setting}: lab linux cannot set it, because {program} does; labs air and sim can"
            elif self.name not in KEYS[setting].labs:
                yield f"link.{setting}: lab linux cannot set it"
        if (interval_tu := settings.beacon_interval) is not None and interval_tu not in _BEACON_INTERVALS_TU:
            yield (
                f"link.beacon_interval '{interval_tu} TU': hostapd always sends beacons, and lab linux supports "
                f"{_BEACON_INTERVALS_TU[0]} to {_BEACON_INTERVALS_TU[-1]} TU"
            )
        if cell.crypto_at == "card" and cell.security != "open":
            yield "crypto_at 'card': lab linux seals frames on the host; labs air and sim have cards"

    def _obstacles_of_radios(self, cell: Cell, settings: LinkSettings) -> Iterator[str]:
        if self._clock == "virtual":
            yield "radios of this machine have real time: --clock real"
        on_air = 1 + len({role for pair in pairs(cell) for role in pair} - {"ap", "server"})
        if len(self._radios) < on_air:
            yield f"radios: the cell requires {on_air} radios, and the study has {len(self._radios)}"
        if len(set(self._radios)) < len(self._radios):
            yield f"radios: {', '.join(self._radios)}: each host requires a radio of its own"
        for setting in settings.given():
            if self.name in KEYS[setting].labs and "radios" not in KEYS[setting].labs:
                yield f"link.{setting}: lab linux cannot set it on radios of this machine"
        yield from obstacles_of_radios(cell)

    def missing(self) -> str | None:
        """Return what prevents the lab from running on this machine, with the remedy, or None."""
        return _missing_command() or (radios.missing(self._radios) if self._radios else None)

    def capture_obstacle(self) -> str | None:
        """Return why this lab cannot capture the air, or None if it can."""
        if not self._radios:
            return None
        return "airtoll captures emulated air and, in lab hosts, by an interface in monitor mode"

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        """Bring the link up. Leaving the context takes it down."""
        of_cipher, settings, profile = self._resolved(cell)
        config = {
            "scenario": air_scenario(of_cipher, settings, seed=seed).wire(),
            "clock": self._clock,
            "pcap": None if pcap is None else str(pcap),
        }
        with ExitStack() as stack:
            emulator = stack.enter_context(Emulator(config, self.name, _HOSTS if self._radios else RADIOS))
            hosts = {role: emulator.host(role) for role in emulator.roles}
            on_air = {role: host for role, host in hosts.items() if role != "server"}
            own = dict(zip(on_air, self._radios, strict=False))
            for role, radio in own.items():
                emulator.macs[role] = stack.enter_context(radios.lent(radio, hosts[role])).mac
            bridge = wire.lay(hosts["ap"], hosts["server"], emulator) if "server" in hosts else None
            network = Network(
                level=cell.security,
                profile=profile,
                ssid=hostapd.SSID,
                secret=wep_key(of_cipher, seed) or WPA_PASSPHRASE,
                phy=cell.phy,
                bandwidth_mhz=cell.bandwidth,
                gi=cell.gi,
                channel=emulator.facts["channel"],
                qos=emulator.facts["edca"],
                beacon_interval_tu=settings.beacon_interval or _BEACON_INTERVAL_TU,
                country=None if own else hostapd.COUNTRY,
            )
            negotiated = stack.enter_context(_connected(on_air, network, bridge))
            for role, host in hosts.items():
                device = bridge if role == "ap" and bridge is not None else _INTERFACE
                configure(host, emulator, None, settings, device)
            for role, host in on_air.items():
                if settings.rate_control == "minstrel":
                    iw.allow_rates(host, _INTERFACE, minstrel.up_to(of_cipher, network.channel_mhz))
                elif own:
                    iw.allow_rates(host, _INTERFACE, minstrel.only(of_cipher, network.channel_mhz))
                else:
                    minstrel.fix(role, of_cipher)
            for pair in pairs(cell):
                for role, peer in permutations(pair):
                    _greet(hosts[role], [emulator.addresses[peer, ip] for ip in IPS])
            # Minstrel chooses the rates.
            rate = None if settings.rate_control == "minstrel" else emulator.facts.get("rate_kbit_per_s")
            known = known_of(of_cipher, settings, seed, self._clock, rate)
            if not own:
                negotiated["temporal_keys"] = {
                    role: key for role in on_air if role != "ap" and (key := _pairwise_key(role)) is not None
                }
            facts = {
                **emulator.facts,
                **negotiated,
                "rate_kbit_per_s": known.rate_kbit_per_s,
                "ssid": hostapd.SSID,
                "programs": hostapd.versions(),
                **facts_of(of_cipher, settings, known, self._clock, self._stacks.get(cell.stack)),
                "emulated": not own,
                "radios": own or None,
                "wpa_passphrase": passphrase_of(negotiated["wpa_key_mgmt"]),
            }
            roles = {mac: role for role, mac in emulator.macs.items()}

            def attempts() -> dict[tuple[str, str], dict[RadioRate, int]]:
                return {
                    (role, roles[mac]): by_rate
                    for role in on_air
                    for mac, by_rate in minstrel.attempts(own.get(role, role)).items()
                }

            yield Link(
                hosts=hosts,
                addresses=emulator.addresses,
                facts=facts,
                counters=emulator.counters,
                pairs=pairs(cell),
                known=known,
                expected=joining.expected(network),
                interfaces=dict.fromkeys(on_air, _INTERFACE),
                macs=roles,
                attempts=attempts,
            )


@contextmanager
def _connected(
    hosts: Mapping[str, NamespaceHost], network: Network, bridge: str | None
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

        def start(role: str, text: str, argv: list[str]) -> Process:
            file = folder / f"{role}.conf"
            file.touch(mode=0o600)
            file.write_text(text, encoding="ascii")
            process = hosts[role].popen([*argv, str(file)])
            stack.callback(joining.end, process)
            return process

        def wait_for(event: str, program: str, process: Process) -> None:
            joining.wait_for(event, f"lab linux: {program}", _INTERFACE, process, _JOIN_TIMEOUT_S)

        for file, content in enterprise.files(network.profile, folder, network.secret):
            (folder / file).write_text(content, encoding="ascii")
        if (argv := enterprise.radius_server(network.profile, folder)) is not None:
            up = ["ip", "link", "set", "lo", "up"]
            succeed(hosts["ap"], up, _COMMAND_TIMEOUT_S, "lab linux: configuring ap")
            radius = hosts["ap"].popen(argv)
            stack.callback(joining.end, radius)
            wait_for(enterprise.RADIUS_READY, "freeradius", radius)
        control.mkdir()
        text = hostapd.access_point(
            network, interface=_INTERFACE, folder=folder, control=control / "ap", bridge=bridge
        )
        wait_for(joining.OFFERED, "hostapd", start("ap", text, ["hostapd", *joining.LOG]))
        stations = [role for role in hosts if role.startswith("sta")]
        began_s = time.monotonic()
        # One after the other: in virtual time, the Probe Requests of stations that scan together often collide, and
        # wpa_supplicant repeats a scan after 5 s.
        for role in stations:
            text = hostapd.station(network, folder=folder, control=control / role)
            argv = ["wpa_supplicant", *joining.LOG, "-D", "nl80211", "-i", _INTERFACE, "-c"]
            wait_for(joining.JOINED, f"wpa_supplicant on {role}", start(role, text, argv))
        joined_s = time.monotonic() - began_s
        facts, *others = [joining.joined(_ask(control / role, "STATUS", "SIGNAL_POLL")) for role in stations]
        for other in others:
            for fact, value in facts.items():
                if other[fact] != value:
                    raise AirtollError(
                        f"lab linux: the stations joined with different {fact}: {value} and {other[fact]}"
                    )
        yield {**facts, "joining_ms": joined_s * 1e3}


def _ask(control: Path, *requests: str) -> dict[str, str]:
    """The answers of wpa_supplicant to requests through its control interface (wpa_ctrl.h), as one mapping."""
    answers: dict[str, str] = {}
    with socket(AF_UNIX, SOCK_DGRAM) as client:
        client.settimeout(_COMMAND_TIMEOUT_S)
        client.bind(str(control.with_suffix(".client")))
        client.connect(str(control / _INTERFACE))
        for request in requests:
            client.send(request.encode())
            answers |= joining.pairs(client.recv(4096).decode(errors="replace"))
    return answers


def _pairwise_key(role: str) -> str | None:
    """The key, in hexadecimal digits, that mac80211 of a station uses with the access point; None if open."""
    keys = sorted((minstrel.DEBUG / role / "keys").iterdir())
    # A WEP key belongs to no station.
    for key in [*(key for key in keys if (key / "station").exists()), *keys]:
        return (key / "key").read_text(encoding="ascii").strip()
    return None


def _greet(host: NamespaceHost, addresses: Sequence[str]) -> None:
    """Send the first datagrams to the addresses of a peer."""
    argv = [*python_command(_GREET), *addresses]
    succeed(host, argv, _COMMAND_TIMEOUT_S, f"lab linux: {host.name} cannot reach {addresses[0]}")


@cache
def _missing_command() -> str | None:
    """Return the commands that the lab lacks, with the remedy, or None."""
    return lab_lacks(Linux.name, {**hostapd.PROGRAMS, "iw": "iw", **PACKAGES}, SYSTEM_PATH)
