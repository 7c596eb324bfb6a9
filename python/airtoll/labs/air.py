"""Lab `air`: real programs and the real Linux TCP/IP stack over emulated air, in real time.

One emulator process (Rust, crate `wlan-emulator`) holds the hosts' network namespaces, each with a TUN device. The
process is the init process of a PID namespace that every command on the hosts joins, and it exits when its standard
input closes. Namespaces, devices and commands therefore disappear with airtoll, even if airtoll is killed: none of them
has a name in the file system, and nothing requires cleanup. Without root, all of them are in a user namespace.
"""

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

from airtoll import _rust
from airtoll.clock import Clock
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.base import Known, Link, lab_lacks, last_words
from airtoll.labs.lines import Lines
from airtoll.labs.namespace import NamespaceHost, python_command
from airtoll.labs.overlay import Member, Overlay, overlay
from airtoll.labs.sim import closed_forms, obstacle
from airtoll.study.cell import Cell, resolved
from airtoll.study.factors import FACTORS, STATIONS, Ip, StackName, level_text
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.quantity import one_of
from airtoll.study.scenario import Scenario, scenario_of
from airtoll.study.security import EAP, GROUP, SecurityProfile, with_ready_made

CAN_SET = (
    *(
        "preamble",
        "band",
        "wpa_key_mgmt",
        "ieee80211w",
        "beacon_prot",
        "access_category",
        "txop_limit",
        "retry_limit",
        "rate_control",
        "ampdu",
    ),
    *("rts_threshold", "protection", "beacon_interval", "error_model"),
    *("queue", "queue_limit", "fragmentation_threshold", "legacy_fallback"),
    *(
        "congestion_control",
        "window",
        "udp_buffer",
        "coalesce",
        "timestamps",
        "sack",
        "segmentation_offload",
        "ip_fragments",
    ),
    *("processor_frame", "processor_byte", "processor_clock", "wired_rate", "wired_delay"),
)
"""The settings of a study's [link] that this lab supports."""

MTU_B = 1500

IPS: tuple[Ip, ...] = ("ipv4", "ipv6")

WPA_PASSPHRASE = "a toll on the air"  # noqa: S105 - public on purpose
"""The passphrase of every link, from which a handshake with random nonces derives the keys. It decrypts captures."""

_OF_HOSTS: Final = ("sae", "wpa-psk-sha256")
"""The key managements of `airtoll link`, which seals frames on the hosts; the first is the default."""

_BEACON_KEY_OCTETS = 16  # of BIP-CMAC-128

_EMULATOR = python_command("import sys; from airtoll._rust import emulate; sys.exit(emulate())")
_ANSWER_TIMEOUT_S = 20.0


class Air:
    """An access point, stations and a server behind it as namespaces of this machine, joined by the emulator."""

    name = "air"
    virtual = False

    def __init__(
        self,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        clock: Clock = "real",
        profiles: Mapping[str, SecurityProfile] | None = None,
    ) -> None:
        """`link`: the study's settings of the link; `stacks`: its TCP/IP stacks; `clock`: that of its hosts;
        `profiles`: its security profiles.
        """
        self._clock = clock
        self._link = link or LinkSettings()
        self._stacks = stacks or {}
        self._profiles = with_ready_made(profiles)

    def _resolved(self, cell: Cell) -> tuple[Cell, LinkSettings]:
        """The cell with its cipher as its security level, and its settings of the link."""
        return resolved(cell, self._link, self._stacks, self._profiles)

    def check(self, cell: Cell) -> str | None:
        """Return why this lab does not support the cell, or None if it does."""
        of_cipher, settings = self._resolved(cell)
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
            if setting not in CAN_SET:
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
        of_processor = [word for word in ("processor_frame", "processor_byte") if word in given]
        if of_processor and cell.crypto_at == "host" and cell.security != "open":
            yield f"link.{of_processor[0]}: requires crypto_at card in lab air; with host, the real CPU sets the time"

    def missing(self) -> str | None:
        """Return what prevents the lab from running on this machine, with the remedy, or None."""
        return missing_command() if self._clock == "virtual" else missing()

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        """Bring the link up. Leaving the context takes it down."""
        cell, settings = self._resolved(cell)
        by_link = _is_sealed_by_link(cell)
        overhead_b = _rust.link_overhead(cell.security) if by_link else None
        beacon_key = _key(f"airtoll beacon key {seed}", _BEACON_KEY_OCTETS)
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
        emulator = Emulator(config)
        with ExitStack() as stack:
            stack.enter_context(emulator)
            hosts = {role: emulator.host(role) for role in emulator.roles}
            for host in hosts.values():
                configure(host, emulator, overhead_b, settings)
            link = stack.enter_context(_overlay(cell, settings, hosts, emulator)) if by_link else None
            known = known_of(cell, settings, emulator, seed, self._clock)
            facts = {
                **emulator.facts,
                "beacon_key": beacon_key if settings.beacon_prot and cell.security != "open" else None,
                "link_overhead_bytes": overhead_b,
                **facts_of(cell, settings, known, self._clock, self._stacks.get(cell.stack)),
                **(link.facts() if link else {}),
            }
            facts["wpa_passphrase"] = passphrase_of(facts["wpa_key_mgmt"])

            def counters() -> dict[str, Any]:
                return emulator.counters() | (link.counters() if link else {})

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


def known_of(cell: Cell, settings: LinkSettings, emulator: "Emulator", seed: int, clock: Clock) -> Known:
    """The properties of a link on emulated air that probes may read. The cell's security is the level of its cipher."""
    return Known(
        capacity_open_bit_per_s=_open_capacity_bit_per_s(cell, settings),
        cipher=cell.security,
        rate_kbit_per_s=emulator.facts.get("rate_kbit_per_s"),
        seed=seed,
        congestion_control=settings.congestion_control,
        tcp_window_bytes=settings.window,
        udp_buffer_bytes=settings.udp_buffer,
        virtual_time=clock == "virtual",
    )


def facts_of(
    cell: Cell, settings: LinkSettings, known: Known, clock: Clock, stack: Stack | None
) -> dict[str, Any]:
    """The facts that every link on emulated air has."""
    return {
        "emulated": True,
        "clock": clock,
        "seed": known.seed,
        "mtu_bytes": MTU_B,
        "capacity_open_bit_per_s": known.capacity_open_bit_per_s,
        **_stack_facts(cell, settings, stack),
    }


def passphrase_of(wpa_key_mgmt: str | None) -> str | None:
    """The passphrase of a link with this key management; None if its keys do not come from a passphrase."""
    return None if wpa_key_mgmt is None or wpa_key_mgmt in {"owe", *EAP} else WPA_PASSPHRASE


def _open_capacity_bit_per_s(cell: Cell, settings: LinkSettings) -> float:
    """Highest UDP payload rate that the cell's senders together put on an open link, when all are saturated.

    With topology `through-ap`, the access point takes the same share as each sender to forward the packets.
    """
    one_hop = capacity_bit_per_s(air_scenario(cell, settings, security="open"))
    return one_hop * cell.stations / (cell.stations + 1) if cell.topology == "through-ap" else one_hop


def air_scenario(cell: Cell, settings: LinkSettings, **words: Any) -> Scenario:
    levels = {"transport": "udp", "traffic": "saturated", **words}
    return scenario_of(cell, settings, **levels)


def _of_profile(level: str, profile: SecurityProfile) -> Iterator[str]:
    """Reasons why the emulator cannot build the frames of a security profile that hostapd supports."""
    if enterprise := [akm for akm in profile.akms if akm in EAP]:
        yield f"security '{level}': lab air does not support 802.1X (wpa_key_mgmt {enterprise[0]}); lab linux does"
    if "sae-ext-key" in profile.akms:
        yield f"security '{level}': lab air does not support wpa_key_mgmt sae-ext-key; lab linux does"
    if len(profile.ciphers) > 1:
        yield f"security '{level}': lab air supports a single pairwise cipher"
    if profile.group not in (None, profile.cipher):
        yield f"security '{level}': lab air supports a group cipher only if it is the pairwise cipher"
    if profile.wpa not in (None, 1 if profile.cipher == "tkip" else 2):
        yield f"security '{level}': lab air supports wpa 1 only for tkip, and wpa 2 for other ciphers"
    if profile.sae_pwe == 0:
        yield f"security '{level}': lab air supports sae_pwe 1 and 2 (hash-to-element), not 0"
    if {*(profile.sae_groups or ()), profile.owe_group or GROUP} != {GROUP}:
        yield f"security '{level}': lab air supports only group {GROUP} of SAE and OWE"


def _is_sealed_by_link(cell: Cell) -> bool:
    """Whether `airtoll link` seals the frames on the hosts, above their cards."""
    return cell.security.startswith("enhanced") and cell.sealed_at == "host"


def _datagram_senders(cell: Cell) -> int:
    """Highest number of stations, or of pairs, at which the last can start while the others fill the AP's queue."""
    if cell.direction == "both":
        return 3
    return 4 if cell.topology == "through-ap" else len(STATIONS.labs["air"])


def pairs(cell: Cell) -> tuple[tuple[str, str], ...]:
    """The pairs of roles that exchange traffic: a station and its server."""
    if cell.topology == "through-ap":
        return tuple((f"sta{2 * pair + 1}", f"sta{2 * pair + 2}") for pair in range(cell.stations))
    stations = ["sta"] if cell.stations == 1 else [f"sta{number + 1}" for number in range(cell.stations)]
    return tuple((station, "server" if cell.topology == "wired-ap" else "ap") for station in stations)


def wep_key(cell: Cell, seed: int) -> str | None:
    """The WEP key shared by all stations, in hexadecimal digits; None without WEP."""
    if not cell.security.startswith("wep"):
        return None
    return _key(f"airtoll WEP key {seed}", _rust.temporal_key_len(cell.security))


def _key(text: str, octets: int) -> str:
    """The key derived from the text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).digest()[:octets].hex()


def _levels(factor: str, levels: tuple[Any, ...]) -> str:
    """Format the supported levels of a factor."""
    texts = [level_text(factor, level) for level in levels]
    return f"{texts[0]} to {texts[-1]}" if factor == "stations" else ", ".join(texts)


def capacity_bit_per_s(scenario: Scenario) -> float:
    """UDP payload rate of a single saturated station, in closed form."""
    throughput_mbps: float = closed_forms(scenario).values["single_station"]["throughput_mbps"]
    return throughput_mbps * 1e6


PACKAGES: Final[Mapping[str, str]] = {"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2"}
"""The commands of a lab on emulated air, and Debian's packages with them."""


@cache
def missing_command() -> str | None:
    """Return the first command that the lab lacks, with the remedy, or None."""
    return lab_lacks("air", PACKAGES)


@cache
def missing() -> str | None:
    """Return what prevents the lab from running on this machine in real time, with the remedy, or None."""
    if (reason := missing_command()) is not None:
        return reason
    tun = Path("/dev/net/tun")
    if not tun.exists():
        return "lab air requires /dev/net/tun: modprobe tun, or pass the device to the container"
    if not os.access(tun, os.R_OK | os.W_OK):
        return "lab air cannot open /dev/net/tun: run as root, or chmod 0666 /dev/net/tun"
    if _unshare_options() is None:
        return (
            "lab air cannot create network namespaces: run as root, or allow user namespaces "
            "(sysctl kernel.unprivileged_userns_clone=1; "
            "on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)"
        )
    return None


@cache
def _unshare_options() -> tuple[str, ...] | None:
    """Options of unshare(1) with which this user can create namespaces, privileged first; None if none work."""
    ways = [(), ("--user", "--map-root-user")] if os.geteuid() == 0 else [("--user", "--map-root-user")]
    for way in ways:
        probe = ["unshare", *way, "--net", "--pid", "--fork", "true"]
        if subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return way
    return None


_SYSCTLS: Mapping[str, str] = {
    "timestamps": "tcp_timestamps",
    "sack": "tcp_sack",
}
"""Sysctls in net.ipv4 that each network namespace has separately, by setting."""


def _stack_facts(cell: Cell, settings: LinkSettings, stack: Stack | None) -> dict[str, Any]:
    """Settings of the hosts' TCP/IP stacks; None is the kernel's default."""
    return {
        "stack": cell.stack,
        "stack_stands_for": stack.system if stack else None,
        "congestion_control": settings.congestion_control,
        "tcp_window_bytes": settings.window,
        "udp_buffer_bytes": settings.udp_buffer,
        "tcp_timestamps": settings.timestamps,
        "tcp_sack": settings.sack,
        "segmentation_offload": settings.segmentation_offload,
    }


def configure(
    host: NamespaceHost,
    emulator: "Emulator",
    link_overhead_b: int | None,
    settings: LinkSettings,
    device: str = _rust.DEVICE_NAME,
) -> None:
    """Configure the host's addresses and TCP/IP stack. TUN devices have no neighbours to resolve: no ARP, no DAD.

    Under a link, which adds `link_overhead_b` to each packet, the device carries only the link's Ethernet frames. The
    addresses are then on the link's own device.
    """
    role = host.name
    if link_overhead_b is not None:
        own = f"mtu {MTU_B + link_overhead_b} address {emulator.macs[role]} arp off"
        addresses = []
    else:
        own = f"mtu {MTU_B}"
        addresses = [
            f"addr add {emulator.addresses[role, 'ipv4']}/24 dev {device}",
            f"addr add {emulator.addresses[role, 'ipv6']}/64 dev {device} nodad",
        ]
        if settings.congestion_control is not None:
            # Set per route: a namespace's sysctl accepts only algorithms that unprivileged users may choose.
            subnets = (ip_network(line.split()[2], strict=False) for line in list(addresses))
            addresses += [
                f"route replace {net} dev {device} metric 1 congctl {settings.congestion_control}"
                for net in subnets
            ]
    if settings.segmentation_offload is False:
        own += " gso_max_segs 1"
    # Set before the device comes up: with a link-local address, the kernel would solicit routers.
    silent = f"link set {device} {own} txqueuelen 1000 addrgenmode none"
    commands = "\n".join(["link set lo up", silent, f"link set {device} up", *addresses])
    script = f"ip -batch - <<'END'\n{commands}\nEND"
    for setting, name in _SYSCTLS.items():
        if (value := getattr(settings, setting)) is not None:
            script = f"echo {int(value)} > /proc/sys/net/ipv4/{name} || exit; {script}"
    if link_overhead_b is not None:
        # Otherwise the kernel sends group membership reports on the device; it still does if this write fails.
        script = f"echo 1 2>&- > /proc/sys/net/ipv6/conf/{device}/disable_ipv6; {script}"
    done = host.run(["sh", "-c", script], timeout_s=_ANSWER_TIMEOUT_S)
    if done.returncode != 0:
        raise AirtollError(f"lab {emulator.lab}: configuring {role}: {last_words(done.stderr, done.stdout)}")


class Emulator:
    """The emulator process. Its requests and answers are lines of JSON on its standard input and output."""

    def __init__(self, config: dict[str, Any], lab: str = "air", program: Sequence[str] = _EMULATOR) -> None:
        self.lab = lab  # named in errors
        way = _unshare_options()
        if way is None:
            raise UsageError(missing() or "lab air cannot create network namespaces")
        self._user_namespace = bool(way)
        self._process = subprocess.Popen(
            ["unshare", *way, "--net", "--pid", "--fork", "--kill-child", "--", *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._lines = Lines(self._process.stdout)
        try:
            ready = self._ask(config)
        except BaseException:
            self.close()
            raise
        self._pid: int = ready.pop("pid")
        self._namespace_fds: dict[str, int] = ready.pop("namespace_fds")
        self.roles: Sequence[str] = tuple(self._namespace_fds)
        addresses = ready.pop("addresses")
        self.macs: dict[str, str] = {role: own.pop("mac") for role, own in addresses.items()}
        self.addresses: dict[tuple[str, Ip], str] = {
            (role, ip): address for role, own in addresses.items() for ip, address in own.items()
        }
        self.facts: dict[str, Any] = ready

    def __enter__(self) -> "Emulator":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End the emulator. Raises AirtollError if it had already ended or could not finish its work."""
        death = self.died() if isinstance(error, AirtollError) else None
        self.close()
        if death is not None:
            raise death from error
        if error is None:
            self.check_end()

    def host(self, role: str) -> NamespaceHost:
        return NamespaceHost(role, self._pid, self._namespace_fds[role], user_namespace=self._user_namespace)

    def counters(self) -> dict[str, Any]:
        """Totals since the link came up."""
        return self._ask("counters")

    def _ask(self, question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        answer: dict[str, Any] = json.loads(self._read_line())
        if "error" in answer:
            raise AirtollError(f"lab {self.lab}: {answer['error']}")
        return answer

    def _read_line(self) -> bytes:
        try:
            line = self._lines.next(time.monotonic() + _ANSWER_TIMEOUT_S)
        except TimeoutError:
            raise AirtollError(
                f"lab {self.lab}: the emulator did not answer within {_ANSWER_TIMEOUT_S:.0f} s"
            ) from None
        if line is None:
            raise self._failure()
        return line

    def died(self) -> AirtollError | None:
        """The error to report if the emulator ended unexpectedly, or None if it still runs."""
        try:
            # Commands in its namespaces fail first; the end of the emulator itself may be visible a little later.
            self._process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            return None
        return self._failure()

    def _failure(self) -> AirtollError:
        """The error for an emulator that ended unexpectedly: its last words, or that it was killed."""
        _, stderr = self._process.communicate()
        # unshare(1), the parent, also prints a line when its child is killed, but the line is about unshare itself.
        own = b"\n".join(line for line in stderr.splitlines() if not line.startswith(b"unshare: sigprocmask"))
        return AirtollError(
            f"lab {self.lab}: the emulator {'ended: ' + last_words(own) if own.strip() else 'was killed'}"
        )

    def close(self) -> None:
        """End the emulator and every process in its namespaces, and wait until all have ended."""
        try:
            _, self._stderr = self._process.communicate(timeout=_ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, self._stderr = self._process.communicate()

    def check_end(self) -> None:
        """Raise AirtollError if the emulator could not finish its work (a capture that no longer fits on the disk)."""
        if self._process.returncode != 0:
            raise AirtollError(f"lab {self.lab}: the emulator failed: {last_words(self._stderr)}")
