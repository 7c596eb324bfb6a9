"""Round-trip time by ping-pong: one message of the packet size at a time on an otherwise idle link.

Two tools do the same thing: read the clock, send, block until the message is back, read the clock, send the
next. On one path their medians agree within a few percent. Each sample's `probe` says which one measured it.

- sockperf. 3.7 knows IPv4 addresses only (later ones are asked, not assumed), waits without end for the first
  datagram that is lost, rests two seconds before it begins, and gives no values of its first 0.4 s.
- pingpong, airtoll's own (crate `airtoll-agent`, module pingpong), for what sockperf cannot do.

`tool="auto"` takes sockperf for the IP versions that it speaks, and pingpong for the rest. Where datagrams
are lost, sockperf's runs end invalid with that as their reason; `tool="pingpong"` measures such links.

With several stations it is the first that asks, and the others are silent.

| metric         | unit | what it is                                                                         |
|----------------|------|------------------------------------------------------------------------------------|
| rtt            | ms   | a round trip, from before the send to after the receive: both stacks and wake-ups  |
| datagrams_sent | 1    | UDP: messages sent within the window                                               |
| datagrams_lost | 1    | UDP: those not back within 250 ms; they have no round-trip time rather than a 0    |
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
"""What sockperf measures but does not show, at the start and at the end (its Defs.h)."""

PINGPONG = [
    *(sys.executable, "-I", "-c"),
    "import sys; from airtoll._rust import pingpong; sys.exit(pingpong(sys.argv[1:]))",
]
"""Runs the binding alone, without the packages that the probes need: it starts while the link waits."""

_COVERED = 0.75
"""The last round trip must end after this part of the window."""

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
    """One tool's output, read."""

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
        """What must be installed before this probe can work, or None if all is there."""
        return None if self._tool == "pingpong" else process.lacking({"sockperf": "sockperf"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError when the tool fails, with its own words."""
        tool = self._tool
        if tool == "auto":
            tool = "sockperf" if self._sockperf_speaks(link.hosts[link.pairs[0][0]], cell.ip) else "pingpong"
        return _sockperf(link, cell, method) if tool == "sockperf" else _pingpong(link, cell, method)

    def _sockperf_speaks(self, host: Host, ip: Ip) -> bool:
        """Whether this sockperf takes an IPv6 address: it is told to connect where nobody listens."""
        if ip not in self._speaks:
            tried = ["sockperf", "ping-pong", "--tcp", "-i", "::1", "-p", "1", "-t", "1"]
            self._speaks[ip] = b"Invalid address" not in process.output_of(host, tried)
        return self._speaks[ip]


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
    """Run server and client; the client's stdout. AirtollError if either fails."""
    sta, ap = (link.hosts[role] for role in link.pairs[0])
    tool = "sockperf" if server_argv[0] == "sockperf" else "pingpong"
    who = f"{tool} server on {ap.name}"
    with process.serving(ap, server_argv, transport, port, who) as server:
        if server.poll() is not None:
            output = process.finish(server, process.GRACE_S, who)
            raise AirtollError(f"{who} ended before a client came: {_complaint(*output)}")
        with process.started(sta, client_argv) as client:
            stdout, stderr = process.finish(
                client, seconds + 2 * process.GRACE_S, f"{tool} client on {sta.name}"
            )
    if not _PINGPONG_ROW.search(stdout) and not _SOCKPERF_TOTAL.search(stdout):
        raise AirtollError(f"{tool} client on {sta.name}: {_complaint(stdout, stderr)}")
    return stdout


def _complaint(stdout: bytes, stderr: bytes) -> str:
    """What went wrong in the tool's words: sockperf says it on either stream and goes on talking."""
    for line in (stderr + b"\n" + stdout).splitlines():
        if b"ERROR:" in line or b"Invalid" in line or b"Is the server down" in line:
            return last_words(line.split(b"ERROR:")[-1].removeprefix(b"sockperf:"))
    return last_words(stderr, stdout).removeprefix("pingpong: ")


def parse_sockperf(output: bytes, transport: Transport, window: Window) -> RoundTrips:
    """Samples from sockperf's output with its full log in it. Raises AirtollError if that is not whole.

    The log begins after sockperf's own warm-up; times count from before that.
    """
    total = _SOCKPERF_TOTAL.search(output)
    if total is None:
        raise AirtollError(f"sockperf: {_complaint(output, b'')}")
    rows = _SOCKPERF_ROW.findall(output)
    valid = _SOCKPERF_VALID.search(output)
    shown = int(valid[2]) if valid else 0
    if (valid is None and b"No valid observations found" not in output) or len(rows) != shown:
        raise AirtollError(f"sockperf: its output of {len(output)} bytes is cut off")
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
            "sockperf waits without end for a datagram that was lost" if transport == "udp" else "too little"
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
    """Seconds with nine decimals, without the rounding of binary fractions."""
    whole, fraction = decimal.split(b".")
    return int(whole) * NS_PER_S + int(fraction.ljust(9, b"0"))


def parse_pingpong(output: bytes, transport: Transport, window: Window) -> RoundTrips:
    """Samples from pingpong's lines of JSON. Raises AirtollError if they are not whole."""
    head, *lines = output.splitlines() or [b""]
    tail = _PINGPONG_TAIL.fullmatch(lines[-1]) if lines else None
    version = _PINGPONG_HEAD.match(head)
    rows = [_PINGPONG_ROW.fullmatch(line) for line in lines[:-1]]
    if version is None or tail is None or None in rows or len(rows) != int(tail[2]):
        raise AirtollError(f"pingpong: its output of {len(output)} bytes is cut off")
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
    """A sample for each round trip (start, length in ns) up to the window's end, and the window's counts."""
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
