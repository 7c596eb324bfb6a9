"""The output of both ends of a video stream becomes samples; truncated or damaged output is rejected."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.errors import AirtollError, UsageError
from airtoll.probes import Sample
from airtoll.probes.video import (
    Stream,
    faults,
    joined,
    offered_mbit_per_s,
    parse_received,
    parse_sent,
    share_samples,
    stream_samples,
    total_samples,
)
from airtoll.probes.window import Window
from airtoll.study.cell import Cell

MS = 1_000_000
WINDOW = Window(opens_s=0.2, closes_s=0.7)
START_NS = 5_000_000_000
PHASE_NS = 10 * MS


def sent(**words: Any) -> dict[str, Any]:
    """24 frames of two packets and 2000 octets, 33 ms apart, each answered after 6 ms."""
    frames = [[PHASE_NS + number * 33 * MS, 2, 2000, 20_000, 6 * MS] for number in range(24)]
    usual = {"video": "1", "ssrc": 7, "start_ns": START_NS, "clip_frames": 15, "bye_answered": True}
    return {**usual, "rate_bit_per_s": 1, "frames": frames, **words}


def received(**words: Any) -> dict[str, Any]:
    """All frames received, each with its last packet 20 ms after the capture."""
    usual = {
        "video": "1",
        "ssrc": 7,
        "start_ns": START_NS + PHASE_NS,
        "buffer_octets": 425984,
        "bye": True,
        "packets": 48,
        "expected": 48,
        "delay_ns": {"mean": 4 * MS, "p50": 3 * MS, "p99": 9 * MS, "max": 9 * MS},
        "rtp_jitter_mean_ns": 5 * MS,
        "frames": [[number, 2, 20 * MS] for number in range(24)],
        "intervals": [[6, 6000, 1 * MS]] * 8,
        "interval_ns": 100 * MS,
    }
    return {**usual, **words}


def read(sender: dict[str, Any], receiver: dict[str, Any]) -> tuple[Stream, list[str]]:
    of_sender = parse_sent(json.dumps(sender).encode(), b"", "sender")
    of_receiver = parse_received(json.dumps(receiver).encode(), b"", "receiver")
    stream = joined(of_sender, of_receiver, WINDOW)
    return stream, faults(of_sender, of_receiver, stream, WINDOW)


def values(samples: list[Sample], metric: str) -> list[float | None]:
    return [sample.value for sample in samples if (sample.metric, sample.phase) == (metric, "measure")]


def test_a_completely_received_stream() -> None:
    stream, found = read(sent(), received())
    assert found == []
    samples = stream_samples(stream, WINDOW, "up")
    assert {(s.endpoint, s.direction) for s in samples if s.metric != "video_rtt"} == {("ap", "up")}
    assert {(s.endpoint, s.direction) for s in samples if s.metric == "video_rtt"} == {("sta", "both")}
    # Intervals begin with the capture of the first frame; an interval counts if its middle is in the window.
    throughput = [s for s in samples if (s.metric, s.phase) == ("throughput", "measure")]
    assert [s.t_ns for s in throughput] == [PHASE_NS + index * 100 * MS for index in range(2, 7)]
    assert values(samples, "throughput") == [8 * 6000 / 0.1] * 5
    assert values(samples, "jitter") == [1.0] * 5
    # Frames captured from 0.2 to 0.7 s: numbers 6 to 20.
    assert values(samples, "video_rtt") == [6.0] * 15
    assert values(samples, "frame_delay") == [20.0] * 15
    counts = (
        "delay",
        "delay_p99",
        "delay_mean",
        "datagrams_sent",
        "datagrams_lost",
        "frames_sent",
        "frames_late",
    )
    assert [values(samples, name) for name in counts] == [[3], [9], [4], [30], [0], [15], [0]]
    shares = list(share_samples([stream], WINDOW, ("up",)))
    assert [(s.metric, s.value, s.endpoint) for s in shares] == [("loss", 0, "ap"), ("late_frames", 0, "ap")]


def test_a_packet_that_did_not_arrive_is_lost_and_its_frame_is_late() -> None:
    frames = [[number, 2, 20 * MS] for number in range(24)]
    frames[8] = [8, 1, 15 * MS]  # one of two packets
    frames[9] = [9, 2, 101 * MS]  # too late
    frames[3] = [3, 1, 15 * MS]  # in the warm-up
    del frames[10]  # no packet
    sender = sent()
    sender["frames"][10][4] = None
    stream, found = read(sender, received(frames=frames))
    assert found == []
    samples = stream_samples(stream, WINDOW, "down")
    assert values(samples, "frame_delay") == [20.0, 20.0, None, 101.0, None, *[20.0] * 10]
    assert values(samples, "video_rtt") == [*[6.0] * 4, None, *[6.0] * 10]
    counts = ("datagrams_sent", "datagrams_lost", "frames_sent", "frames_late")
    assert [values(samples, name) for name in counts] == [[30], [3], [15], [3]]
    shares = [sample.value for sample in share_samples([stream, stream], WINDOW, ("up", "down"))]
    assert shares == [0.1, 0.2]


def test_without_received_data_there_is_no_throughput_and_no_jitter() -> None:
    stream, _ = read(sent(), received(intervals=[[6, 6000, MS]] * 3))
    samples = stream_samples(stream, WINDOW, "up")
    assert values(samples, "throughput") == [480_000.0, 0.0, 0.0, 0.0, 0.0]
    assert values(samples, "jitter") == [1.0, None, None, None, None]


def test_streams_add_up() -> None:
    streams = [read(sent(), received(intervals=[[6, octets, MS]] * 8))[0] for octets in (1000, 5000)]
    total = list(total_samples(streams, WINDOW, "up"))
    assert values(total, "throughput") == [8 * 6000 / 0.1] * 5


@pytest.mark.parametrize(
    ("sender", "receiver", "fault"),
    [
        ({}, {"packets": 0, "frames": [], "intervals": []}, "video: no packet arrived"),
        ({}, {"ssrc": 8}, "video: sender and receiver report different streams"),
        ({}, {"frames": [[7, 3, 0]]}, "video: more packets of a frame arrived than were sent"),
        ({"frames": sent()["frames"][:18]}, {}, "video: short window: 12 of 15 frames were sent"),
        ({}, {"bye": False}, "video: the receiver did not see the end of the stream"),
        (
            {"frames": [[at, 2, 2000, 30 * MS, None] for at, *_ in sent()["frames"]]},
            {},
            "video: the sender was more than 10 ms late with 15 of 15 frames, up to 30 ms: its host, not the link, "
            "sets the result",
        ),
    ],
)
def test_faults_of_a_stream_are_reported(sender: Any, receiver: Any, fault: str) -> None:
    assert read(sent(**sender), received(**receiver))[1] == [fault]


def test_a_failed_end_is_reported_with_its_message() -> None:
    with pytest.raises(AirtollError, match=r"^video sender on sta: no receiver at 10\.0\.0\.1:5004$"):
        parse_sent(b"", b"video: no receiver at 10.0.0.1:5004\n", "video sender on sta")


def test_a_video_without_a_rate_is_refused(cell: Any) -> None:
    of: Cell = cell()
    with pytest.raises(UsageError, match=r"^offered: probe video requires a data rate"):
        offered_mbit_per_s(of)
    assert offered_mbit_per_s(cell(offered=19.4)) == 19.4


@given(st.floats(0, 1))
def test_output_that_is_cut_off_anywhere_is_refused(part: float) -> None:
    for words, parse in ((sent(), parse_sent), (received(), parse_received)):
        output = json.dumps(words).encode()
        with pytest.raises(AirtollError):
            parse(output[: int(part * (len(output) - 1))], b"", "video")


@st.composite
def _damaged(draw: st.DrawFn, words: dict[str, Any]) -> bytes:
    """Real output with a few stretches replaced by noise."""
    output = bytearray(json.dumps(words).encode())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(output)))
        noise = draw(
            st.binary(max_size=6)
            | st.sampled_from([b"null", b"-1", b"9" * 30, b"1e99", b"NaN", b"[]", b"true"])
        )
        output[at : at + draw(st.integers(0, 12))] = noise
    return bytes(output)


@given(st.binary() | _damaged(sent()), st.binary() | _damaged(received()))
def test_arbitrary_bytes_give_samples_or_an_airtoll_error(of_sender: bytes, of_receiver: bytes) -> None:
    ends: list[Any] = []
    refused: list[str] = []
    for output, usual, parse in ((of_sender, sent(), parse_sent), (of_receiver, received(), parse_received)):
        try:
            ends.append(parse(output, b"", "video"))
        except AirtollError as error:
            refused.append(str(error))
            ends.append(parse(json.dumps(usual).encode(), b"", "video"))
    assert not any("\n" in line for line in refused)
    stream = joined(*ends, WINDOW)
    for fault in faults(*ends, stream, WINDOW):
        assert "\n" not in fault
    for sample in [*stream_samples(stream, WINDOW, "up"), *share_samples([stream], WINDOW, ("up",))]:
        assert 0 <= sample.t_ns < 2**63
        assert 0 <= sample.dur_ns < 2**63
        assert sample.value is None or sample.value >= 0
