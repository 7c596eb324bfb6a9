"""Round-trip time by ping-pong: one message of the packet size at a time on an otherwise idle link.

Two tools measure in the same way: they read the clock, send, wait until the message is back, read the clock and send
the next message. On the same path, their medians agree within a few percent. A sample's `probe` names its tool.

- sockperf. Version 3.7 supports only IPv4 addresses (other versions are tested, not assumed), waits indefinitely for
  the first lost datagram, pauses for two seconds before it begins, and gives no values of its first 0.4 s.
- pingpong, airtoll's own tool (crate `airtoll-agent`, module pingpong), for cells that sockperf does not support.

`tool="auto"` uses sockperf for the IP versions that it supports, and pingpong otherwise. If datagrams are lost,
sockperf's runs are invalid for that reason; `tool="pingpong"` measures such links.

With several stations, only the first one sends.

| metric         | unit | meaning                                                                            |
|----------------|------|------------------------------------------------------------------------------------|
| rtt            | ms   | from before the send to after the receive: includes both stacks and wake-ups       |
| datagrams_sent | 1    | UDP: messages sent within the window                                               |
| datagrams_lost | 1    | UDP: no answer within 250 ms; these have no round-trip time, rather than 0         |
"""

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from airtoll.errors import AirtollError
from airtoll.labs.base import Host, Link, last_words
from airtoll.probes import process
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Ip, Transport

Tool = Literal["auto", "sockperf", "pingpong"]

SOCKPERF_PORT = 11111
PINGPONG_PORT = 11112
REPLY_TIMEOUT_S = 0.25

SOCKPERF_WARMUP_S = 0.4
SOCKPERF_COOLDOWN_S = 0.05
"""Times at the start and at the end that sockperf measures but does not show (its Defs.h)."""

PINGPONG = [
    *(sys.executable, "-I", "-c"),
    "import sys; from airtoll._rust import pingpong; sys.exit(pingpong(sys.argv[1:]))",
]
"""Imports only the binding, not the packages that the probes require, so that it starts fast."""

_COVERED = 0.75
"""The last round trip must end after this share of the window."""

_SOCKPERF_VERSION = re.compile(rb"version #(\S+)")
_SOCKPERF_TOTAL = re.compile(rb"\[Total Run\] RunTime=[\d.]+ sec;(?: Warm up time=(\d{1,9}) msec;)?")
_SOCKPERF_VALID = re.compile(
    rb"\[Valid Duration\] RunTime=[\d.]+ sec; SentMessages=(\d{1,18}); ReceivedMessages=(\d{1,18})"
)
_SOCKPERF_DROPPED = re.compile(rb"# dropped messages = (\d{1,18})")
_SOCKPERF_ROW = re.compile(rb"^\d+, (\d{1,9}\.\d{9}), \d{1,9}\.\d{9}, (\d{1,12}\.\d{3})$", re.MULTILINE)
_PINGPONG_HEAD = re.compile(rb'^\{.*"pingpong":"([^"]*)"')
_PINGPONG_ROW = re.compile(rb"\[(\d{1,18}),(\d{1,18}|null)\]")
_PINGPONG_TAIL = re.compile(rb'\{"lost":(\d{1,18}),"sent":(\d{1,18})\}')


@dataclass(frozen=True)
class RoundTrips:
    """The parsed output of one tool."""

    version: str
    samples: Sequence[Sample]
    faults: Sequence[str]


class Rtt:
    """Measures a cell by ping-pong."""

    name = "rtt"

    def __init__(self, tool: Tool = "auto") -> None:
        self._tool: Tool = tool
        self._speaks: dict[Ip, bool] = {"ipv4": True}

    def missing(self) -> str | None:
        """Return what must be installed before this probe can run, or None."""
        return None if self._tool == "pingpong" else process.lacking({"sockperf": "sockperf"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with the tool's own words if it fails."""
        tool = self._tool
        if tool == "auto":
            tool = "sockperf" if self._sockperf_speaks(link.hosts[link.pairs[0][0]], cell.ip) else "pingpong"
        return _sockperf(link, cell, method) if tool == "sockperf" else _pingpong(link, cell, method)

    def _sockperf_speaks(self, host: Host, ip: Ip) -> bool:
        """Whether this sockperf accepts an IPv6 address: tries to connect to a port on which nothing listens."""
        if ip not in self._speaks:
            tried = ["sockperf", "ping-pong", "--tcp", "-i", "::1", "-p", "1", "-t", "1"]
            self._speaks[ip] = b"Invalid address" not in process.output_of(host, tried)
        return self._speaks[ip]


class PingPong(Rtt):
    """Measures by pingpong alone, for hosts in virtual time: sockperf reads the processor's own counter of time."""

    def __init__(self) -> None:
        super().__init__("pingpong")


def _sockperf(link: Link, cell: Cell, method: Method) -> Measurement:
    window = Window.of(method, least_warmup_s=SOCKPERF_WARMUP_S)
    seconds = math.ceil(window.closes_s + SOCKPERF_COOLDOWN_S)
    common = ["-i", link.addresses[link.pairs[0][1], cell.ip], "-p", str(SOCKPERF_PORT)]
    common += ["--tcp"] if cell.transport == "tcp" else []
    server = ["sockperf", "server", *common]
    client = ["sockperf", "ping-pong", *common, "-m", str(cell.packet_size), "-t", str(seconds)]
    client += ["--full-rtt", "--full-log", "/dev/stdout"]
    output = _exchange(link, cell.transport, SOCKPERF_PORT, server, client, seconds)
    trips = parse_sockperf(output, cell.transport, window)
    facts = {"tool": "sockperf", "version": trips.version, "server": server, "client": client}
    return Measurement(trips.samples, {"sockperf.txt": output}, facts, trips.faults)


def _pingpong(link: Link, cell: Cell, method: Method) -> Measurement:
    window = Window.of(method)
    address = link.addresses[link.pairs[0][1], cell.ip]
    where = [
        cell.transport,
        f"[{address}]:{PINGPONG_PORT}" if ":" in address else f"{address}:{PINGPONG_PORT}",
    ]
    idle_ms, window_ms, timeout_ms = (
        str(math.ceil(span_s * 1000)) for span_s in (process.GRACE_S, window.closes_s, REPLY_TIMEOUT_S)
    )
    server = [*PINGPONG, "serve", *where, idle_ms]
    client = [*PINGPONG, "ping", *where, str(cell.packet_size), window_ms, timeout_ms]
    output = _exchange(link, cell.transport, PINGPONG_PORT, server, client, window.closes_s)
    trips = parse_pingpong(output, cell.transport, window)
    facts = {
        "tool": "pingpong",
        "version": trips.version,
        "server": server,
        "client": client,
        "reply_timeout_s": REPLY_TIMEOUT_S,
    }
    return Measurement(trips.samples, {"pingpong.jsonl": output}, facts, trips.faults)


def _exchange(
    link: Link,
    transport: Transport,
    port: int,
    server_argv: list[str],
    client_argv: list[str],
    seconds: float,
) -> bytes:
    """Run server and client and return the client's stdout. Raises AirtollError if either fails."""
    sta, ap = (link.hosts[role] for role in link.pairs[0])
    tool = "sockperf" if server_argv[0] == "sockperf" else "pingpong"
    who = f"{tool} server on {ap.name}"
    with process.serving(ap, server_argv, transport, port, who) as server:
        if server.poll() is not None:
            output = process.finish(server, process.GRACE_S, who)
            raise AirtollError(f"{who} exited before a client connected: {_complaint(*output)}")
        with process.started(sta, client_argv) as client:
            stdout, stderr = process.finish(
                client, seconds + 2 * process.GRACE_S, f"{tool} client on {sta.name}"
            )
    if not _PINGPONG_ROW.search(stdout) and not _SOCKPERF_TOTAL.search(stdout):
        raise AirtollError(f"{tool} client on {sta.name}: {_complaint(stdout, stderr)}")
    return stdout


def _complaint(stdout: bytes, stderr: bytes) -> str:
    """The tool's error message. sockperf prints it on either stream, followed by other lines."""
    for line in (stderr + b"\n" + stdout).splitlines():
        if b"ERROR:" in line or b"Invalid" in line or b"Is the server down" in line:
            return last_words(line.split(b"ERROR:")[-1].removeprefix(b"sockperf:"))
    return last_words(stderr, stdout).removeprefix("pingpong: ")


def parse_sockperf(output: bytes, transport: Transport, window: Window) -> RoundTrips:
    """Samples from sockperf's output, which includes its full log. Raises AirtollError if the output is incomplete.

    The log begins after sockperf's own warm-up; times are relative to the start of that warm-up.
    """
    total = _SOCKPERF_TOTAL.search(output)
    if total is None:
        raise AirtollError(f"sockperf: {_complaint(output, b'')}")
    rows = _SOCKPERF_ROW.findall(output)
    valid = _SOCKPERF_VALID.search(output)
    shown = int(valid[2]) if valid else 0
    if (valid is None and b"No valid observations found" not in output) or len(rows) != shown:
        raise AirtollError(f"sockperf: its output of {len(output)} bytes is truncated")
    hidden_ns = int(total[1] or 0) * 1_000_000
    sent_ns = [_nanoseconds(row[0]) for row in rows]
    trips = [(hidden_ns + sent - sent_ns[0], _nanoseconds(row[1]) // 1_000_000)
             for sent, row in zip(sent_ns, rows, strict=True)]  # fmt: skip
    dropped = _SOCKPERF_DROPPED.search(output)
    lost = int(dropped[1]) if dropped else 0
    faults = []
    last_ns = max((start_ns + rtt_ns for start_ns, rtt_ns in trips), default=0)
    if last_ns < (window.opens_s + _COVERED * window.duration_s) * NS_PER_S:
        reason = (
            "sockperf waits indefinitely for a lost datagram"
            if transport == "udp"
            else "the round trips ended early"
        )
        measured_s = max(0.0, last_ns / NS_PER_S - window.opens_s)
        faults.append(f"sockperf: short window: {measured_s:.2f} s of {window.duration_s:.2f} s: {reason}")
        lost += transport == "udp"
    version = _SOCKPERF_VERSION.search(output)
    return RoundTrips(
        f"sockperf {version[1].decode(errors='replace')}" if version else "sockperf",
        _samples("sockperf", trips, lost, transport, window),
        faults,
    )


def _nanoseconds(decimal: bytes) -> int:
    """Convert seconds with nine decimals without floating-point rounding."""
    whole, fraction = decimal.split(b".")
    return int(whole) * NS_PER_S + int(fraction.ljust(9, b"0"))


def parse_pingpong(output: bytes, transport: Transport, window: Window) -> RoundTrips:
    """Samples from pingpong's JSON lines. Raises AirtollError if the output is incomplete."""
    head, *lines = output.splitlines() or [b""]
    tail = _PINGPONG_TAIL.fullmatch(lines[-1]) if lines else None
    version = _PINGPONG_HEAD.match(head)
    rows = [_PINGPONG_ROW.fullmatch(line) for line in lines[:-1]]
    if version is None or tail is None or None in rows or len(rows) != int(tail[2]):
        raise AirtollError(f"pingpong: its output of {len(output)} bytes is truncated")
    trips, lost = [], 0
    for row in rows:
        assert row is not None
        if row[2] != b"null":
            trips.append((int(row[1]), int(row[2])))
        elif window.phase(int(row[1]) / NS_PER_S) == "measure":
            lost += 1
    samples = _samples("pingpong", trips, lost, transport, window)
    answered = any(sample.metric == "rtt" and sample.phase == "measure" for sample in samples)
    faults = [] if answered else [f"pingpong: no message came back within {REPLY_TIMEOUT_S} s"]
    return RoundTrips(f"pingpong {version[1].decode(errors='replace')}", samples, faults)


def _samples(
    probe: str, trips: Sequence[tuple[int, int]], lost: int, transport: Transport, window: Window
) -> list[Sample]:
    """One sample per round trip (start, length in ns) that starts before the window closes, and the window's counts."""
    samples = []
    for start_ns, rtt_ns in trips:
        phase = window.phase(start_ns / NS_PER_S)
        if phase is not None:
            samples.append(Sample(probe, "rtt", "ms", "sta", "both", start_ns, rtt_ns, rtt_ns / 1e6, phase))
    if transport == "udp":
        answered = sum(sample.phase == "measure" for sample in samples)
        t_ns, dur_ns = round(window.opens_s * NS_PER_S), round(window.duration_s * NS_PER_S)
        for metric, count in (("datagrams_sent", answered + lost), ("datagrams_lost", lost)):
            samples.append(Sample(probe, metric, "1", "sta", "both", t_ns, dur_ns, float(count)))
    return samples
