"""Mean, standard deviation and intervals, checked against scipy's own routines."""

import math
import subprocess
import sys
import warnings
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from airtoll.stats import BCA_MIN_N, BCA_RESAMPLES, Interval, describe, describe_all
from airtoll.stats.summary import _BCA_SEED

VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=2, max_size=12).filter(
    lambda xs: max(xs) - min(xs) > 1e-2
)


def assert_interval(actual: Interval | None, low: float, high: float, rel: float = 1e-9) -> None:
    assert actual is not None
    scale = max(abs(low), abs(high), 1e-300)
    assert actual.low == pytest.approx(low, rel=rel, abs=rel * scale)
    assert actual.high == pytest.approx(high, rel=rel, abs=rel * scale)


@given(VALUES)
def test_the_t_interval_equals_scipy(values: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    summary = describe(values)
    assert summary.n == len(values)
    assert summary.mean == pytest.approx(np.mean(values), rel=1e-12)
    assert summary.sd == pytest.approx(np.std(values, ddof=1), rel=1e-12)
    assert_interval(summary.ci95_t, float(expected.low), float(expected.high))


# Sums of these values are exact, so scipy recognises every resample that ties with the mean. With other values,
# rounding decides which ties it counts.
EXACT = st.lists(st.integers(-(10**6), 10**6).map(lambda x: x / 8), min_size=BCA_MIN_N, max_size=24)


@settings(max_examples=40)
@given(EXACT.filter(lambda xs: max(xs) > min(xs)))
def test_the_bca_interval_equals_scipy(values: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = scipy.stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=BCA_RESAMPLES,
            method="BCa",
            rng=np.random.default_rng(_BCA_SEED),
        ).confidence_interval
    actual = describe(values).ci95_bca
    if math.isnan(expected.low) or math.isnan(expected.high):
        assert actual is None
    else:
        assert_interval(actual, expected.low, expected.high)


def test_rounding_does_not_decide_which_resamples_tie_with_the_mean() -> None:
    exact = describe([0.0, 8.0, 262144.0, 262152.0]).ci95_bca
    rounded = describe([0.0, 0.8, 26214.4, 26215.2]).ci95_bca
    assert exact is not None
    assert_interval(rounded, exact.low / 10, exact.high / 10)


@settings(max_examples=25)
@given(VALUES, st.integers(-1000, 1000), st.sampled_from([-4.0, -0.5, 0.25, 8.0]))
def test_shift_and_scale_carry_over(values: list[float], shift: int, factor: float) -> None:
    before = describe(values)
    after = describe([factor * value + shift for value in values])
    assert before.mean is not None
    assert before.sd is not None
    assert after.mean == pytest.approx(factor * before.mean + shift, rel=1e-9, abs=1e-6)
    assert after.sd == pytest.approx(abs(factor) * before.sd, rel=1e-6)
    assert before.ci95_t is not None
    low, high = sorted((factor * before.ci95_t.low + shift, factor * before.ci95_t.high + shift))
    assert_interval(after.ci95_t, low, high, rel=1e-6)


@given(VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter_to_mean_sd_and_t(values: list[float], random: Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    a, b = describe(values), describe(shuffled)
    assert a.mean == pytest.approx(b.mean, rel=1e-9, abs=1e-9)
    assert a.sd == pytest.approx(b.sd, rel=1e-9)


def test_describe_all_equals_describe_per_set() -> None:
    random = np.random.default_rng(7)
    sets = [random.lognormal(size=n) for n in (0, 1, 2, 3, 4, 5, 5, 12, 5, 4)]
    for together, alone in zip(describe_all(sets), map(describe, sets), strict=True):
        assert replace(together, ci95_bca=None) == replace(alone, ci95_bca=None)
        assert (together.ci95_bca is None) == (alone.ci95_bca is None)
        if alone.ci95_bca is not None:
            assert_interval(together.ci95_bca, alone.ci95_bca.low, alone.ci95_bca.high)


def test_the_same_values_give_the_same_interval_in_another_process() -> None:
    values = [28.1, 28.4, 27.9, 28.8, 28.2]
    describe([value**2 for value in values])  # an earlier computation must not have an effect
    program = f"from airtoll.stats import describe; print(describe({values}).ci95_bca)"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(describe(values).ci95_bca)


def test_statistics_of_no_values_are_missing() -> None:
    summary = describe([])
    assert summary.n == 0
    assert (summary.mean, summary.sd, summary.ci95_t, summary.ci95_bca) == (None,) * 4


def test_one_value_has_a_mean_and_no_spread() -> None:
    summary = describe([3.5])
    assert (summary.n, summary.mean) == (1, 3.5)
    assert (summary.sd, summary.ci95_t, summary.ci95_bca) == (None, None, None)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.25, 1e9])
def test_equal_values_have_no_spread_and_no_bootstrap(value: float) -> None:
    summary = describe([value] * 7)
    assert (summary.mean, summary.sd) == (value, 0.0)
    assert summary.ci95_t == Interval(value, value)
    assert summary.ci95_bca is None


def test_nearly_equal_values_give_no_warning_and_no_nan() -> None:
    summary = describe([1.0, 1.0, 1.0, math.nextafter(1.0, 2.0)])
    assert summary.ci95_t is not None
    for interval in (summary.ci95_t, summary.ci95_bca):
        assert interval is None or math.isfinite(interval.low + interval.high)


def test_bootstrap_needs_enough_values_to_have_a_tail() -> None:
    assert describe([1.0, 2.0, 4.0]).ci95_bca is None
    assert describe([1.0, 2.0, 4.0, 9.0]).ci95_bca is not None


def test_missing_values_are_not_counted() -> None:
    assert describe([1.0, None, 2.0, math.nan, 4.0]) == describe([1.0, 2.0, 4.0])
    assert describe([None, math.nan]).n == 0


def test_an_infinite_value_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        describe([1.0, math.inf])
