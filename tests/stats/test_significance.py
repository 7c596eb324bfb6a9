"""Holm's correction, the sign-flip test and equivalence, checked against statsmodels and scipy."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from airtoll.stats import holm, paired_equivalences, paired_ratio, sign_flip

P = st.floats(0, 1)
DIFFERENCES = st.lists(st.floats(-100, 100).map(lambda x: round(x, 1)), min_size=1, max_size=9)


@settings(max_examples=20)
@given(st.lists(P, min_size=1, max_size=30))
def test_holm_equals_statsmodels(statsmodels: Any, p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(
        statsmodels.stats.multitest.multipletests(p_values, method="holm")[1].tolist(), abs=1e-15
    )


@given(st.lists(P, min_size=1, max_size=10), st.integers(0, 10))
def test_tests_without_a_p_value_do_not_count(p_values: list[float], place: int) -> None:
    with_gap: list[float | None] = [*p_values]
    with_gap.insert(place, None)
    adjusted = holm(with_gap)
    assert adjusted.pop(min(place, len(p_values))) is None
    assert adjusted == holm(p_values)


def test_holm_of_its_own_paper() -> None:
    # The smallest times 4, the next times 3; the last two must not be smaller than that
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@pytest.mark.parametrize("bad", [-0.1, 1.5, math.nan])
def test_a_p_value_outside_0_to_1_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="p-value must be between 0 and 1"):
        holm([0.5, bad])


@given(DIFFERENCES)
def test_sign_flip_counts_all_ways(differences: list[float]) -> None:
    tenths = [round(10 * d) for d in differences]
    found = abs(sum(tenths))
    ways = [
        abs(sum(s * d for s, d in zip(signs, tenths, strict=True)))
        for signs in product((1, -1), repeat=len(tenths))
    ]
    assert sign_flip(differences) == pytest.approx(sum(way >= found for way in ways) / len(ways), abs=1e-15)


def test_the_sign_flip_test_equals_scipy() -> None:
    differences = np.array([0.3, -0.11, 0.52, 0.9, 0.27, -0.05, 0.61, 0.44, 0.13, 0.38, 0.71])
    expected = scipy.stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert sign_flip(differences) == pytest.approx(float(expected.pvalue))


def test_sign_flip_cannot_decide_with_five_pairs() -> None:
    assert sign_flip([1.0, 2.0, 3.0, 4.0, 5.0]) == 2 / 2**5
    assert sign_flip([1.0] * 20) == 2 / 2**20


def test_the_sign_flip_test_of_no_values_and_of_many() -> None:
    assert sign_flip([]) is None
    assert sign_flip([1.0] * 21) is None
    assert sign_flip([0.0, 0.0]) == 1.0


@settings(max_examples=60)
@given(
    st.integers(2, 30),
    st.floats(0.9, 1.1),
    st.floats(0.001, 0.1),
    st.sampled_from([0.5, 1.0, 5.0]),
    st.integers(0, 999),
)
def test_equivalence_equals_statsmodels(
    statsmodels: Any, n: int, ratio: float, cv: float, margin: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    a = random.lognormal(3, 0.1, n)
    b = a * ratio * random.lognormal(0, cv, n)
    expected = statsmodels.stats.weightstats.ttost_paired(
        b, a, 1 - margin / 100, 1 + margin / 100, transform=np.log
    )[0]
    (found,) = paired_equivalences([paired_ratio(a.tolist(), b.tolist())], margin)
    assert found is not None
    assert found.p == pytest.approx(float(expected), rel=1e-7, abs=1e-14)
    assert (found.verdict in ("equivalent", "both")) == (expected < 0.05)
    different = scipy.stats.ttest_rel(np.log(b), np.log(a)).pvalue < 0.05
    assert (found.verdict in ("different", "both")) == bool(different)
    # The 90 % interval is within the margin if the tests say so
    within = (
        found.percent_ci90 is not None
        and -margin < found.percent_ci90.low <= found.percent_ci90.high < margin
    )
    assert within == (expected < 0.05)


def verdict(changes: list[float]) -> str:
    b = [1 + change / 100 for change in changes]
    (found,) = paired_equivalences([paired_ratio([1.0] * len(b), b)])
    assert found is not None
    return found.verdict


def test_every_verdict_has_its_case() -> None:
    assert verdict([0.1, -0.1, 0.05, -0.06, 0.02]) == "equivalent"
    assert verdict([-0.5, -0.52, -0.48, -0.5, -0.51]) == "both"
    assert verdict([-3.0, -3.1, -2.9, -3.2, -3.0]) == "different"
    assert verdict([3.0, -2.0, 1.0, -4.0, 2.0]) == "undecided"


def test_equal_pairs_are_equivalent_and_one_pair_is_undecided() -> None:
    assert verdict([0.0, 0.0, 0.0]) == "equivalent"
    assert verdict([0.0]) == "undecided"


def test_without_a_ratio_there_is_no_verdict() -> None:
    assert paired_equivalences([paired_ratio([0.0], [1.0])]) == [None]


@pytest.mark.parametrize("margin", [0.0, -1.0, 100.0])
def test_an_invalid_margin_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100 %"):
        paired_equivalences([], margin)
