"""iperf3's JSON report (`-J` or `--json-stream`) of one test, from its client or its server.

Only received data counts. A receiver reports it per interval. For data that the other end received, a client's report
has only the sum over the test, which the server sends at the end, and a server's report has nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S, Window
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import OTHER_WAY, Asked, FileModel, Format, Reading, checked
from airtoll.store.records import Facts
from airtoll.study.quantity import one_line

_Seconds = Annotated[float, Field(ge=0, le=1e6)]
_Count = Annotated[int, Field(ge=-(2**53), le=2**53)]

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
    num_streams: int = Field(ge=1, le=128)
    blksize: int = Field(ge=1, le=2**31)
    omit: _Seconds = 0.0
    duration: Annotated[float, Field(gt=0, le=1e6)]
    reverse: int = 0
    target_bitrate: Annotated[float, Field(ge=0, le=1e15)] | None = None  # per stream, bit/s; since 3.10


class _Stamp(FileModel):
    timesecs: int = Field(ge=0, le=2**33)


class _Connection(FileModel):
    local_host: str = ""


class _Start(FileModel):
    version: str
    timestamp: _Stamp
    test_start: _Test
    connected: tuple[_Connection, ...] = ()
    system_info: str = ""
    cookie: str | None = None
    connecting_to: dict[str, object] | None = None  # only in a client's report
    target_bitrate: float | None = None


class _Report(FileModel):
    start: _Start
    intervals: list[_Interval]
    end: _End


@dataclass(frozen=True)
class _Flow:
    """Data in one direction, in the report of one end."""

    way: Way
    sends: bool  # whether the reporting end sends
    rows: Sequence[_Sum]
    received: _Sum | None  # received data of the other end, over the whole test
    counted: _Sum | None  # datagram counts of the other end


def _is_iperf3(document: Document) -> bool:
    json = document.json
    return isinstance(json, dict) and "intervals" in json and "start" in json


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    _refuse_failure(document)
    report = checked(_Report, document, "not a complete report of one iperf3 test")
    start, test = report.start, report.start.test_start
    if not report.intervals:
        raise UsageError(f"{document.name}: the test ended before it began")
    by_client = start.connecting_to is not None
    client = asked.client
    flows = list(_flows(report, asked.forth, by_client=by_client))
    samples = [sample for flow in flows for sample in _samples(flow, report, ENDS[flow.way])]
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
        started=datetime.fromtimestamp(start.timestamp.timesecs, UTC),
        duration_s=test.duration,
        levels={
            "transport": test.protocol.lower(),
            "ip": "ipv6" if any(":" in each.local_host for each in start.connected) else "ipv4",
            "packet_size": test.blksize,
            "direction": flows[0].way if len(flows) == 1 else "both",
            "offered": offered * test.num_streams / 1e6 if offered else "max",
        },
        measurements={"throughput": Measurement(samples, {}, facts, tuple(_faults(flows)))},
        probes=("throughput",),
        hosts={reporter: _host(start.system_info)},
        settings={"parallel": test.num_streams, "duration_s": test.duration, "omit_s": test.omit},
        identity=start.cookie,
    )
    return (reading,)


def _refuse_failure(document: Document) -> None:
    error = document.json.get("error")
    if error is not None:
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
    yield _Flow(way, sends, [interval.sum for interval in report.intervals], received, counted)
    if first.sum_bidir_reverse is not None:
        rows = [each.sum_bidir_reverse for each in report.intervals if each.sum_bidir_reverse is not None]
        received = _known(end.sum_received_bidir_reverse)
        yield _Flow(OTHER_WAY[way], not sends, rows, received, received)


def _known(total: _Sum | None) -> _Sum | None:
    """The sum, or None if this end does not know the sum: a server reports 0 for data that it sent."""
    return total if total is not None and total.bytes > 0 and total.end - total.start >= _SHORTEST_S else None


def _samples(flow: _Flow, report: _Report, ends: tuple[str, str]) -> Iterator[Sample]:
    test = report.start.test_start
    sender, receiver = ends
    window = Window(test.omit, test.omit + test.duration)
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
        where = (receiver, flow.way, _ns(test.omit), _ns(test.duration))
        yield Sample("iperf3", metric, unit, *where, _number(value), "measure")


def _udp(row: _Sum) -> list[tuple[str, str, float | None]]:
    return [
        ("jitter", "ms", row.jitter_ms),
        ("datagrams_lost", "1", row.lost_packets),
        ("datagrams_sent", "1", row.packets),
    ]


def _faults(flows: Sequence[_Flow]) -> Iterator[str]:
    for flow in flows:
        if flow.sends and flow.received is None:
            yield f"iperf3: the report has the data sent {flow.way} but not the data received: import the other end's"


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
    read=_read,
)
