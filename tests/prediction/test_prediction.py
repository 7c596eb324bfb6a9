"""A prediction is the simulation of lab sim, with the same definitions; what-if cases are predictions, too."""

import time
from typing import Any

import pytest

from airtoll.labs.sim import closed_forms
from airtoll.prediction import Case, Prediction, Predictions, alternatives, case_of, predictions
from airtoll.study import LinkSettings, read_scenario, scenario_of
from airtoll.study.cell import Method

CARD = {"processor_frame": 1600.0, "processor_byte": 0.0}


def case(link: dict[str, Any] | None = None, **words: Any) -> Case:
    found = case_of(read_scenario({"packet_size": 1408, **words, **(link or {})}))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "words",
    [
        {"security": "ccmp"},
        {"phy": "vht", "rate": "mcs9", "bandwidth": 80, "streams": 3, "security": "gcmp256"},
        {"phy": "ht", "rate": "mcs7", "packet_size": 128},
    ],
)
def test_a_saturated_station_gets_the_closed_form_throughput(words: dict[str, Any]) -> None:
    closed = closed_forms(read_scenario({"packet_size": 1408, **words})).values["single_station"]
    predicted = Predictions()[case(**words)].values["throughput"]
    assert predicted == pytest.approx(1e6 * closed["throughput_mbps"], rel=0.01)


def test_a_load_above_capacity_is_lost_and_one_below_arrives() -> None:
    predictions = Predictions()
    one = case()
    carried = predictions[Case(one.cell, one.link, 10.0)].values
    assert carried["throughput"] == pytest.approx(10e6, rel=0.01)
    assert carried["loss"] == 0
    too_much = predictions[Case(one.cell, one.link, 60.0)].values
    assert too_much["loss"] == pytest.approx(1 - too_much["throughput"] / 60e6, abs=0.03)
    assert too_much["delay"] > carried["delay"]


def test_a_small_udp_buffer_loses_datagrams_where_no_sender_waits() -> None:
    one = case({"udp_buffer": 8192}, phy="ht", rate="mcs7")
    predictions = Predictions()
    loss = {lab: predictions[one.with_cell(lab=lab)].values["loss"] for lab in ("air", "linux", "sim")}
    assert loss["air"] > 0.5, "the TUN devices of lab air take datagrams at once"
    assert loss["linux"] == loss["sim"] < 0.13


def test_only_measured_metrics_are_predicted() -> None:
    method = Method(repeats=1, discard_first=0, duration=1, warmup=0, seed=1, probes=("rtt",))
    assert set(Predictions(method)[case()].values) <= {"rtt", "rtt_p99"}


@pytest.mark.parametrize(("stations", "at_once"), [(1, 8), (501, 4), (2007, 1)])
def test_simulations_at_once_share_a_limit_of_stations(
    monkeypatch: pytest.MonkeyPatch, stations: int, at_once: int
) -> None:
    """A flow takes half a megabyte of memory, and the plan may be a stranger's."""
    running: list[Case] = []
    counts: list[int] = []

    def predict(_: Predictions, one: Case) -> Prediction:
        running.append(one)
        counts.append(len(running))
        time.sleep(0.05)
        running.remove(one)
        return Prediction({}, {})

    monkeypatch.setattr(predictions, "cpu_count", lambda: 8)
    monkeypatch.setattr(Predictions, "_predict", predict)
    one = case(stations=stations)
    Predictions().all(Case(one.cell, one.link, float(load)) for load in range(1, 17))
    assert max(counts) == at_once


def test_a_case_gives_its_scenario_back() -> None:
    scenario = read_scenario(
        {"phy": "vht", "rate": "mcs5", "streams": 2, "security": "gcmp", "queue": "fq_codel"}
    )
    found = case_of(scenario)
    assert found is not None
    again = scenario_of(found.cell, found.link, traffic=None, duration=1.0, warmup=0.2, seed=1)
    assert again.wire() == scenario.wire()
    assert case_of(read_scenario({"snr": [[0, 20], [20, 0]]})) is None


def test_an_engine_twice_as_fast_doubles_throughput_if_it_is_the_bottleneck() -> None:
    answers = {
        a.question: a
        for a in alternatives(Predictions(), case(CARD, security="ccmp", crypto_at="card"), "throughput")
    }
    assert answers["an engine 2 times as fast"].percent == pytest.approx(100, abs=2)
    assert answers["an engine 8 times as fast"].percent < 500  # the air takes more than 200 us per frame
    assert answers["frames sealed by the host's CPU"].then == pytest.approx(
        answers["an engine that takes no time"].then, rel=0.01
    )
    assert answers["security open"].percent > 0
    assert "security ccmp" not in answers


@pytest.mark.parametrize(
    ("phy", "ampdu", "amsdu_b"), [("ht", None, 3839), ("ht", False, 7935), ("vht", None, 7935)]
)
def test_requested_a_msdus_are_within_the_limit_of_the_phy(
    phy: str, ampdu: bool | None, amsdu_b: int
) -> None:
    now = case(phy=phy, rate="mcs7", packet_size=256).with_link(ampdu=ampdu)
    questions = [a.question for a in alternatives(Predictions(), now, "throughput")]
    assert f"A-MSDUs of up to {amsdu_b} B" in questions


def test_impossible_alternatives_are_omitted() -> None:
    largest = case(packet_size=1472)
    questions = [a.question for a in alternatives(Predictions(), largest, "throughput")]
    assert not [q for q in questions if q.startswith(("packets of", "A-MSDUs", "an engine", "frames sealed"))]
    assert Predictions()[case(phy="ht", security="tkip")].values == {}
    assert alternatives(Predictions(), case(phy="ht", security="tkip"), "throughput") == ()


def test_predictions_are_cached() -> None:
    predictions = Predictions(link=LinkSettings())
    first = predictions[case()]
    assert predictions[case()] is first
