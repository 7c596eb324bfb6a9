"""irtt's report becomes delays in each direction: checked by its own arithmetic, truncated, damaged."""

import json
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.errors import AirtollError
from airtoll.labs.base import Known, Link
from airtoll.probes import irtt
from airtoll.probes.base import Sample
from airtoll.probes.clocks import ClockDifference
from airtoll.probes.irtt import Trips
from airtoll.probes.window import Window
from airtoll.study.cell import Cell

Recorded = Callable[[str], bytes]
MakeCell = Callable[..., Cell]

WHOLE = Window(opens_s=0.0, closes_s=1.0)
RECORDED = Path(__file__).parent / "recorded"
REPORTS = sorted(file.name for file in RECORDED.glob("irtt-*.json"))


SHARED = ClockDifference(0.0, 0.0)


def read(output: bytes, window: Window = WHOLE, ahead: ClockDifference | None = SHARED) -> Trips:
    return irtt.read(irtt.parse(output, b"", "irtt"), window, ahead=lambda _: ahead)


def samples(trips: Trips, metric: str, direction: str) -> list[Sample]:
    return [s for s in trips.samples if (s.metric, s.direction, s.phase) == (metric, direction, "measure")]


def values(trips: Trips, metric: str, direction: str) -> list[float | None]:
    return [sample.value for sample in samples(trips, metric, direction)]


def edited(output: bytes, edit: Callable[[dict[str, Any]], object]) -> bytes:
    report = json.loads(output)
    edit(report)
    return json.dumps(report).encode()


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(
    ("metric", "direction", "own"),
    [
        ("rtt", "both", "rtt"),
        ("delay_idle", "up", "send_delay"),
        ("delay_idle", "down", "receive_delay"),
        ("ipdv", "up", "ipdv_send"),
        ("ipdv", "down", "ipdv_receive"),
    ],
)
def test_medians_and_means_equal_those_of_irtt(
    recorded: Recorded, name: str, metric: str, direction: str, own: str
) -> None:
    output = recorded(name)
    stats = json.loads(output)["stats"][own]
    found_ms = [abs(value) for value in values(read(output), metric, direction) if value is not None]
    assert len(found_ms) == stats["n"]
    assert statistics.mean(found_ms) == pytest.approx(
        stats["mean"] / 1e6, abs=2e-6
    )  # irtt cuts off below 1 ns
    if "median" in stats:
        assert statistics.median(found_ms) == pytest.approx(
            stats["median"] / 1e6, abs=2e-6
        )  # irtt cuts off below 1 ns


def test_one_way_delays_and_server_time_add_up_to_the_round_trip(recorded: Recorded) -> None:
    output = recorded("irtt-ipv6.json")
    trips = read(output)
    whats = (("rtt", "both"), ("delay_idle", "up"), ("delay_idle", "down"))
    columns = zip(*(samples(trips, *what) for what in whats), strict=True)
    for rtt, up, down in columns:
        assert rtt.t_ns == up.t_ns == down.t_ns
        assert rtt.value == pytest.approx(up.value + down.value, abs=1e-3)
        assert (rtt.endpoint, up.endpoint, down.endpoint) == ("sta", "ap", "sta")


def test_lost_datagrams_are_counted_by_direction_and_have_no_delay(recorded: Recorded) -> None:
    output = recorded("irtt-lost.json")
    trips = read(output)
    fates = Counter(trip["lost"] for trip in json.loads(output)["round_trips"])
    assert fates["true_up"] > 0
    assert fates["true_down"] > 0
    sent = fates.total()
    assert values(trips, "datagrams_sent", "both") == [sent]
    assert values(trips, "datagrams_lost", "both") == [fates["true_up"] + fates["true_down"]]
    assert values(trips, "datagrams_sent", "up") == [sent]
    assert values(trips, "datagrams_lost", "up") == [fates["true_up"]]
    assert values(trips, "datagrams_sent", "down") == [sent - fates["true_up"]]
    assert values(trips, "datagrams_lost", "down") == [fates["true_down"]]
    assert len(values(trips, "rtt", "both")) == fates["false"]
    for metric, direction in (("rtt", "both"), ("delay_idle", "up"), ("delay_idle", "down")):
        assert all(value is not None and value > 0.1 for value in values(trips, metric, direction))


def test_directions_unknown_to_irtt_have_no_samples(recorded: Recorded) -> None:
    def edit(report: dict[str, Any]) -> None:
        next(trip for trip in report["round_trips"] if trip["lost"] == "true_up")["lost"] = "true"

    output = recorded("irtt-lost.json")
    trips, exact = (read(each) for each in (edited(output, edit), output))
    for counted in ("datagrams_sent", "datagrams_lost"):
        assert values(trips, counted, "both") == values(exact, counted, "both")
    assert values(trips, "datagrams_lost", "up") == [None]
    assert values(trips, "datagrams_sent", "down") == values(trips, "datagrams_lost", "down") == [None]


def test_one_way_delays_are_absent_where_the_clocks_are_not_the_same(recorded: Recorded) -> None:
    trips = read(recorded("irtt-ipv4.json"), ahead=None)
    assert values(trips, "delay_idle", "up") == values(trips, "delay_idle", "down") == []
    assert len(values(trips, "rtt", "both")) == 29
    assert len(values(trips, "ipdv", "up")) == len(values(trips, "ipdv", "down")) == 28


def test_the_difference_of_the_clocks_is_subtracted_if_its_uncertainty_is_small(recorded: Recorded) -> None:
    exact = read(recorded("irtt-ipv4.json"))
    median_ms = median(value or 0.0 for value in values(exact, "delay_idle", "up"))
    offset_ns = -0.1e6 * median_ms
    apart = read(recorded("irtt-ipv4.json"), ahead=ClockDifference(offset_ns, 0.01e6 * median_ms))
    for way, sign in (("up", 1), ("down", -1)):
        pairs = zip(values(exact, "delay_idle", way), values(apart, "delay_idle", way), strict=True)
        changes_ms = [(later or 0.0) - (earlier or 0.0) for earlier, later in pairs]
        assert changes_ms == pytest.approx([sign * -offset_ns / 1e6] * len(changes_ms))
    (uncertainty,) = values(apart, "clock_uncertainty", "up")
    assert uncertainty == pytest.approx(0.01 * median_ms)
    unknown = read(recorded("irtt-ipv4.json"), ahead=ClockDifference(0.0, 2e5 * median_ms))
    assert values(unknown, "delay_idle", "up") == values(unknown, "clock_uncertainty", "up") == []
    assert unknown.faults == []


def test_warm_up_is_labelled_and_datagrams_sent_after_the_window_are_dropped(recorded: Recorded) -> None:
    trips = read(recorded("irtt-ipv4.json"), Window(opens_s=0.095, closes_s=0.195))
    phases = [sample.phase for sample in trips.samples if sample.metric == "rtt"]
    assert phases == ["warmup"] * 10 + ["measure"] * 10
    assert values(trips, "datagrams_sent", "both") == [10]
    (counted,) = samples(trips, "datagrams_lost", "both")
    assert (counted.t_ns, counted.dur_ns) == (95_000_000, 100_000_000)


def test_an_answer_that_came_after_that_to_a_later_datagram_is_late(recorded: Recorded) -> None:
    def edit(report: dict[str, Any]) -> None:
        report["round_trips"][7]["delay"]["rtt"] += 25_000_000  # after 8 and 9, sent 10 and 20 ms later

    assert values(read(recorded("irtt-ipv4.json")), "datagrams_late", "both") == [0]
    assert values(read(edited(recorded("irtt-ipv4.json"), edit)), "datagrams_late", "both") == [1]


def test_a_good_report_has_no_fault(recorded: Recorded) -> None:
    for name in REPORTS:
        assert read(recorded(name)).faults == []


def test_a_window_without_any_answer_is_a_fault(recorded: Recorded) -> None:
    trips = read(recorded("irtt-ipv4.json"), Window(opens_s=0.4, closes_s=0.9))
    assert trips.faults == ["irtt: no datagram sent in the window came back within 0.5 s of its end"]


def test_times_to_send_that_were_missed_are_a_fault(recorded: Recorded) -> None:
    output = edited(recorded("irtt-ipv4.json"), lambda r: r["stats"].update(timer_miss_percent=12.5))
    assert read(output).faults == ["irtt: 12.5 % of the send times were missed: the datagrams were not paced"]


def test_a_clock_that_was_set_spoils_one_way_delays_alone(recorded: Recorded) -> None:
    def edit(report: dict[str, Any]) -> None:
        for trip in report["round_trips"][12:]:
            trip["timestamps"]["client"]["send"]["wall"] += 100_000_000

    output = edited(recorded("irtt-ipv4.json"), edit)
    assert read(output).faults == ["irtt: the clock used for delays was set during the run"]
    assert read(output, ahead=None).faults == []


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (
            b"Error: read udp4 192.0.2.2:59013->192.0.2.1:2112: read: connection refused\n",
            "irtt client on sta: read udp4 192.0.2.2:59013->192.0.2.1:2112: read: connection refused",
        ),
        (
            b"Error: [OpenTimeout] no reply from server\n",
            "irtt client on sta: [OpenTimeout] no reply from server",
        ),
        (b"", "irtt client on sta: it printed nothing"),
    ],
)
def test_a_failure_has_the_message_of_irtt(stderr: bytes, words: str) -> None:
    with pytest.raises(AirtollError) as caught:
        irtt.parse(b"", stderr, "irtt client on sta")
    assert str(caught.value) == words


def test_a_report_that_lacks_datagrams_is_refused(recorded: Recorded) -> None:
    output = edited(recorded("irtt-ipv4.json"), lambda report: report["round_trips"].pop(3))
    with pytest.raises(AirtollError, match=r"^irtt: its report lacks some of 29 datagrams$"):
        read(output)


@pytest.mark.parametrize(
    ("packet_size", "capacity_bit_per_s", "interval_s"),
    [
        (1408, 30e6, 0.010),
        (1408, None, 0.010),
        (1408, 0.9e6, 0.101),  # 12.5 ms each way are a quarter of 101 ms
        (128, 0.9e6, 0.010),
    ],
)
def test_the_link_stays_nearly_idle_however_slow_it_is(
    cell: MakeCell, packet_size: int, capacity_bit_per_s: float | None, interval_s: float
) -> None:
    known = Known(capacity_open_bit_per_s=capacity_bit_per_s)
    link = Link(hosts={}, addresses={}, facts={}, counters=dict, known=known)
    assert irtt.interval_s(link, cell(packet_size=packet_size)) == pytest.approx(interval_s)


@given(st.sampled_from(REPORTS), st.floats(0, 1))
def test_a_report_truncated_anywhere_is_refused(name: str, part: float) -> None:
    output = (RECORDED / name).read_bytes().rstrip()
    with pytest.raises(AirtollError):
        irtt.parse(output[: int(part * (len(output) - 1))], b"", "irtt")


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A real report with a few stretches replaced by noise."""
    output = bytearray((RECORDED / draw(st.sampled_from(REPORTS))).read_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(output)))
        noise = draw(st.binary(max_size=6) | st.sampled_from([b"null", b"-1", b"9" * 18, b"NaN", b"{", b"]"]))
        output[at : at + draw(st.integers(0, 12))] = noise
    return bytes(output)


@given(st.binary() | _damaged(), st.binary(max_size=40), st.booleans())
def test_arbitrary_bytes_give_samples_or_an_airtoll_error(
    output: bytes, stderr: bytes, shared_clocks: bool
) -> None:
    ahead = SHARED if shared_clocks else None
    try:
        report = irtt.parse(output, stderr, "irtt")
    except AirtollError as error:
        refused = str(error)
        report = None
    if report is None:
        assert "\n" not in refused
        return
    for sample in irtt.read(report, WHOLE, ahead=lambda _: ahead).samples:
        assert 0 <= sample.t_ns < 2**63
        assert 0 <= sample.dur_ns < 2**63
