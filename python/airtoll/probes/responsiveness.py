"""Responsiveness and delay under load, in each direction, after draft-ietf-ippm-responsiveness (its TCP-only case).

The tool is load, airtoll's own (crate `airtoll-agent`, module load), on both hosts. In a phase per direction, up and
then down, it adds connections until the throughput of all of them is stable; the link is then in working conditions.
For the duration of the method, it then launches pairs of probes: a request on a new connection (`foreign`), and a
request between the data of a connection of the load (`own`). Meanwhile, datagrams of 64 octets at a fixed interval
measure the delay. They do not wait for answers: a ping-pong would sample quiet moments more often than busy ones.

Differences from the draft: requests use neither TLS nor HTTP; no connection is added in the measured window; the result
is that of the whole window, not of its last four intervals; the connections of the load take turns with probes.

| metric          | unit  | endpoint, direction | meaning                                                           |
|-----------------|-------|---------------------|-------------------------------------------------------------------|
| responsiveness  | 1/min | sta, up/down        | round trips per minute under load in that direction               |
| response_time   | ms    | sta, up/down        | 60,000 ms over the responsiveness                                 |
| rtt_loaded      | ms    | sta, up/down        | round trip of a datagram under load in that direction             |
| delay_loaded    | ms    | receiver, up/down   | one-way delay in the direction of the load (`clocks`)             |
| load_throughput | bit/s | receiver, up/down   | payload of the load that arrived in the interval                  |
| datagrams_sent  | 1     | sta, up/down        | datagrams of the window, under load in that direction             |
| datagrams_lost  | 1     | sta, up/down        | of these, without an answer within 2 s after the window           |

The time of a request is a trimmed mean: the slowest 5 % do not count, among them requests without an answer. If more
than 5 % have no answer, the phase has no responsiveness. A phase whose throughput does not become stable has no values,
and the run is invalid. With several stations, only the first one measures.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Any, Final, Literal

from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.labs.base import Link
from airtoll.probes import clocks, limits, process, watch
from airtoll.probes.base import Lacks, Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method

TOOL: Final = "load"
"""The probe name in the samples."""

PORT: Final = 5010

INTERVAL_S: Final = 1.0
"""Time between two checks of stability (ID of the draft)."""

CONNECTIONS_MOST: Final = 16
"""Largest number of connections (MNP of the draft)."""

LIMIT_S: Final = 20.0
"""Longest time until the throughput is stable."""

PROBE_S: Final = 0.05
"""Shortest time between two pairs of probes. At low rates it grows, so that probes take at most 5 % of the capacity."""

ECHO_S: Final = 0.01
"""Time between two datagrams."""

ECHO_B: Final = 64

KEPT: Final = 0.95
"""Share of the requests whose mean counts (TMP of the draft)."""

AVERAGED: Final = 4
"""Intervals of a moving value, and moving values that are compared (MAD of the draft)."""

DEVIATION_MOST: Final = 0.05
"""Largest standard deviation of stable values, over the last of them (SDT of the draft)."""

LoadConfidence = Literal["low", "medium", "high"]


@dataclass(frozen=True)
class Report:
    """The output of a phase. Times are ns since its start; None: no answer."""

    version: str
    origin_ns: int  # the start, by the client's monotonic clock
    direction: Way
    intervals: Sequence[tuple[int, int, int, int]]  # start, end, octets, connections
    foreign: Sequence[tuple[int, int | None, int | None]]  # start, TCP handshake, request
    own: Sequence[tuple[int, int | None]]  # start, request
    echoes: Sequence[tuple[int, int | None, int | None, int | None]]
    """Start, round trip, server's clock minus client's clock on the way there, client's minus server's back."""
    window: tuple[int, int] | None  # None: the throughput did not become stable


@dataclass(frozen=True)
class Rounds:
    """Round trips per minute."""

    foreign: float
    own: float

    @property
    def both(self) -> float:
        """Responsiveness: the mean of both kinds of requests."""
        return (self.foreign + self.own) / 2


@dataclass(frozen=True)
class LoadPhase:
    """One direction, as samples, faults and facts."""

    samples: Sequence[Sample] = ()
    faults: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Responsiveness:
    """Measures the link under load in each direction."""

    name = "responsiveness"

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        """`interval_s` is the time between two checks of stability."""
        self._interval_s = interval_s

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: the tool is part of airtoll."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with an end's own words if it fails."""
        window = Window.of(method)
        sta, ap = (link.hosts[role] for role in link.pairs[0])
        address = link.addresses[link.pairs[0][1], cell.ip]
        where = f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"
        server = [*ap.program("load"), "serve", where, str(math.ceil(process.GRACE_S * 1000))]
        numbers = [
            *(self._interval_s * 1000, CONNECTIONS_MOST, LIMIT_S * 1000, window.duration_s * 1000),
            *(PROBE_S * 1000, ECHO_S * 1000, ECHO_B),
        ]
        timeout_s = LIMIT_S + self._interval_s + window.duration_s + 3 * process.GRACE_S
        who, served = f"load client on {sta.name}", f"load server on {ap.name}"
        ways: tuple[Way, ...] = ("up", "down")
        raw: dict[str, bytes] = {}
        phases: list[LoadPhase] = []
        reports: list[Report] = []
        commands: list[list[str]] = []
        observed: list[dict[str, Any]] = []
        with process.serving(ap, server, "tcp", PORT, served) as serving:
            if serving.poll() is not None:
                raise AirtollError(
                    f"{served}: {_complaint(*process.finish(serving, process.GRACE_S, served))}"
                )
            for way in ways:
                client = [
                    *sta.program("load"),
                    "measure",
                    where,
                    way,
                    *(f"{number:.0f}" for number in numbers),
                ]
                pair = clocks.ClockPair(sta, ap)
                with process.started(sta, client) as measuring:
                    programs = (measuring, serving) if way == "up" else (serving, measuring)
                    ends = {
                        end: [program] for end, program in zip(("sender", "receiver"), programs, strict=True)
                    }
                    watched = watch.over(link, measuring, time.monotonic() + timeout_s, ends)
                    stdout, stderr = process.finish(measuring, timeout_s, who)
                pair.close()
                report = parse(stdout, stderr, who)
                since_ns = report.origin_ns - (reports[0].origin_ns if reports else report.origin_ns)
                here_ns = report.origin_ns - pair.sender.before.offset_ns
                phases.append(read(report, since_ns, lambda t_ns: pair.at(here_ns + t_ns)))  # noqa: B023  (called now)
                reports.append(report)
                commands.append(client)
                observed.append(limits.facts(watched, [way], saturated=True, tcp=None))
                raw[f"load-{way}.jsonl"] = stdout
        facts: dict[str, Any] = {
            "version": reports[0].version,
            "server": server,
            "client": commands[0],
            **pair.facts(),
        }
        facts |= {
            way: {**phase.facts, "limits": of_phase}
            for way, phase, of_phase in zip(ways, phases, observed, strict=True)
        }
        return Measurement(
            samples=[sample for phase in phases for sample in phase.samples],
            raw=raw,
            facts=facts,
            faults=[fault for phase in phases for fault in phase.faults],
        )


def _complaint(stdout: bytes, stderr: bytes) -> str:
    return last_words(stderr, stdout).removeprefix("load: ")


def parse(stdout: bytes, stderr: bytes, who: str) -> Report:
    """Parse the output of a client. Raises AirtollError with its own words if it is empty, or if it is incomplete."""
    if not stdout.strip():
        raise AirtollError(f"{who}: {_complaint(stdout, stderr)}")
    try:
        head, *rows = (json.loads(line) for line in stdout.splitlines())
        of_kind: dict[str, list[list[int | None]]] = {"interval": [], "foreign": [], "own": [], "echo": []}
        *rows, end = rows
        for row in rows:
            ((kind, values),) = row.items()
            of_kind[kind].append(_numbers(values, {"interval": 4, "foreign": 3, "own": 2, "echo": 4}[kind]))
        window = end["end"]
        found: Any = {kind: [tuple(row) for row in all_rows] for kind, all_rows in of_kind.items()}
        if head["direction"] not in ENDS:
            raise ValueError(head["direction"])
        return Report(
            version=f"load {str(head['load'])[:100]}",
            origin_ns=int(head["origin_ns"]),
            direction=head["direction"],
            intervals=found["interval"],
            foreign=found["foreign"],
            own=found["own"],
            echoes=found["echo"],
            window=None if window is None else _window(window),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise AirtollError(f"{who}: its output of {len(stdout)} bytes is incomplete") from None


def _numbers(values: Any, count: int) -> list[int | None]:
    if not isinstance(values, list) or len(values) != count or values[0] is None:
        raise ValueError(values)
    if any(value is not None and (type(value) is not int or abs(value) >= 2**62) for value in values):
        raise ValueError(values)
    return values


def _window(values: Any) -> tuple[int, int]:
    opens, closes = _numbers(values, 2)
    if opens is None or closes is None or not 0 <= opens < closes:
        raise ValueError(values)
    return opens, closes


def read(report: Report, since_ns: int, ahead: Callable[[int], clocks.ClockDifference]) -> LoadPhase:
    """The values of a phase that starts `since_ns` after the start of the probe.

    `ahead` is the server's monotonic clock minus the client's, at a time of the phase in ns.
    """
    way = report.direction
    if report.window is None:
        most = max((connections for *_, connections in report.intervals), default=0)
        fault = (
            f"load {way}: the throughput of {most} connections did not become stable within {LIMIT_S:.0f} s"
        )
        return LoadPhase(faults=[fault], facts={"reached": False})
    opens_ns, closes_ns = report.window
    whole = since_ns + opens_ns, closes_ns - opens_ns
    samples = [*_load(report, since_ns), *_echoes(report, since_ns, ahead)]
    rounds = rounds_of(report, opens_ns, closes_ns)
    confidence = confidence_of(report)
    value = None if rounds is None else rounds.both
    samples += [
        Sample(TOOL, "responsiveness", "1/min", "sta", way, *whole, value),
        Sample(TOOL, "response_time", "ms", "sta", way, *whole, None if value is None else 60_000 / value),
    ]
    faults = []
    if rounds is None:
        lost = sum(row[-1] is None for rows in (report.foreign, report.own) for row in rows)
        asked = len(report.foreign) + len(report.own)
        faults.append(f"load {way}: {lost} of {asked} requests had no answer")
    return LoadPhase(
        samples=samples,
        faults=faults,
        facts={
            "reached": True,
            "saturated_after_s": opens_ns / NS_PER_S,
            "connections": max(connections for *_, connections in report.intervals),
            "confidence": confidence,
            "foreign_per_min": None if rounds is None else rounds.foreign,
            "own_per_min": None if rounds is None else rounds.own,
            "probes": len(report.own),
        },
    )


def rounds_of(report: Report, start_ns: int, end_ns: int) -> Rounds | None:
    """Round trips per minute of the requests of this time; None without requests, or if too few were answered."""

    def per_minute(*kinds: Sequence[tuple[int, int | None]]) -> float | None:
        """Of the mean time of the kinds, each a trimmed mean."""
        means = [
            trimmed_mean_ns([took for start, took in rows if start_ns <= start < end_ns]) for rows in kinds
        ]
        times_ns = [mean for mean in means if mean]
        return 60 * NS_PER_S / fmean(times_ns) if len(times_ns) == len(kinds) else None

    foreign = per_minute(
        [(start, connected) for start, connected, _ in report.foreign],
        [(start, answered) for start, _, answered in report.foreign],
    )
    own = per_minute(report.own)
    return None if foreign is None or own is None else Rounds(foreign, own)


def trimmed_mean_ns(times_ns: Sequence[int | None]) -> float | None:
    """The mean without the slowest 5 %; None if an answer that counts is missing."""
    answered = sorted(time_ns for time_ns in times_ns if time_ns is not None)
    kept = math.ceil(KEPT * len(times_ns))
    return fmean(answered[:kept]) if 0 < kept <= len(answered) else None


def confidence_of(report: Report) -> LoadConfidence:
    """The confidence in the responsiveness: low without four intervals, high if four moving values are stable."""
    assert report.window is not None
    spans = [(start, end) for start, end, *_ in report.intervals if start >= report.window[0]]
    if len(spans) < AVERAGED:
        return "low"
    moving = [
        rounds_of(report, spans[last - AVERAGED + 1][0], spans[last][1])
        for last in range(AVERAGED - 1, len(spans))
    ]
    values = [rounds.both for rounds in moving[-AVERAGED:] if rounds is not None]
    stable = len(values) == AVERAGED and pstdev(values) < DEVIATION_MOST * values[-1]
    return "high" if stable else "medium"


def _load(report: Report, since_ns: int) -> Iterator[Sample]:
    assert report.window is not None
    way = report.direction
    for start, end, octets, _ in report.intervals:
        if end > start:
            bit_per_s = 8 * octets * NS_PER_S / (end - start)
            where = (ENDS[way][1], way, since_ns + start, end - start)
            phase: Literal["warmup", "measure"] = "measure" if start >= report.window[0] else "warmup"
            yield Sample(TOOL, "load_throughput", "bit/s", *where, bit_per_s, phase)


def _echoes(
    report: Report, since_ns: int, ahead: Callable[[int], clocks.ClockDifference]
) -> Iterator[Sample]:
    assert report.window is not None
    way, (opens_ns, closes_ns) = report.direction, report.window
    sign = -1 if way == "up" else 1
    delays, uncertainty_ns, sent, lost = [], 0.0, 0, 0
    for start, rtt_ns, up_ns, down_ns in report.echoes:
        if not opens_ns <= start < closes_ns:
            continue
        sent += 1
        told_ns = up_ns if way == "up" else down_ns
        if rtt_ns is None or told_ns is None:
            lost += 1
            continue
        t_ns = since_ns + start
        yield Sample(TOOL, "rtt_loaded", "ms", "sta", way, t_ns, max(0, rtt_ns), rtt_ns / 1e6)
        difference = ahead(start)
        delay_ns = told_ns + sign * difference.offset_ns
        uncertainty_ns = max(uncertainty_ns, difference.uncertainty_ns)
        where = (ENDS[way][1], way, t_ns, max(0, round(delay_ns)))
        delays.append(Sample(TOOL, "delay_loaded", "ms", *where, delay_ns / 1e6))
    yield from clocks.known(delays, uncertainty_ns)
    whole = since_ns + opens_ns, closes_ns - opens_ns
    for metric, count in (("datagrams_sent", sent), ("datagrams_lost", lost)):
        yield Sample(TOOL, metric, "1", "sta", way, *whole, float(count))
