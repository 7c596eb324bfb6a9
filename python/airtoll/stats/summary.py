"""One set of numbers: mean, standard deviation, and two 95 % confidence intervals of the mean.

- Student's t: mean +- t(0.975, n-1) * s / sqrt(n). Exact for normal values; shown first.
- BCa, the bias-corrected and accelerated bootstrap (Efron 1987, "Better bootstrap confidence intervals",
  JASA 82), with a fixed seed: the same values always give the same interval. It assumes no distribution but requires
  many values: with 5 values it covers the mean in 84 of 100 experiments (docs/measurements/coverage.md). It is
  therefore shown second.

Degenerate cases, all without a warning:
- n = 0: everything is None. n = 1: the mean is the value, the rest is None.
- n < `BCA_MIN_N`: no BCa interval. With n = 3, the resample that repeats only the smallest value has the probability
  1/27 = 3.7 %, so the bootstrap distribution has no 2.5 % quantile of its own, and "95 %" would be the range of the
  data.
- all values equal up to `RESOLUTION`: s = 0, and the t interval has no width (the spread is below the resolution of the
  measurement, which is not certainty); the acceleration of BCa is 0/0, so there is no BCa interval.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

RESOLUTION: Final = 1e-9
"""Numbers that differ by at most this share of their size are equal: the difference is rounding, not measurement."""


def is_rounding(difference: float, size: float) -> bool:
    """Whether a difference is only rounding, if it was computed from numbers of this size."""
    return abs(difference) <= RESOLUTION * size


BCA_RESAMPLES = 4999
BCA_MIN_N = 4
_BCA_SEED = 20_070_610
_BCA_CHUNK = 1 << 18  # resampled means processed at a time: arrays of 2 MiB stay in the cache

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A confidence interval in the unit of the values; low <= high."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends: the number after the +- of a symmetric interval."""
        return (self.high - self.low) / 2

    def contains(self, value: float) -> bool:
        """Whether the value lies within the interval, ends included."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Summary:
    """Statistics of the mean of n independent values; unknown values are None (see the module)."""

    n: int
    mean: float | None = None
    sd: float | None = None  # sample standard deviation, n - 1 in the denominator
    ci95_t: Interval | None = None
    ci95_bca: Interval | None = None


def present(values: Iterable[float | None]) -> Floats:
    """The values without None and NaN, in order. Raises ValueError for an infinite value."""
    array = np.array(list(values), dtype=np.float64)  # None becomes NaN
    if np.isinf(array).any():
        raise ValueError("a value is infinite")
    return array[~np.isnan(array)]


def describe(values: Iterable[float | None]) -> Summary:
    """Summarise the values. None and NaN are missing values. Raises ValueError for an infinite value."""
    return describe_all([values])[0]


def describe_all(
    sets: Sequence[Iterable[float | None]], sizes: Sequence[float] | None = None
) -> list[Summary]:
    """`describe` for many sets of values at once: much faster, with equal results up to rounding.

    `sizes` has the size of the numbers from which each set was computed, if they are larger than the values: a
    difference of two numbers is as inexact as the larger of them.
    """
    arrays = [present(values) for values in sets]
    summaries = [Summary(n=0)] * len(arrays)
    known = [0.0] * len(arrays) if sizes is None else sizes
    for indices, rows in _stacks(arrays):
        of_rows = np.array([known[index] for index in indices])
        for index, summary in zip(indices, _summaries(rows, of_rows), strict=True):
            summaries[index] = summary
    return summaries


def t_half_width(sd: float, n: int, confidence: float = 0.95) -> float:
    """Half the width of the t interval of the mean of n > 1 values, in the unit of `sd`."""
    return float(special.stdtrit(n - 1, 0.5 + confidence / 2)) * sd / math.sqrt(n)


def _stacks(arrays: Sequence[Floats]) -> Iterator[tuple[list[int], Floats]]:
    """Sets of equal size as the rows of one array, with their indices. Omits empty sets."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for index, array in enumerate(arrays):
        if len(array):
            by_size[len(array)].append(index)
    for size, indices in by_size.items():
        step = max(1, _BCA_CHUNK // max(size, BCA_RESAMPLES))
        for start in range(0, len(indices), step):
            part = indices[start : start + step]
            yield part, np.stack([arrays[index] for index in part])


def _summaries(rows: Floats, sizes: Floats) -> Iterator[Summary]:
    n = rows.shape[1]
    rounding = RESOLUTION * np.maximum(np.abs(rows).max(axis=1), sizes)
    equal = np.ptp(rows, axis=1) <= rounding
    means = np.where(equal, rows[:, 0], rows.mean(axis=1))
    means = np.where(equal & (np.abs(means) <= rounding), 0.0, means)
    if n == 1:
        yield from (Summary(n=1, mean=float(mean)) for mean in means)
        return
    sds = np.where(equal, 0.0, rows.std(axis=1, ddof=1))
    halves = t_half_width(1.0, n) * sds
    lows, highs = np.full((2, len(rows)), np.nan)
    if n >= BCA_MIN_N and not equal.all():
        lows[~equal], highs[~equal] = _bca(rows[~equal], means[~equal], sds[~equal])
    for mean, sd, half, low, high in zip(
        *(a.tolist() for a in (means, sds, halves, lows, highs)), strict=True
    ):
        bca = Interval(low, high) if math.isfinite(low) and math.isfinite(high) else None
        yield Summary(n=n, mean=mean, sd=sd, ci95_t=Interval(mean - half, mean + half), ci95_bca=bca)


@lru_cache(maxsize=64)
def _resamples(n: int) -> tuple[Floats, npt.NDArray[np.int64] | None]:
    """Resamples of n values as the share of each value, and how often each resample was drawn; None: each once.

    The draws are those of scipy.stats.bootstrap with this seed. Few values have few distinct resamples: 5 values have
    126, which saves most of the work.
    """
    drawn = np.random.default_rng(_BCA_SEED).integers(0, n, size=(BCA_RESAMPLES, n))
    counts = np.stack([np.bincount(draw, minlength=n) for draw in drawn])
    distinct, repeats = np.unique(counts, axis=0, return_counts=True)
    return (distinct / n, repeats) if len(distinct) < BCA_RESAMPLES / 2 else (counts / n, None)


def _bca(rows: Floats, means: Floats, sds: Floats) -> tuple[Floats, Floats]:
    """Low and high ends of the BCa intervals of the rows' means (Efron 1987, equation 2.3); NaN for rows without one.

    Every bootstrap mean is a product of shares and values, and a value's jackknife influence on the mean is its
    distance from the mean. A stack of sets is therefore a single matrix product.
    """
    n = rows.shape[1]
    shares, repeats = _resamples(n)
    with np.errstate(all="ignore"):  # nearly equal values may give NaN, which is the correct result
        scores = (rows - means[:, None]) / sds[:, None]
        resampled = scores @ shares.T
        if repeats is None:
            resampled.sort(axis=1)
            ranks = None
        else:
            order = np.argsort(resampled, axis=1)
            resampled = np.take_along_axis(resampled, order, axis=1)
            ranks = np.cumsum(repeats[order], axis=1)
        # A resample with the mean of the values counts half as below it; rounding must not decide which ones do.
        tie = 4 * n * np.finfo(np.float64).eps * np.abs(rows).max(axis=1) / sds
        below = _drawn_up_to(resampled < -tie[:, None], ranks) + _drawn_up_to(
            resampled <= tie[:, None], ranks
        )
        bias = special.ndtri(below / (2 * BCA_RESAMPLES))
        acceleration = (scores**3).sum(axis=1) / (6 * (scores**2).sum(axis=1) ** 1.5)
        ends = []
        for z in special.ndtri([0.025, 0.975]):
            shifted = bias + z
            fraction = special.ndtr(bias + shifted / (1 - acceleration * shifted))
            ends.append(means + sds * _quantile(resampled, ranks, fraction))
    return ends[0], ends[1]


def _drawn_up_to(chosen: npt.NDArray[np.bool_], ranks: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    """Number of draws of the chosen elements, which are the first elements of each row."""
    count: npt.NDArray[np.int64] = np.count_nonzero(chosen, axis=1)
    if ranks is None:
        return count
    return np.where(count, np.take_along_axis(ranks, np.maximum(count - 1, 0)[:, None], axis=1)[:, 0], 0)


def _quantile(ranked: Floats, ranks: npt.NDArray[np.int64] | None, fraction: Floats) -> Floats:
    """A quantile of each row by linear interpolation. Element i of a row was drawn ranks[i] - ranks[i-1] times."""
    place = np.nan_to_num(fraction) * (BCA_RESAMPLES - 1)
    floor = np.floor(place)

    def value(rank: Floats) -> Floats:
        index = rank.astype(np.int64) if ranks is None else (ranks <= rank[:, None]).sum(axis=1)
        index = np.minimum(index, ranked.shape[1] - 1)
        return np.take_along_axis(ranked, index[:, None], axis=1)[:, 0]

    lower = value(floor)
    result = lower + (place - floor) * (value(floor + 1) - lower)
    return np.where(np.isnan(fraction), np.nan, result)
