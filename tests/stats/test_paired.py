"""Paired differences and ratios, checked against scipy's paired t test."""

import math
import warnings

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from airtoll.stats import Interval, describe, is_significant, paired_difference, paired_ratio

POSITIVE = st.floats(0.1, 1e4).map(lambda x: round(x, 3))
PAIRS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=10)


def spread(values: list[float]) -> float:
    return max(values) - min(values)


def close(actual: float | None, expected: float, scale: float = 0.0) -> None:
    assert actual == pytest.approx(expected, rel=1e-7, abs=1e-9 + 1e-10 * scale)


@given(PAIRS.filter(lambda ps: spread([y - x for x, y in ps]) > 1e-2))
def test_the_difference_equals_the_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = scipy.stats.ttest_rel(b, a)
        expected = test.confidence_interval(0.95)
    actual = paired_difference(a, b)
    assert actual.n == len(pairs)
    assert actual.ci95_t is not None
    close(actual.ci95_t.low, expected.low, scale=1e4)
    close(actual.ci95_t.high, expected.high, scale=1e4)
    assert actual.p == pytest.approx(float(test.pvalue), rel=1e-6, abs=1e-12)
    # d_z is the t statistic over the root of n; its bias for two pairs is unknown
    assert (actual.effect is None) == (len(pairs) < 3)
    if actual.effect is not None:
        close(actual.effect.dz, float(test.statistic) / math.sqrt(len(pairs)), scale=1e4)


@given(PAIRS.filter(lambda ps: spread([math.log(y / x) for x, y in ps]) > 1e-3))
def test_ratio_is_the_t_interval_of_log_ratios_transformed_back(pairs: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = scipy.stats.ttest_rel(np.log(b), np.log(a)).confidence_interval(0.95)
    actual = paired_ratio(a, b)
    assert actual.reason is None
    assert actual.ratio == pytest.approx(scipy.stats.gmean(b) / scipy.stats.gmean(a), rel=1e-9)
    assert actual.ci95_t is not None
    if expected.high < 700:  # beyond, the exponential leaves the range of a double
        assert actual.ci95_t.low == pytest.approx(math.exp(expected.low), rel=1e-6)
        assert actual.ci95_t.high == pytest.approx(math.exp(expected.high), rel=1e-6)
    else:
        assert actual.ci95_t.high > 1e300


@given(PAIRS)
def test_swapping_the_sides_inverts_the_ratio_and_the_sign(pairs: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    forth, back = paired_ratio(a, b), paired_ratio(b, a)
    assert forth.ratio is not None
    assert back.ratio is not None
    assert forth.ratio * back.ratio == pytest.approx(1, rel=1e-9)
    there, again = paired_difference(a, b).mean, paired_difference(b, a).mean
    assert there is not None
    assert again == pytest.approx(-there)


@given(PAIRS, st.floats(0.01, 100))
def test_the_ratio_does_not_depend_on_the_unit(pairs: list[tuple[float, float]], factor: float) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    scaled = paired_ratio([factor * x for x in a], [factor * y for y in b])
    assert scaled.ratio == pytest.approx(paired_ratio(a, b).ratio, rel=1e-9)


@settings(max_examples=50)
@given(PAIRS, st.floats(-1e4, 1e4))
def test_a_shift_of_both_sides_keeps_the_difference(pairs: list[tuple[float, float]], shift: float) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    shifted = paired_difference([x + shift for x in a], [y + shift for y in b])
    assert shifted.mean == pytest.approx(paired_difference(a, b).mean, rel=1e-6, abs=1e-6)


def test_bca_of_the_difference_is_that_of_the_differences() -> None:
    a = [10.0, 11.5, 9.7, 10.4, 12.0, 10.9]
    b = [9.7, 11.3, 9.1, 10.3, 11.4, 10.8]
    assert paired_difference(a, b).ci95_bca == describe([y - x for x, y in zip(a, b, strict=True)]).ci95_bca


def test_percent_is_relative_to_the_first_value() -> None:
    ratio = paired_ratio([100.0, 200.0, 400.0], [99.0, 198.0, 396.0])
    assert ratio.percent == pytest.approx(-1.0)
    assert ratio.percent_ci95_t is not None
    assert ratio.percent_ci95_t.low == pytest.approx(-1.0)


def test_a_pair_with_a_missing_side_is_left_out() -> None:
    difference = paired_difference([1.0, None, 3.0, math.nan], [2.0, 5.0, None, 1.0])
    assert (difference.n, difference.mean) == (1, 1.0)
    assert difference.ci95_t is None
    assert difference.effect is None
    assert difference.p is None


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_values_without_logarithm_have_no_ratio_and_a_reason(bad: float) -> None:
    ratio = paired_ratio([1.0, bad, 2.0], [1.0, 1.0, 2.0])
    assert (ratio.n, ratio.ratio, ratio.ci95_t, ratio.percent, ratio.percent_ci95_t) == (3, *[None] * 4)
    assert ratio.reason == "1 of 3 pairs have a value that is not above 0"


def test_no_pairs_at_all() -> None:
    assert paired_difference([], []).n == 0
    assert paired_ratio([None], [1.0]).reason == "no pair has both values"


def test_equal_differences_have_neither_effect_size_nor_p() -> None:
    difference = paired_difference([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0])
    assert difference.ci95_t == Interval(1.0, 1.0)
    assert (difference.effect, difference.p, difference.p_sign_flip) == (None, None, None)


def test_rounding_is_neither_a_spread_nor_a_difference() -> None:
    a = [0.1 + 0.2, 0.3, 0.3]
    same = paired_difference(a, [0.3] * 3)
    assert (same.mean, same.sd, same.p, same.effect) == (0.0, 0.0, None, None)
    assert paired_ratio(a, [0.3] * 3).ratio == 1.0
    b = [0.4 + epsilon for epsilon in (0.0, 1e-16, 2e-16)]
    shifted = paired_difference(a, b)
    assert (shifted.sd, shifted.p, shifted.effect) == (0.0, None, None)
    assert is_significant(shifted.p, shifted.ci95_t)
    assert not is_significant(same.p, same.ci95_t)


def test_sides_of_unlike_length_are_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        paired_difference([1.0], [1.0, 2.0])


def test_infinite_values_are_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        paired_ratio([1.0, math.inf], [1.0, 2.0])


def test_extreme_pairs_give_infinity_without_overflow() -> None:
    ratio = paired_ratio([1.0, 1e150], [1e150, 1.0])
    assert ratio.ci95_t is not None
    assert ratio.ci95_t.high == math.inf
