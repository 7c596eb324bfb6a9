"""Responsiveness from the output of load: means, confidence, missing answers, and damaged output."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.errors import AirtollError
from airtoll.probes import responsiveness
from airtoll.probes.base import Sample
from airtoll.probes.clocks import ClockDifference
from airtoll.probes.responsiveness import LoadPhase, confidence_of, parse, rounds_of, trimmed_mean_ns

MS = 1_000_000
S = 1_000_000_000
SHARED = ClockDifference(0.0, 0.0)


def output(
    direction: str = "up",
    *,
    window: tuple[int, int] | None = (7 * S, 15 * S),
    foreign_ms: tuple[int | None, int | None] = (20, 40),
    own_ms: int | None = 60,
    later_own_ms: int | None = None,
) -> bytes:
    """Seven intervals until the load is stable and eight more, ten pairs of probes and 100 datagrams per second."""
    rows: list[dict[str, Any]] = [{"load": "1.2", "origin_ns": 5 * S, "direction": direction}]
    rows += [
        {"interval": [second * S, (second + 1) * S, 2_500_000, min(second + 1, 7)]} for second in range(15)
    ]
    for number in range(80):
        start = 7 * S + number * S // 10
        own = later_own_ms if later_own_ms is not None and number >= 70 else own_ms
        handshake, request = (None if each is None else each * MS for each in foreign_ms)
        rows.append({"foreign": [start, handshake, request]})
        rows.append({"own": [start, None if own is None else own * MS]})
    for number in range(1500):
        answer = [None] * 3 if number % 100 == 0 else [50 * MS, 45 * MS, 5 * MS]
        rows.append({"echo": [number * S // 100, *answer]})
    rows.append({"end": None if window is None else list(window)})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read(text: bytes, since_ns: int = 0, ahead: ClockDifference = SHARED) -> LoadPhase:
    return responsiveness.read(parse(text, b"", "load"), since_ns, lambda _: ahead)


def samples(phase: LoadPhase, metric: str, of: str = "measure") -> list[Sample]:
    return [sample for sample in phase.samples if (sample.metric, sample.phase) == (metric, of)]


def test_responsiveness_is_the_mean_of_both_kinds_of_requests() -> None:
    phase = read(output(), since_ns=3 * S)
    (rpm,) = samples(phase, "responsiveness")
    # draft-ietf-ippm-responsiveness, TCP only: 60000 / ((20 + 40) / 2) and 60000 / 60
    assert rpm.value == pytest.approx((2000 + 1000) / 2)
    assert (rpm.unit, rpm.direction, rpm.t_ns, rpm.dur_ns) == ("1/min", "up", 10 * S, 8 * S)
    (response,) = samples(phase, "response_time")
    assert response.value == pytest.approx(40)
    assert list(phase.faults) == []
    assert phase.facts["confidence"] == "high"
    assert (phase.facts["foreign_per_min"], phase.facts["own_per_min"]) == (2000, 1000)
    assert (phase.facts["connections"], phase.facts["saturated_after_s"]) == (7, 7)


def test_load_and_datagrams_are_those_of_the_direction() -> None:
    up, down = read(output("up")), read(output("down"))
    for phase, end, delay_ms in ((up, "ap", 45), (down, "sta", 5)):
        assert {sample.value for sample in samples(phase, "load_throughput")} == {20e6}
        assert len(samples(phase, "load_throughput", "warmup")) == 7
        assert {(s.endpoint, s.value) for s in samples(phase, "delay_loaded")} == {(end, delay_ms)}
        assert {sample.value for sample in samples(phase, "rtt_loaded")} == {50}
        counts = [samples(phase, metric)[0].value for metric in ("datagrams_sent", "datagrams_lost")]
        assert counts == [800, 8]
        assert len(samples(phase, "rtt_loaded")) == 792


def test_one_way_delays_have_the_uncertainty_of_their_clocks() -> None:
    apart = ClockDifference(offset_ns=40 * MS, uncertainty_ns=0.2 * MS)
    up, down = (read(output(way), ahead=apart) for way in ("up", "down"))
    assert {sample.value for sample in samples(up, "delay_loaded")} == {5}
    assert {sample.value for sample in samples(down, "delay_loaded")} == {45}
    assert [sample.value for sample in samples(up, "clock_uncertainty")] == [0.2]
    uncertain = read(output("up"), ahead=ClockDifference(40 * MS, 2 * MS))
    assert samples(uncertain, "delay_loaded") == samples(uncertain, "clock_uncertainty") == []
    assert len(samples(uncertain, "rtt_loaded")) == 792


def test_a_load_that_is_not_reached_is_a_fault() -> None:
    phase = read(output(window=None))
    assert phase.samples == ()
    assert phase.faults == ["load up: the throughput of 7 connections did not become stable within 20 s"]


@pytest.mark.parametrize(("foreign_ms", "own_ms"), [((20, None), 60), ((None, None), 60), ((20, 40), None)])
def test_requests_without_an_answer_are_a_fault(foreign_ms: Any, own_ms: int | None) -> None:
    phase = read(output(foreign_ms=foreign_ms, own_ms=own_ms))
    assert [sample.value for sample in samples(phase, "responsiveness")] == [None]
    assert phase.faults == ["load up: 80 of 160 requests had no answer"]


def test_the_slowest_requests_do_not_count_and_missing_answers_are_the_slowest() -> None:
    assert trimmed_mean_ns([*[10] * 19, 1000]) == 10
    assert trimmed_mean_ns([*[10] * 19, None]) == 10
    assert trimmed_mean_ns([*[10] * 18, None, None]) is None
    assert trimmed_mean_ns([]) is None


def test_confidence_needs_four_intervals_and_stable_values() -> None:
    def confidence(**words: Any) -> str:
        return confidence_of(parse(output(**words), b"", "load"))

    assert confidence() == "high"
    assert confidence(later_own_ms=600) == "medium"
    assert confidence(window=(12 * S, 15 * S)) == "low"


def test_times_outside_of_the_window_have_no_requests() -> None:
    assert rounds_of(parse(output(), b"", "load"), 0, 7 * S) is None


def test_output_that_is_incomplete_is_refused_in_one_line() -> None:
    whole = output()
    lines = whole.splitlines(keepends=True)
    for broken in (b"".join(lines[:-1]), whole[:-20], lines[0], b"\n".join([b"{}", *lines[1:]]), b"[]\n[]\n"):
        with pytest.raises(AirtollError, match=r"^load client: its output of \d+ bytes is incomplete$"):
            parse(broken, b"", "load client")
    with pytest.raises(
        AirtollError, match=r"^load client: connecting to 192\.0\.2\.1:5010: Connection refused$"
    ):
        parse(b"", b"load: connecting to 192.0.2.1:5010: Connection refused\n", "load client")


def assert_one_line(text: str) -> None:
    assert "\n" not in text


@given(st.binary(max_size=80), st.integers(0, 4000), st.integers(0, 30))
def test_arbitrary_bytes_give_samples_or_an_airtoll_error(noise: bytes, at: int, cut: int) -> None:
    whole = output()
    try:
        phase = read(whole[:at] + noise + whole[at + cut :])
    except AirtollError as error:
        phase = LoadPhase()
        assert_one_line(str(error))
    for sample in phase.samples:
        assert sample.dur_ns >= 0
