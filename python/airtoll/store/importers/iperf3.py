"""iperf3's JSON report (`-J` or `--json-stream`) of one test, from its client or its server.

Only received data counts. A receiver reports it per interval. For data that the other end received, a client's report
has only the sum over the test, which the server sends at the end, and a server's report has nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import FailFast, Field

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S, Window
from airtoll.store.importers.files import Document, RepeatedKeys
from airtoll.store.importers.plausible import miscounted
from airtoll.store.importers.reading import OTHER_WAY, Asked, FileModel, Format, Reading, checked
from airtoll.store.records import Facts
from airtoll.study.quantity import one_line

_Seconds = Annotated[float, Field(ge=0, le=1e6)]
_Count = Annotated[
    int, Field(gt=-(2**64), lt=2**64)
]  # iperf3 prints negative counts of datagrams without their sign

_TWICE: Final = frozenset({"sum", "sum_sent", "sum_received"})
_BACKWARDS: Final = "_bidir_reverse"
_ERROR: Final = "error"

_STREAMS_MOST: Final = 128
"""iperf3's limit (MAX_STREAMS), per direction."""

_SHORTEST_S: Final = 0.05
"""A shorter remainder after the last complete interval gives no meaningful rate."""


class _Sum(FileModel):
    start: _Seconds
    end: _Seconds
    bytes: _Count
    bits_per_second: float | None = None  # cJSON prints NaN and infinity as null
    jitter_ms: float | None = None
    lost_packets: _Count | None = None
    packets: _Count | None = None
    retransmits: _Count | None = None
    omitted: bool = False
    sender: bool | None = None  # whether the reporting end sends; missing before 3.7


class _Interval(FileModel):
    sum: _Sum
    sum_bidir_reverse: _Sum | None = None


class _End(FileModel):
    sum: _Sum | None = None
    sum_received: _Sum | None = None
    sum_received_bidir_reverse: _Sum | None = None
    sender_tcp_congestion: str | None = None


class _Test(FileModel):
    protocol: Literal["TCP", "UDP"]
    num_streams: int = Field(ge=1, le=_STREAMS_MOST)
    blksize: Annotated[int, Field(ge=1, le=2**31)] | None  # None: text without -V
    omit: _Seconds = 0.0
    duration: _Seconds  # 0: the test ends after `bytes` or `blocks`
    bytes: Annotated[int, Field(ge=0, lt=2**64)] = 0
    blocks: Annotated[int, Field(ge=0, lt=2**64)] = 0
    reverse: int = 0
    target_bitrate: Annotated[float, Field(ge=0, le=1e15)] | None = None  # per stream, bit/s; since 3.10


class _Stamp(FileModel):
    timesecs: int = Field(ge=0, le=2**33)


class _Connection(FileModel):
    local_host: str = ""


class _Start(FileModel):
    version: str
    timestamp: _Stamp | None
    test_start: _Test
    connected: Annotated[tuple[_Connection, ...], Field(max_length=2 * _STREAMS_MOST), FailFast()] = ()
    system_info: str = ""
    cookie: str | None = None
    connecting_to: dict[str, object] | None = None  # only in a client's report
    target_bitrate: float | None = None


class _Report(FileModel):
    start: _Start
    intervals: Annotated[list[_Interval], FailFast()]
    end: _End


@dataclass(frozen=True)
class _Flow:
    """Data in one direction, in the report of one end."""

    report: _Report
    way: Way
    sends: bool  # whether the reporting end sends
    rows: Sequence[_Sum]
    received: _Sum | None  # received data of the other end, over the whole test
    counted: _Sum | None  # datagram counts of the other end
    is_empty: bool = False  # whether a client reports that the server received nothing

    @property
    def miscounted(self) -> str | None:
        """Why the receiver's octets contradict its counters of datagrams; None if they agree or are missing."""
        test = self.report.start.test_start
        totals = [self.received] if self.sends else [row for row in self.rows if not row.omitted]
        counts = [(each.bytes, each.lost_packets, each.packets) for each in totals if each is not None]
        if (
            test.protocol == "TCP"
            or test.blksize is None
            or not counts
            or any(None in each for each in counts)
        ):
            return None
        octets, lost, sent = (sum(count or 0 for count in each) for each in zip(*counts, strict=True))
        return miscounted(octets, 0.0, test.blksize, lost, sent)


def _is_iperf3(document: Document) -> bool:
    json = document.json
    return isinstance(json, dict) and "intervals" in json and "start" in json


def read(document: Document, asked: Asked) -> Sequence[Reading]:
    """The test in a report of iperf3 -J. Raises UsageError if it failed or is incomplete."""
    _refuse_failure(document)
    untangled = replace(document, json=_untangled(document))
    report = checked(_Report, untangled, "not a complete report of one iperf3 test")
    start, test = report.start, report.start.test_start
    if not report.intervals:
        raise UsageError(f"{document.name}: the test ended before it began")
    by_client = start.connecting_to is not None
    client = asked.client
    duration_s = test.duration or max((i.sum.end for i in report.intervals if not i.sum.omitted), default=0.0)
    if duration_s < _SHORTEST_S:
        raise UsageError(f"{document.name}: the test lasted {duration_s:g} s, which is too short for a rate")
    flows = list(_flows(report, asked.forth, by_client=by_client))
    samples = [sample for flow in flows for sample in _samples(flow, duration_s, ENDS[flow.way])]
    offered = test.target_bitrate or start.target_bitrate
    reporter = client if by_client else {"sta": "ap", "ap": "sta"}[client]
    facts = {
        "tool": "iperf3",
        "version": start.version,
        "reported_by": "client" if by_client else "server",
        "parallel": test.num_streams,
        "tcp_congestion": report.end.sender_tcp_congestion,
    }
    reading = Reading(
        tool="iperf3",
        started=None if start.timestamp is None else datetime.fromtimestamp(start.timestamp.timesecs, UTC),
        duration_s=duration_s,
        levels={
            "transport": test.protocol.lower(),
            "ip": "ipv6" if any(":" in each.local_host for each in start.connected) else "ipv4",
            **({} if test.blksize is None else {"packet_size": test.blksize}),
            "direction": flows[0].way if len(flows) == 1 else "both",
            "offered": offered * test.num_streams / 1e6 if offered else "max",
        },
        measurements={"throughput": Measurement(samples, {}, facts, tuple(_faults(flows)))},
        probes=("throughput",),
        hosts={reporter: _host(start.system_info)},
        settings={
            "parallel": test.num_streams,
            "omit_s": test.omit,
            **({"duration_s": duration_s} if test.duration else {"bytes": test.bytes, "blocks": test.blocks}),
        },
        identity=start.cookie,
    )
    return (reading,)


def _untangled(document: Document) -> Any:
    """The report with one key per sum: iperf3 3.7 to 3.10 give the sums of both directions of --bidir the same keys."""

    def renamed(part: Any) -> Any:
        if not isinstance(part, RepeatedKeys):
            return part
        made: dict[str, Any] = {}
        for key, value in part.pairs:
            if key == _ERROR:
                continue
            name = f"{key}{_BACKWARDS}" if key in made and key in _TWICE else key
            if name in made:
                raise UsageError(f"{document.name}: an object repeats the key {key} more than twice")
            made[name] = value
        return made

    json = renamed(document.json)
    intervals = json.get("intervals")
    of_intervals = [renamed(each) for each in intervals] if isinstance(intervals, list) else intervals
    return {**json, "intervals": of_intervals, "end": renamed(json.get("end"))}


def _refuse_failure(document: Document) -> None:
    """Raise UsageError with the first error. iperf3 3.0 and 3.1 also record each datagram out of order as an error."""
    json = document.json
    pairs = json.pairs if isinstance(json, RepeatedKeys) else json.items()
    for key, error in pairs:
        if key == _ERROR and error is not None and not str(error).startswith("OUT OF ORDER"):
            words = one_line(" ".join(str(error).split()), most=200)
            raise UsageError(f"{document.name}: the test failed: {words.removeprefix('error - ')}")


def _flows(report: _Report, forth: Way, *, by_client: bool) -> Iterator[_Flow]:
    """The client's traffic to the server, or the server's traffic to it; with --bidir both."""
    backwards = bool(report.start.test_start.reverse)
    way = OTHER_WAY[forth] if backwards else forth
    first = report.intervals[0]
    sends = first.sum.sender if first.sum.sender is not None else by_client != backwards
    end = report.end
    received = _known(end.sum_received)
    # Before 3.7 there is only one sum: its octets are the sender's, its counts the receiver's.
    counted = received or (end.sum if by_client else None)
    is_empty = by_client and end.sum_received is not None and end.sum_received.bytes == 0
    yield _Flow(
        report, way, sends, [interval.sum for interval in report.intervals], received, counted, is_empty
    )
    if first.sum_bidir_reverse is not None:
        rows = [each.sum_bidir_reverse for each in report.intervals if each.sum_bidir_reverse is not None]
        received = _known(end.sum_received_bidir_reverse)
        yield _Flow(report, OTHER_WAY[way], not sends, rows, received, received)


def _known(total: _Sum | None) -> _Sum | None:
    """The sum, or None if this end does not know the sum: a server reports 0 for data that it sent."""
    return total if total is not None and total.bytes > 0 and total.end - total.start >= _SHORTEST_S else None


def _samples(flow: _Flow, duration_s: float, ends: tuple[str, str]) -> Iterator[Sample]:
    test = flow.report.start.test_start
    sender, receiver = ends
    window = Window(test.omit, test.omit + duration_s)
    for row in flow.rows:
        # Times restart at 0 after the omitted intervals.
        opens_s = row.start if row.omitted else row.start + test.omit
        phase = "warmup" if row.omitted else window.phase(opens_s)
        if phase is None or row.end - row.start < _SHORTEST_S:
            continue
        values = [("throughput", "bit/s", row.bits_per_second)]
        if flow.sends and test.protocol == "TCP":
            values.append(("retransmits", "1", row.retransmits))
        if not flow.sends and test.protocol == "UDP":
            values += _udp(row)
        endpoint = sender if flow.sends else receiver
        for metric, unit, value in values:
            t_ns, dur_ns = _ns(opens_s), _ns(row.end - row.start)
            yield Sample("iperf3", metric, unit, endpoint, flow.way, t_ns, dur_ns, _number(value), phase)
    if not flow.sends:
        return
    values = _udp(flow.counted) if test.protocol == "UDP" and flow.counted is not None else []
    if flow.received is not None:
        total_s = flow.received.end - flow.received.start
        values.append(("throughput", "bit/s", 8 * flow.received.bytes / total_s))
    for metric, unit, value in values:
        where = (receiver, flow.way, _ns(test.omit), _ns(duration_s))
        yield Sample("iperf3", metric, unit, *where, _number(value), "measure")


def _udp(row: _Sum) -> list[tuple[str, str, float | None]]:
    return [
        ("jitter", "ms", row.jitter_ms),
        ("datagrams_lost", "1", row.lost_packets),
        ("datagrams_sent", "1", row.packets),
    ]


def _faults(flows: Sequence[_Flow]) -> Iterator[str]:
    for flow in flows:
        if flow.sends and flow.is_empty:
            yield f"iperf3: no data arrived {flow.way}, or the test was interrupted"
        elif flow.sends and flow.received is None:
            yield f"iperf3: the report has the data sent {flow.way} but not the data received: import the other end's"
        elif (why := flow.miscounted) is not None:
            yield f"iperf3: {flow.way}: {why}"


def _host(system_info: str) -> Facts:
    """Parse the output of uname -a: system, name, release."""
    words = system_info.split()
    if len(words) < 3:
        return {}
    return {"hostname": words[1], "kernel": words[2], "system": words[0]}


def _ns(seconds: float) -> int:
    return max(0, round(seconds * NS_PER_S))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


FORMAT: Final = Format(
    tool="iperf3",
    files="`-J` or `--json-stream`; client or server; TCP, UDP, `-R`, `--bidir`, `-P`, `-O`",
    imported="throughput, retransmits; for UDP jitter and loss",
    recognises=_is_iperf3,
    read=read,
    repeatable=_TWICE | {_ERROR},
)
