"""A measured cost is split into parts that add up, and each part follows from the standard's timing."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_cell import make_cell

from airtoll.prediction import Attribution, Case, Predictions, attribute, modelled
from airtoll.study import LinkSettings

PREDICTIONS = Predictions()
OPEN_54_MBPS = 29.2  # 1408 B over UDP and 802.11a, about


def case(link: dict[str, Any] | None = None, **levels: Any) -> Case:
    cell = make_cell(**{"security": "ccmp", **levels})
    return Case(cell, LinkSettings.model_validate(link or {}))


def parts(of: Attribution | None) -> dict[str, float]:
    assert of is not None
    return {part.name: part.change for part in of.parts}


@settings(max_examples=15)
@given(
    security=st.sampled_from(["wep104", "tkip", "ccmp", "gcmp256", "enhanced2"]),
    crypto_at=st.sampled_from(["host", "card"]),
    packet_size=st.sampled_from([64, 512, 1408]),
    metric=st.sampled_from(["throughput", "rtt"]),
    measured=st.tuples(st.floats(1, 1e9), st.floats(1, 1e9)),
)
def test_the_explained_parts_add_up_to_the_predicted_cost(
    security: str, crypto_at: str, packet_size: int, metric: str, measured: tuple[float, float]
) -> None:
    secured = case(security=security, crypto_at=crypto_at, packet_size=packet_size)
    before, after = (PREDICTIONS[of].values[metric] for of in (secured.with_cell(security="open"), secured))
    split = parts(attribute(PREDICTIONS, secured, metric, *measured))
    unexplained = split.pop("unexplained")
    assert sum(split.values()) == pytest.approx(after - before, rel=1e-9, abs=1e-9 * before)
    assert unexplained == pytest.approx(
        (measured[1] - measured[0]) - (after - before), rel=1e-9, abs=1e-9 * (before + sum(measured))
    )


def test_octets_that_fit_into_the_last_symbol_add_no_airtime() -> None:
    # 128 B at 54 Mbit/s: 8 * (128 + 28 + 8 + 28) + 22 bits, with and without 16 more octets, are 8 symbols of 216 bits.
    split = parts(modelled(PREDICTIONS, case(packet_size=128), "throughput"))
    assert split["bytes"] < 0
    assert split["bytes"] + split["symbols"] == pytest.approx(0, abs=1)


def test_octets_take_their_time_at_the_phy_rate_once_a_way() -> None:
    split = parts(modelled(PREDICTIONS, case(), "rtt"))
    assert split["bytes"] == pytest.approx(2 * 8 * 16 / 54e6 * 1e3, rel=1e-6)
    twice = parts(modelled(PREDICTIONS, case(topology="through-ap"), "rtt"))
    assert twice["bytes"] == pytest.approx(4 * 8 * 16 / 54e6 * 1e3, rel=1e-6)


def test_tkip_costs_the_aggregation_of_ht_and_its_rate() -> None:
    link = {"legacy_fallback": True}
    tkip = case(link, phy="ht", rate="mcs7", bandwidth=40, gi="short", security="tkip")
    split = modelled(PREDICTIONS, tkip, "throughput")
    assert split is not None
    lost = parts(split)
    assert -lost["aggregation"] > 0.5 * split.open
    assert lost["legacy rate"] < 0
    assert -(lost["bytes"] + lost["symbols"]) < 0.02 * split.open
    assert "aggregation" not in parts(modelled(PREDICTIONS, case(), "throughput"))


def test_cost_is_attributed_to_a_card_slower_than_the_air() -> None:
    slow = case({"processor_frame": 500.0, "processor_byte": 0.0}, crypto_at="card")
    split = modelled(PREDICTIONS, slow, "throughput")
    assert split is not None
    assert split.secured == pytest.approx(8 * 1408 / 500e-6, rel=0.01)  # one frame per 500 us
    assert parts(split)["processor"] < 0.9 * split.change < 0


def test_impossible_cells_and_unmodelled_metrics_have_no_attribution() -> None:
    assert modelled(PREDICTIONS, case(phy="ht", rate="mcs7", security="tkip"), "throughput") is None
    assert modelled(PREDICTIONS, case(), "cpu_system") is None
