"""The mean change over pairs of cells, checked against scipy's tests for one and for two pairs of cells."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from airtoll.stats import (
    Interval,
    interaction_difference,
    interaction_ratio,
    matched_difference,
    matched_ratio,
)

PAIRS = st.lists(
    st.tuples(st.floats(1, 1e4).map(lambda x: round(x, 2)), st.floats(1, 1e4).map(lambda x: round(x, 2))),
    min_size=2,
    max_size=8,
).filter(lambda pairs: np.ptp([b - a for a, b in pairs]) > 0.1)


def sides(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


@given(PAIRS)
def test_one_pair_of_cells_is_the_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    a, b = sides(pairs)
    expected = scipy.stats.ttest_rel(b, a)
    interval = expected.confidence_interval(0.95)
    found = matched_difference([(a, b)])
    assert found.cells == 1
    assert found.p == pytest.approx(float(expected.pvalue), rel=1e-6, abs=1e-12)
    assert found.ci95_t is not None
    assert found.ci95_t.low == pytest.approx(float(interval.low), rel=1e-6, abs=1e-6)
    assert found.ci95_t.high == pytest.approx(float(interval.high), rel=1e-6, abs=1e-6)


@given(PAIRS, PAIRS)
def test_two_pairs_of_cells_are_the_welch_test_of_their_sum(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    differences, others = ([b - a for a, b in pairs] for pairs in (first, second))
    expected = scipy.stats.ttest_ind(differences, [-one for one in others], equal_var=False)
    found = matched_difference([sides(first), sides(second)])
    assert found.mean == pytest.approx((np.mean(differences) + np.mean(others)) / 2, abs=1e-6)
    assert found.p == pytest.approx(float(expected.pvalue), rel=1e-6, abs=1e-12)


def test_the_ratio_is_a_geometric_mean() -> None:
    found = matched_ratio([([100, 100], [110, 110]), ([10, 10], [20, 20])])
    assert found.ratio == pytest.approx((1.1 * 2) ** 0.5)
    assert found.log.cells == 2
    assert matched_ratio([([1.0, 1.0], [0.0, 1.0])]).reason == "1 of 2 pairs have a value that is not above 0"


def test_cells_with_one_round_give_no_interval() -> None:
    alone = matched_difference([([1.0], [3.0]), ([1.0, None], [2.0, 5.0])])
    assert (alone.cells, alone.mean, alone.ci95_t, alone.p) == (2, 1.5, None, None)
    beside = matched_difference([([1.0], [3.0]), ([1.0, 1.0], [2.0, 4.0])])
    assert (beside.cells, beside.mean) == (1, 2.0)
    assert matched_difference([]).mean is None


def test_equal_differences_have_an_interval_without_width() -> None:
    found = matched_difference([([1, 2], [2, 3]), ([5, 5], [8, 8])])
    assert (found.mean, found.ci95_t, found.p) == (2.0, Interval(2.0, 2.0), None)


def test_rounding_is_neither_a_spread_nor_a_difference() -> None:
    sets = [([0.1 + 0.2, 0.3], [0.3, 0.3]), ([0.6, 0.7 - 0.1], [0.6, 0.6])]
    for mean in (matched_difference(sets), matched_ratio(sets).log):
        assert (mean.mean, mean.ci95_t, mean.p) == (0.0, Interval(0.0, 0.0), None)


def test_an_interaction_is_the_ratio_of_two_costs_in_each_round() -> None:
    # Over the two rounds, the cost is a factor of 2 and 4 at the first level, and of 1 and 2 at the other.
    first, other = ([1.0, 1.0], [2.0, 4.0]), ([5.0, 5.0], [5.0, 10.0])
    assert interaction_ratio([(first, [other])]).ratio == pytest.approx(2.0)
    assert interaction_difference([(first, [other])]).mean == pytest.approx((1 + 3) / 2 - (0 + 5) / 2)
    several = interaction_difference([(first, [other, first])])  # against the mean of both others
    assert several.mean == pytest.approx(((1 - (0 + 1) / 2) + (3 - (5 + 3) / 2)) / 2)
    assert interaction_ratio([(first, [([0.0, 1.0], [1.0, 1.0])])]).reason == "1 of 8 values are not above 0"


@given(PAIRS)
def test_an_interaction_with_a_constant_is_the_matched_change(pairs: list[tuple[float, float]]) -> None:
    constant = [7.0] * len(pairs)
    found, expected = (
        interaction_difference([(sides(pairs), [(constant, constant)])]),
        matched_difference([sides(pairs)]),
    )
    assert found.mean == pytest.approx(expected.mean)
    assert found.p == pytest.approx(expected.p)


def test_a_round_without_all_values_does_not_count() -> None:
    first = [1.0, 1.0, None, 1.0], [2.0, 4.0, 9.0, 6.0]
    other = [1.0, 1.0, 1.0, None], [1.0, 1.0, 1.0, 1.0]
    assert interaction_difference([(first, [other])]).mean == pytest.approx(2.0)


def test_intervals_contain_the_mean_change_as_often_as_they_claim() -> None:
    random = np.random.default_rng(5)
    effects = random.normal(0.02, 0.01, 8)
    spreads = random.uniform(0.001, 0.02, 8)
    hits = 0
    for _ in range(1000):
        logs = random.normal(effects, spreads, (3, 8)).T
        found = matched_ratio([([1.0] * 3, list(np.exp(of_cells))) for of_cells in logs])
        assert found.log.ci95_t is not None
        hits += found.log.ci95_t.contains(float(effects.mean()))
    assert 930 <= hits <= 985
