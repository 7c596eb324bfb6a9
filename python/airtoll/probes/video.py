"""HD video over RTP (RFC 3550): airtoll's own sender and receiver (crate `airtoll-agent`, module video).

Each sender plays its own stream with the frame sizes of `wlan_air::traffic::Video`, the generator of lab sim: groups of
I, P and B frames, 30 frames per second, in packets of the cell's size, with a mean picture rate of `cell.offered`
Mbit/s. All cells of a block play the same streams. A frame's packets are spread evenly over the time until the next
frame, as video call senders do. `pacing="burst"` passes them to the stack at once, as the encoder delivers them.

All flows play at the same time. Payload flows as with iperf3: for direction up, the sender runs on the station's host.

| metric                        | unit  | endpoint | meaning                                                        |
|-------------------------------|-------|----------|----------------------------------------------------------------|
| throughput                    | bit/s | ap       | received picture data, without RTP headers                     |
| jitter                        | ms    | ap       | interarrival jitter at the end of the interval (1)             |
| delay, delay_p99, delay_mean  | ms    | ap       | one-way packet delays, from program to program (2)             |
| frame_delay                   | ms    | ap       | capture to last packet's arrival; null if a packet was lost    |
| video_rtt                     | ms    | sta      | last packet of a frame to the answer; null without answer (3)  |
| loss                          | 1     | ap       | packets lost over packets sent                                 |
| late_frames                   | 1     | ap       | share of frames that are incomplete 100 ms after capture       |
| datagrams_sent, _lost         | 1     | ap       | terms of loss, per flow                                        |
| frames_sent, frames_late      | 1     | ap       | terms of late_frames, per flow                                 |

(1) RFC 3550 section 6.4.1, from the actual send times of packets (RFC 5450). From their RTP time stamps, jitter would
include how the sender spreads a frame; fact `rtp_jitter_mean_ms` is that value, as Wireshark computes it. (2) Median,
99th percentile and mean. They compare the clocks of two hosts (`clocks`), as do late frames and frame delays. (3)
Measured only by the sender's clock. Counts over the window are those of the frames captured in the window.

The endpoints are those of direction up; for down they change places. With several stations, endpoints are like ap/sta1,
and `throughput`, `loss` and `late_frames` are those of all stations together.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field

from airtoll import _rust
from airtoll.errors import AirtollError, UsageError
from airtoll.host import last_words
from airtoll.labs.base import Link
from airtoll.probes import clocks, cpu, process, radio, watch
from airtoll.probes.base import Lacks, Measurement, Phase, Sample
from airtoll.probes.flows import ENDS, Flow, Way, flows_of
from airtoll.probes.watch import Watched
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.cell import Cell, Method

TOOL = "video"
"""The probe name in the samples."""

PORT: Final = 5004
"""RTP's port (RFC 3551, 8). Each further flow uses the next even port."""

FRAMES_PER_S: Final = 30

DEADLINE_NS: Final = _rust.VIDEO_DEADLINE_NS
"""Frames that are incomplete this long after their capture are not shown."""

START_ALLOWANCE_S: Final = 0.5
"""Time from the start of the last sender's process to the start of all streams."""

LATE_MOST_NS: Final = 10_000_000
"""A packet is late if it is passed to the stack more than this after its due time."""

LATE_SHARE_MOST: Final = 0.1
"""Highest tolerated share of frames with a late packet: above it, the sender's host, not the link, sets the result. A
machine that runs other work stalls occasionally, and delays count from the actual send time of a packet."""

UNFETCHED_MOST: Final = 0.01
"""Highest tolerated share of arriving packets that a receiver fetches too late: above it, the host is the limit."""

Pacing = Literal["smooth", "burst"]

_Count = Annotated[int, Field(ge=0, le=2**53)]
_Time = Annotated[int, Field(ge=0, lt=2**62)]  # ns
_Version = Annotated[str, Field(max_length=100)]


class _Model(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False, frozen=True, strict=True)


class _Delays(_Model):
    mean: _Time
    p50: _Time
    p99: _Time


class Sent(_Model):
    """The output of a sender."""

    video: _Version
    ssrc: _Count
    start_ns: _Time  # by the sender's clock
    clip_frames: _Count
    bye_answered: bool
    frames: Annotated[list[tuple[_Time, _Count, _Count, _Time, _Time | None]], FailFast()] = Field(
        strict=False
    )
    """Capture time (ns from the start), packets, octets, lateness (ns), round-trip time (ns)."""


class Received(_Model):
    """The output of a receiver."""

    video: _Version
    ssrc: _Count | None
    start_ns: _Time | None  # by the sender's clock: the capture of frame 0
    buffer_octets: _Count
    bye: bool
    packets: _Count
    expected: _Count
    delay_ns: _Delays | None
    rtp_jitter_mean_ns: _Time
    frames: Annotated[list[tuple[_Count, _Count, _Time]], FailFast()] = Field(strict=False)
    """Number, packets, delay of the last packet (ns)."""
    intervals: Annotated[list[tuple[_Count, _Count, _Time]], FailFast()] = Field(strict=False)
    """Packets, octets, jitter (ns)."""
    interval_ns: Annotated[int, Field(ge=1_000_000, le=NS_PER_S)]


@dataclass(frozen=True)
class Frame:
    """A frame, as observed by both ends."""

    captured_ns: int  # from the start
    phase: Phase | None
    sent: int  # packets
    octets: int
    came: int  # packets
    sender_late_ns: int
    delay_ns: int | None  # None if packets are missing
    rtt_ns: int | None

    @property
    def late(self) -> bool:
        """Whether the frame was incomplete at its deadline."""
        return self.delay_ns is None or self.delay_ns > DEADLINE_NS


@dataclass(frozen=True)
class Stream:
    """One flow, as observed by both ends."""

    frames: Sequence[Frame]
    intervals: Sequence[
        tuple[int, int, int, int]
    ]  # start (ns from the sender's start), packets, octets, jitter (ns)
    interval_ns: int
    delay_ns: _Delays | None

    def counted(self) -> list[Frame]:
        """The frames of the measured window."""
        return [frame for frame in self.frames if frame.phase == "measure"]


class Video:
    """Measures a cell by one video stream per sender, with CPU load over the same window."""

    name = "video"

    def __init__(self, pacing: Pacing = "smooth") -> None:
        self._pacing: Pacing = pacing

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: the tool is part of airtoll."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with an end's own words if the end fails."""
        offered_bit_per_s = round(offered_mbit_per_s(cell) * 1e6)
        window = Window.of(method)
        flows = flows_of(link, cell)
        done = _perform(link, cell, flows, window, offered_bit_per_s, self._pacing, _seed(link, method))
        samples: list[Sample] = []
        found: list[str] = []
        streams: dict[Way, list[Stream]] = {}
        delays_known = True
        for flow, pair, sent, told in zip(flows, done.pairs, done.sent, done.received, strict=True):
            # The receiver has subtracted the difference of the clocks before the measurement.
            middle_ns = done.start_ns + round((window.opens_s + window.closes_s) / 2 * NS_PER_S)
            difference = pair.at(middle_ns)
            received = corrected(told, round(difference.offset_ns) - pair.ahead_ns())
            stream = joined(sent, received, window)
            uncertainty_ns = difference.uncertainty_ns + abs(pair.drift_ns()) / 2
            if not pair.shared and stream.delay_ns is not None:
                delays_known &= uncertainty_ns <= clocks.SHARE_MOST * stream.delay_ns.p50
                uncertainty = _over_window(
                    clocks.METRIC, "ms", ENDS[flow.way][1], flow.way, window, uncertainty_ns / 1e6
                )
                samples.append(flow.label(uncertainty))
            streams.setdefault(flow.way, []).append(stream)
            samples += [flow.label(sample) for sample in stream_samples(stream, window, flow.way)]
            found += [flow.said(fault) for fault in faults(sent, received, stream, window)]
        if flows[0].station is not None:
            for way, of_way in streams.items():
                samples += total_samples(of_way, window, way)
        every = [stream for of_way in streams.values() for stream in of_way]
        samples += share_samples(every, window, tuple(streams))
        found += _unfetched_fault(sum(received.packets for received in done.received), done.unfetched)
        opened_ns = round(window.opens_s * NS_PER_S)
        if not delays_known:
            samples = [sample for sample in samples if sample.metric not in _OF_BOTH_CLOCKS]
        return Measurement(
            samples=cpu.meaningful(
                [
                    *samples,
                    *cpu.samples(done.watched, opened_ns),
                    *radio.samples(link.known, done.watched, opened_ns),
                ],
                link.known,
            ),
            raw=done.raw,
            facts={
                "version": f"video {done.sent[0].video}",
                "flows": len(flows),
                "phy_rates": radio.rates(done.watched),
                "receiver": done.commands[0][0],
                "sender": done.commands[0][1],
                "offered_bit_per_s": offered_bit_per_s,
                "sent_bit_per_s": _sent_bit_per_s(every, window),
                "pacing": self._pacing,
                "frames_per_s": FRAMES_PER_S,
                "clip_frames": done.sent[0].clip_frames,
                "deadline_ms": DEADLINE_NS / 1e6,
                "header_bytes": _rust.VIDEO_HEADER_B,
                "receive_buffer_bytes": done.received[0].buffer_octets,
                "rtp_jitter_mean_ms": [received.rtp_jitter_mean_ns / 1e6 for received in done.received],
                **done.pairs[0].facts(),
            },
            faults=found,
        )


def offered_mbit_per_s(cell: Cell) -> float:
    """Mean rate of each sender's pictures, in Mbit/s. Raises UsageError if the cell sets no rate."""
    if cell.offered == "max":
        raise UsageError("offered: probe video requires a data rate per sender, such as '20 Mbit/s'")
    return cell.offered


def _seed(link: Link, method: Method) -> int:
    """The run's seed if the lab has it, so that lab sim plays the same streams; otherwise the study's."""
    return method.seed if link.known.seed is None else link.known.seed


_OF_BOTH_CLOCKS = (
    *("delay", "delay_p99", "delay_mean", "frame_delay", "frames_late", "late_frames"),
    clocks.METRIC,
)
"""Metrics that compare a time of the sender with a time of the receiver."""


@dataclass(frozen=True)
class _Done:
    """Output of both ends of all flows."""

    sent: list[Sent]
    received: list[Received]
    raw: dict[str, bytes]
    commands: list[tuple[list[str], list[str]]]  # receiver and sender
    watched: Watched
    unfetched: int  # packets that arrived when the receivers' socket buffers were full
    pairs: list[clocks.ClockPair]  # of each flow
    start_ns: int  # of the streams, by this machine's monotonic clock


def _perform(
    link: Link,
    cell: Cell,
    flows: Sequence[Flow],
    window: Window,
    offered_bit_per_s: int,
    pacing: Pacing,
    seed: int,
) -> _Done:
    """Play the streams of all flows at the same time."""
    window_ms = [str(math.ceil(moment_s * 1000)) for moment_s in (window.opens_s, window.closes_s)]
    common = [*window_ms, str(FRAMES_PER_S)]
    pairs = [clocks.ClockPair(flow.client, flow.server) for flow in flows]
    with ExitStack() as running:
        receivers, senders, commands = [], [], []
        for index, (flow, pair) in enumerate(zip(flows, pairs, strict=True)):
            port = PORT + 2 * index
            where = f"[{flow.address}]:{port}" if ":" in flow.address else f"{flow.address}:{port}"
            argv = [
                *flow.server.program("video"),
                "receive",
                where,
                *common,
                str(math.ceil(process.GRACE_S * 1000)),
                str(pair.ahead_ns()),
            ]
            who = _who("receiver", flow)
            receiver = running.enter_context(process.serving(flow.server, argv, "udp", port, who))
            if receiver.poll() is not None:
                _, stderr = process.finish(receiver, process.GRACE_S, who)
                raise AirtollError(f"{who} exited before a sender connected: {_complaint(stderr)}")
            receivers.append(receiver)
            commands.append((argv, [*flow.client.program("video"), "send", where, *common]))
        hosts = {flow.server.name: flow.server for flow in flows}.values()
        unfetched_before = sum(host.dropped_datagrams() for host in hosts)
        start_ns = time.monotonic_ns() + round(START_ALLOWANCE_S * NS_PER_S)
        for index, (flow, pair) in enumerate(zip(flows, pairs, strict=True)):
            how = [
                pair.sender.there_ns(start_ns),
                offered_bit_per_s,
                cell.packet_size,
                pacing,
                stream_seed(seed, index),
            ]
            commands[index][1].extend(str(word) for word in how)
            senders.append(running.enter_context(process.started(flow.client, commands[index][1])))
        process.wait_until(senders[-1], start_ns / NS_PER_S + window.opens_s)
        watched = watch.over(link, senders[-1], start_ns / NS_PER_S + window.closes_s)
        sent, received, raw = [], [], {}
        # Senders first, because a sender's error is the reason why its receiver waits.
        for flow, sender in zip(flows, senders, strict=True):
            who = _who("sender", flow)
            stdout, stderr = process.finish(sender, 2 * process.GRACE_S, who)
            sent.append(parse_sent(stdout, stderr, who))
            raw[f"{_file(flow)}-sender.json"] = stdout
        for flow, receiver in zip(flows, receivers, strict=True):
            who = _who("receiver", flow)
            stdout, stderr = process.finish(receiver, 2 * process.GRACE_S, who)
            received.append(parse_received(stdout, stderr, who))
            raw[f"{_file(flow)}-receiver.json"] = stdout
        unfetched = sum(host.dropped_datagrams() for host in hosts) - unfetched_before
        for pair in pairs:
            pair.close()
        return _Done(sent, received, raw, commands, watched, unfetched, pairs, start_ns)


def stream_seed(seed: int, flow: int) -> int:
    """The seed of a flow's stream. Lab sim derives the same seed from the run's seed."""
    return seed ^ (flow + 1) * 0x9E37_79B9_7F4A_7C15 % 2**64


def _who(end: str, flow: Flow) -> str:
    return f"video {end} on {(flow.client if end == 'sender' else flow.server).name}"


def _file(flow: Flow) -> str:
    return "video" if flow.station is None else f"video-{flow.way}-{flow.station}"


def _complaint(stderr: bytes) -> str:
    return last_words(stderr).removeprefix("video: ")


def parse_sent(stdout: bytes, stderr: bytes, who: str) -> Sent:
    """Parse a sender's output. Raises AirtollError with its own words if it is empty or incomplete."""
    return process.read_report(Sent, stdout, who, "video", _complaint(stderr))


def parse_received(stdout: bytes, stderr: bytes, who: str) -> Received:
    """Parse a receiver's output. Raises AirtollError with its own words if it is empty or incomplete."""
    return process.read_report(Received, stdout, who, "video", _complaint(stderr))


def corrected(received: Received, late_ns: int) -> Received:
    """The report with all delays shorter by `late_ns`, the error of the difference that the receiver subtracted."""
    if late_ns == 0:
        return received

    def shorter(delay_ns: int) -> int:
        return max(0, delay_ns - late_ns)

    delays = received.delay_ns
    update: dict[str, object] = {
        "frames": [(number, packets, shorter(delay_ns)) for number, packets, delay_ns in received.frames],
        "delay_ns": delays
        and _Delays(mean=shorter(delays.mean), p50=shorter(delays.p50), p99=shorter(delays.p99)),
    }
    return received.model_copy(update=update)


def joined(sent: Sent, received: Received, window: Window) -> Stream:
    """Combine the reports of both ends of a stream."""
    came = {number: (packets, delay_ns) for number, packets, delay_ns in received.frames}
    frames = []
    for number, (captured_ns, packets, octets, late_ns, rtt_ns) in enumerate(sent.frames):
        of_it, delay_ns = came.get(number, (0, 0))
        frames.append(
            Frame(
                captured_ns=captured_ns,
                phase=window.phase(captured_ns / NS_PER_S),
                sent=packets,
                octets=octets,
                came=min(of_it, packets),
                sender_late_ns=late_ns,
                delay_ns=delay_ns if of_it >= packets else None,
                rtt_ns=rtt_ns,
            )
        )
    begun_ns = max(0, (received.start_ns or sent.start_ns) - sent.start_ns)
    step_ns = received.interval_ns
    rows = received.intervals[: math.ceil(window.closes_s * NS_PER_S / step_ns)]
    silent = max(0, math.floor(window.closes_s * NS_PER_S / step_ns) - len(rows))
    rows = [*rows, *[(0, 0, 0)] * silent]
    intervals = [(begun_ns + index * step_ns, *row) for index, row in enumerate(rows)]
    return Stream(frames, intervals, step_ns, received.delay_ns)


def stream_samples(stream: Stream, window: Window, way: Way) -> list[Sample]:
    """Samples of one flow."""
    sender, receiver = ENDS[way]
    samples = []
    for t_ns, packets, octets, jitter_ns in stream.intervals:
        phase = window.phase((t_ns + stream.interval_ns / 2) / NS_PER_S)
        if phase is not None:
            jitter_ms = jitter_ns / 1e6 if packets else None
            samples += [
                _throughput(octets, receiver, way, t_ns, stream.interval_ns, phase),
                Sample(TOOL, "jitter", "ms", receiver, way, t_ns, stream.interval_ns, jitter_ms, phase),
            ]
    for frame in stream.frames:
        if frame.phase is not None:
            for metric, endpoint, direction, time_ns in (
                ("video_rtt", sender, "both", frame.rtt_ns),
                ("frame_delay", receiver, way, frame.delay_ns),
            ):
                value = None if time_ns is None else time_ns / 1e6
                samples.append(
                    Sample(
                        TOOL,
                        metric,
                        "ms",
                        endpoint,
                        direction,
                        frame.captured_ns,
                        time_ns or 0,
                        value,
                        frame.phase,
                    )
                )
    counted = stream.counted()
    whole: list[tuple[str, str, float]] = [
        ("datagrams_sent", "1", sum(frame.sent for frame in counted)),
        ("datagrams_lost", "1", sum(frame.sent - frame.came for frame in counted)),
        ("frames_sent", "1", len(counted)),
        ("frames_late", "1", sum(frame.late for frame in counted)),
    ]
    if stream.delay_ns is not None:
        for metric, value_ns in (
            ("delay", stream.delay_ns.p50),
            ("delay_p99", stream.delay_ns.p99),
            ("delay_mean", stream.delay_ns.mean),
        ):
            whole.append((metric, "ms", value_ns / 1e6))
    return samples + [_over_window(name, unit, receiver, way, window, value) for name, unit, value in whole]


def total_samples(streams: Sequence[Stream], window: Window, way: Way) -> Iterator[Sample]:
    """Total throughput of all flows in one direction, in the intervals of the first flow."""
    for rows in zip(*(stream.intervals for stream in streams), strict=False):
        t_ns, step_ns = rows[0][0], streams[0].interval_ns
        phase = window.phase((t_ns + step_ns / 2) / NS_PER_S)
        if phase is not None:
            yield _throughput(sum(row[2] for row in rows), ENDS[way][1], way, t_ns, step_ns, phase)


def share_samples(streams: Sequence[Stream], window: Window, ways: tuple[Way, ...]) -> Iterator[Sample]:
    """Loss and late frames of all flows together."""
    counted = [frame for stream in streams for frame in stream.counted()]
    endpoint, direction = (ENDS[ways[0]][1], ways[0]) if len(ways) == 1 else ("link", "both")
    sent = sum(frame.sent for frame in counted)
    for metric, some, of_all in (
        ("loss", sum(frame.sent - frame.came for frame in counted), sent),
        ("late_frames", sum(frame.late for frame in counted), len(counted)),
    ):
        if of_all:
            yield _over_window(metric, "1", endpoint, direction, window, some / of_all)


def _throughput(octets: int, endpoint: str, way: Way, t_ns: int, dur_ns: int, phase: Phase) -> Sample:
    bit_per_s = 8 * octets * NS_PER_S / dur_ns
    return Sample(TOOL, "throughput", "bit/s", endpoint, way, t_ns, dur_ns, bit_per_s, phase)


def _over_window(
    metric: str, unit: str, endpoint: str, direction: str, window: Window, value: float
) -> Sample:
    t_ns, dur_ns = round(window.opens_s * NS_PER_S), round(window.duration_s * NS_PER_S)
    return Sample(TOOL, metric, unit, endpoint, direction, t_ns, dur_ns, float(value))


def _sent_bit_per_s(streams: Sequence[Stream], window: Window) -> float:
    """Rate that all senders together passed to their stacks: the offered load, unless a sender fell behind."""
    octets = sum(frame.octets for stream in streams for frame in stream.counted())
    return 8 * octets / window.duration_s


def faults(sent: Sent, received: Received, stream: Stream, window: Window) -> list[str]:
    """Reasons why the run of this stream is invalid."""
    if received.packets == 0:
        return ["video: no packet arrived"]
    if sent.ssrc != received.ssrc:
        return ["video: sender and receiver report different streams"]
    found = []
    if any(
        packets > sent.frames[number][1]
        for number, packets, _ in received.frames
        if number < len(sent.frames)
    ):
        found.append("video: more packets of a frame arrived than were sent")
    counted = stream.counted()
    wanted = round(window.duration_s * FRAMES_PER_S)
    if len(counted) < wanted - 1:
        found.append(f"video: short window: {len(counted)} of {wanted} frames were sent")
    if not received.bye:
        found.append("video: the receiver did not see the end of the stream")
    late = [frame.sender_late_ns for frame in counted if frame.sender_late_ns > LATE_MOST_NS]
    if len(late) > LATE_SHARE_MOST * len(counted):
        found.append(
            f"video: the sender was more than {LATE_MOST_NS / 1e6:.0f} ms late with {len(late)} of {len(counted)} "
            f"frames, up to {max(late) / 1e6:.0f} ms: its host, not the link, sets the result"
        )
    return found


def _unfetched_fault(fetched: int, unfetched: int) -> list[str]:
    share = unfetched / max(fetched + unfetched, 1)
    if share <= UNFETCHED_MOST:
        return []
    return [
        f"video: {100 * share:.1f} % of the packets that arrived were not fetched in time: "
        "the receiving host, not the link, sets the result"
    ]
