"""Least-squares polynomials through measured points, as in the papers (Pacheco et al., Figures 4, 5, 11).

y = c0 + c1 x + ... + cd x^d has the smallest sum of squared residuals, like a spreadsheet's trend line. At degree 6,
the powers of 6 ... 54 Mbit/s differ by ten orders of magnitude. The fit is therefore computed by QR decomposition on x
scaled to -1 ... 1, and the coefficients are transformed back at the end.

Intervals of coefficients assume normal residuals with the same spread for all x. If a point is a mean of runs, the
residuals contain the misfit of the polynomial as well as noise.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial, polynomial
from scipy import special

from airtoll.stats.summary import Floats, Interval

MOST_DEGREE = 6
"""Highest degree of a spreadsheet's trend lines."""


@dataclass(frozen=True)
class Fit:
    """A fitted polynomial; y and values in its unit have the unit of the points."""

    degree: int
    n: int  # points
    coefficients: tuple[float, ...]  # c0, c1, ... of y = c0 + c1 x + c2 x^2 + ...
    ci95: tuple[Interval, ...] | None  # of the separate coefficients; None without degrees of freedom
    residuals: tuple[float, ...]  # y - fitted y, in the order of the points
    sse: float  # sum of squared residuals
    r_squared: float | None  # 1 - sse / total sum of squares, like a spreadsheet; None if all y are equal
    adjusted_r_squared: float | None  # the same with mean squares; None without degrees of freedom
    curve: Polynomial  # computed on scaled x, and therefore accurate

    @property
    def df(self) -> int:
        """Degrees of freedom: points minus coefficients."""
        return self.n - self.degree - 1

    def at(self, x: Iterable[float]) -> list[float]:
        """Values of the polynomial at `x`."""
        values = self.curve(np.array(list(x), dtype=np.float64))
        return [float(value) for value in values]


def fit(x: Sequence[float | None], y: Sequence[float | None], degree: int) -> Fit:
    """Fit a polynomial to points. Excludes points with a missing value (None, NaN).

    Raises ValueError if the lengths differ, a value is infinite, the degree is below 0, or there are too few different
    x for the degree.
    """
    xs, ys = _points(x, y)
    different = len(np.unique(xs))
    if degree < 0:
        raise ValueError(f"the degree of a polynomial must be at least 0, not {degree}")
    if different <= degree:
        raise ValueError(
            f"a polynomial of degree {degree} requires {degree + 1} different x, got {different}"
        )
    half = float(np.ptp(xs)) / 2 or 1.0
    middle = float(xs.min()) + float(np.ptp(xs)) / 2
    domain = [middle - half, middle + half]
    q, r = np.linalg.qr(polynomial.polyvander((xs - middle) / half, degree))
    scaled = np.linalg.solve(r, q.T @ ys)
    residuals = ys - q @ (q.T @ ys)
    sse = float(residuals @ residuals)
    about_mean = 0.0 if np.ptp(ys) == 0 else float(((ys - ys.mean()) ** 2).sum())
    df = len(xs) - degree - 1
    # Column k contains the k-th power of scaled x in powers of x.
    back = np.zeros((degree + 1, degree + 1))
    for power in range(degree + 1):
        column = Polynomial.basis(power, domain=domain).convert().coef
        back[: len(column), power] = column
    coefficients = back @ scaled
    return Fit(
        degree=degree,
        n=len(xs),
        coefficients=tuple(coefficients.tolist()),
        ci95=_intervals(coefficients, back @ np.linalg.inv(r), sse, df) if df else None,
        residuals=tuple(residuals.tolist()),
        sse=sse,
        r_squared=1 - sse / about_mean if about_mean else None,
        adjusted_r_squared=1 - (sse / df) / (about_mean / (len(xs) - 1)) if about_mean and df else None,
        curve=Polynomial(scaled, domain=domain),
    )


def choose_degree(x: Sequence[float | None], y: Sequence[float | None], most: int = MOST_DEGREE) -> int:
    """The degree from 1 to `most` with the lowest AICc, which is expected to predict new points best.

    AICc = n ln(sse / n) + 2k + 2k (k + 1) / (n - k - 1) with k = degree + 2 parameters, including the spread (Hurvich
    and Tsai 1989). R^2 cannot be used because it always increases with the degree. Degrees with n <= k + 1 are not
    considered. For points without noise, the lowest exact degree is chosen. Raises ValueError under the same
    conditions as `fit`, and for fewer than 5 points.
    """
    xs, ys = _points(x, y)
    n = len(xs)
    if n < 5:
        raise ValueError(f"choosing a degree requires 5 points, got {n}")
    nothing = (n * np.finfo(np.float64).eps * float(np.abs(ys).max())) ** 2  # rounding errors of an exact fit
    best, lowest = 1, math.inf
    for degree in range(1, min(most, n - 4, len(np.unique(xs)) - 1) + 1):
        sse = fit(xs.tolist(), ys.tolist(), degree).sse
        if sse <= n * nothing:
            return degree
        k = degree + 2
        aicc = n * math.log(sse / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
        if aicc < lowest:
            best, lowest = degree, aicc
    if math.isinf(lowest):
        raise ValueError(f"a polynomial of degree 1 requires 2 different x, got {len(np.unique(xs))}")
    return best


def _intervals(coefficients: Floats, root: Floats, sse: float, df: int) -> tuple[Interval, ...]:
    """Intervals of the coefficients. `root @ root.T` is their covariance in units of the residuals' variance."""
    half = special.stdtrit(df, 0.975) * np.sqrt(sse / df) * np.sqrt((root**2).sum(axis=1))
    ends = zip((coefficients - half).tolist(), (coefficients + half).tolist(), strict=True)
    return tuple(Interval(low, high) for low, high in ends)


def _points(x: Sequence[float | None], y: Sequence[float | None]) -> tuple[Floats, Floats]:
    points = np.array(list(zip(x, y, strict=True)), dtype=np.float64).reshape(-1, 2)  # None becomes NaN
    points = points[~np.isnan(points).any(axis=1)]
    if np.isinf(points).any():
        raise ValueError("a value is infinite")
    return points[:, 0], points[:, 1]
