"""Round-trip time by ping-pong: one message of the packet size at a time on an otherwise idle link.

The tool is pingpong, airtoll's own (crate `airtoll-agent`, module pingpong): it reads the clock, sends, waits until the
message is back, and reads the clock. After the `rtt_pause` of the method, it sends the next message. Without a pause,
the backoff that follows each frame (IEEE Std 802.11-2020, 10.3.4.3) delays the next message and hides a part of the
time that hosts and cards take.

One tool measures all cells: both transports, both IP versions, all packet sizes, so that no difference between two
cells is a difference between tools. The probe `sockperf` is a cross-check by another program.

With several stations, only the first one sends. A station that runs no agent has no pingpong, and uses `ping`.

| metric         | unit | meaning                                                                            |
|----------------|------|------------------------------------------------------------------------------------|
| rtt            | ms   | from before the send to after the receive: includes both stacks and wake-ups       |
| datagrams_sent | 1    | UDP: messages sent within the window                                               |
| datagrams_lost | 1    | UDP: no answer within 250 ms; these have no round-trip time, rather than 0         |
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.labs.base import Link
from airtoll.probes import ping, process
from airtoll.probes.base import Lacks, Measurement, Sample
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Transport

PORT = 11112
REPLY_TIMEOUT_S = 0.25

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

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: this probe requires no tool."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with the tool's own words if it fails."""
        window = Window.of(method)
        address = link.addresses[link.pairs[0][1], cell.ip]
        station = link.hosts[link.pairs[0][0]]
        if station.os != "linux":
            return ping.measure(station, address, cell.ip, cell.packet_size, window)
        where = [cell.transport, f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"]
        idle_ms, *client_ms = (
            str(math.ceil(span_s * 1000))
            for span_s in (process.GRACE_S, window.closes_s, REPLY_TIMEOUT_S, method.rtt_pause)
        )
        sta, ap = (link.hosts[role] for role in link.pairs[0])
        server = [*ap.program("pingpong"), "serve", *where, idle_ms]
        client = [*sta.program("pingpong"), "ping", *where, str(cell.packet_size), *client_ms]
        output = exchange(
            "pingpong", link, cell.transport, PORT, server, client, window.closes_s, _PINGPONG_ROW
        )
        trips = parse_pingpong(output, cell.transport, window)
        facts = {
            "tool": "pingpong",
            "version": trips.version,
            "server": server,
            "client": client,
            "reply_timeout_s": REPLY_TIMEOUT_S,
        }
        return Measurement(trips.samples, {"pingpong.jsonl": output}, facts, trips.faults)


def exchange(
    tool: str,
    link: Link,
    transport: Transport,
    port: int,
    server_argv: list[str],
    client_argv: list[str],
    seconds: float,
    success: re.Pattern[bytes],
) -> bytes:
    """Run a tool's server and client, and return the client's stdout, in which `success` occurs.

    Raises AirtollError if either fails.
    """
    sta, ap = (link.hosts[role] for role in link.pairs[0])
    who = f"{tool} server on {ap.name}"
    with process.serving(ap, server_argv, transport, port, who) as server:
        if server.poll() is not None:
            output = process.finish(server, process.GRACE_S, who)
            raise AirtollError(f"{who} exited before a client connected: {complaint(*output)}")
        with process.started(sta, client_argv) as client:
            stdout, stderr = process.finish(
                client, seconds + 2 * process.GRACE_S, f"{tool} client on {sta.name}"
            )
        # Over TCP the client notices it. Over UDP the rest would count as lost.
        if transport == "udp" and server.poll() is not None:
            output = process.finish(server, process.GRACE_S, who)
            raise AirtollError(f"{who} ended before its client: {complaint(*output)}")
    if not success.search(stdout):
        raise AirtollError(f"{tool} client on {sta.name}: {complaint(stdout, stderr)}")
    return stdout


def complaint(stdout: bytes, stderr: bytes) -> str:
    """A tool's error message. sockperf prints it on either stream, followed by other lines."""
    for line in (stderr + b"\n" + stdout).splitlines():
        if b"ERROR:" in line or b"Invalid" in line or b"Is the server down" in line:
            return last_words(line.split(b"ERROR:")[-1].removeprefix(b"sockperf:"))
    return last_words(stderr, stdout).removeprefix("pingpong: ")


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
    samples = samples_of("pingpong", "rtt", trips, lost, transport, window)
    answered = any(sample.metric == "rtt" and sample.phase == "measure" for sample in samples)
    faults = [] if answered else [f"pingpong: no message came back within {REPLY_TIMEOUT_S} s"]
    return RoundTrips(f"pingpong {version[1].decode(errors='replace')}", samples, faults)


def samples_of(
    tool: str,
    metric: str,
    trips: Sequence[tuple[int, int]],
    lost: int,
    transport: Transport,
    window: Window,
) -> list[Sample]:
    """One sample per round trip (start, length in ns) that starts before the window closes, and the window's counts."""
    samples = []
    for start_ns, rtt_ns in trips:
        phase = window.phase(start_ns / NS_PER_S)
        if phase is not None:
            samples.append(Sample(tool, metric, "ms", "sta", "both", start_ns, rtt_ns, rtt_ns / 1e6, phase))
    if transport == "udp":
        answered = sum(sample.phase == "measure" for sample in samples)
        t_ns, dur_ns = round(window.opens_s * NS_PER_S), round(window.duration_s * NS_PER_S)
        for counted, count in (("datagrams_sent", answered + lost), ("datagrams_lost", lost)):
            samples.append(Sample(tool, counted, "1", "sta", "both", t_ns, dur_ns, float(count)))
    return samples
