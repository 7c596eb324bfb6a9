"""Two independent sets of numbers, such as those of two results: the difference b - a and the ratio b / a.

The runs of two results are not paired, so their variances add up and may differ: Welch 1947, "The generalization
of 'Student's' problem when several different population variances are involved", Biometrika 34.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from airtoll.stats.equivalence import MARGIN_PERCENT, Equivalence, LogMean, equivalences
from airtoll.stats.ratio import Ratio
from airtoll.stats.summary import Floats, Interval, is_rounding, present


@dataclass(frozen=True)
class IndependentDifference:
    """The difference of two means, b - a, in the unit of the values; unknown values are None."""

    n_a: int
    n_b: int
    mean: float | None = None
    error: float | None = None  # standard error of the difference
    df: float | None = None  # degrees of freedom by Welch and Satterthwaite; None without any spread
    ci95_t: Interval | None = None
    p: float | None = None  # two-sided p-value of Welch's t test; None without any spread


@dataclass(frozen=True)
class IndependentRatio(Ratio[IndependentDifference]):
    """The ratio of the geometric means, b / a; `log` is the difference of the mean logarithms."""


def independent_difference(a: Iterable[float | None], b: Iterable[float | None]) -> IndependentDifference:
    """Mean of b minus mean of a. None and NaN are missing values. Raises ValueError for an infinite value."""
    sides = present(a), present(b)
    return _welch(*sides, size=max((float(np.abs(side).max()) for side in sides if len(side)), default=0.0))


def independent_ratio(a: Iterable[float | None], b: Iterable[float | None]) -> IndependentRatio:
    """Geometric mean of b over that of a. None and NaN are missing values.

    A value of 0 or below has no logarithm. In this case there is no ratio, and `reason` says so. Raises ValueError for
    an infinite value.
    """
    sides = present(a), present(b)
    reason = None
    if not all(len(side) for side in sides):
        reason = "one of the two sides has no value"
    elif bad := sum(int((side <= 0).sum()) for side in sides):
        reason = f"{bad} of {sum(map(len, sides))} values are not above 0"
    if reason:
        return IndependentRatio(IndependentDifference(len(sides[0]), len(sides[1])), reason)
    return IndependentRatio(_welch(np.log(sides[0]), np.log(sides[1]), size=1.0))


def independent_equivalence(
    ratio: IndependentRatio, margin_percent: float = MARGIN_PERCENT
) -> Equivalence | None:
    """Whether the ratio is 1 within the margin; None if there is no ratio."""
    log = ratio.log
    if log.mean is None:
        return None
    error = math.nan if log.error is None else log.error
    mean = LogMean(log.mean, error, 1.0 if log.df is None else log.df)  # without spread, df is irrelevant
    return equivalences([mean], margin_percent)[0]


def _welch(a: Floats, b: Floats, *, size: float) -> IndependentDifference:
    """Mean of b minus mean of a. `size` is that of the numbers from which the values were computed."""
    n_a, n_b = len(a), len(b)
    if not n_a or not n_b:
        return IndependentDifference(n_a, n_b)
    mean = float(b.mean() - a.mean())
    if n_a == 1 or n_b == 1:
        return IndependentDifference(n_a, n_b, mean)
    variance_a, variance_b = (
        0.0 if is_rounding(float(np.ptp(side)), size) else float(side.var(ddof=1)) / len(side)
        for side in (a, b)
    )
    variance = variance_a + variance_b
    if variance == 0:
        mean = float(b[0] - a[0])  # rounding in the means could give equal values a difference
        mean = 0.0 if is_rounding(mean, size) else mean
        return IndependentDifference(n_a, n_b, mean, 0.0, None, Interval(mean, mean))
    error, df, ci95_t, p = welch(mean, [(variance_a, n_a - 1), (variance_b, n_b - 1)])
    return IndependentDifference(n_a, n_b, mean, error, df, ci95_t, p)


def welch(mean: float, variances: Sequence[tuple[float, int]]) -> tuple[float, float, Interval, float]:
    """Standard error, degrees of freedom, 95 % interval and two-sided p-value of a sum of independent means.

    `variances` has the variance of each mean and its degrees of freedom. At least one variance must be above 0.
    """
    total = sum(variance for variance, _ in variances)
    error = math.sqrt(total)
    # Shares of the variance first, because their squares cannot underflow.
    df = 1 / sum((variance / total) ** 2 / n for variance, n in variances)
    half = float(special.stdtrit(df, 0.975)) * error
    p = 2 * float(special.stdtr(df, -abs(mean) / error))
    return error, df, Interval(mean - half, mean + half), p
