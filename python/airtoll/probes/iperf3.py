"""Throughput, jitter, loss and TCP's own view of the link, by iperf3; CPU load over the same window.

The server runs on the access point's host, the client on the station's, so payload goes up. The figures are
the *server's*: what the sender reports is what it gave to its own stack. Warm-up is cut from the intervals
afterwards, never by -O: with -u, iperf3 3.12 counts losses over the omitted time but datagrams without it. -t
takes whole seconds only, so the client is given more than it needs and interrupted after the window; both
ends then still print a whole report, with "the client has terminated" as its error.

| metric         | unit  | endpoint | what it is                                                             |
|----------------|-------|----------|------------------------------------------------------------------------|
| throughput     | bit/s | ap       | payload that arrived                                                   |
| throughput     | bit/s | sta      | payload that the client gave to its stack                              |
| jitter         | ms    | ap       | UDP: interarrival jitter (RFC 3550 section 6.4.1) at the end of it     |
| datagrams_sent | 1     | ap       | UDP: by the sequence numbers that arrived, so lost ones included       |
| datagrams_lost | 1     | ap       | UDP: gaps in them; below 0 if an earlier interval's gap is filled late |
| retransmits    | 1     | sta      | TCP segments                                                           |
| tcp_srtt       | ms    | sta      | TCP's smoothed round-trip time under this load (RFC 6298)              |
| tcp_cwnd       | B     | sta      | TCP's congestion window                                                |
| cpu_process    | %     | ap, sta  | CPU of the iperf3 process over the whole test, one core = 100 %        |

UDP is offered 1.25 times what the link could carry *open*, at every security level alike: within a block,
loss is compared at an equal load.
"""

import math
import time
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from airtoll.errors import AirtollError
from airtoll.labs.base import Host, Link, last_words
from airtoll.probes import cpu, process
from airtoll.probes.base import Measurement, Phase, Sample
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method, Transport

PORT = 5201
OVERLOAD = 1.25
"""Enough to keep a queue of 128 MPDUs full after 0.2 s."""

INTERVAL_S = 0.1  # the shortest that iperf3 allows

STOP_MARGIN_S = 0.25
"""From the window's planned end to the interruption: for starting, connecting and the last interval."""

UDP_BUFFERS = ("2M", "400K", None)
"""Socket buffers to ask for, the largest that the kernel grants: 400K fits the usual net.core.rmem_max of 208
KiB, which the kernel doubles; None takes the system's default."""

_INTERRUPTED = ("interrupt - the client has terminated", "the client has terminated")
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
    bits_per_second: float | None  # cJSON prints what is no number as null
    jitter_ms: float | None = None
    lost_packets: _Count | None = None
    packets: _Count | None = None
    retransmits: _Count | None = None


class _Interval(_Model):
    streams: list[_Stream]
    sum: _Sum


class _Test(_Model):
    blksize: int


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


class Report(_Model):
    """The parts of iperf3's JSON report that airtoll reads."""

    start: _Start
    intervals: list[_Interval]
    end: _End
    error: str | None = None


class _BufferRefusedError(AirtollError):
    """The kernel's limits do not allow the socket buffer asked for."""


class Throughput:
    """Measures a cell by iperf3, with CPU load taken over the same window."""

    name = "throughput"

    def __init__(self) -> None:
        self._buffers = list(
            UDP_BUFFERS
        )  # the first one is used; what was refused once is not asked for again

    def missing(self) -> str | None:
        """What must be installed before this probe can work, or None if all is there."""
        return process.lacking({"iperf3": "iperf3", "timeout": "coreutils"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError when iperf3 fails, with its own words."""
        while True:
            try:
                return self._measure(link, cell, method, self._buffers[0])
            except _BufferRefusedError:
                if len(self._buffers) == 1:
                    raise
                del self._buffers[0]

    def _measure(self, link: Link, cell: Cell, method: Method, buffer: str | None) -> Measurement:
        window = Window.of(method)
        stop_s = window.closes_s + STOP_MARGIN_S
        address = link.addresses["ap", cell.ip]
        every = ["-J", "-p", str(PORT), "-i", str(INTERVAL_S)]
        server_argv = ["iperf3", "-s", "-1", *every, "-B", address]
        client_argv = [
            "iperf3",
            "-c",
            address,
            *every,
            "-t",
            str(math.ceil(stop_s)),
            "-l",
            str(cell.packet_size),
        ]
        offered_bit_per_s = None
        if cell.transport == "udp":
            offered_bit_per_s = offered_load_bit_per_s(link)
            client_argv += ["-u", "-b", str(offered_bit_per_s), *(["-w", buffer] if buffer else [])]
        else:
            client_argv += ["-C", "cubic"]
        # timeout(1) counts on the client's host and also ends a client that ignores the interruption.
        stopper = ["timeout", "--signal=INT", f"--kill-after={process.GRACE_S}", f"{stop_s:.3f}"]

        ap, sta = link.hosts["ap"], link.hosts["sta"]
        with process.serving(ap, server_argv, "tcp", PORT, _who("server", ap)) as server:
            if server.poll() is not None:
                _refuse_early_end(*process.finish(server, process.GRACE_S, _who("server", ap)), ap)
            started_s = time.monotonic()
            with process.started(sta, [*stopper, *client_argv]) as client:
                process.wait_until(client, started_s + window.opens_s)
                opening = cpu.snapshot(link)
                process.wait_until(client, started_s + window.closes_s)
                closing = cpu.snapshot(link)
                client_output, client_stderr = process.finish(
                    client, stop_s + 2 * process.GRACE_S, _who("client", sta)
                )
            client_report = parse(client_output, client_stderr, _who("client", sta))
            server_output, server_stderr = process.finish(server, process.GRACE_S, _who("server", ap))
            server_report = parse(server_output, server_stderr, _who("server", ap))

        opened_ns = round(window.opens_s * NS_PER_S)
        return Measurement(
            samples=[
                *server_samples(server_report, cell.transport, window),
                *client_samples(client_report, cell.transport, window),
                *cpu.between(opening, closing, opened_ns),
            ],
            raw={"iperf3-server.json": server_output, "iperf3-client.json": client_output},
            facts={
                "version": server_report.start.version,
                "server": server_argv,
                "client": client_argv,
                "stopped_after_s": stop_s,
                "offered_bit_per_s": offered_bit_per_s,
                "socket_buffer": buffer if cell.transport == "udp" else None,
                "tcp_congestion": client_report.end.sender_tcp_congestion,
                "tcp_mss_bytes": client_report.start.tcp_mss_default if cell.transport == "tcp" else None,
            },
            faults=faults(client_report, server_report, window, offered_bit_per_s),
        )


def offered_load_bit_per_s(link: Link) -> int:
    """UDP payload to offer: more than the open link carries, the same at every security level of a block."""
    capacity = link.facts.get("capacity_open_bit_per_s")
    if capacity is None:
        raise AirtollError(
            "the lab does not say how much the open link carries, so no UDP load can be chosen"
        )
    return round(OVERLOAD * float(capacity))


def parse(output: bytes, stderr: bytes, who: str) -> Report:
    """One end's report. Raises AirtollError naming that end if it is not whole or tells of a failure."""
    try:
        report = Report.model_validate_json(output)
    except ValidationError:
        if output.strip():
            raise AirtollError(
                f"{who}: its report of {len(output)} bytes is cut off or no iperf3 report"
            ) from None
        raise AirtollError(f"{who}: {last_words(stderr, output)}") from None
    error = report.error
    if error is None or error.startswith(_INTERRUPTED):
        if not report.intervals:
            raise AirtollError(f"{who}: the test ended before it began")
        return report
    if _BUFFER_REFUSED in error:
        raise _BufferRefusedError(f"{who}: {error}")
    if "Address already in use" in error:
        raise AirtollError(f"{who}: port {PORT} is in use")
    words = " ".join(error.removeprefix("error - ").split())
    raise AirtollError(f"{who}: {words or 'it failed without a word'}")


def server_samples(report: Report, transport: Transport, window: Window) -> list[Sample]:
    """What arrived at the access point, a sample for each metric and interval."""
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
        samples += _interval_samples(values, "ap", row, window)
    return samples + _process_sample(report, "ap")


def client_samples(report: Report, transport: Transport, window: Window) -> list[Sample]:
    """What the station sent and how its TCP fared, a sample for each metric and interval."""
    samples: list[Sample] = []
    for interval in report.intervals:
        row = interval.sum
        values = [("throughput", "bit/s", row.bits_per_second)]
        if transport == "tcp":
            values.append(("retransmits", "1", row.retransmits))
            for stream in interval.streams[:1]:  # there is no more than one
                values += [
                    ("tcp_srtt", "ms", None if stream.rtt is None else stream.rtt / 1000),
                    ("tcp_cwnd", "B", stream.snd_cwnd),
                ]
        samples += _interval_samples(values, "sta", row, window)
    return samples + _process_sample(report, "sta")


def _interval_samples(
    values: Sequence[tuple[str, str, float | None]], endpoint: str, row: _Sum, window: Window
) -> Iterator[Sample]:
    phase = _phase(row, window)
    if phase is None:
        return
    t_ns = round(row.start * NS_PER_S)
    dur_ns = max(0, round(row.end * NS_PER_S) - t_ns)
    for metric, unit, value in values:
        number = None if value is None else float(value)
        yield Sample("iperf3", metric, unit, endpoint, "up", t_ns, dur_ns, number, phase)


def _process_sample(report: Report, endpoint: str) -> list[Sample]:
    """Each end's own figure: the one it has of the other end is lost when the test is interrupted."""
    load = report.end.cpu_utilization_percent.host_total
    dur_ns = round(max((interval.sum.end for interval in report.intervals), default=0.0) * NS_PER_S)
    return [Sample("iperf3", "cpu_process", "%", endpoint, "", 0, dur_ns, load)]


def faults(client: Report, server: Report, window: Window, offered_bit_per_s: int | None) -> list[str]:
    """Reasons for which the two reports make no valid run."""
    found = []
    if client.start.cookie != server.start.cookie:
        found.append("iperf3: client and server report different tests")
    if client.start.test_start != server.start.test_start:
        found.append("iperf3: client and server used different block sizes")
    # An interrupted client reports nothing after its last whole interval, and the two clocks differ a little.
    sent_b = sum(interval.sum.bytes for interval in client.intervals)
    received_b = sum(interval.sum.bytes for interval in server.intervals[: len(client.intervals) - 1])
    if received_b > sent_b:
        found.append(f"iperf3: {received_b} bytes had arrived when only {sent_b} had been sent")

    measured = _measured(server, window)
    covered_s = sum(row.end - row.start for row in measured)
    # Intervals do not begin exactly on the window's edges: half of one may be missing at each.
    if covered_s < window.duration_s - INTERVAL_S:
        found.append(f"iperf3: short window: {covered_s:.2f} s of {window.duration_s:.2f} s were measured")
    silent = sum(row.bytes == 0 for row in measured)
    if silent:
        found.append(f"iperf3: nothing arrived in {silent} of {len(measured)} intervals")
    if offered_bit_per_s is not None:
        offered = _measured(client, window)
        offered_s = sum(row.end - row.start for row in offered)
        sent_bit_per_s = 8 * sum(row.bytes for row in offered) / offered_s if offered_s > 0 else 0.0
        if sent_bit_per_s < offered_bit_per_s / OVERLOAD:
            found.append(
                f"iperf3: the client sent {sent_bit_per_s / 1e6:.2f} Mbit/s instead of "
                f"{offered_bit_per_s / 1e6:.2f}, less than the open link carries"
            )
    return found


def _phase(row: _Sum, window: Window) -> Phase | None:
    """By the interval's middle: its ends are some 0.1 ms off the round times of the window's ends."""
    return window.phase((row.start + row.end) / 2)


def _measured(report: Report, window: Window) -> list[_Sum]:
    return [interval.sum for interval in report.intervals if _phase(interval.sum, window) == "measure"]


def _refuse_early_end(stdout: bytes, stderr: bytes, host: Host) -> None:
    who = _who("server", host)
    parse(stdout, stderr, who)
    raise AirtollError(f"{who} ended before a client came: {last_words(stderr, stdout)}")


def _who(end: str, host: Host) -> str:
    return f"iperf3 {end} on {host.name}"
