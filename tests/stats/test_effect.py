"""Effect sizes, checked against scipy's noncentral t and the definition of the correction."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from airtoll.stats import paired_difference
from airtoll.stats.effect import bias_correction


@pytest.mark.parametrize(
    ("df", "expected"),
    # Hedges 1981, table 1
    [(2, 0.5642), (3, 0.7236), (4, 0.7979), (9, 0.9139), (19, 0.9599), (50, 0.9849)],
)
def test_the_correction_equals_the_published_table(df: int, expected: float) -> None:
    assert float(bias_correction(np.array([float(df)]))[0]) == pytest.approx(expected, abs=1e-4)


def test_corrected_effect_is_right_on_average_and_the_plain_one_too_large() -> None:
    random, truth, n = np.random.default_rng(5), 0.8, 6
    plain, corrected = [], []
    for values in random.normal(truth, 1.0, (4000, n)):
        effect = paired_difference([0.0] * n, values.tolist()).effect
        assert effect is not None
        plain.append(effect.dz)
        corrected.append(effect.corrected)
    error = float(np.std(corrected)) / math.sqrt(len(corrected))
    assert abs(float(np.mean(corrected)) - truth) < 4 * error
    assert float(np.mean(plain)) - truth > 8 * error


@given(st.integers(3, 40), st.floats(-20, 20), st.integers(0, 10**6))
def test_ends_of_the_interval_are_where_noncentral_t_has_its_tails(n: int, shift: float, seed: int) -> None:
    values = np.random.default_rng(seed).normal(shift, 1.0, n)
    effect = paired_difference([0.0] * n, values.tolist()).effect
    assert effect is not None
    assert effect.ci95 is not None
    assert effect.ci95.contains(effect.dz)
    t = abs(effect.dz) * math.sqrt(n)
    ends = sorted(
        abs(end) if effect.dz * end > 0 else -abs(end) for end in (effect.ci95.low, effect.ci95.high)
    )
    tails = [float(scipy.stats.nct.cdf(t, n - 1, end * math.sqrt(n))) for end in ends]
    assert tails == pytest.approx([0.975, 0.025], abs=2e-4)


def test_swapping_the_sides_mirrors_the_effect_size() -> None:
    values = [0.3, 1.2, 0.9, 0.4, 1.1]
    up = paired_difference([0.0] * 5, values).effect
    down = paired_difference(values, [0.0] * 5).effect
    assert up is not None
    assert down is not None
    assert up.ci95 is not None
    assert down.ci95 is not None
    assert (down.dz, down.corrected) == pytest.approx((-up.dz, -up.corrected))
    assert (down.ci95.low, down.ci95.high) == pytest.approx((-up.ci95.high, -up.ci95.low))


@pytest.mark.parametrize("n", [3, 5, 20])
def test_huge_effects_have_an_interval(n: int) -> None:
    def ends(t: float) -> tuple[float, float]:
        # n differences with this t, half of them above their mean, half below
        values = np.linspace(-1, 1, n)
        values = (values - values.mean()) / values.std(ddof=1) + t / math.sqrt(n)
        effect = paired_difference([0.0] * n, values.tolist()).effect
        assert effect is not None
        assert effect.ci95 is not None
        return effect.ci95.low / t, effect.ci95.high / t

    assert ends(999.0) == pytest.approx(ends(1001.0), rel=1e-3)
    assert ends(1001.0) == pytest.approx(ends(1e9), rel=1e-3)
