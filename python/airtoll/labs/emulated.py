"""The common parts of labs on emulated air: the emulator process, the TCP/IP stacks of hosts, and the facts of a link.

One emulator process (Rust, crate `wlan-emulator`) holds the hosts' network namespaces and their devices. The process is
the init process of a PID namespace that every command on the hosts joins, and it exits when its standard input closes.
Namespaces, devices and commands therefore disappear with airtoll, even if airtoll is killed: none of them has a name in
the file system, and nothing requires cleanup. Without root, all of them are in a user namespace.
"""

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import cache
from ipaddress import ip_network
from typing import Any, Final

from airtoll import _rust
from airtoll.clock import Clock
from airtoll.errors import AirtollError, UsageError
from airtoll.host import last_words, succeed
from airtoll.labs.base import Known
from airtoll.labs.lines import Lines
from airtoll.labs.namespace import NamespaceHost
from airtoll.labs.sim import closed_forms
from airtoll.study.cell import Cell
from airtoll.study.factors import Ip
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.scenario import Scenario, scenario_of
from airtoll.study.security import AKMS, SUITES, WITH_PASSPHRASE

MTU_B = 1500

IPS: tuple[Ip, ...] = ("ipv4", "ipv6")

WPA_PASSPHRASE = "a toll on the air"  # noqa: S105 - public on purpose
"""The passphrase of every link, from which a handshake with random nonces derives the keys. It decrypts captures."""

PACKAGES: Final[Mapping[str, str]] = {"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2"}
"""The commands of a lab on emulated air, and Debian's packages with them."""

NO_NAMESPACES: Final = (
    "cannot create network namespaces: run as root, or allow user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1; "
    "on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)"
)
"""The obstacle of every lab if `unshare_options` returns None."""

_ANSWER_TIMEOUT_S = 20.0

_SYSCTLS: Mapping[str, str] = {
    "timestamps": "tcp_timestamps",
    "sack": "tcp_sack",
}
"""Sysctls in net.ipv4 that each network namespace has separately, by setting."""


def pairs(cell: Cell) -> tuple[tuple[str, str], ...]:
    """The pairs of roles that exchange traffic: a station and its server."""
    if cell.topology == "through-ap":
        return tuple((f"sta{2 * pair + 1}", f"sta{2 * pair + 2}") for pair in range(cell.stations))
    stations = ["sta"] if cell.stations == 1 else [f"sta{number + 1}" for number in range(cell.stations)]
    return tuple((station, "server" if cell.topology == "wired-ap" else "ap") for station in stations)


def wep_key(cell: Cell, seed: int) -> str | None:
    """The WEP key shared by all stations, in hexadecimal digits; None without WEP."""
    suite = SUITES[cell.security]
    return key(f"airtoll WEP key {seed}", suite.key_b) if suite.is_wep else None


def key(text: str, octets: int) -> str:
    """The key derived from the text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).digest()[:octets].hex()


def passphrase_of(wpa_key_mgmt: str | None) -> str | None:
    """The passphrase of a link with this key management; None if its keys do not come from a passphrase."""
    is_of_passphrase = wpa_key_mgmt is not None and AKMS[wpa_key_mgmt].exchange in WITH_PASSPHRASE
    return WPA_PASSPHRASE if is_of_passphrase else None


def air_scenario(cell: Cell, settings: LinkSettings, **words: Any) -> Scenario:
    levels = {"transport": "udp", "traffic": "saturated", **words}
    return scenario_of(cell, settings, **levels)


def capacity_bit_per_s(scenario: Scenario) -> float:
    """UDP payload rate of a single saturated station, in closed form."""
    throughput_mbps: float = closed_forms(scenario).values["single_station"]["throughput_mbps"]
    return throughput_mbps * 1e6


def capacity_open_bit_per_s(cell: Cell, settings: LinkSettings) -> float:
    """Highest UDP payload rate that the cell's senders together put on an open link, when all are saturated.

    With topology `through-ap`, the access point takes the same share as each sender to forward the packets.
    """
    one_hop = capacity_bit_per_s(air_scenario(cell, settings, security="open"))
    return one_hop * cell.stations / (cell.stations + 1) if cell.topology == "through-ap" else one_hop


def known_of(
    cell: Cell,
    settings: LinkSettings,
    seed: int,
    clock: Clock,
    rate_kbit_per_s: float | None = None,
    *,
    blocks_senders: bool = True,
) -> Known:
    """The properties of a link with hosts that probes may read. The cell's security is the level of its cipher."""
    return Known(
        capacity_open_bit_per_s=capacity_open_bit_per_s(cell, settings),
        cipher=cell.security,
        rate_kbit_per_s=rate_kbit_per_s,
        seed=seed,
        congestion_control=settings.congestion_control,
        tcp_window_bytes=settings.window,
        udp_buffer_bytes=settings.udp_buffer,
        pacing_timer_us=settings.pacing_timer,
        blocks_senders=blocks_senders,
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


def _stack_facts(cell: Cell, settings: LinkSettings, stack: Stack | None) -> dict[str, Any]:
    """Settings of the hosts' TCP/IP stacks; None is the kernel's default."""
    return {
        "stack": cell.stack,
        "stack_stands_for": stack.system if stack else None,
        "congestion_control": settings.congestion_control,
        "tcp_window_bytes": settings.window,
        "tcp_receive_buffer_bytes": settings.receive_buffer,
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
    if (size_b := settings.receive_buffer) is not None:
        file = "/proc/sys/net/ipv4/tcp_rmem"  # least, default and most
        sizes = f"$1 {size_b} $(($3 > {size_b} ? $3 : {size_b}))"
        script = f"set -- $(cat {file}) && echo {sizes} > {file} || exit; {script}"
    if link_overhead_b is not None:
        # Otherwise the kernel sends group membership reports on the device; it still does if this write fails.
        script = f"echo 1 2>&- > /proc/sys/net/ipv6/conf/{device}/disable_ipv6; {script}"
    succeed(host, ["sh", "-c", script], _ANSWER_TIMEOUT_S, f"lab {emulator.lab}: configuring {role}")


@cache
def unshare_options() -> tuple[str, ...] | None:
    """Options of unshare(1) with which this user can create namespaces, privileged first; None if none work."""
    ways = [(), ("--user", "--map-root-user")] if os.geteuid() == 0 else [("--user", "--map-root-user")]
    for way in ways:
        probe = ["unshare", *way, "--net", "--pid", "--fork", "true"]
        if subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return way
    return None


class Emulator:
    """The emulator process. Its requests and answers are lines of JSON on its standard input and output."""

    def __init__(self, config: dict[str, Any], lab: str, program: Sequence[str]) -> None:
        """`program` is the command of the emulator; errors name the lab."""
        self.lab = lab
        way = unshare_options()
        if way is None:
            raise UsageError(f"lab {lab} {NO_NAMESPACES}")
        self._user_namespace = bool(way)
        self._hosts: dict[str, NamespaceHost] = {}
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
        """The host with this role, whose agent ends with the emulator."""
        if role not in self._hosts:
            fd = self._namespace_fds[role]
            self._hosts[role] = NamespaceHost(
                role,
                self._pid,
                fd,
                user_namespace=self._user_namespace,
            )
        return self._hosts[role]

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
        for host in self._hosts.values():
            host.connection.close()
        try:
            _, self._stderr = self._process.communicate(timeout=_ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, self._stderr = self._process.communicate()

    def check_end(self) -> None:
        """Raise AirtollError if the emulator could not finish its work (a capture that no longer fits on the disk)."""
        if self._process.returncode != 0:
            raise AirtollError(f"lab {self.lab}: the emulator failed: {last_words(self._stderr)}")
