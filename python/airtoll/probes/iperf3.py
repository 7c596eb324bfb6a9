"""Throughput, jitter, loss and TCP's own statistics by iperf3, with CPU load and radio statistics of the same window.

Payload flows from client to server. For direction up, the client runs on the station's host and the server on the
access point's host, or on the host that replaces it in the topology (a server behind it, another station). For down,
they change places; for both, each direction has its own pair. Throughput is measured by the *server*: the sender
reports the payload that it passed to its own stack. Warm-up is cut from the intervals afterwards, never by -O: with -u,
iperf3 3.12 counts losses including the omitted time, but datagrams without it. -t accepts only whole seconds, so the
client is given a longer time and is interrupted after the window. Both ends then still print a complete report, with
"the client has terminated" as its error. On macOS and Windows, the client runs to the end of its time.

| metric         | unit  | endpoint | meaning                                                                |
|----------------|-------|----------|------------------------------------------------------------------------|
| throughput     | bit/s | ap       | received payload                                                       |
| throughput     | bit/s | sta      | payload that the client passed to its stack                            |
| jitter         | ms    | ap       | UDP: interarrival jitter (RFC 3550, 6.4.1) at the end of the interval  |
| datagrams_sent | 1     | ap       | UDP: from received sequence numbers, and therefore including losses    |
| datagrams_lost | 1     | ap       | UDP: gaps in them; negative if a gap of an earlier interval is filled  |
| retransmits    | 1     | sta      | TCP segments                                                           |
| tcp_srtt       | ms    | sta      | TCP's smoothed round-trip time under this load (RFC 6298)              |
| tcp_cwnd       | B     | sta      | TCP's congestion window                                                |
| cpu_process    | %     | ap, sta  | CPU of the iperf3 process over the whole test, one core = 100 %        |

The endpoints are those of direction up; for down, `sta` is the receiver. Each of several stations has its own client
and server. All run at the same time, and the window opens when the last client has begun. `throughput` is then the sum
over the stations. The throughput of each station is `throughput_station`, at endpoints such as ap/sta1; the other
metrics also use these endpoints.

If the study does not set the senders' offered load, the UDP load is 1.25 times the capacity of the *open* link at every
security level, so that loss within a block is compared at an equal load. The packet size is the payload of a UDP
datagram. Over TCP, it is the size of one write, which TCP splits freely into segments, or the payload of a segment (the
cell's tcp_size). In both cases, the segments' payload is recorded as reported by the kernel when the window closes.
"""

import math
import re
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from airtoll.errors import AirtollError
from airtoll.host import Host, last_words
from airtoll.labs.base import Link
from airtoll.probes import cpu, limits, process, radio, watch
from airtoll.probes.base import Lacks, Measurement, Sample
from airtoll.probes.flows import ENDS, Flow, Way, flows_of
from airtoll.probes.iperf3_report import (
    INTERVAL_S,
    OVERLOAD,
    BufferRefusedError,
    Iperf3Report,
    NotBegunError,
    client_samples,
    faults,
    later,
    parse,
    segment_fault,
    sent_rate_bit_per_s,
    server_samples,
    total_samples,
    unfetched_fault,
)
from airtoll.probes.watch import Watched
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method

STOP_MARGIN_S = 0.25
"""Time between the planned end of the window and the interruption: for starting, connecting and the last interval."""

SENT_LEAST = 0.95
"""Least share of a load set by the study that each sender must send: a shortfall would be attributed to the link."""

PACING_US = (100, 1000)
"""Shortest and default time, in us, between two checks of iperf3 of how much it may send, which it then sends at once
(its option --pacing-timer)."""

TIMESTAMPS_B = 12
"""Octets of a segment that time stamps take (RFC 7323, 3.2): TCP_MAXSEG includes them, the payload does not."""

UDP_BUFFERS = ("2M", "400K", None)
"""Socket buffer sizes to try, largest first: 400K fits the usual net.core.rmem_max of 208 KiB, which the kernel
doubles; None takes the system's default."""

BEGIN_TIMEOUT_S = 10.0
"""Time for a client to begin on a link that others already load: its connection may lose its first packets."""

BEGIN_ATTEMPTS = 3
"""Attempts to measure a cell. The last of several clients begins on a link that the others already load, and on a busy
machine a short test may end before it has begun."""

_TIMESTAMPS = "/proc/sys/net/ipv4/tcp_timestamps"
_MSS = re.compile(r"\bmss:(\d{1,5})\b")


class Throughput:
    """Measures a cell by iperf3, with CPU load and radio statistics over the same window."""

    name = "throughput"

    def __init__(self) -> None:
        self._buffers = list(UDP_BUFFERS)  # uses the first; a refused size is removed

    def missing(self, lacks: Lacks) -> str | None:
        """Return what must be installed before this probe can run, or None."""
        return lacks({"iperf3": "iperf3", "timeout": "coreutils", "ss": "iproute2"})

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with iperf3's own words if it fails."""
        attempts_left = BEGIN_ATTEMPTS
        asked = link.known.tcp_window_bytes if cell.transport == "tcp" else link.known.udp_buffer_bytes
        while True:
            own = None if cell.transport == "tcp" else self._buffers[0]
            try:
                return self._measure(link, cell, method, own if asked is None else str(asked))
            except BufferRefusedError:
                if asked is not None:
                    raise AirtollError(f"iperf3: the kernel grants no socket buffer of {asked} B") from None
                if len(self._buffers) == 1:
                    raise
                del self._buffers[0]
            except NotBegunError:
                attempts_left -= 1
                if attempts_left == 0:
                    raise

    def _measure(self, link: Link, cell: Cell, method: Method, buffer: str | None) -> Measurement:
        planned = Window.of(method)
        flows = flows_of(link, cell)
        # No client may end before the window of the last one closes; then all are interrupted.
        stop_s = planned.closes_s + STOP_MARGIN_S + (BEGIN_TIMEOUT_S * len(flows) if len(flows) > 1 else 0.0)
        offered = offered_loads_bit_per_s(link, cell, method, flows)
        asked_for_all = asks_for_all(cell, method)
        sent_least = 1 / OVERLOAD if asked_for_all else SENT_LEAST
        if link.known.blocks_senders:
            sent_least = 0.0  # the link, not the client, limits the load
        shared = ["-w", buffer] if buffer else []
        if cell.transport == "tcp" and all(flow.client.os == "linux" for flow in flows):
            shared += ["-C", _congestion(link)]  # other systems refuse it
        commands = [
            _commands(flow, stop_s, [*_traffic(link, flow, cell, method, load), *shared])
            for flow, load in zip(flows, offered, strict=True)
        ]
        done = _perform(link, cell, flows, commands, planned, stop_s)
        samples: list[Sample] = []
        found: list[str] = []
        raw: dict[str, bytes] = {}
        totals: dict[tuple[Way, str], list[Iperf3Report]] = {}
        sent_shares: list[float] = []
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
            own_faults = faults(client, server, done.window, offered[index], flow.station, sent_least)
            found += [flow.said(fault) for fault in own_faults]
            if (load := offered[index]) is not None and not link.known.blocks_senders:
                sent_shares.append(sent_rate_bit_per_s(client, done.window) / load)
            name = flow.name if len(flows) > 1 else "iperf3"
            raw |= {
                f"{name}-server.json": done.servers[index][0],
                f"{name}-client.json": done.clients[index][0],
            }
            totals.setdefault((flow.way, receiver), []).append(server)
            totals.setdefault((flow.way, sender), []).append(client)
        if cell.transport == "udp" and link.known.udp_buffer_bytes is None:
            servers = [
                server for (way, end), summed in totals.items() if end == ENDS[way][1] for server in summed
            ]
            found += unfetched_fault(servers, done.unfetched)
        else:
            found += segment_fault(cell, done.segment_b)
        if flows[0].station is not None:
            for (way, endpoint), summed in totals.items():
                samples += total_samples(summed, done.window, endpoint, way)
        opened_ns = round(done.window.opens_s * NS_PER_S)
        first_server, first_client = (totals[flows[0].way, end][0] for end in reversed(ENDS[flows[0].way]))
        return Measurement(
            samples=cpu.meaningful(
                [
                    *samples,
                    *cpu.samples(done.watched, opened_ns),
                    *radio.samples(link.known, done.watched, opened_ns),
                ],
                link.known,
            ),
            raw=raw,
            facts={
                "version": first_server.start.version,
                "flows": len(flows),
                "phy_rates": radio.rates(done.watched),
                "server": commands[0][0],
                "client": commands[0][1],
                "stopped_after_s": stop_s,
                "offered_bit_per_s": offered[0],
                "sent_share": min(sent_shares, default=None),
                "socket_buffer": buffer,
                "unfetched": done.unfetched if cell.transport == "udp" else None,
                "tcp_congestion": first_client.end.sender_tcp_congestion,
                "tcp_size": cell.tcp_size if cell.transport == "tcp" else None,
                "tcp_segment_bytes": done.segment_b,
                "limits": limits.facts(
                    done.watched,
                    {flow.way for flow in flows},
                    saturated=asked_for_all or (cell.transport == "tcp" and cell.offered == "max"),
                    tcp=done.tcp,
                ),
            },
            faults=found,
        )


@dataclass(frozen=True)
class _Done:
    """Output of the servers and clients of all flows, and its times."""

    clients: list[tuple[bytes, bytes]]  # stdout and stderr
    servers: list[tuple[bytes, bytes]]
    began_s: list[float]  # seconds since the first client began
    window: Window  # on the same time scale
    watched: Watched  # over the window
    unfetched: int  # datagrams that arrived when the servers' socket buffers were full
    segment_b: int | None  # payload of the first flow's TCP segments
    tcp: Mapping[str, Any] | None  # state of the first flow's TCP when the window closed


def _congestion(link: Link) -> str:
    """The congestion control of TCP that iperf3 requests on Linux."""
    return link.known.congestion_control or "cubic"


def _perform(
    link: Link,
    cell: Cell,
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
        unfetched_before = sum(host.dropped_datagrams() for host in receivers)
        for flow, (_, client_argv) in zip(flows, commands, strict=True):
            started_s.append(time.monotonic())
            clients.append(running.enter_context(process.started(flow.client, client_argv)))
            if len(flows) > 1:
                peers = 1 if cell.transport == "udp" else 2  # TCP also has a control connection
                flow.server.connected(cell.transport, flow.port, peers, BEGIN_TIMEOUT_S)
                started_s[-1] = time.monotonic()
        late_s = started_s[-1] - started_s[0]
        window = Window(planned.opens_s + late_s, planned.closes_s + late_s)
        process.wait_until(clients[-1], started_s[0] + window.opens_s)
        programs = {"sender": clients, "receiver": servers}
        watched = watch.over(link, clients[-1], started_s[0] + window.closes_s, programs)
        said = _connections(flows[0]) if cell.transport == "tcp" else ""
        tcp = limits.connection_in(said, time.monotonic() - started_s[0])
        if len(flows) > 1:
            process.wait_until(clients[-1], started_s[0] + window.closes_s + STOP_MARGIN_S)
            for client in clients:
                client.send_signal(signal.SIGINT)
        outputs = [
            process.finish(client, stop_s + 2 * process.GRACE_S, _who("client", flow.client))
            for flow, client in zip(flows, clients, strict=True)
        ]
        for flow, output in zip(flows, outputs, strict=True):
            parse(*output, _who("client", flow.client))  # if it failed, its server could wait forever
        return _Done(
            clients=outputs,
            servers=[
                process.finish(server, process.GRACE_S, _who("server", flow.server))
                for flow, server in zip(flows, servers, strict=True)
            ],
            began_s=[moment_s - started_s[0] for moment_s in started_s],
            window=window,
            watched=watched,
            unfetched=sum(host.dropped_datagrams() for host in receivers) - unfetched_before,
            segment_b=_segment_b(said),
            tcp=tcp,
        )


def _commands(flow: Flow, stop_s: float, options: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command lines of server and client."""
    every = ["-J", "-p", str(flow.port), "-i", str(INTERVAL_S)]
    server = ["iperf3", "-s", "-1", *every, "-B", flow.address]
    client = ["iperf3", "-c", flow.address, *every, "-t", str(math.ceil(stop_s)), *options]
    if flow.client.os != "linux":
        return server, client  # without timeout(1), it ends up to a second later
    # timeout(1) measures time on the client's host and also ends a client that ignores the interruption.
    stopper = ["timeout", "--signal=INT", f"--kill-after={process.GRACE_S}", f"{stop_s:.3f}"]
    return server, [*stopper, *client]


def asks_for_all(cell: Cell, method: Method) -> bool:
    """Whether the senders of UDP offer more than the link carries, because the study sets no load."""
    return cell.offered == "max" and method.udp_load == "overload"


def pacing_timer_us(link: Link, cell: Cell, method: Method, offered_bit_per_s: float) -> float:
    """Time between two checks of iperf3 of how much it may send.

    At a load set by the study, iperf3 checks four times per datagram, so that bursts do not appear as jitter and loss.
    """
    if link.known.pacing_timer_us is not None:
        return link.known.pacing_timer_us
    shortest_us, usual_us = PACING_US
    if asks_for_all(cell, method):
        return usual_us
    return min(usual_us, max(shortest_us, round(8e6 * cell.packet_size / offered_bit_per_s / 4)))


def _traffic(link: Link, flow: Flow, cell: Cell, method: Method, offered_bit_per_s: int | None) -> list[str]:
    """The client's options for its traffic: datagrams at a rate, or TCP at full speed."""
    size = ["-l", str(cell.packet_size)]
    if offered_bit_per_s is None:
        # With a given segment size, iperf3 writes its default of 128 KiB, so that no segment has to be short.
        return ["-M", str(_maxseg_b(flow, cell))] if cell.tcp_size == "mss" else size
    timer_us = round(pacing_timer_us(link, cell, method, offered_bit_per_s))
    return ["-u", *size, "-b", str(offered_bit_per_s), "--pacing-timer", str(timer_us)]


def _maxseg_b(flow: Flow, cell: Cell) -> int:
    """TCP_MAXSEG for segments whose payload is the packet size."""
    ends = (flow.client, flow.server)
    stamped = all(end.texts(_TIMESTAMPS) != ["0\n"] for end in ends)
    return cell.packet_size + (TIMESTAMPS_B if stamped else 0)


def _connections(flow: Flow) -> str:
    """The output of ss(8) about the flow's control and data connection at its sender; empty without Linux."""
    if flow.client.os != "linux":
        return ""
    command = ["ss", "-tinH", "state", "established", f"( dport = :{flow.port} )"]
    return process.output_of(flow.client, command).decode(errors="replace")


def _segment_b(said: str) -> int | None:
    """Payload of a flow's full segments without time stamps in the output of `_connections`, or None.

    The control and the data connection to the server have the same options and therefore the same size.
    """
    found = [int(size) for size in _MSS.findall(said)]
    return min(found) if found else None


def offered_loads_bit_per_s(
    link: Link, cell: Cell, method: Method, flows: Sequence[Flow]
) -> list[int | None]:
    """UDP payload rate that each flow offers; None over TCP.

    The cell's load per sender takes precedence over the method's total load. Without either, the load exceeds the open
    link's capacity at every security level. Raises AirtollError if the lab does not know that capacity.
    """
    if cell.transport == "tcp":
        return [None for _ in flows]
    if cell.offered != "max":
        return [round(cell.offered * 1e6) for _ in flows]
    if not isinstance(method.udp_load, str):
        whole = sum(flow.share for flow in flows)
        return [round(method.udp_load * 1e6 * flow.share / whole) for flow in flows]
    return [offered_load_bit_per_s(link, flow.share) for flow in flows]


def offered_load_bit_per_s(link: Link, share: float = 1.0) -> int:
    """UDP payload rate of a flow with this share that exceeds the open link's capacity at every security level."""
    capacity = link.known.capacity_open_bit_per_s
    if capacity is None:
        raise AirtollError(
            "the lab does not know the capacity of the open link, so no UDP load can be chosen"
        )
    return round(OVERLOAD * capacity * share)


def _refuse_early_end(stdout: bytes, stderr: bytes, host: Host) -> None:
    who = _who("server", host)
    parse(stdout, stderr, who)
    raise AirtollError(f"{who} exited before a client connected: {last_words(stderr, stdout)}")


def _who(end: str, host: Host) -> str:
    return f"iperf3 {end} on {host.name}"
