"""Delay in each direction, its variation, round-trip time and loss on an idle link, by irtt.

irtt sends datagrams of the packet size at a fixed interval, whatever becomes of the ones before (isochronous
round-trip tester), and its server says when each arrived and when the answer left. So it tells the two directions
apart where a ping-pong cannot. With several stations it is the first that asks, and the others are silent.

| metric                     | unit | endpoint, direction | what it is                                            |
|----------------------------|------|---------------------|-------------------------------------------------------|
| rtt                        | ms   | sta, both           | a round trip, without the time that the server took   |
| delay_idle                 | ms   | receiver, up/down   | one way, where both hosts read the same clocks        |
| ipdv                       | ms   | receiver, up/down   | delay less that of the datagram before (RFC 3393)     |
| datagrams_sent             | 1    | receiver, up/down   | within the window; down: those that had come up       |
| datagrams_lost             | 1    | receiver, up/down   | of these; sta, both: those not back at the end        |
| datagrams_late             | 1    | sta, both           | answers that came after that to a later datagram      |

A datagram that was lost has no round-trip time and no delay rather than a 0. IPDV needs no common clock, and is
known only where the datagram before arrived too. Where the hosts' clocks are not the same one, `delay_idle` is
absent: what the clocks differ by would stand in it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from airtoll.errors import AirtollError
from airtoll.labs.base import Link, last_words
from airtoll.probes import process
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.machines import share_clocks
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method

PORT = 2112

INTERVAL_S = 0.01
"""Between two datagrams, and the shortest that irtt's server allows by itself."""

AIR_SHARE = 0.25
"""Of the time that the link needs for the datagrams: with longer ones, or a slow link, the interval grows so that the
link stays nearly idle."""

AFTERWARDS = 10
"""Datagrams after the window: where one was lost is known from the answer to a later one alone."""

WAIT_S = 0.5
"""For answers after the last datagram; what is not back by then is lost."""

OPEN_TIMEOUTS = "300ms,500ms,1s,2s,4s"
"""For the answer to the first, the second... request to open the connection."""

MISSED_MOST_PERCENT = 10.0
"""Of the times to send; with more of them missed the datagrams were not paced."""

_CLOCK_STEP_NS = 20_000_000
"""Two clocks that part by so much between two datagrams: one of them was set."""

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
    """Nanoseconds; what is not known of a lost datagram is absent."""

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


class Report(_Model):
    """The parts of irtt's JSON report that airtoll reads."""

    version: _Version
    config: _Config
    stats: _Stats
    round_trips: list[_RoundTrip]


@dataclass(frozen=True)
class Trips:
    """irtt's report, read."""

    samples: Sequence[Sample]
    faults: Sequence[str]


class Irtt:
    """Measures an idle link in both directions."""

    name = "irtt"

    def missing(self) -> str | None:
        """What must be installed before this probe can work, or None if all is there."""
        return process.lacking({"irtt": "irtt"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError when irtt fails, with its own words.

        UsageError if the packet size has no room for irtt's header.
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
        with process.serving(ap, server, "udp", PORT, f"irtt server on {ap.name}") as serving:
            if serving.poll() is not None:
                said = process.finish(serving, process.GRACE_S, f"irtt server on {ap.name}")
                raise AirtollError(f"irtt server on {ap.name}: {_complaint(*said)}")
            with process.started(sta, client) as asking:
                stdout, stderr = process.finish(asking, sending_ms / 1000 + WAIT_S + 2 * process.GRACE_S, who)
        report = parse(stdout, stderr, who)
        shared = share_clocks(sta, ap)
        trips = read(report, window, shared_clocks=shared)
        facts = {
            "tool": "irtt",
            "version": f"irtt {report.version.irtt}",
            "server": server,
            "client": client,
            "clocks": "shared" if shared else "not known to be shared",
            "interval_ms": report.config.params.interval / 1e6,
            "packet_bytes": report.config.params.length,
        }
        return Measurement(trips.samples, {"irtt.json": stdout}, facts, trips.faults)


def interval_s(link: Link, cell: Cell) -> float:
    """Between two datagrams, a whole number of ms: as long at every security level, by what the open link carries."""
    capacity = link.known.capacity_open_bit_per_s
    there_and_back_s = 2 * 8 * cell.packet_size / capacity if capacity else 0.0
    return max(INTERVAL_S, math.ceil(there_and_back_s / AIR_SHARE * 1000) / 1000)


def parse(output: bytes, stderr: bytes, who: str) -> Report:
    """The client's report. Raises AirtollError naming it, in irtt's words if it has any, unless that is whole."""
    report = process.read_report(Report, output, who, "irtt", _complaint(output, stderr))
    trips = report.round_trips
    if len(trips) != report.stats.packets_sent or any(trip.seqno != at for at, trip in enumerate(trips)):
        raise AirtollError(f"{who}: its report lacks some of {report.stats.packets_sent} datagrams")
    return report


def _complaint(stdout: bytes, stderr: bytes) -> str:
    return last_words(stderr, stdout).removeprefix("Error: ")


def read(report: Report, window: Window, *, shared_clocks: bool) -> Trips:
    """Samples of what was sent up to the window's end, and the faults of the measurement."""
    samples = [*_trip_samples(report, window, shared_clocks), *_counts(report, window)]
    faults = []
    if not any(sample.metric == "rtt" and sample.phase == "measure" for sample in samples):
        faults.append(f"irtt: no datagram sent in the window came back within {WAIT_S} s of its end")
    missed = report.stats.timer_miss_percent or 0.0
    if missed > MISSED_MOST_PERCENT:
        faults.append(f"irtt: {missed:.1f} % of the times to send were missed: the datagrams were not paced")
    if shared_clocks and _was_set(report):
        faults.append("irtt: the clock that delays are read from was set meanwhile")
    return Trips(samples, faults)


def _sent_ns(report: Report) -> Iterator[tuple[int, _RoundTrip]]:
    """Each datagram with the time at which it was sent, from the first."""
    for trip in report.round_trips:
        sent = trip.timestamps.client.send.monotonic - report.round_trips[0].timestamps.client.send.monotonic
        yield max(0, sent), trip


def _trip_samples(report: Report, window: Window, shared_clocks: bool) -> Iterator[Sample]:
    for t_ns, trip in _sent_ns(report):
        phase = window.phase(t_ns / NS_PER_S)
        if phase is None:
            continue
        if trip.lost == "false" and trip.delay.rtt is not None:
            rtt_ns = max(0, trip.delay.rtt)
            yield Sample("irtt", "rtt", "ms", "sta", "both", t_ns, rtt_ns, rtt_ns / 1e6, phase)
        ways: tuple[tuple[Way, int | None, int | None], ...] = (
            ("up", trip.delay.send, trip.ipdv.send),
            ("down", trip.delay.receive, trip.ipdv.receive),
        )
        for way, delay_ns, ipdv_ns in ways:
            where = (ENDS[way][1], way, t_ns)
            if shared_clocks and delay_ns is not None:
                dur_ns = max(0, delay_ns)
                yield Sample("irtt", "delay_idle", "ms", *where, dur_ns, delay_ns / 1e6, phase)
            if ipdv_ns is not None:
                yield Sample("irtt", "ipdv", "ms", *where, 0, ipdv_ns / 1e6, phase)


def _counts(report: Report, window: Window) -> Iterator[Sample]:
    """What became of the datagrams of the window; of a direction only if irtt knows where each lost one went."""
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


def _late(report: Report, trips: Sequence[_RoundTrip]) -> int:
    """How many of the answers came after that to a later datagram of the same test."""
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


def _was_set(report: Report) -> bool:
    """Whether the wall clock went on by something else than the monotonic one between two datagrams."""
    readings = [trip.timestamps.client.send for trip in report.round_trips]
    ahead = [reading.wall - reading.monotonic for reading in readings]
    return any(abs(after - before) > _CLOCK_STEP_NS for before, after in pairwise(ahead))
