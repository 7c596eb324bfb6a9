"""Comparison of two independent sets, checked against scipy's Welch test."""

import math
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from airtoll.stats import Interval, independent_difference, independent_equivalence, independent_ratio

SIDE = st.lists(st.floats(0.1, 1e4).map(lambda x: round(x, 2)), min_size=2, max_size=12).filter(
    lambda xs: max(xs) - min(xs) > 0.1
)


@given(SIDE, SIDE)
def test_the_difference_equals_the_welch_test(a: list[float], b: list[float]) -> None:
    expected = scipy.stats.ttest_ind(b, a, equal_var=False)
    interval = expected.confidence_interval(0.95)
    found = independent_difference(a, b)
    assert (found.n_a, found.n_b) == (len(a), len(b))
    assert found.mean == pytest.approx(np.mean(b) - np.mean(a), abs=1e-9)
    assert found.df == pytest.approx(float(expected.df))
    assert found.p == pytest.approx(float(expected.pvalue), rel=1e-7, abs=1e-12)
    assert found.ci95_t is not None
    assert found.ci95_t.low == pytest.approx(float(interval.low), rel=1e-9, abs=1e-7)
    assert found.ci95_t.high == pytest.approx(float(interval.high), rel=1e-9, abs=1e-7)


@given(SIDE, SIDE)
def test_the_ratio_is_the_ratio_of_geometric_means(a: list[float], b: list[float]) -> None:
    found = independent_ratio(a, b)
    expected = scipy.stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found.ratio == pytest.approx(scipy.stats.gmean(b) / scipy.stats.gmean(a), rel=1e-9)
    assert found.log.p == pytest.approx(float(expected.pvalue), rel=1e-6, abs=1e-12)
    assert found.ci95_t is not None
    assert found.ci95_t.low == pytest.approx(np.exp(interval.low), rel=1e-6)
    assert found.percent == pytest.approx(100 * (found.ratio - 1))


def test_equivalence_equals_statsmodels(statsmodels: Any) -> None:
    random = np.random.default_rng(2)
    for n_a, n_b, ratio in ((5, 7, 1.0), (20, 20, 0.995), (30, 40, 0.97)):
        a, b = random.lognormal(3, 0.01, n_a), ratio * random.lognormal(3, 0.01, n_b)
        expected = statsmodels.stats.weightstats.ttost_ind(
            b, a, 0.99, 1.01, usevar="unequal", transform=np.log
        )[0]
        found = independent_equivalence(independent_ratio(a, b))
        assert found is not None
        assert found.p == pytest.approx(float(expected), rel=1e-7)
        assert (found.verdict in ("equivalent", "both")) == (expected < 0.05)


def test_one_value_a_side_has_a_difference_and_no_interval() -> None:
    found = independent_difference([1.0], [3.0, 4.0])
    assert (found.mean, found.ci95_t, found.p) == (2.5, None, None)
    equivalence = independent_equivalence(independent_ratio([1.0], [3.0, 4.0]))
    assert equivalence is not None
    assert (equivalence.verdict, equivalence.ci90) == ("undecided", None)


def test_sides_without_spread_have_an_interval_without_width_and_no_p() -> None:
    found = independent_difference([0.1] * 3, [0.3] * 7)
    assert found.ci95_t == Interval(0.3 - 0.1, 0.3 - 0.1)
    assert (found.p, found.df) == (None, None)
    equivalence = independent_equivalence(independent_ratio([2.0] * 3, [2.0] * 3))
    assert equivalence is not None
    assert (equivalence.verdict, equivalence.p) == ("equivalent", None)


def test_rounding_is_neither_a_spread_nor_a_difference() -> None:
    same = independent_difference([0.1 + 0.2, 0.3], [0.3, 0.3])
    assert (same.mean, same.error, same.p) == (0.0, 0.0, None)
    assert independent_ratio([0.1 + 0.2, 0.3], [0.3, 0.3]).ratio == 1.0


def test_missing_values_do_not_count_and_sides_may_be_empty() -> None:
    assert independent_difference([1.0, None, 2.0], [math.nan, 3.0, 5.0]) == independent_difference(
        [1.0, 2.0], [3.0, 5.0]
    )
    assert independent_difference([], [1.0]).mean is None
    assert independent_ratio([None], [1.0]).reason == "one of the two sides has no value"


def test_values_without_logarithm_have_no_ratio_and_a_reason() -> None:
    found = independent_ratio([1.0, 0.0], [1.0, 2.0])
    assert (found.ratio, found.percent, found.reason) == (None, None, "1 of 4 values are not above 0")
    assert independent_equivalence(found) is None


def test_infinite_values_are_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        independent_difference([1.0, math.inf], [1.0])
