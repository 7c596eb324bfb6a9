"""Detects unstable results, by kind and with details:

- spread: the standard deviation is at least 10 % of the mean, the limit of `pyperf check`;
- spread of the papers: it is above 3 % of the mean, the limit of Kolahi et al. (not reported in addition to spread);
- outlier: the smallest or largest value differs from the mean by at least 50 %, also pyperf's limit;
- too few: the interval of the mean is wider than the requested precision; reports how many runs would suffice;
- two modes: the values form two groups, such as runs with and without an offload: a gap of at least 3 % of the mean
  that is `GAP` times as wide as either group. One in a hundred cells with 4 normal values has such a gap, and fewer
  with more values;
- drift: the values rise or fall with the order of runs (Mann 1945, Kendall's tau), at p < 0.01: one in a hundred cells
  without drift is reported, too. This requires 6 runs, because 5 runs are sorted by chance more often.

All of them except drift are shares of the mean. They are checked only if the mean is above 0 and `relative` is set.
Unstable values are never dropped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from airtoll.stats.summary import Floats, t_half_width

InstabilityKind = Literal["spread", "spread of the papers", "outlier", "too few", "two modes", "drift"]

SPREAD_PERCENT = 10.0
PAPERS_SPREAD_PERCENT = 3.0
OUTLIER_PERCENT = 50.0
DRIFT_P = 0.01
GAP = 10.0
"""The smallest gap between two modes, in multiples of the range of the values of either."""
MOST_RUNS = 10_000
"""Highest number of runs that `runs_needed` reports."""


@dataclass(frozen=True)
class Instability:
    """One kind of instability of a result; `str` is a line with the details."""

    kind: InstabilityKind
    detail: str

    def __str__(self) -> str:
        return self.detail


def instabilities(
    values: Sequence[float | None],
    orders: Sequence[int],
    *,
    precision_percent: float | None = None,
    relative: bool = True,
) -> tuple[Instability, ...]:
    """The instabilities of one cell's values, which were measured at the positions `orders` of the plan.

    `precision_percent` is the requested half width of the 95 % interval, in percent of the mean, or None. None and NaN
    are missing values. Raises ValueError if the lengths differ or a value is infinite.
    """
    taken = sorted(
        (order, value)
        for order, value in zip(orders, values, strict=True)
        if value is not None and not math.isnan(value)
    )
    if any(math.isinf(value) for _, value in taken):
        raise ValueError("a value is infinite")
    if len(taken) < 2:
        return ()
    array = np.array([value for _, value in taken])
    found: list[Instability | None] = []
    mean, sd = float(array.mean()), float(array.std(ddof=1))
    if relative and mean > 0:
        found += [_spread(mean, sd), _outlier(array, mean), _two_modes(array, mean)]
        if precision_percent is not None:
            found.append(_too_few(len(array), mean, sd, precision_percent))
    return tuple(one for one in (*found, _drift(array)) if one is not None)


def runs_needed(mean: float, sd: float, percent: float) -> int | None:
    """Number of runs whose 95 % t interval extends by `percent` of the mean to each side, with the same spread.

    None for more than `MOST_RUNS`.
    """
    target = percent / 100 * abs(mean)
    low, high = 1, MOST_RUNS  # low is too few, high is enough; the width decreases with every run
    if sd == 0:
        return 2
    if target <= 0 or t_half_width(sd, high) > target:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if t_half_width(sd, middle) <= target else (middle, high)
    return high


def _spread(mean: float, sd: float) -> Instability | None:
    percent = 100 * sd / mean
    if percent >= SPREAD_PERCENT:
        return Instability("spread", f"the standard deviation is {percent:.0f} % of the mean")
    if percent > PAPERS_SPREAD_PERCENT:
        detail = f"the standard deviation is {percent:.1f} % of the mean, above the papers' {PAPERS_SPREAD_PERCENT:g} %"
        return Instability("spread of the papers", detail)
    return None


def _outlier(values: Floats, mean: float) -> Instability | None:
    off = 100 * (values - mean) / mean
    count = int((np.abs(off) >= OUTLIER_PERCENT).sum())
    if not count:
        return None
    worst = float(off[np.argmax(np.abs(off))])
    side = "above" if worst > 0 else "below"
    many = (
        "one value is"
        if count == 1
        else f"{count} values are {OUTLIER_PERCENT:g} % or more off the mean, one"
    )
    return Instability("outlier", f"{many} {abs(worst):.0f} % {side} the mean")


def _two_modes(values: Floats, mean: float) -> Instability | None:
    ranked = np.sort(values)
    if len(ranked) < 4:
        return None
    lower = 2 + int(np.argmax(np.diff(ranked)[1:-1]))  # each mode has two values
    gap = ranked[lower] - ranked[lower - 1]
    widest = max(ranked[lower - 1] - ranked[0], ranked[-1] - ranked[lower])
    if gap < GAP * widest or 100 * gap < PAPERS_SPREAD_PERCENT * mean:
        return None
    low, high = float(ranked[:lower].mean()), float(ranked[lower:].mean())
    apart = "" if low <= 0 else f", {100 * (high / low - 1):.0f} % apart"
    detail = f"the values have two modes{apart}: {lower} runs at the lower one, {len(ranked) - lower} at the higher"
    return Instability("two modes", detail)


def _too_few(n: int, mean: float, sd: float, percent: float) -> Instability | None:
    reached = 100 * t_half_width(sd, n) / mean
    if reached <= percent:
        return None
    needed = runs_needed(mean, sd, percent)
    runs = f"more than {MOST_RUNS}" if needed is None else f"about {needed}"
    detail = f"{n} runs give the mean to within {reached:.2g} %; {percent:g} % would require {runs}"
    return Instability("too few", detail)


def _drift(values: Floats) -> Instability | None:
    n = len(values)
    if 2 / math.factorial(n) >= DRIFT_P:  # two of all orders are sorted
        return None
    rises = float(np.sign(values[None, :] - values[:, None])[_upper(n)].sum())
    # The normal approximation quickly excludes values without drift; kendalltau takes a hundred times as long.
    if abs(rises) < 1.5 * math.sqrt(_variance(values)):
        return None
    from scipy import stats  # imported here: it takes a second, and most results do not need it

    test = stats.kendalltau(np.arange(n), values)
    if not test.pvalue < DRIFT_P:
        return None
    direction = "rise" if test.statistic > 0 else "fall"
    detail = f"values {direction} with the order of runs (Kendall's tau {test.statistic:+.2f}, p = {test.pvalue:.2g})"
    return Instability("drift", detail)


@lru_cache(maxsize=64)
def _upper(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return np.triu_indices(n, 1)


def _variance(values: Floats) -> float:
    """Variance of the number of rising minus falling pairs, reduced by ties (Kendall 1970, chapter 4)."""
    n = len(values)
    whole = n * (n - 1) * (2 * n + 5)
    if len(set(values.tolist())) < n:
        ties = np.unique(values, return_counts=True)[1]
        whole -= int((ties * (ties - 1) * (2 * ties + 5)).sum())
    return whole / 18
