"""Polynomial fits, checked against exact fractions, numpy and statsmodels."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

from airtoll.stats import choose_degree, fit

RATES = [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0]
Y = st.lists(st.integers(1, 3000).map(lambda y: y / 100), min_size=8, max_size=8)


def exact(x: list[float], y: list[float], degree: int) -> tuple[list[Fraction], Fraction, Fraction | None]:
    """Coefficients, sum of squared residuals and R^2 from the normal equations in fractions."""
    xs, ys = [Fraction(v) for v in x], [Fraction(v) for v in y]
    size = degree + 1
    rows = [
        [sum((v ** (i + j) for v in xs), Fraction(0)) for j in range(size)]
        + [sum((v**i * w for v, w in zip(xs, ys, strict=True)), Fraction(0))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next(k for k in range(i, size) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [v - rows[k][i] * w for v, w in zip(rows[k], rows[i], strict=True)]
    coefficients = [row[-1] for row in rows]
    fitted = [sum((c * v**i for i, c in enumerate(coefficients)), Fraction(0)) for v in xs]
    sse = sum(((w - f) ** 2 for w, f in zip(ys, fitted, strict=True)), Fraction(0))
    mean = sum(ys, Fraction(0)) / len(ys)
    about_mean = sum(((w - mean) ** 2 for w in ys), Fraction(0))
    return coefficients, sse, 1 - sse / about_mean if about_mean else None


@given(Y, st.integers(0, 6))
def test_fit_is_exact_to_nine_digits(y: list[float], degree: int) -> None:
    coefficients, sse, r_squared = exact(RATES, y, degree)
    found = fit(RATES, y, degree)
    # in units of a coefficient's effect on y: a coefficient near 0 is not more exact than the others
    for power, (got, expected) in enumerate(zip(found.coefficients, coefficients, strict=True)):
        assert got * 54**power == pytest.approx(float(expected) * 54**power, rel=1e-9, abs=1e-9 * max(y))
    assert found.sse == pytest.approx(float(sse), rel=1e-9, abs=1e-12)
    if r_squared is None:
        assert found.r_squared is None
    else:
        assert found.r_squared == pytest.approx(float(r_squared), abs=1e-9)


@given(Y, st.integers(0, 6))
def test_the_fit_equals_numpy(y: list[float], degree: int) -> None:
    found, expected = fit(RATES, y, degree), Polynomial.fit(RATES, y, degree)
    places = np.linspace(6, 54, 49)
    assert found.at(places) == pytest.approx(expected(places).tolist(), rel=1e-9, abs=1e-9)
    plain = expected.convert().coef
    for power, (got, other) in enumerate(zip(found.coefficients, plain.tolist(), strict=False)):
        assert got * 54**power == pytest.approx(other * 54**power, rel=1e-9, abs=1e-9 * max(y))


@given(Y.filter(lambda y: max(y) - min(y) > 1), st.integers(1, 4))
def test_intervals_and_adjusted_r_squared_equal_statsmodels(
    statsmodels: Any, y: list[float], degree: int
) -> None:
    found = fit(RATES, y, degree)
    scaled = np.array(RATES) / 54  # statsmodels does not scale x itself
    expected = statsmodels.api.OLS(y, np.vander(scaled, degree + 1, increasing=True)).fit()
    assert found.adjusted_r_squared == pytest.approx(expected.rsquared_adj, abs=1e-8)
    assert found.ci95 is not None
    for power, (got, (low, high)) in enumerate(zip(found.ci95, expected.conf_int(), strict=True)):
        size = max(abs(low), abs(high))
        assert got.low * 54**power == pytest.approx(low, abs=1e-7 * size)
        assert got.high * 54**power == pytest.approx(high, abs=1e-7 * size)


def test_r_squared_of_a_spreadsheet() -> None:
    # By hand: mean 11, sum of squares about it 376; orthogonal polynomials explain 360 and 72/7 of it and leave 40/7
    found = fit([1, 2, 3, 4, 5], [1, 4, 8, 18, 24], 2)
    assert found.coefficients == pytest.approx((-1, 6 / 7, 6 / 7))
    assert found.sse == pytest.approx(40 / 7)
    assert found.r_squared == pytest.approx(1 - 40 / 7 / 376)
    assert found.adjusted_r_squared == pytest.approx(1 - (40 / 7 / 2) / (376 / 4))
    assert sum(found.residuals) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("coefficient", [1.0, 0.1])
def test_certified_values_of_nist(coefficient: float) -> None:
    # NIST StRD, Wampler1 and Wampler2: degree 5 over x = 0 ... 20, certified coefficients 1 and 10^-k, R^2 = 1
    expected = [coefficient**k for k in range(6)]
    x = [float(i) for i in range(21)]
    y = [sum(c * v**k for k, c in enumerate(expected)) for v in x]
    found = fit(x, y, 5)
    assert found.coefficients == pytest.approx(expected, rel=1e-7)
    assert found.r_squared == pytest.approx(1, abs=1e-12)


def test_as_many_points_as_coefficients_leave_no_freedom() -> None:
    found = fit([6, 12, 24], [4.0, 8.0, 14.0], 2)
    assert found.r_squared == pytest.approx(1)
    assert (found.df, found.ci95, found.adjusted_r_squared) == (0, None, None)
    assert found.residuals == pytest.approx((0, 0, 0), abs=1e-12)


def test_equal_values_have_no_r_squared() -> None:
    found = fit([6, 12, 24, 54], [0.1] * 4, 1)
    assert (found.r_squared, found.adjusted_r_squared) == (None, None)
    assert found.coefficients == pytest.approx((0.1, 0), abs=1e-12)


def test_points_with_a_missing_value_are_left_out() -> None:
    assert fit([6, 12, 24, 36], [4.0, None, 14.0, math.nan], 1) == fit([6, 24], [4.0, 14.0], 1)


def test_the_mean_is_a_polynomial_of_degree_0_even_of_one_point() -> None:
    assert fit([6.0], [4.0], 0).coefficients == pytest.approx((4.0,))


@pytest.mark.parametrize(
    ("x", "degree", "message"),
    [
        ([6.0, 12.0], 2, "a polynomial of degree 2 requires 3 different x, got 2"),
        ([6.0, 6.0, 6.0], 1, "a polynomial of degree 1 requires 2 different x, got 1"),
        ([], 0, "requires 1 different x, got 0"),
        ([6.0], -1, "must be at least 0, not -1"),
        ([math.inf, 6.0], 1, "infinite"),
    ],
)
def test_points_that_cannot_be_fitted_are_refused(x: list[float], degree: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(x, [float(i) for i in range(len(x))], degree)


@pytest.mark.parametrize(
    ("truth", "degree"), [((1.0, 0.5), 1), ((2.0, 0.8, -0.008), 2), ((0.0, 1.5, -0.05, 0.0006), 3)]
)
def test_the_degree_of_points_without_noise_is_found(truth: tuple[float, ...], degree: int) -> None:
    assert choose_degree(RATES, np.polynomial.polynomial.polyval(RATES, truth).tolist()) == degree


def test_noise_does_not_raise_the_degree() -> None:
    random, chosen = np.random.default_rng(6), []
    for _ in range(200):
        y = 2 + 0.8 * np.array(RATES) - 0.008 * np.array(RATES) ** 2 + random.normal(0, 0.3, 8)
        chosen.append(choose_degree(RATES, y.tolist()))
    assert chosen.count(2) > 180  # R^2 alone would always select the highest degree


def test_the_criterion_is_aicc(statsmodels: Any) -> None:
    y = [4.1, 6.0, 7.8, 11.5, 14.2, 18.9, 21.4, 22.1]
    aicc = {}
    for degree in range(1, 5):
        model = statsmodels.api.OLS(y, np.vander(np.array(RATES) / 54, degree + 1, increasing=True)).fit()
        n, k = len(y), degree + 2
        aicc[degree] = -2 * model.llf + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    assert choose_degree(RATES, y) == min(aicc, key=lambda degree: aicc[degree])


def test_a_degree_cannot_be_chosen_from_too_few_points() -> None:
    with pytest.raises(ValueError, match="choosing a degree requires 5 points, got 4"):
        choose_degree([6, 9, 12, 18], [1, 2, 3, 4])
    with pytest.raises(ValueError, match="requires 2 different x, got 1"):
        choose_degree([6.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0])
