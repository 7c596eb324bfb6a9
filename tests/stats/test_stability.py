"""Detection of unstable sets of runs, with the reported figures."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from airtoll.stats import instabilities, runs_needed


def found(values: list[float | None], **options: object) -> dict[str, str]:
    lines = instabilities(values, range(len(values)), **options)  # type: ignore[arg-type]
    return {line.kind: str(line) for line in lines}


def with_spread(percent: float) -> list[float | None]:
    """Six values with mean 100 and this standard deviation, without outlier, modes or drift."""
    pattern = np.array([1.0, -1.0, -0.4, 0.4, -1.0, 1.0])
    return [*(100 + percent * pattern / pattern.std(ddof=1))]


def test_stable_values_have_no_instability() -> None:
    assert found(with_spread(2.9)) == {}


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        (3.1, {"spread of the papers": "the standard deviation is 3.1 % of the mean, above the papers' 3 %"}),
        (9.9, {"spread of the papers": "the standard deviation is 9.9 % of the mean, above the papers' 3 %"}),
        (12.0, {"spread": "the standard deviation is 12 % of the mean"}),
    ],
)
def test_spread_is_named_at_the_bounds_of_the_papers_and_of_pyperf(
    percent: float, expected: dict[str, str]
) -> None:
    assert found(with_spread(percent)) == expected


def test_a_value_that_deviates_by_half_the_mean_is_named() -> None:
    assert found([10.0, 10.0, 10.0, 10.0, 10.0, 22.0])["outlier"] == "one value is 83 % above the mean"
    assert found([10.0, 10.0, 10.0, 1.0, 10.0, 10.0])["outlier"] == "one value is 88 % below the mean"
    line = found([30.0, 1.0, 2.0, 30.0, 30.0, 30.0])["outlier"]
    assert line == "2 values are 50 % or more off the mean, one 95 % below the mean"


def test_runs_with_and_without_an_offload_are_two_modes() -> None:
    line = found([301.0, 502.0, 300.0, 303.0, 499.0, 302.0])["two modes"]
    assert line == "the values have two modes, 66 % apart: 4 runs at the lower one, 2 at the higher"
    assert "two modes" not in found([301.0, 302.0, 300.0, 303.0, 499.0, 302.0])  # an outlier is no mode
    assert "two modes" not in found([100.0, 100.0, 101.0, 101.0])  # too close to matter
    assert "two modes" not in found([100.0, 102.0, 121.0, 123.0])  # a gap as normal values have it


def test_one_cell_in_a_hundred_with_four_normal_values_has_two_modes() -> None:
    cells = np.random.default_rng(5).normal(100, 10, (3000, 4)).tolist()
    assert 10 < sum("two modes" in found(cell) for cell in cells) < 50


def test_too_few_runs_for_the_precision_names_the_required_number() -> None:
    # s = 6 %, n = 6: half width 2.571 * 6 / sqrt(6) = 6.3 %; 2 % requires 38 runs: 2.026 * 6 / sqrt(38) = 1.97
    assert (
        found(with_spread(6.0), precision_percent=2.0)["too few"]
        == "6 runs give the mean to within 6.3 %; 2 % would require about 38"
    )
    assert "too few" not in found(with_spread(6.0), precision_percent=6.4)
    assert "too few" not in found(with_spread(6.0))


@given(st.floats(1, 1000), st.floats(0.001, 0.5), st.floats(0.5, 20))
def test_runs_needed_are_the_fewest_that_are_enough(mean: float, cv: float, percent: float) -> None:
    n = runs_needed(mean, cv * mean, percent)
    if n is None:
        return

    def reach(runs: int) -> float:
        return 100 * float(scipy.stats.t.ppf(0.975, runs - 1)) * cv / math.sqrt(runs)

    assert reach(n) <= percent * (1 + 1e-9)
    assert n == 2 or reach(n - 1) > percent * (1 - 1e-9)


def test_runs_that_would_be_too_many_are_not_counted() -> None:
    assert runs_needed(1.0, 10.0, 1.0) is None
    assert "more than 10000" in found([1.0, 1000.0, 1.0, 1.0], precision_percent=0.001)["too few"]


def test_a_trend_over_the_order_of_runs_is_named() -> None:
    rising = [100.0, 100.1, 100.2, 100.3, 100.4, 100.5]
    assert found([*rising]) == {
        "drift": "values rise with the order of runs (Kendall's tau +1.00, p = 0.0028)"
    }
    assert "fall" in found([*reversed(rising)])["drift"]


def test_drift_depends_on_the_order_of_runs() -> None:
    rising, places = [100.0, 100.1, 100.2, 100.3, 100.4, 100.5], [3, 1, 6, 2, 5, 4]
    assert instabilities(rising, places) == ()
    shuffled = [rising[place - 1] for place in places]
    assert [line.kind for line in instabilities(shuffled, places)] == ["drift"]


@given(st.lists(st.integers(0, 6), min_size=3, max_size=40))
def test_drift_is_that_of_kendall_with_ties_too(levels: list[int]) -> None:
    values = [1000.0 + level for level in levels]
    expected = len(values) >= 6 and scipy.stats.kendalltau(range(len(values)), values).pvalue < 0.01
    assert ("drift" in found([*values])) == bool(expected)


def test_five_runs_cannot_show_a_drift() -> None:
    assert found([100.0, 100.1, 100.2, 100.3, 100.4]) == {}  # 2 of 5! = 120 orders are sorted


def test_without_drift_one_cell_in_a_hundred_is_named() -> None:
    cells = np.random.default_rng(4).normal(100, 1, (3000, 20)).tolist()
    named = sum("drift" in found(cell) for cell in cells)
    assert abs(named - 30) < 4 * math.sqrt(30)


def test_missing_values_and_few_values() -> None:
    assert instabilities([None, 5.0, math.nan], [1, 2, 3]) == ()
    assert instabilities([], []) == ()


def test_spread_relative_to_a_mean_of_zero_is_not_tested() -> None:
    assert found([0.0, 0.0, 0.0]) == {}
    assert found([0.0, 0.0, 0.4, 0.0], relative=False) == {}
    with pytest.raises(ValueError, match="infinite"):
        found([1.0, math.inf])
