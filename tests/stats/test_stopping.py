"""Stopping rules: when a cell has enough replicates."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from airtoll.stats import Agreement, Fixed, Precision, StoppingRule, enough, outcome

VALUES = st.lists(st.floats(1, 100), min_size=0, max_size=40)
RULES: st.SearchStrategy[StoppingRule] = st.one_of(
    st.builds(Fixed, st.integers(1, 20)),
    st.builds(Precision, st.floats(0.1, 50), st.floats(50, 99.9), st.integers(2, 10), st.integers(10, 30)),
    st.builds(Agreement, st.floats(0.1, 50), st.integers(2, 10), st.integers(10, 30)),
)


def stops_at(rule: StoppingRule, values: list[float]) -> int:
    return next(n for n in range(len(values) + 1) if enough(rule, values[:n]))


@given(RULES, VALUES)
def test_no_rule_stops_before_its_least_or_goes_on_after_its_most(
    rule: StoppingRule, values: list[float]
) -> None:
    if len(values) < rule.least:
        assert not enough(rule, values)
    if len(values) >= rule.most:
        assert enough(rule, values)
    assert enough(rule, values) == (outcome(rule, values) != "going on")


def test_fixed_counts() -> None:
    assert stops_at(Fixed(3), [1.0, 9.0, 2.0, 3.0]) == 3
    assert outcome(Fixed(3), [1.0, 9.0, 2.0]) == "reached"


@given(
    st.lists(st.floats(1, 100), min_size=2, max_size=30),
    st.floats(0.5, 60),
    st.sampled_from([90.0, 95.0, 99.0]),
)
def test_precision_is_reached_where_scipys_interval_is_narrow_enough(
    values: list[float], percent: float, confidence: float
) -> None:
    if max(values) - min(values) < 0.01:
        return
    interval = scipy.stats.ttest_1samp(values, 0).confidence_interval(confidence / 100)
    reach = 100 * (interval.high - interval.low) / 2 / np.mean(values)
    if not math.isclose(reach, percent, rel_tol=1e-9):
        rule = Precision(percent, confidence, least=2, most=100)
        assert outcome(rule, values) == ("reached" if reach < percent else "going on")


def test_precision_of_netperf() -> None:
    # netperf -I 99,5 -i 10,3: +- 2.5 % at 99 %; t(0.995, 2) = 9.925, so the half width is 5.73 standard deviations
    rule = Precision(percent=2.5, confidence=99, least=3, most=10)
    assert outcome(rule, [100.0, 100.4, 99.6]) == "reached"  # s = 0.4, half width 2.29 %
    assert outcome(rule, [100.0, 100.5, 99.5]) == "going on"  # s = 0.5, half width 2.87 %


def test_a_missed_precision_is_reported() -> None:
    rule = Precision(1.0, least=3, most=5)
    values = [10.0, 20.0, 30.0, 15.0, 25.0]
    assert [outcome(rule, values[:n]) for n in range(6)] == [*["going on"] * 5, "not reached"]


def test_agreement_is_of_the_last_two_and_relative_to_the_larger() -> None:
    rule = Agreement(within_percent=10, least=5, most=8)
    assert stops_at(rule, [10.0, 10.0, 10.0, 10.0, 20.0, 18.0, 1.0, 1.0]) == 6
    assert outcome(rule, [0.0, 0.0, 0.0, 18.0, 20.0]) == "reached"  # 2 is a tenth of 20
    assert outcome(rule, [0.0, 0.0, 0.0, 17.9, 20.0]) == "going on"
    assert outcome(rule, [1.0, 2.0] * 4) == "not reached"


def test_values_that_are_missing_do_not_count() -> None:
    assert not enough(Fixed(3), [1.0, math.nan, 2.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fixed(0), "at least once"),
        (lambda: Precision(0.0), "above 0 %"),
        (lambda: Precision(5.0, confidence=100.0), "between 0 and 100 %"),
        (lambda: Precision(5.0, least=1), "at least 2 values, not 1"),
        (lambda: Precision(5.0, least=20, most=10), "the maximum of 10 values is below the minimum of 20"),
        (lambda: Agreement(100.0), "between 0 and 100 %"),
        (lambda: Agreement(10.0, least=5, most=4), "below the minimum of 5"),
    ],
)
def test_a_rule_that_cannot_be_met_is_refused(make: Callable[[], StoppingRule], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
