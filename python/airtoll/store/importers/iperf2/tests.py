"""A test of iperf 2: its streams, their rows, and the samples of all streams together.

Only received data counts as throughput. A receiver reports it by interval. For a UDP test, the client also prints the
totals of the server. For TCP, the server sends the client nothing: the client's total is then the data that it wrote
until the connection was closed, which exceeds the received data by at most one socket buffer.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Literal

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S
from airtoll.store.importers.files import Document
from airtoll.store.importers.plausible import LOSS, miscounted
from airtoll.store.importers.reading import OTHER_WAY, Asked, Reading
from airtoll.study.factors import Transport

End = Literal["client", "server"]
Port = tuple[str, int]
"""An address and a port of it."""

_COVERED: Final = 0.9
"""Share of a test that its intervals must cover. Otherwise the total counts: iperf 2.0.13 omits a client's last one."""

_LATE: Final = 1.25
"""Ratio of the durations at server and client above which the server's rate is wrong."""

_SHORTEST_S: Final = 0.05
"""A shorter interval gives no meaningful rate."""

_LEAST_S: Final = 0.5
"""Shortest test. iperf also prints totals of tests that failed."""

_DIGITS: Final = 4
"""Significant digits of an offered load that is computed from the interval between two datagrams."""


@dataclass(frozen=True)
class IperfRow:
    """One line of a stream: an interval, or the whole test."""

    line: int
    start_s: float
    end_s: float
    bit_per_s: float
    jitter_ms: float | None = None
    lost: int | None = None  # datagrams; None: the sender reports it
    total: int | None = None  # datagrams sent
    retransmits: int | None = None
    octets: float | None = None  # transferred
    rounding_b: float = 0.0  # half the last printed digit of `octets`


@dataclass
class IperfStream:
    """Data in one direction of one connection, in the report of one end."""

    name: str  # in messages
    line: int
    sends: bool  # whether the reporting end sends
    forth: bool  # whether the data flows from the test's client to its server
    connection: tuple[Port, Port]  # of the end that opened it, of the other end
    intervals: list[IperfRow] = field(default_factory=list)
    total: IperfRow | None = None  # of the whole test
    answer: IperfRow | None = None  # the server's total of datagrams, in the client's report

    def add(self, row: IperfRow, document: Document) -> None:
        """Take the next row. Raises UsageError for a row after the total."""
        if self.sends and row.lost is not None:
            self.answer = row
            return
        if self.total is not None:
            # The first row of a test is its total until another one follows.
            if self.intervals or row.start_s not in (0.0, self.total.end_s):
                raise document.error(row.line, f"no more rows of stream {self.name} after its total")
            self.intervals.append(self.total)
            self.total = None
        if row.end_s < row.start_s:
            raise document.error(row.line, "an interval that ends after it starts")
        if row.start_s == 0:
            self.total = row
        else:
            self.intervals.append(row)


@dataclass
class Test:
    """One test: its streams ran at the same time."""

    __test__ = False  # not a test of pytest

    transport: Transport
    end: End | None  # that reported it; None: unknown
    streams: list[IperfStream] = field(default_factory=list)
    started: datetime | None = None  # UTC
    size_b: int | None = None  # octets of a datagram, or of a write to a TCP socket
    buffer_b: int | None = (
        None  # size of the server's buffer, which is that of a datagram unless the client has `-l`
    )
    offered_mbps: float | None = None  # per stream
    settings: dict[str, Any] = field(default_factory=dict)  # must be equal in replicates
    facts: dict[str, Any] = field(default_factory=dict)

    def check(self, document: Document) -> None:
        """Raise UsageError if a stream has no total."""
        for stream in self.streams:
            if stream.total is None:
                raise UsageError(
                    f"{document.name}: line {stream.line}: stream {stream.name} has no total: expected an interval "
                    "from 0 over the whole test; the file is truncated or the test failed"
                )
            least_s = _COVERED * self.settings.get("duration_s", _LEAST_S)
            if stream.total.end_s < least_s:
                expected = f"a total over at least {least_s:g} s, because a shorter test has failed"
                raise document.error(stream.total.line, expected)

    def reading(self, asked: Asked) -> Reading:
        """The test as samples. Every stream must have a total."""
        flows = [
            _Flow(asked.forth if forth else OTHER_WAY[asked.forth], self.transport, streams)
            for forth in (True, False)
            if (streams := [stream for stream in self.streams if stream.forth == forth])
        ]
        parallel = max(len(flow.streams) for flow in flows)
        levels: dict[str, Any] = {
            "transport": self.transport,
            "direction": flows[0].way if len(flows) == 1 else "both",
            "ip": "ipv6" if ":" in self.streams[0].connection[0][0] else "ipv4",
        }
        if self.size_b:
            levels["packet_size"] = self.size_b
        if self.transport == "udp" and self.offered_mbps:
            load = self.offered_mbps * parallel
            levels["offered"] = round(load, _DIGITS - 1 - math.floor(math.log10(load)))
        settings = {"parallel": parallel, **self.settings}
        facts = {"tool": "iperf 2", "reported_by": self.end, **settings, **self.facts}
        if self.transport == "udp" and flows[0].streams[0].sends:
            facts["offered_bit_per_s"] = sum(row.bit_per_s for row in flows[0].totals)
        samples = [sample for flow in flows for sample in flow.samples()]
        faults = tuple(fault for flow in flows for fault in flow.faults(self.size_b))
        losses = [why for flow in flows if (why := flow.odd_loss(self.buffer_b)) is not None]
        (address, port), (other, other_port) = self.streams[0].connection
        return Reading(
            tool="iperf",
            started=self.started,
            duration_s=min(flow.covered_s for flow in flows),
            levels=levels,
            measurements={"throughput": Measurement(samples, {}, facts, faults)},
            probes=("throughput",),
            settings=settings,
            # Both ends report the same ports. The next test has another one.
            identity=None if self.end is None else f"iperf {address} {port} {other} {other_port}",
            end=self.end,
            absent={LOSS: losses[0]} if losses else {},
        )


@dataclass(frozen=True)
class _Flow:
    """All streams of one direction."""

    way: Way
    transport: Transport
    streams: Sequence[IperfStream]

    @cached_property
    def totals(self) -> Sequence[IperfRow]:
        return [stream.total for stream in self.streams if stream.total is not None]

    @cached_property
    def answers(self) -> Sequence[IperfRow]:
        """The server's totals of all streams; empty if one is missing."""
        found = [stream.answer for stream in self.streams if stream.answer is not None]
        return found if len(found) == len(self.streams) else []

    @cached_property
    def rates(self) -> Sequence[Sequence[IperfRow]]:
        """The rows of each interval that all streams report, in order; or the totals, if those cover too little."""
        by_time: dict[tuple[float, float], list[IperfRow]] = {}
        for row in (row for stream in self.streams for row in stream.intervals):
            if row.end_s - row.start_s >= _SHORTEST_S:
                by_time.setdefault((row.start_s, row.end_s), []).append(row)
        found = [rows for _, rows in sorted(by_time.items()) if len(rows) == len(self.streams)]
        covered_s = sum(rows[0].end_s - rows[0].start_s for rows in found)
        return found if covered_s >= _COVERED * max(row.end_s for row in self.totals) else [self.totals]

    @property
    def covered_s(self) -> float:
        """The end of the measured window."""
        return max(row.end_s for row in self.rates[-1])

    def samples(self) -> Iterator[Sample]:
        sends = self.streams[0].sends
        sender, receiver = ENDS[self.way]
        for rows in self.rates:
            yield self._sample("throughput", "bit/s", sender if sends else receiver, rows, "bit_per_s")
            if not sends and self.transport == "udp":
                yield self._mean("jitter", "ms", receiver, rows, "jitter_ms")
            if sends and all(row.retransmits is not None for row in rows):
                yield self._sample("retransmits", "1", sender, rows, "retransmits")
        received = self.totals if self.transport == "tcp" else self.answers
        if sends and received:
            yield self._sample("throughput", "bit/s", receiver, received, "bit_per_s")
            if self.transport == "udp":
                yield self._mean("jitter", "ms", receiver, received, "jitter_ms")
        counted = received if sends else self.totals
        if self.transport == "udp" and counted:
            yield self._sample("datagrams_lost", "1", receiver, counted, "lost")
            yield self._sample("datagrams_sent", "1", receiver, counted, "total")

    def odd_loss(self, size_b: int | None) -> str | None:
        """Why a server's negative loss contradicts its octets; None if it does not, or if the loss is not negative."""
        (row, *others) = self.totals
        is_odd = not self.streams[0].sends and not others and size_b and row.octets and (row.lost or 0) < 0
        if not is_odd or size_b is None or row.octets is None:
            return None
        return (
            f"{row.lost} of {row.total} datagrams lost, but the octets received are about {row.octets / size_b:.0f} "
            f"datagrams of {size_b} B: datagrams were late or repeated, or their size is another one"
        )

    def faults(self, size_b: int | None) -> Iterator[str]:
        for row in self.answers:
            if size_b and row.octets is not None and row.lost is not None and row.total is not None:
                why = miscounted(row.octets, row.rounding_b, size_b, row.lost, row.total)
                if why is not None:
                    yield f"iperf: {self.way}: {why}"
        if self.transport == "tcp" or not self.streams[0].sends:
            return
        if not self.answers:
            yield (
                f"iperf: the report has the data sent {self.way} but not the data received: import the other end's"
            )
        # iperf 2.0.5 starts the clock of a server's next test when the last one ends.
        sent_s, counted_s = (
            max((row.end_s for row in rows), default=0.0) for rows in (self.totals, self.answers)
        )
        if counted_s > _LATE * sent_s:
            yield f"iperf: the server counted {counted_s:g} s of a test of {sent_s:g} s: restart it before each test"

    def _sample(
        self, metric: str, unit: str, endpoint: str, rows: Sequence[IperfRow], key: str, count: int = 1
    ) -> Sample:
        """The sum of the streams over `count`."""
        values = [getattr(row, key) for row in rows]
        value = None if None in values else float(sum(values)) / count
        t_ns = round(min(row.start_s for row in rows) * NS_PER_S)
        dur_ns = round(max(row.end_s for row in rows) * NS_PER_S) - t_ns
        return Sample("iperf", metric, unit, endpoint, self.way, t_ns, dur_ns, value)

    def _mean(self, metric: str, unit: str, endpoint: str, rows: Sequence[IperfRow], key: str) -> Sample:
        return self._sample(metric, unit, endpoint, rows, key, len(rows))
