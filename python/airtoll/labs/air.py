"""Lab `air`: real programs and the real Linux TCP/IP stack over emulated air, in real time.

One emulator process (Rust, `wlan-link`) holds the two hosts' network namespaces and a TUN device in each. It
is the init process of a PID namespace that every command on the hosts joins, and it ends when its standard
input closes. So everything goes with airtoll itself, even when that is killed: nothing has a name in the file
system, and nothing has to be cleaned up. Without root, all of this stands in a user namespace.
"""

import hashlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

from airtoll import _rust
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.base import Link, last_words
from airtoll.labs.namespace import NamespaceHost
from airtoll.study.cell import Cell, Ip, Security

SECURITY = ("open", "ccmp")
"""The security levels whose frames the emulator can seal."""

ADDRESSES: dict[tuple[str, Ip], str] = {
    ("ap", "ipv4"): "192.0.2.1",
    ("sta", "ipv4"): "192.0.2.2",
    ("ap", "ipv6"): "2001:db8::1",
    ("sta", "ipv6"): "2001:db8::2",
}
"""Documentation prefixes (RFC 5737, RFC 3849): they stand for no one's network."""

MTU_B = 1500
QUEUE_LIMIT_MPDUS = 128

_IP_UDP_HEADERS_B: dict[Ip, int] = {"ipv4": 20 + 8, "ipv6": 40 + 8}
_EMULATOR = [sys.executable, "-I", "-c", "import sys; from airtoll._rust import emulate; sys.exit(emulate())"]
_ANSWER_TIMEOUT_S = 20.0


class Air:
    """Access point and station as namespaces of this machine, joined by the emulator."""

    name = "air"

    def check(self, cell: Cell) -> str | None:
        """Why this lab cannot do the cell, or None if it can."""
        if cell.security not in SECURITY:
            return f"security '{cell.security}': lab air has {', '.join(SECURITY)}"
        return missing()

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        """Bring the link up; leaving the context takes everything down again."""
        mode = {"phy": cell.phy, "rate": cell.rate, "bandwidth": cell.bandwidth, "gi": cell.gi}
        temporal_key = None
        if cell.security != "open":
            temporal_key = hashlib.sha256(f"airtoll temporal key {seed}".encode()).hexdigest()[:32]
        config = {
            **mode,
            "security": cell.security,
            "temporal_key": temporal_key,
            "queue_limit_mpdus": QUEUE_LIMIT_MPDUS,
            "seed": seed,
            "pcap": None if pcap is None else str(pcap),
        }
        emulator = _Emulator(config)
        try:
            hosts = {role: emulator.host(role) for role in ("ap", "sta")}
            for role, host in hosts.items():
                _configure(host, role)
            facts = {
                **emulator.facts,
                "emulated": True,
                "temporal_key": temporal_key,
                "mtu_bytes": MTU_B,
                "capacity_open_bit_per_s": capacity_bit_per_s(cell, "open"),
                # No closed form stands for TCP's acknowledgements and windows.
                "predicted_bit_per_s": capacity_bit_per_s(cell, cell.security)
                if cell.transport == "udp"
                else None,
            }
            yield Link(hosts=hosts, addresses=ADDRESSES, facts=facts, counters=emulator.counters)
        except AirtollError as error:
            if (death := emulator.died()) is not None:
                raise death from error
            raise
        finally:
            emulator.close()
        emulator.check_end()


def capacity_bit_per_s(cell: Cell, security: Security) -> float:
    """UDP payload that one station with always a datagram to send delivers, in closed form."""
    packet_b = _IP_UDP_HEADERS_B[cell.ip] + cell.packet_size
    msdus_per_s = _rust.saturated_msdus_per_s(
        cell.phy, cell.rate, cell.bandwidth, cell.gi, security, packet_b
    )
    return msdus_per_s * cell.packet_size * 8


@cache
def missing() -> str | None:
    """What keeps the lab from working on this machine, with the remedy; None if nothing does."""
    for command, package in (
        ("unshare", "util-linux"),
        ("nsenter", "util-linux"),
        ("ip", "iproute2"),
    ):
        if which(command) is None:
            return f"lab air needs the command '{command}': apt-get install {package}"
    tun = Path("/dev/net/tun")
    if not tun.exists():
        return "lab air needs /dev/net/tun: modprobe tun, or give the container the device"
    if not os.access(tun, os.R_OK | os.W_OK):
        return "lab air may not open /dev/net/tun: run as root, or chmod 0666 /dev/net/tun"
    if _unshare_options() is None:
        return (
            "lab air may not make network namespaces: run as root, or allow user namespaces "
            "(sysctl kernel.unprivileged_userns_clone=1; "
            "on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)"
        )
    return None


@cache
def _unshare_options() -> tuple[str, ...] | None:
    """Options of unshare(1) with which this user may make namespaces, the privileged way first."""
    ways = [(), ("--user", "--map-root-user")] if os.geteuid() == 0 else [("--user", "--map-root-user")]
    for way in ways:
        probe = ["unshare", *way, "--net", "--pid", "--fork", "true"]
        if subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return way
    return None


def _configure(host: NamespaceHost, role: str) -> None:
    """Give the host its addresses. TUN devices have no neighbours to resolve: no ARP, no DAD."""
    commands = "\n".join(
        [
            "link set lo up",
            f"link set {_rust.DEVICE_NAME} mtu {MTU_B} txqueuelen 1000 addrgenmode none up",
            f"addr add {ADDRESSES[role, 'ipv4']}/24 dev {_rust.DEVICE_NAME}",
            f"addr add {ADDRESSES[role, 'ipv6']}/64 dev {_rust.DEVICE_NAME} nodad",
        ]
    )
    done = host.run(["sh", "-c", f"ip -batch - <<'END'\n{commands}\nEND"], timeout_s=_ANSWER_TIMEOUT_S)
    if done.returncode != 0:
        raise AirtollError(f"lab air: configuring {role}: {last_words(done.stderr, done.stdout)}")


class _Emulator:
    """The emulator process: its configuration goes in and its answers come out as lines of JSON."""

    def __init__(self, config: dict[str, Any]) -> None:
        way = _unshare_options()
        if way is None:
            raise UsageError(missing() or "lab air may not make network namespaces")
        self._user_namespace = bool(way)
        self._process = subprocess.Popen(
            ["unshare", *way, "--net", "--pid", "--fork", "--kill-child", "--", *_EMULATOR],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._unread = b""
        try:
            ready = self._ask(config)
        except BaseException:
            self.close()
            raise
        self._pid: int = ready.pop("pid")
        self._namespace_fds: dict[str, int] = ready.pop("namespace_fds")
        self.facts: dict[str, Any] = ready

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
            raise AirtollError(f"lab air: {answer['error']}")
        return answer

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(_ANSWER_TIMEOUT_S):
                    raise AirtollError(
                        f"lab air: the emulator has not answered for {_ANSWER_TIMEOUT_S:.0f} s"
                    )
                chunk = os.read(self._process.stdout.fileno(), 65536)
                if not chunk:
                    raise self._failure()
                self._unread += chunk
        line, self._unread = self._unread.split(b"\n", 1)
        return line

    def died(self) -> AirtollError | None:
        """The error to report if the emulator has ended although no one asked it to."""
        try:
            # What fails first is a command in its namespaces: its own end may take a moment to show.
            self._process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            return None
        return self._failure()

    def _failure(self) -> AirtollError:
        """The emulator has ended unasked: in its own last words, or it was killed."""
        _, stderr = self._process.communicate()
        # unshare(1), its parent, also has words for a killed child, but only about itself.
        own = b"\n".join(line for line in stderr.splitlines() if not line.startswith(b"unshare: sigprocmask"))
        return AirtollError(
            f"lab air: the emulator {'ended: ' + last_words(own) if own.strip() else 'was killed'}"
        )

    def close(self) -> None:
        """End the emulator, and with it everything in its namespaces; returns when all is gone."""
        try:
            _, self._stderr = self._process.communicate(timeout=_ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, self._stderr = self._process.communicate()

    def check_end(self) -> None:
        """Raise if the emulator could not finish its work (a capture that no longer fits on the disk)."""
        if self._process.returncode != 0:
            raise AirtollError(f"lab air: the emulator failed: {last_words(self._stderr)}")
