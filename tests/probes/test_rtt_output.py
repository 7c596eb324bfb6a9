"""The output of sockperf and of ping-pong becomes round trips."""

import statistics
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.errors import AirtollError
from airtoll.probes.rtt import RoundTrips, parse_pingpong
from airtoll.probes.sockperf import parse as parse_sockperf
from airtoll.probes.window import Window

Recorded = Callable[[str], bytes]
Parser = Callable[[bytes, Any, Window], RoundTrips]

SOCKPERF_WINDOW = Window(opens_s=0.4, closes_s=0.9)
PINGPONG_WINDOW = Window(opens_s=0.2, closes_s=0.7)
RECORDED = Path(__file__).parent / "recorded"
OUTPUTS = sorted(file.name for file in RECORDED.glob("sockperf-*")) + sorted(
    file.name for file in RECORDED.glob("pingpong-*")
)


def values(trips: RoundTrips, metric: str) -> list[float]:
    found = [s.value for s in trips.samples if s.metric == metric and s.phase == "measure"]
    assert None not in found
    return [value for value in found if value is not None]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_sockperfs_round_trips_have_the_quantiles_that_it_prints(recorded: Recorded, transport: Any) -> None:
    output = recorded(f"sockperf-{transport}.txt")
    trips = parse_sockperf(output, transport, Window(opens_s=0.4, closes_s=1.0))
    rtts_ms = values(trips, "rtt_sockperf")
    printed = dict(
        line.split(b"---> ")[1].replace(b"observation", b"").split(b"=")
        for line in output.splitlines()
        if b"---> " in line
    )
    quantiles_us = {name.strip(): float(value) for name, value in printed.items()}
    assert max(rtts_ms) * 1000 == pytest.approx(quantiles_us[b"<MAX>"])
    assert min(rtts_ms) * 1000 == pytest.approx(quantiles_us[b"<MIN>"])
    assert statistics.median(rtts_ms) * 1000 == pytest.approx(quantiles_us[b"percentile 50.000"], rel=1e-3)
    assert trips.version == "sockperf 3.7-no.git"
    assert trips.faults == []


def test_sockperfs_times_count_from_before_its_hidden_warm_up(recorded: Recorded) -> None:
    trips = parse_sockperf(recorded("sockperf-tcp.txt"), "tcp", Window(opens_s=0.5, closes_s=0.8))
    rtts = [sample for sample in trips.samples if sample.metric == "rtt_sockperf"]
    assert rtts[0].t_ns == 400_000_000
    assert {s.phase for s in rtts if s.t_ns < 500_000_000} == {"warmup"}
    assert {s.phase for s in rtts if s.t_ns >= 500_000_000} == {"measure"}
    assert rtts[-1].t_ns < 800_000_000
    for earlier, later in pairwise(rtts):
        assert earlier.t_ns + earlier.dur_ns <= later.t_ns


def test_a_datagram_that_sockperf_lost_is_counted_and_makes_the_run_invalid(recorded: Recorded) -> None:
    trips = parse_sockperf(recorded("sockperf-udp-lost.txt"), "udp", SOCKPERF_WINDOW)
    assert values(trips, "datagrams_lost") == [1]
    assert values(trips, "datagrams_sent") == [len(values(trips, "rtt_sockperf")) + 1]
    assert (
        min(values(trips, "rtt_sockperf")) > 4
    )  # each way takes 2 ms: a lost message must not count as zero
    (fault,) = trips.faults
    assert fault.startswith("sockperf: short window: 0.2")
    assert fault.endswith("s of 0.50 s: sockperf waits indefinitely for a lost datagram")


def test_a_datagram_lost_by_sockperf_before_the_window_is_not_counted(recorded: Recorded) -> None:
    trips = parse_sockperf(recorded("sockperf-udp-lost-early.txt"), "udp", SOCKPERF_WINDOW)
    assert values(trips, "rtt_sockperf") == []
    assert len(trips.faults) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-server-udp", "No messages were received from the server. Is the server down?"),
        ("no-server-tcp", "Can`t connect socket (errno=111 Connection refused)"),
        ("ipv6", "'-i' Invalid address: fd78::1"),
    ],
)
def test_a_failure_has_the_message_of_sockperf(recorded: Recorded, name: str, words: str) -> None:
    with pytest.raises(AirtollError) as caught:
        parse_sockperf(recorded(f"sockperf-{name}.txt"), "udp", SOCKPERF_WINDOW)
    assert str(caught.value) == f"sockperf: {words}"


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_pingpong_gives_every_round_trip_with_the_warm_up_apart(recorded: Recorded, transport: Any) -> None:
    trips = parse_pingpong(recorded(f"pingpong-{transport}.jsonl"), transport, PINGPONG_WINDOW)
    rtts = [sample for sample in trips.samples if sample.metric == "rtt"]
    assert {s.phase for s in rtts if s.t_ns < 200_000_000} == {"warmup"}
    assert {s.phase for s in rtts if s.t_ns >= 200_000_000} == {"measure"}
    assert {(s.unit, s.endpoint, s.direction, s.probe) for s in rtts} == {("ms", "sta", "both", "pingpong")}
    assert all(4 < rtt < 20 for rtt in values(trips, "rtt"))  # 2 ms each way
    assert values(trips, "datagrams_lost") == ([0] if transport == "udp" else [])
    assert trips.version.startswith("pingpong ")
    assert trips.faults == []


def test_datagrams_that_pingpong_lost_are_counted_within_the_window_only(recorded: Recorded) -> None:
    output = recorded("pingpong-udp-lost.jsonl")
    assert output.endswith(b'{"lost":4,"sent":80}\n')
    trips = parse_pingpong(output, "udp", Window(opens_s=0.2, closes_s=1.2))  # the first loss was at 0.087 s
    assert values(trips, "datagrams_lost") == [3]
    assert values(trips, "datagrams_sent") == [len(values(trips, "rtt")) + 3]
    assert min(values(trips, "rtt")) > 4
    assert trips.faults == []


def test_a_window_without_any_reply_is_a_fault() -> None:
    output = b'{"pingpong":"1"}\n[5,700]\n[250000000,null]\n{"lost":1,"sent":2}\n'
    trips = parse_pingpong(output, "udp", PINGPONG_WINDOW)
    assert trips.faults == ["pingpong: no message came back within 0.25 s"]
    assert values(trips, "datagrams_lost") == [1]


@given(st.sampled_from([name for name in OUTPUTS if name.startswith("pingpong")]), st.floats(0, 1))
def test_pingpong_output_that_is_cut_off_anywhere_is_refused(name: str, part: float) -> None:
    output = (RECORDED / name).read_bytes().rstrip()
    with pytest.raises(AirtollError, match="truncated"):
        parse_pingpong(output[: int(part * (len(output) - 1))], "udp", PINGPONG_WINDOW)


@given(st.sampled_from(["sockperf-tcp.txt", "sockperf-udp.txt"]), st.floats(0, 1))
def test_a_truncated_sockperf_log_is_refused(name: str, part: float) -> None:
    output = (RECORDED / name).read_bytes()
    last_row = output.rindex(b"\n------")
    with pytest.raises(AirtollError):
        parse_sockperf(output[: int(part * (last_row - 1))], "tcp", SOCKPERF_WINDOW)


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """Real output with a few stretches replaced by noise."""
    output = bytearray((RECORDED / draw(st.sampled_from(OUTPUTS))).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(output)))
        noise = draw(st.binary(max_size=6) | st.sampled_from([b"null", b"-1", b"\n", b"9" * 30, b"]", b", "]))
        output[at : at + draw(st.integers(0, 12))] = noise
    return bytes(output)


@given(
    st.sampled_from([parse_sockperf, parse_pingpong]),
    st.binary() | _damaged(),
    st.sampled_from(["tcp", "udp"]),
)
def test_arbitrary_bytes_give_samples_or_an_airtoll_error(
    parse: Parser, output: bytes, transport: str
) -> None:
    try:
        trips = parse(output, transport, SOCKPERF_WINDOW)
    except AirtollError as error:
        refused = str(error)
        trips = None
    if trips is None:
        assert "\n" not in refused
        return
    for sample in trips.samples:
        assert sample.t_ns < 2**63
        assert 0 <= sample.dur_ns < 2**63
