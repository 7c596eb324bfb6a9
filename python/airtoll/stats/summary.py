"""One set of numbers: mean, standard deviation, and the 95 % confidence interval of the mean in two ways.

- Student's t: mean +- t(0.975, n-1) * s / sqrt(n). Exact for normal values, and the interval shown first.
- BCa, the bias-corrected and accelerated bootstrap (Efron 1987, "Better bootstrap confidence intervals",
  JASA 82), by scipy.stats.bootstrap with a fixed seed: the same values always give the same interval.

Degenerate cases, all without a warning:
- n = 0: everything is None. n = 1: the mean is the value, the rest is None.
- n < `BCA_MIN_N`: no BCa interval. With n = 3 the resample that repeats the smallest value alone has the
  probability 1/27 = 3.7 %, so the bootstrap distribution has no 2.5 % quantile of its own and "95 %" would be
  the range of the data.
- all values equal: s = 0 and the t interval has no width (the spread is below the resolution of the
  measurement, which is not certainty); the acceleration of BCa is 0/0, so there is none.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

BCA_RESAMPLES = 4999
BCA_MIN_N = 4
_BCA_SEED = 20_070_610
_BCA_CHUNK = 1 << 19  # resampled values held at a time: 4 MiB stay in the cache


@dataclass(frozen=True)
class Interval:
    """A confidence interval in the unit of the values; low <= high."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends: what stands behind the +- of a symmetric interval."""
        return (self.high - self.low) / 2

    def contains(self, value: float) -> bool:
        """Whether the value lies within the interval, ends included."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Summary:
    """What n independent values say about their mean; what cannot be known is None (see the module)."""

    n: int
    mean: float | None = None
    sd: float | None = None  # sample standard deviation, n - 1 in the denominator
    ci95_t: Interval | None = None
    ci95_bca: Interval | None = None


def present(values: Iterable[float | None]) -> npt.NDArray[np.float64]:
    """The values without None and NaN, in their order; raises ValueError if one is infinite."""
    array = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    if np.isinf(array).any():
        raise ValueError("a value is infinite")
    return array[~np.isnan(array)]


def describe(values: Iterable[float | None]) -> Summary:
    """Summarise the values; None and NaN are missing, not counted. Raises ValueError for an infinite one."""
    return describe_all([values])[0]


def describe_all(sets: Sequence[Iterable[float | None]]) -> list[Summary]:
    """`describe` for many sets of values at once, in a fraction of the time; see `_bca_all` on rounding."""
    arrays = [present(values) for values in sets]
    moments = [_moments(array) for array in arrays]
    bca = _bca_all([array if _can_bootstrap(array) else None for array in arrays])
    return [
        Summary(n=len(array), mean=mean, sd=sd, ci95_t=ci95_t, ci95_bca=interval)
        for array, (mean, sd, ci95_t), interval in zip(arrays, moments, bca, strict=True)
    ]


def _moments(array: npt.NDArray[np.float64]) -> tuple[float | None, float | None, Interval | None]:
    n = len(array)
    if n == 0:
        return None, None, None
    if array.min() == array.max():  # rounding in the mean would give equal values a spread of their own
        value = float(array[0])
        return (value, None, None) if n == 1 else (value, 0.0, Interval(value, value))
    mean = float(array.mean())
    sd = float(array.std(ddof=1))
    half = float(stats.t.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    return mean, sd, Interval(mean - half, mean + half)


def _can_bootstrap(array: npt.NDArray[np.float64]) -> bool:
    return len(array) >= BCA_MIN_N and bool(array.min() < array.max())


def _bca_all(arrays: Sequence[npt.NDArray[np.float64] | None]) -> list[Interval | None]:
    """BCa intervals of the means; None stays None.

    Sets of one size share their resampling indices (one seed), so a stack of them gives each the interval that
    it gets alone, up to rounding. Where many resamples tie, a sum rounded otherwise counts otherwise in the bias
    correction: among values with repeats the ends then moved by 1e-7 of their size.
    """
    result: list[Interval | None] = [None] * len(arrays)
    by_size: dict[int, list[int]] = defaultdict(list)
    for index, array in enumerate(arrays):
        if array is not None:
            by_size[len(array)].append(index)
    for size, indices in by_size.items():
        step = max(1, _BCA_CHUNK // (BCA_RESAMPLES * size))
        for start in range(0, len(indices), step):
            part = indices[start : start + step]
            rows = np.stack([array for index in part if (array := arrays[index]) is not None])
            for index, interval in zip(part, _bca(rows), strict=True):
                result[index] = interval
    return result


def _bca(rows: npt.NDArray[np.float64]) -> list[Interval | None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # nearly equal values end as NaN below, which is the answer wanted
        ci = stats.bootstrap(
            (rows,),
            np.mean,
            axis=-1,
            vectorized=True,
            n_resamples=BCA_RESAMPLES,
            confidence_level=0.95,
            method="BCa",
            rng=np.random.default_rng(_BCA_SEED),
        ).confidence_interval
    lows, highs = np.atleast_1d(ci.low), np.atleast_1d(ci.high)
    return [
        Interval(float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None
        for low, high in zip(lows, highs, strict=True)
    ]
