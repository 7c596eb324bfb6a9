"""Throughput, jitter, loss and TCP's own view of the link, by iperf3; CPU load over the same window.

Payload goes from client to server. For direction up the client runs on the station's host and the server on the
access point's, or on the one that stands for it in the topology (a server behind it, another station); for down
they change places; for both there is a pair for each way. The figures are the *server's*: what the sender reports
is what it gave to its own stack. Warm-up is cut from the intervals afterwards, never by -O: with -u, iperf3 3.12
counts losses over the omitted time but datagrams without it. -t takes whole seconds only, so the client is given
more than it needs and interrupted after the window; both ends then still print a whole report, with "the client
has terminated" as its error.

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

The endpoints are those of direction up; for down `sta` receives. Several stations each have a client and a server of
their own, all at the same time, and a window that opens when the last has begun. `throughput` is then the sum over the
stations; what each has is `throughput_station`, at endpoints like ap/sta1, and so have the other metrics.

UDP is offered 1.25 times what the link could carry *open*, at every security level alike: within a block,
loss is compared at an equal load.
"""

import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from airtoll.errors import AirtollError
from airtoll.labs.base import Host, Link, last_words
from airtoll.probes import cpu, process
from airtoll.probes.base import Measurement, Phase, Sample
from airtoll.probes.flows import ENDS, PORT, Flow, Way, flows_of
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method, Transport

OVERLOAD = 1.25
"""Enough to keep a queue of 128 MPDUs full after 0.2 s."""

INTERVAL_S = 0.1  # the shortest that iperf3 allows

STOP_MARGIN_S = 0.25
"""From the window's planned end to the interruption: for starting, connecting and the last interval."""

UDP_BUFFERS = ("2M", "400K", None)
"""Socket buffers to ask for, the largest that the kernel grants: 400K fits the usual net.core.rmem_max of 208
KiB, which the kernel doubles; None takes the system's default."""

BEGIN_TIMEOUT_S = 10.0
"""By then a client has begun on a link that others load already: its connection may lose its first packets there."""

BEGIN_ATTEMPTS = 3
"""Of several clients the last begin on a link that the others load already."""

UNFETCHED_MOST = 0.01
"""Of the datagrams that arrive; when a server fetches fewer in time, its own host and not the link sets the result."""

_INTERRUPTED = ("interrupt - the client has terminated", "the client has terminated")
_AFTER_INTERRUPTION = "getsockopt - Bad file descriptor"
"""What a server may also say then (3.12), as a second "error": it asks a socket for statistics that it has closed."""

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


class _NotBegunError(AirtollError):
    """A client's test has not begun: UDP's first datagram, which iperf3 does not repeat, or its answer was lost."""


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
        attempts = BEGIN_ATTEMPTS if len(link.pairs) > 1 or cell.direction == "both" else 1
        while True:
            try:
                return self._measure(link, cell, method, self._buffers[0])
            except _BufferRefusedError:
                if len(self._buffers) == 1:
                    raise
                del self._buffers[0]
            except _NotBegunError:
                attempts -= 1
                if attempts == 0:
                    raise

    def _measure(self, link: Link, cell: Cell, method: Method, buffer: str | None) -> Measurement:
        planned = Window.of(method)
        flows = flows_of(link, cell)
        # Of several clients none may end before the window of the last is over; they are interrupted then.
        stop_s = planned.closes_s + STOP_MARGIN_S + (BEGIN_TIMEOUT_S * len(flows) if len(flows) > 1 else 0.0)
        offered = [
            offered_load_bit_per_s(link, flow.share) if cell.transport == "udp" else None for flow in flows
        ]
        commands = [
            _commands(flow, cell, stop_s, load, buffer) for flow, load in zip(flows, offered, strict=True)
        ]
        done = _perform(link, cell.transport, flows, commands, planned, stop_s)
        samples: list[Sample] = []
        found: list[str] = []
        raw: dict[str, bytes] = {}
        totals: dict[tuple[Way, str], list[Report]] = {}
        for index, flow in enumerate(flows):
            sender, receiver = ENDS[flow.way]
            began_s = done.began_s[index]
            client = later(parse(*done.clients[index], _who("client", flow.client)), began_s)
            server = later(parse(*done.servers[index], _who("server", flow.server)), began_s)
            own = [
                *server_samples(server, cell.transport, done.window, receiver, flow.way),
                *client_samples(client, cell.transport, done.window, sender, flow.way),
            ]
            samples += [flow.label(sample) for sample in own]
            own_faults = faults(client, server, done.window, offered[index], flow.station)
            found += [flow.said(fault) for fault in own_faults]
            name = flow.name if len(flows) > 1 else "iperf3"
            raw |= {
                f"{name}-server.json": done.servers[index][0],
                f"{name}-client.json": done.clients[index][0],
            }
            totals.setdefault((flow.way, receiver), []).append(server)
            totals.setdefault((flow.way, sender), []).append(client)
        if cell.transport == "udp":
            servers = [
                server for (way, end), summed in totals.items() if end == ENDS[way][1] for server in summed
            ]
            found += unfetched_fault(servers, done.unfetched)
        if flows[0].station is not None:
            for (way, endpoint), summed in totals.items():
                samples += total_samples(summed, done.window, endpoint, way)
        opened_ns = round(done.window.opens_s * NS_PER_S)
        first_server, first_client = (totals[flows[0].way, end][0] for end in reversed(ENDS[flows[0].way]))
        return Measurement(
            samples=[*samples, *cpu.between(done.opening, done.closing, opened_ns)],
            raw=raw,
            facts={
                "version": first_server.start.version,
                "flows": len(flows),
                "server": commands[0][0],
                "client": commands[0][1],
                "stopped_after_s": stop_s,
                "offered_bit_per_s": offered[0],
                "socket_buffer": buffer if cell.transport == "udp" else None,
                "tcp_congestion": first_client.end.sender_tcp_congestion,
                "tcp_mss_bytes": first_client.start.tcp_mss_default if cell.transport == "tcp" else None,
            },
            faults=found,
        )


@dataclass(frozen=True)
class _Done:
    """What the servers and clients of all flows printed, and when."""

    clients: list[tuple[bytes, bytes]]  # stdout and stderr
    servers: list[tuple[bytes, bytes]]
    began_s: list[float]  # seconds from the first client's begin
    window: Window  # from there
    opening: cpu.Snapshot
    closing: cpu.Snapshot
    unfetched: int  # datagrams that arrived and found no room at the servers' sockets


def _perform(
    link: Link,
    transport: Transport,
    flows: Sequence[Flow],
    commands: Sequence[tuple[list[str], list[str]]],
    planned: Window,
    stop_s: float,
) -> _Done:
    """Run the commands of all flows at the same time."""
    with ExitStack() as running:
        servers, clients, started_s = [], [], []
        for flow, (server_argv, _) in zip(flows, commands, strict=True):
            who = _who("server", flow.server)
            serving = process.serving(flow.server, server_argv, "tcp", flow.port, who)
            server = running.enter_context(serving)
            if server.poll() is not None:
                _refuse_early_end(*process.finish(server, process.GRACE_S, who), flow.server)
            servers.append(server)
        receivers = {flow.server.name: flow.server for flow in flows}.values()
        unfetched_before = sum(process.unfetched(host) for host in receivers)
        for flow, (_, client_argv) in zip(flows, commands, strict=True):
            started_s.append(time.monotonic())
            clients.append(running.enter_context(process.started(flow.client, client_argv)))
            if len(flows) > 1:
                peers = 1 if transport == "udp" else 2  # TCP's control connection is one of them
                by_s = started_s[-1] + BEGIN_TIMEOUT_S
                process.wait_for_peers(flow.server, transport, flow.port, peers, by_s)
                started_s[-1] = time.monotonic()
        late_s = started_s[-1] - started_s[0]
        window = Window(planned.opens_s + late_s, planned.closes_s + late_s)
        process.wait_until(clients[-1], started_s[0] + window.opens_s)
        opening = cpu.snapshot(link)
        process.wait_until(clients[-1], started_s[0] + window.closes_s)
        closing = cpu.snapshot(link)
        if len(flows) > 1:
            process.wait_until(clients[-1], started_s[0] + window.closes_s + STOP_MARGIN_S)
            for client in clients:
                client.send_signal(signal.SIGINT)
        outputs = [
            process.finish(client, stop_s + 2 * process.GRACE_S, _who("client", flow.client))
            for flow, client in zip(flows, clients, strict=True)
        ]
        for flow, output in zip(flows, outputs, strict=True):
            parse(*output, _who("client", flow.client))  # a server may wait for ever for a client that failed
        return _Done(
            clients=outputs,
            servers=[
                process.finish(server, process.GRACE_S, _who("server", flow.server))
                for flow, server in zip(flows, servers, strict=True)
            ],
            began_s=[moment_s - started_s[0] for moment_s in started_s],
            window=window,
            opening=opening,
            closing=closing,
            unfetched=sum(process.unfetched(host) for host in receivers) - unfetched_before,
        )


def _commands(
    flow: Flow, cell: Cell, stop_s: float, offered_bit_per_s: int | None, buffer: str | None
) -> tuple[list[str], list[str]]:
    """The server's and the client's."""
    every = ["-J", "-p", str(flow.port), "-i", str(INTERVAL_S)]
    server = ["iperf3", "-s", "-1", *every, "-B", flow.address]
    client = ["iperf3", "-c", flow.address, *every, "-t", str(math.ceil(stop_s)), "-l", str(cell.packet_size)]
    if offered_bit_per_s is not None:
        client += ["-u", "-b", str(offered_bit_per_s), *(["-w", buffer] if buffer else [])]
    else:
        client += ["-C", "cubic"]
    # timeout(1) counts on the client's host and also ends a client that ignores the interruption.
    stopper = ["timeout", "--signal=INT", f"--kill-after={process.GRACE_S}", f"{stop_s:.3f}"]
    return server, [*stopper, *client]


def offered_load_bit_per_s(link: Link, share: float = 1.0) -> int:
    """UDP payload that a flow with this share is to offer: more than the open link carries, whatever the security."""
    capacity = link.facts.get("capacity_open_bit_per_s")
    if capacity is None:
        raise AirtollError(
            "the lab does not say how much the open link carries, so no UDP load can be chosen"
        )
    return round(OVERLOAD * float(capacity) * share)


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
    if error is not None and error.endswith(_AFTER_INTERRUPTION):
        error = next((known for known in _INTERRUPTED if f'"{known}"'.encode() in output), error)
    if error is None or error.startswith(_INTERRUPTED):
        if not report.intervals:
            raise _NotBegunError(f"{who}: the test ended before it began")
        return report
    if _BUFFER_REFUSED in error:
        raise _BufferRefusedError(f"{who}: {error}")
    if "Address already in use" in error:
        raise AirtollError(f"{who}: port {PORT} is in use")
    words = " ".join(error.removeprefix("error - ").split())
    raise AirtollError(f"{who}: {words or 'it failed without a word'}")


def later(report: Report, by_s: float) -> Report:
    """The report of a client that began so much later than the clock of all."""

    def moved(interval: _Interval) -> _Interval:
        row = interval.sum
        times = {"start": row.start + by_s, "end": row.end + by_s}
        return interval.model_copy(update={"sum": row.model_copy(update=times)})

    return report.model_copy(update={"intervals": [moved(interval) for interval in report.intervals]})


def total_samples(reports: Sequence[Report], window: Window, endpoint: str, way: Way) -> list[Sample]:
    """Throughput of all stations together, in the intervals of the last that began."""
    samples: list[Sample] = []
    for interval in reports[-1].intervals:
        row = interval.sum
        parts = [_mean_over(report, row.start, row.end) for report in reports]
        if None not in parts:
            total = [("throughput", "bit/s", sum(part for part in parts if part is not None))]
            samples += _interval_samples(total, endpoint, way, row, window)
    return samples


def _mean_over(report: Report, start_s: float, end_s: float) -> float | None:
    """Mean throughput in a stretch of time; None unless (nearly) all of it was reported."""
    bits, covered_s = 0.0, 0.0
    for interval in report.intervals:
        row = interval.sum
        shared_s = min(end_s, row.end) - max(start_s, row.start)
        if shared_s > 0:
            bits += 8 * row.bytes * shared_s / (row.end - row.start)
            covered_s += shared_s
    return bits / covered_s if covered_s > 0.9 * (end_s - start_s) else None


def server_samples(
    report: Report, transport: Transport, window: Window, endpoint: str = "ap", way: Way = "up"
) -> list[Sample]:
    """What arrived at an end, a sample for each metric and interval."""
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
    report: Report, transport: Transport, window: Window, endpoint: str = "sta", way: Way = "up"
) -> list[Sample]:
    """What an end sent and how its TCP fared, a sample for each metric and interval."""
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


def _process_sample(report: Report, endpoint: str) -> list[Sample]:
    """Each end's own figure: the one it has of the other end is lost when the test is interrupted."""
    load = report.end.cpu_utilization_percent.host_total
    dur_ns = round(max((interval.sum.end for interval in report.intervals), default=0.0) * NS_PER_S)
    return [Sample("iperf3", "cpu_process", "%", endpoint, "", 0, dur_ns, load)]


def faults(
    client: Report,
    server: Report,
    window: Window,
    offered_bit_per_s: int | None,
    station: str | None = None,
) -> list[str]:
    """Reasons for which the two reports make no valid run. One `station` of several may get little of the air."""
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
    if silent and station is None:
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


def unfetched_fault(servers: Sequence[Report], unfetched: int) -> list[str]:
    """That the servers' sockets had no room for so many datagrams, if that is more than a few."""
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
