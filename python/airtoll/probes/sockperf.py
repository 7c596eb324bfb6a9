"""Round-trip time by sockperf, a cross-check of the probe `rtt`: another program for the same quantity.

sockperf measures as `rtt` does: it reads the clock, sends, waits until the message is back, reads the clock and sends
the next message. It has a metric of its own, `rtt_sockperf`, so that the round-trip times of one study never come from
two tools. It measures only IPv4, because version 3.7 refuses IPv6 addresses, and only in real time, because it reads
the processor's own time stamp counter.

sockperf waits indefinitely for the first lost datagram, pauses for two seconds before it begins, and prints no values
of its first 0.4 s. If datagrams are lost, the run has no value of `rtt_sockperf`, and the facts of the probe have the
reason as `faults`. The other metrics of the run count: a cross-check never makes a run invalid.

| metric         | unit | meaning                                                                            |
|----------------|------|------------------------------------------------------------------------------------|
| rtt_sockperf   | ms   | from before the send to after the receive: includes both stacks and wake-ups       |
| datagrams_sent | 1    | UDP: messages sent within the window                                               |
| datagrams_lost | 1    | UDP: the message that ended the measurement                                        |
"""

import math
import re

from airtoll.errors import AirtollError
from airtoll.labs.base import Link
from airtoll.probes.base import Lacks, Measurement
from airtoll.probes.rtt import RoundTrips, complaint, exchange, samples_of
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Transport

METRIC = "rtt_sockperf"

PORT = 11111

WARMUP_S = 0.4
COOLDOWN_S = 0.05
"""Times at the start and at the end that sockperf measures but does not show (its Defs.h)."""

_COVERED = 0.75
"""The last round trip must end after this share of the window."""

_VERSION = re.compile(rb"version #(\S+)")
_TOTAL = re.compile(rb"\[Total Run\] RunTime=[\d.]+ sec;(?: Warm up time=(\d{1,9}) msec;)?")
_VALID = re.compile(
    rb"\[Valid Duration\] RunTime=[\d.]+ sec; SentMessages=(\d{1,18}); ReceivedMessages=(\d{1,18})"
)
_DROPPED = re.compile(rb"# dropped messages = (\d{1,18})")
_ROW = re.compile(rb"^\d+, (\d{1,9}\.\d{9}), \d{1,9}\.\d{9}, (\d{1,12}\.\d{3})$", re.MULTILINE)


class Sockperf:
    """Measures a cell by sockperf."""

    name = "sockperf"

    def missing(self, lacks: Lacks) -> str | None:
        """Return what must be installed before this probe can run, or None."""
        return lacks({"sockperf": "sockperf"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with sockperf's own words if it fails."""
        window = Window.of(method, least_warmup_s=WARMUP_S)
        seconds = math.ceil(window.closes_s + COOLDOWN_S)
        common = ["-i", link.addresses[link.pairs[0][1], cell.ip], "-p", str(PORT)]
        common += ["--tcp"] if cell.transport == "tcp" else []
        server = ["sockperf", "server", *common]
        client = ["sockperf", "ping-pong", *common, "-m", str(cell.packet_size), "-t", str(seconds)]
        client += ["--full-rtt", "--full-log", "/dev/stdout"]
        output = exchange("sockperf", link, cell.transport, PORT, server, client, seconds, _TOTAL)
        trips = parse(output, cell.transport, window)
        facts = {"tool": "sockperf", "version": trips.version, "server": server, "client": client}
        if trips.faults:
            rest = [sample for sample in trips.samples if sample.metric != METRIC]
            return Measurement(rest, {"sockperf.txt": output}, {**facts, "faults": list(trips.faults)})
        return Measurement(trips.samples, {"sockperf.txt": output}, facts)


def parse(output: bytes, transport: Transport, window: Window) -> RoundTrips:
    """Samples from sockperf's output, which includes its full log. Raises AirtollError if the output is incomplete.

    The log begins after sockperf's own warm-up; times are relative to the start of that warm-up.
    """
    total = _TOTAL.search(output)
    if total is None:
        raise AirtollError(f"sockperf: {complaint(output, b'')}")
    rows = _ROW.findall(output)
    valid = _VALID.search(output)
    shown = int(valid[2]) if valid else 0
    if (valid is None and b"No valid observations found" not in output) or len(rows) != shown:
        raise AirtollError(f"sockperf: its output of {len(output)} bytes is truncated")
    hidden_ns = int(total[1] or 0) * 1_000_000
    sent_ns = [_nanoseconds(row[0]) for row in rows]
    trips = [(hidden_ns + sent - sent_ns[0], _nanoseconds(row[1]) // 1_000_000)
             for sent, row in zip(sent_ns, rows, strict=True)]  # fmt: skip
    dropped = _DROPPED.search(output)
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
    version = _VERSION.search(output)
    return RoundTrips(
        f"sockperf {version[1].decode(errors='replace')}" if version else "sockperf",
        samples_of("sockperf", METRIC, trips, lost, transport, window),
        faults,
    )


def _nanoseconds(decimal: bytes) -> int:
    """Convert seconds with nine decimals without floating-point rounding."""
    whole, fraction = decimal.split(b".")
    return int(whole) * NS_PER_S + int(fraction.ljust(9, b"0"))
