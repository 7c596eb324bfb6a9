"""iperf3's two reports: their samples, and the reasons why a run is invalid.

All functions are pure and take the reports' bytes. `iperf3` runs the tool and documents the samples.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, FailFast, Field

from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.probes.base import Phase, Sample
from airtoll.probes.flows import PORT, Way, zeros_allowed
from airtoll.probes.process import read_report
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell
from airtoll.study.factors import Transport

OVERLOAD = 1.25
"""UDP load over the capacity of the open link: enough to keep a queue of 128 MPDUs full after 0.2 s."""

INTERVAL_S = 0.1  # the shortest interval that iperf3 supports

UNFETCHED_MOST = 0.01
"""Highest tolerated share of arriving datagrams that a server fetches too late: above it, the host is the limit."""

_INTERRUPTED = ("interrupt - the client has terminated", "the client has terminated")
_AFTER_INTERRUPTION = "getsockopt - Bad file descriptor"
"""A second "error" that a server (3.12) may report then: it asks for the statistics of a socket that it has closed."""

_BUFFER_REFUSED = "socket buffer size not set correctly"

_Seconds = Annotated[float, Field(ge=0, le=1e6)]
_Count = Annotated[int, Field(ge=-(2**53), le=2**53)]


class _Model(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


class _Stream(_Model):
    rtt: _Count | None = None  # us
    snd_cwnd: _Count | None = None  # octets


class _Sum(_Model):
    start: _Seconds
    end: _Seconds
    bytes: _Count
    bits_per_second: float | None  # cJSON prints NaN and infinity as null
    jitter_ms: float | None = None
    lost_packets: _Count | None = None
    packets: _Count | None = None
    retransmits: _Count | None = None


class _Interval(_Model):
    streams: Annotated[list[_Stream], FailFast()]
    sum: _Sum


class _Test(_Model):
    blksize: int
    protocol: str = ""


class _Start(_Model):
    version: str = "iperf3"
    cookie: str | None = None
    tcp_mss_default: int | None = None
    test_start: _Test | None = None


class _CpuUtilization(_Model):
    host_total: float | None = None


class _End(_Model):
    cpu_utilization_percent: _CpuUtilization = _CpuUtilization()
    sender_tcp_congestion: str | None = None
    receiver_tcp_congestion: str | None = None


class Iperf3Report(_Model):
    """The parts of iperf3's JSON report that airtoll reads."""

    start: _Start
    intervals: Annotated[list[_Interval], FailFast()]
    end: _End
    error: str | None = None


class BufferRefusedError(AirtollError):
    """The kernel's limits do not allow the requested socket buffer."""


class NotBegunError(AirtollError):
    """A client's test has not begun: UDP's first datagram, which iperf3 does not repeat, or the answer was lost."""


def parse(output: bytes, stderr: bytes, who: str) -> Iperf3Report:
    """Parse one end's report. Raises AirtollError, naming that end, if it is incomplete or reports a failure."""
    report = read_report(Iperf3Report, output, who, "iperf3", last_words(stderr, output))
    error = report.error
    if error is not None and error.endswith(_AFTER_INTERRUPTION):
        error = next((known for known in _INTERRUPTED if f'"{known}"'.encode() in output), error)
    if error is None or error.startswith(_INTERRUPTED):
        if not report.intervals:
            raise NotBegunError(f"{who}: the test ended before it began")
        return report
    if _BUFFER_REFUSED in error:
        raise BufferRefusedError(f"{who}: {error}")
    if "Address already in use" in error:
        raise AirtollError(f"{who}: port {PORT} is in use")
    words = " ".join(error.removeprefix("error - ").split())
    raise AirtollError(f"{who}: {words or 'it failed without an error message'}")


def later(report: Iperf3Report, by_s: float) -> Iperf3Report:
    """The report of a client, shifted by its start time on the common time scale."""

    def moved(interval: _Interval) -> _Interval:
        row = interval.sum
        times = {"start": row.start + by_s, "end": row.end + by_s}
        return interval.model_copy(update={"sum": row.model_copy(update=times)})

    return report.model_copy(update={"intervals": [moved(interval) for interval in report.intervals]})


def total_samples(reports: Sequence[Iperf3Report], window: Window, endpoint: str, way: Way) -> list[Sample]:
    """Throughput of all stations together, in the intervals of the station that began last."""
    samples: list[Sample] = []
    for interval in reports[-1].intervals:
        row = interval.sum
        parts = [_mean_over(report, row.start, row.end) for report in reports]
        if None not in parts:
            total = [("throughput", "bit/s", sum(part for part in parts if part is not None))]
            samples += _interval_samples(total, endpoint, way, row, window)
    return samples


def _mean_over(report: Iperf3Report, start_s: float, end_s: float) -> float | None:
    """Mean throughput over a time span; None unless the report covers more than 90 % of the span."""
    bits, covered_s = 0.0, 0.0
    for interval in report.intervals:
        row = interval.sum
        shared_s = min(end_s, row.end) - max(start_s, row.start)
        if shared_s > 0:
            bits += 8 * row.bytes * shared_s / (row.end - row.start)
            covered_s += shared_s
    return bits / covered_s if covered_s > 0.9 * (end_s - start_s) else None


def server_samples(
    report: Iperf3Report, transport: Transport, window: Window, endpoint: str = "ap", way: Way = "up"
) -> list[Sample]:
    """Samples of a receiving end, one per metric and interval."""
    samples: list[Sample] = []
    for interval in report.intervals:
        row = interval.sum
        values = [("throughput", "bit/s", row.bits_per_second)]
        if transport == "udp":
            values += [
                ("jitter", "ms", row.jitter_ms),
                ("datagrams_lost", "1", row.lost_packets),
                ("datagrams_sent", "1", row.packets),
            ]
        samples += _interval_samples(values, endpoint, way, row, window)
    return samples + _process_sample(report, endpoint)


def client_samples(
    report: Iperf3Report, transport: Transport, window: Window, endpoint: str = "sta", way: Way = "up"
) -> list[Sample]:
    """Samples of a sending end and its TCP, one per metric and interval."""
    samples: list[Sample] = []
    for interval in report.intervals:
        row = interval.sum
        values = [("throughput", "bit/s", row.bits_per_second)]
        if transport == "tcp":
            values.append(("retransmits", "1", row.retransmits))
            for stream in interval.streams[:1]:  # there is at most one
                values += [
                    ("tcp_srtt", "ms", None if stream.rtt is None else stream.rtt / 1000),
                    ("tcp_cwnd", "B", stream.snd_cwnd),
                ]
        samples += _interval_samples(values, endpoint, way, row, window)
    return samples + _process_sample(report, endpoint)


def _interval_samples(
    values: Sequence[tuple[str, str, float | None]], endpoint: str, way: Way, row: _Sum, window: Window
) -> Iterator[Sample]:
    phase = _phase(row, window)
    if phase is None:
        return
    t_ns = round(row.start * NS_PER_S)
    dur_ns = max(0, round(row.end * NS_PER_S) - t_ns)
    for metric, unit, value in values:
        number = None if value is None else float(value)
        yield Sample("iperf3", metric, unit, endpoint, way, t_ns, dur_ns, number, phase)


def _process_sample(report: Iperf3Report, endpoint: str) -> list[Sample]:
    """CPU load of this end's process. The interruption loses each end's report on the other end."""
    load = report.end.cpu_utilization_percent.host_total
    dur_ns = round(max((interval.sum.end for interval in report.intervals), default=0.0) * NS_PER_S)
    return [Sample("iperf3", "cpu_process", "%", endpoint, "", 0, dur_ns, load)]


def faults(
    client: Iperf3Report,
    server: Iperf3Report,
    window: Window,
    offered_bit_per_s: int | None,
    station: str | None = None,
    sent_least: float = 1 / OVERLOAD,
) -> list[str]:
    """Reasons why the run of these two reports is invalid. One `station` of several may get little of the air.

    `sent_least` is the least share of the offered load that the client must send.
    """
    found = []
    if client.start.cookie != server.start.cookie:
        found.append("iperf3: client and server report different tests")
    if client.start.test_start != server.start.test_start:
        found.append("iperf3: client and server used different block sizes")
    # An interrupted client reports nothing after its last complete interval, and the two clocks differ slightly.
    sent_b = sum(interval.sum.bytes for interval in client.intervals)
    received_b = sum(interval.sum.bytes for interval in server.intervals[: len(client.intervals) - 1])
    if received_b > sent_b:
        found.append(f"iperf3: {received_b} bytes had arrived when only {sent_b} had been sent")

    measured = _measured(server, window)
    covered_s = sum(row.end - row.start for row in measured)
    # Intervals do not begin exactly at the window's edges: half an interval may be missing at each edge.
    if covered_s < window.duration_s - INTERVAL_S:
        found.append(f"iperf3: short window: {covered_s:.2f} s of {window.duration_s:.2f} s were measured")
    silent = sum(row.bytes == 0 for row in measured)
    test = client.start.test_start
    transport: Transport = "tcp" if test is not None and test.protocol == "TCP" else "udp"
    if silent > zeros_allowed(transport, len(measured)) and station is None:
        found.append(f"iperf3: nothing arrived in {silent} of {len(measured)} intervals")
    if offered_bit_per_s is not None:
        sent_bit_per_s = sent_rate_bit_per_s(client, window)
        if sent_bit_per_s < offered_bit_per_s * sent_least:
            found.append(
                f"iperf3: the client sent {sent_bit_per_s / 1e6:.2f} Mbit/s instead of {offered_bit_per_s / 1e6:.2f}"
                + (", less than the open link carries" if sent_least == 1 / OVERLOAD else "")
            )
    return found


def sent_rate_bit_per_s(client: Iperf3Report, window: Window) -> float:
    """The rate at which the client sent within the window."""
    rows = _measured(client, window)
    lasted_s = sum(row.end - row.start for row in rows)
    return 8 * sum(row.bytes for row in rows) / lasted_s if lasted_s > 0 else 0.0


def unfetched_fault(servers: Sequence[Iperf3Report], unfetched: int) -> list[str]:
    """A fault if more than a few datagrams arrived when the servers' socket buffers were full."""
    rows = [interval.sum for server in servers for interval in server.intervals]
    fetched = sum((row.packets or 0) - (row.lost_packets or 0) for row in rows)
    share = unfetched / max(fetched + unfetched, 1)
    if share <= UNFETCHED_MOST:
        return []
    return [
        f"iperf3: {100 * share:.1f} % of the datagrams that arrived were not fetched in time: "
        "the receiving host, not the link, sets the result"
    ]


def _phase(row: _Sum, window: Window) -> Phase | None:
    """The phase of the interval's middle. Intervals end some 0.1 ms away from the window's ends."""
    return window.phase((row.start + row.end) / 2)


def _measured(report: Iperf3Report, window: Window) -> list[_Sum]:
    return [interval.sum for interval in report.intervals if _phase(interval.sum, window) == "measure"]


def segment_fault(cell: Cell, segment_b: int | None) -> list[str]:
    """A fault if the segments do not have the requested size."""
    if cell.tcp_size != "mss" or segment_b == cell.packet_size:
        return []
    real = "unknown" if segment_b is None else f"{segment_b} B"
    return [f"iperf3: the payload of TCP segments is {real}, expected {cell.packet_size} B"]
