"""Delay in each direction, its variation, round-trip time and loss on an idle link, by irtt.

irtt (isochronous round-trip tester) sends datagrams of the packet size at a fixed interval, without waiting for earlier
ones. Its server reports when each datagram arrived and when the answer left. irtt can therefore separate the two
directions, unlike a ping-pong. With several stations, only the first one sends.

| metric                     | unit | endpoint, direction | meaning                                               |
|----------------------------|------|---------------------|-------------------------------------------------------|
| rtt                        | ms   | sta, both           | round-trip time without the server's processing time  |
| delay_idle                 | ms   | receiver, up/down   | one-way delay, if the clocks allow it (`clocks`)      |
| ipdv                       | ms   | receiver, up/down   | delay minus the previous datagram's delay (RFC 3393)  |
| datagrams_sent             | 1    | receiver, up/down   | in the window; down: the datagrams that arrived up    |
| datagrams_lost             | 1    | receiver, up/down   | of these; sta, both: no answer by the end             |
| datagrams_late             | 1    | sta, both           | answers that arrived after one to a later datagram    |

A lost datagram has no round-trip time and no delay, rather than 0. IPDV needs no common clock, but requires that the
previous datagram arrived too. If the hosts have different clocks, the difference between their times of day is
subtracted from `delay_idle`, and `clock_uncertainty` has its uncertainty.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field

from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.labs.base import Link
from airtoll.probes import clocks, process
from airtoll.probes.base import Lacks, Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method

PORT = 2112

INTERVAL_S = 0.01
"""Time between two datagrams, and the shortest interval that irtt's server allows by default."""

AIR_SHARE = 0.25
"""Highest share of the link's time for the datagrams. With larger datagrams or a slow link, the interval grows, so that
the link stays nearly idle."""

AFTERWARDS = 10
"""Datagrams after the window: only the answer to a later datagram tells in which direction one was lost."""

WAIT_S = 0.5
"""Time to wait for answers after the last datagram. Answers that arrive later count as lost."""

OPEN_TIMEOUTS = "300ms,500ms,1s,2s,4s"
"""Timeouts of the first, second, ... request to open the connection."""

MISSED_MOST_PERCENT = 10.0
"""Highest tolerated share of missed send times. Above it, the datagrams were not paced."""

_CLOCK_STEP_NS = 20_000_000
"""If two clocks diverge by more than this between two datagrams, one of them was set."""

_Nanos = Annotated[int, Field(ge=-(2**62), le=2**62)]
_Count = Annotated[int, Field(ge=0, le=2**53)]


class _Model(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


class _Reading(_Model):
    wall: _Nanos
    monotonic: _Nanos


class _Client(_Model):
    send: _Reading


class _Timestamps(_Model):
    client: _Client


class _Span(_Model):
    """Nanoseconds; values unknown for a lost datagram are absent."""

    send: _Nanos | None = None
    receive: _Nanos | None = None
    rtt: _Nanos | None = None


class _RoundTrip(_Model):
    seqno: _Count
    lost: Literal["false", "true", "true_up", "true_down"]
    timestamps: _Timestamps
    delay: _Span
    ipdv: _Span


class _Stats(_Model):
    packets_sent: _Count
    timer_miss_percent: float | None = None


class _Version(_Model):
    irtt: str


class _Params(_Model):
    length: int
    interval: _Nanos


class _Config(_Model):
    params: _Params


class IrttReport(_Model):
    """The parts of irtt's JSON report that airtoll reads."""

    version: _Version
    config: _Config
    stats: _Stats
    round_trips: Annotated[list[_RoundTrip], FailFast()]


@dataclass(frozen=True)
class Trips:
    """irtt's report, as samples and faults."""

    samples: Sequence[Sample]
    faults: Sequence[str]


class Irtt:
    """Measures an idle link in both directions."""

    name = "irtt"

    def missing(self, lacks: Lacks) -> str | None:
        """Return what must be installed before this probe can run, or None."""
        return lacks({"irtt": "irtt"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with irtt's own words if it fails.

        Raises UsageError if the packet size is too small for irtt's header.
        """
        window = Window.of(method)
        sta, ap = (link.hosts[role] for role in link.pairs[0])
        address = link.addresses[link.pairs[0][1], cell.ip]
        where = f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"
        server = ["irtt", "server", "-b", where, "-i", "0"]
        interval_ms = 1000 * interval_s(link, cell)
        sending_ms = 1000 * window.closes_s + AFTERWARDS * interval_ms
        client = ["irtt", "client", "-6" if cell.ip == "ipv6" else "-4"]
        client += ["-i", f"{interval_ms:.0f}ms", "-d", f"{sending_ms:.0f}ms"]
        client += ["-l", str(cell.packet_size), f"--wait={WAIT_S * 1000:g}ms", f"--timeouts={OPEN_TIMEOUTS}"]
        client += ["-Q", "-o", "-", where]
        who = f"irtt client on {sta.name}"
        pair = clocks.ClockPair(sta, ap)
        with process.serving(ap, server, "udp", PORT, f"irtt server on {ap.name}") as serving:
            if serving.poll() is not None:
                said = process.finish(serving, process.GRACE_S, f"irtt server on {ap.name}")
                raise AirtollError(f"irtt server on {ap.name}: {_complaint(*said)}")
            began_ns = time.monotonic_ns()
            with process.started(sta, client) as asking:
                stdout, stderr = process.finish(asking, sending_ms / 1000 + WAIT_S + 2 * process.GRACE_S, who)
        pair.close()
        report = parse(stdout, stderr, who)
        trips = read(report, window, ahead=lambda t_ns: pair.wall_at(began_ns + t_ns))
        facts = {
            "tool": "irtt",
            "version": f"irtt {report.version.irtt}",
            "server": server,
            "client": client,
            **pair.facts(),
            "interval_ms": report.config.params.interval / 1e6,
            "packet_bytes": report.config.params.length,
        }
        return Measurement(trips.samples, {"irtt.json": stdout}, facts, trips.faults)


def interval_s(link: Link, cell: Cell) -> float:
    """Time between two datagrams, in whole ms: the same at every security level, from the open link's capacity."""
    capacity = link.known.capacity_open_bit_per_s
    there_and_back_s = 2 * 8 * cell.packet_size / capacity if capacity else 0.0
    return max(INTERVAL_S, math.ceil(there_and_back_s / AIR_SHARE * 1000) / 1000)


def parse(output: bytes, stderr: bytes, who: str) -> IrttReport:
    """Parse the client's report. Raises AirtollError, with irtt's own words if there are any, if it is incomplete."""
    report = process.read_report(IrttReport, output, who, "irtt", _complaint(output, stderr))
    trips = report.round_trips
    if len(trips) != report.stats.packets_sent or any(trip.seqno != at for at, trip in enumerate(trips)):
        raise AirtollError(f"{who}: its report lacks some of {report.stats.packets_sent} datagrams")
    return report


def _complaint(stdout: bytes, stderr: bytes) -> str:
    return last_words(stderr, stdout).removeprefix("Error: ")


Ahead = Callable[[int], clocks.ClockDifference | None]
"""The server's time of day minus the client's, at a time since the client's start in ns; None if it is not known."""


def read(report: IrttReport, window: Window, *, ahead: Ahead) -> Trips:
    """The samples of datagrams sent before the window closes, and the faults of the measurement."""
    samples = [*_trip_samples(report, window), *_delays(report, window, ahead), *_counts(report, window)]
    faults = []
    if not any(sample.metric == "rtt" and sample.phase == "measure" for sample in samples):
        faults.append(f"irtt: no datagram sent in the window came back within {WAIT_S} s of its end")
    missed = report.stats.timer_miss_percent or 0.0
    if missed > MISSED_MOST_PERCENT:
        faults.append(f"irtt: {missed:.1f} % of the send times were missed: the datagrams were not paced")
    if ahead(0) is not None and _was_set(report):
        faults.append("irtt: the clock used for delays was set during the run")
    return Trips(samples, faults)


def _sent_ns(report: IrttReport) -> Iterator[tuple[int, _RoundTrip]]:
    """Each datagram with its send time, in ns since the first one."""
    for trip in report.round_trips:
        sent = trip.timestamps.client.send.monotonic - report.round_trips[0].timestamps.client.send.monotonic
        yield max(0, sent), trip


def _trip_samples(report: IrttReport, window: Window) -> Iterator[Sample]:
    for t_ns, trip in _sent_ns(report):
        phase = window.phase(t_ns / NS_PER_S)
        if phase is None:
            continue
        if trip.lost == "false" and trip.delay.rtt is not None:
            rtt_ns = max(0, trip.delay.rtt)
            yield Sample("irtt", "rtt", "ms", "sta", "both", t_ns, rtt_ns, rtt_ns / 1e6, phase)
        ways: tuple[tuple[Way, int | None], ...] = (("up", trip.ipdv.send), ("down", trip.ipdv.receive))
        for way, ipdv_ns in ways:
            if ipdv_ns is not None:
                yield Sample("irtt", "ipdv", "ms", ENDS[way][1], way, t_ns, 0, ipdv_ns / 1e6, phase)


def _delays(report: IrttReport, window: Window, ahead: Ahead) -> Iterator[Sample]:
    """The one-way delays, by the times of day of both ends."""
    ways: tuple[tuple[Way, int], ...] = (("up", -1), ("down", 1))
    for way, sign in ways:
        found, uncertainty_ns = [], 0.0
        for t_ns, trip in _sent_ns(report):
            phase, difference = window.phase(t_ns / NS_PER_S), ahead(t_ns)
            told_ns = trip.delay.send if way == "up" else trip.delay.receive
            if phase is not None and difference is not None and told_ns is not None:
                delay_ns = told_ns + sign * difference.offset_ns
                uncertainty_ns = max(uncertainty_ns, difference.uncertainty_ns)
                where = (ENDS[way][1], way, t_ns, max(0, round(delay_ns)))
                found.append(Sample("irtt", "delay_idle", "ms", *where, delay_ns / 1e6, phase))
        yield from clocks.known(found, uncertainty_ns)


def _counts(report: IrttReport, window: Window) -> Iterator[Sample]:
    """Datagram counts of the window. Counts per direction are None unless irtt knows the direction of every loss."""
    trips = [trip for t_ns, trip in _sent_ns(report) if window.phase(t_ns / NS_PER_S) == "measure"]
    sent = len(trips)
    fates = {fate: sum(trip.lost == fate for trip in trips) for fate in ("true", "true_up", "true_down")}
    unplaced = fates["true"] > 0
    up: tuple[float | None, ...] = (sent, None if unplaced else fates["true_up"])
    down: tuple[float | None, ...] = (
        (None, None) if unplaced else (sent - fates["true_up"], fates["true_down"])
    )
    t_ns, dur_ns = round(window.opens_s * NS_PER_S), round(window.duration_s * NS_PER_S)
    for endpoint, way, counts in (
        ("sta", "both", (sent, sum(fates.values()))),
        (ENDS["up"][1], "up", up),
        (ENDS["down"][1], "down", down),
    ):
        for metric, count in zip(("datagrams_sent", "datagrams_lost"), counts, strict=True):
            value = None if count is None else float(count)
            yield Sample("irtt", metric, "1", endpoint, way, t_ns, dur_ns, value)
    late = float(_late(report, trips))
    yield Sample("irtt", "datagrams_late", "1", "sta", "both", t_ns, dur_ns, late)


def _late(report: IrttReport, trips: Sequence[_RoundTrip]) -> int:
    """Number of answers that arrived after the answer to a later datagram of the same test."""
    arrivals = {
        trip.seqno: t_ns + trip.delay.rtt
        for t_ns, trip in _sent_ns(report)
        if trip.lost == "false" and trip.delay.rtt is not None
    }
    late, earliest = set(), math.inf
    for seqno in sorted(arrivals, reverse=True):
        if arrivals[seqno] > earliest:
            late.add(seqno)
        earliest = min(earliest, arrivals[seqno])
    return sum(trip.seqno in late for trip in trips)


def _was_set(report: IrttReport) -> bool:
    """Whether the wall clock stepped relative to the monotonic clock between two datagrams."""
    readings = [trip.timestamps.client.send for trip in report.round_trips]
    ahead = [reading.wall - reading.monotonic for reading in readings]
    return any(abs(after - before) > _CLOCK_STEP_NS for before, after in pairwise(ahead))
