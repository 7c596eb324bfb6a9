"""A card is fitted to figures by simulation, and its errors are those of figures that the fit did not use."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from made_cell import make_cell

from airtoll.errors import UsageError
from airtoll.prediction import FITTED, Predictions, Residual, Target, explain, fit, rms_percent, targets_of
from airtoll.prediction.fitting import FOLDS, start_of
from airtoll.published import published
from airtoll.study import LinkSettings, expand, find_study, load_study
from airtoll.study.cell import Cell, Method

CARD = {"forward_ipv4": 40.0, "processor_byte": 60.0}
SIZES = (256, 640, 1024, 1408)


def predictions() -> Predictions:
    return Predictions(
        Method(repeats=1, discard_first=0, duration=0.5, warmup=0.1, seed=1, probes=("throughput",)),
        LinkSettings(),
    )


def cell(security: str, packet_b: int) -> Cell:
    return make_cell(
        lab="sim",
        security=security,
        packet_size=packet_b,
        phy="ht",
        rate="mcs7",
        bandwidth=40,
        gi="short",
        crypto_at="card",
    )


def target(security: str, packet_b: int, value: float = 1.0) -> Target:
    of = cell(security, packet_b)
    return Target(f"{security} {packet_b} B", "throughput", value, (of,), max)


def figures(card: Mapping[str, float]) -> list[Target]:
    """The figures of a paper whose cards are this one."""
    known = predictions()
    blank = [target(security, packet_b) for packet_b in SIZES for security in ("open", "ccmp")]
    return [
        target(of.cells[0].security, of.cells[0].packet_size, of.predicted(known, card) or 0.0)
        for of in blank
    ]


def test_a_fit_finds_the_card_of_simulated_figures() -> None:
    found = fit(figures(CARD), predictions())
    assert rms_percent(found.fitted) < 2
    assert rms_percent(found.held_out) < 5
    assert len(found.held_out) == len(found.fitted) == 2 * len(SIZES)
    secured = target("ccmp", 1408)
    assert secured.predicted(predictions(), found.settings) == pytest.approx(
        secured.predicted(predictions(), CARD), rel=0.03
    )


def test_a_figure_is_predicted_by_a_card_that_is_fitted_without_it() -> None:
    of_card = figures(CARD)
    wrong = 3
    moved = [
        target(of.cells[0].security, of.cells[0].packet_size, of.value * (2 if index == wrong else 1))
        for index, of in enumerate(of_card)
    ]
    (held_out,) = (
        residual for residual in fit(moved, predictions()).held_out if residual.target is moved[wrong]
    )
    assert held_out.error_percent == pytest.approx(-50, abs=3)


def test_two_figures_are_too_few() -> None:
    with pytest.raises(UsageError, match=f"2 figures are too few .* at least {FOLDS - 1}"):
        fit([target("open", 256), target("ccmp", 256)], predictions())


def test_only_settings_that_the_figures_determine_are_fitted() -> None:
    one_size = [target("open", 1408, 50e6), target("ccmp", 1408, 40e6)]
    assert set(start_of(one_size)) == {"forward_ipv4", "processor_byte"}
    several = [*one_size, target("ccmp", 256, 10e6)]
    assert set(start_of(several)) == {"forward_ipv4", "forward_byte", "processor_byte", "processor_frame"}
    relative = Target("change", "throughput", 0.9, (cell("ccmp", 1408),), max, to_open=True)
    assert set(start_of([relative])) == {"processor_byte"}
    of_wep = Target("wep", "throughput", 30e6, (cell("wep104", 1408),), max)
    assert "processor_clock" in start_of([*one_size, of_wep])


@pytest.mark.parametrize("name", ["kolahi-11ac", "kolahi-11n-udp"])
def test_targets_are_the_figures_of_single_cells_once(name: str) -> None:
    plan = expand(load_study(find_study(name)))
    cells = dict.fromkeys(run.cell.model_copy(update={"crypto_at": "card"}) for run in plan.runs)
    targets = targets_of(published(name), list(cells), ("throughput", "rtt"))
    assert len({(each.metric, each.cells) for each in targets}) == len(targets) > 10
    assert {each.metric for each in targets} == {"throughput", "rtt"}
    assert all(len(each.cells) == 1 for each in targets)


def test_the_card_of_a_study_predicts_the_secured_figures_of_its_paper() -> None:
    plan = expand(load_study(find_study("kolahi-11n-udp")))
    cells = dict.fromkeys(run.cell.model_copy(update={"crypto_at": "card"}) for run in plan.runs)
    settings = {name: getattr(plan.link, name) or 0.0 for name in FITTED if "clock" not in name}
    known = Predictions.of(plan)
    for each in targets_of(published("kolahi-11n-udp"), list(cells)):
        if each.cells[0].security == "ccmp":
            error = Residual(each, each.predicted(known, settings) or 0.0).error_percent
            assert abs(error) < 15, each.name


def test_the_setting_that_made_the_figures_explains_them() -> None:
    """Of two settings that may vary, only the time per packet changes these figures; the other one adds nothing."""
    known = predictions()
    blank = [
        Target(f"{security} {size}", "throughput", 1.0, (host_cell(security, size),), max)
        for security in ("open", "ccmp")
        for size in SIZES
    ]
    made = [replace(of, value=of.predicted(known, {"packet_time": 150.0}) or 0.0) for of in blank]
    found = explain(made, known, [("queue",), ("packet_time",)])
    assert found.alone[0].varied == ("packet_time",)
    assert found.best.varied == ("packet_time",)
    assert found.best.settings["packet_time"] == pytest.approx(150, rel=0.05)
    assert rms_percent(found.best.held_out) < 5 < rms_percent(found.unvaried)
    assert found.of(made[0]) == "packet_time"


def host_cell(security: str, packet_b: int) -> Cell:
    return cell(security, packet_b).model_copy(update={"crypto_at": "host"})
