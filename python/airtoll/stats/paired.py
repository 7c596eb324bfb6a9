"""Two sets of numbers in pairs: the difference b - a, the ratio b / a, and the size of the effect.

Runs of one block share their place in time, their seed and every factor but one, so what disturbs one
disturbs the other; the difference within a block is free of it. All intervals are of the mean over blocks.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airtoll.stats.summary import Interval, Summary, describe_all

Pairs = tuple[Sequence[float | None], Sequence[float | None]]


@dataclass(frozen=True)
class PairedDifference(Summary):
    """The differences b - a, in the unit of the values; n counts the pairs that have both values."""

    effect_size: float | None = None
    """Cohen's d_z: mean over standard deviation of the differences (Cohen 1988, section 2.3.5)."""


@dataclass(frozen=True)
class PairedRatio:
    """The geometric mean of b / a, with intervals computed on ln(b / a) and transformed back.

    Logarithms make the ratio symmetric (twice and half are equally far from 1) and its interval stay above 0.
    """

    n: int
    ratio: float | None = None
    ci95_t: Interval | None = None
    ci95_bca: Interval | None = None
    reason: str | None = None  # why there is no ratio

    @property
    def percent(self) -> float | None:
        """The change from a to b in percent of a: +1 means that b is 1 % above a."""
        return None if self.ratio is None else 100 * (self.ratio - 1)

    @property
    def percent_ci95_t(self) -> Interval | None:
        """The t interval of `percent`."""
        return _percent(self.ci95_t)

    @property
    def percent_ci95_bca(self) -> Interval | None:
        """The BCa interval of `percent`."""
        return _percent(self.ci95_bca)


def paired_difference(a: Sequence[float | None], b: Sequence[float | None]) -> PairedDifference:
    """Differences b - a of values in pairs; a pair with a missing value (None, NaN) is left out.

    Raises ValueError if the lengths differ or a value is infinite.
    """
    return paired_differences([(a, b)])[0]


def paired_ratio(a: Sequence[float | None], b: Sequence[float | None]) -> PairedRatio:
    """Ratio b / a of values in pairs; a pair with a missing value (None, NaN) is left out.

    A value of 0 or below has no logarithm: then there is no ratio, and `reason` says so. Dropping such a pair
    instead would bias what is left. Raises ValueError if the lengths differ or a value is infinite.
    """
    return paired_ratios([(a, b)])[0]


def paired_differences(sets: Sequence[Pairs]) -> list[PairedDifference]:
    """`paired_difference` for many sets at once."""
    summaries = describe_all([[y - x for x, y in _complete(a, b)] for a, b in sets])
    return [
        PairedDifference(
            n=s.n,
            mean=s.mean,
            sd=s.sd,
            ci95_t=s.ci95_t,
            ci95_bca=s.ci95_bca,
            effect_size=s.mean / s.sd if s.mean is not None and s.sd else None,
        )
        for s in summaries
    ]


def paired_ratios(sets: Sequence[Pairs]) -> list[PairedRatio]:
    """`paired_ratio` for many sets at once."""
    complete = [_complete(a, b) for a, b in sets]
    reasons = [_no_ratio(pairs) for pairs in complete]
    logs = describe_all(
        [
            [] if reason else [math.log(y) - math.log(x) for x, y in pairs]
            for pairs, reason in zip(complete, reasons, strict=True)
        ]
    )
    return [
        PairedRatio(
            n=len(pairs),
            ratio=None if log.mean is None else _exp_or_inf(log.mean),
            ci95_t=_exp(log.ci95_t),
            ci95_bca=_exp(log.ci95_bca),
            reason=reason,
        )
        for pairs, reason, log in zip(complete, reasons, logs, strict=True)
    ]


def _complete(a: Sequence[float | None], b: Sequence[float | None]) -> list[tuple[float, float]]:
    pairs = [
        (x, y)
        for x, y in zip(a, b, strict=True)
        if x is not None and y is not None and not math.isnan(x) and not math.isnan(y)
    ]
    if any(math.isinf(value) for pair in pairs for value in pair):
        raise ValueError("a value is infinite")
    return pairs


def _no_ratio(pairs: Iterable[tuple[float, float]]) -> str | None:
    pairs = list(pairs)
    if not pairs:
        return "no pair has both values"
    bad = sum(min(pair) <= 0 for pair in pairs)
    return f"{bad} of {len(pairs)} pairs have a value that is not above 0" if bad else None


def _exp(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(_exp_or_inf(interval.low), _exp_or_inf(interval.high))


def _exp_or_inf(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:  # two pairs of very unlike ratios: t(1) is 12.7
        return math.inf


def _percent(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(100 * (interval.low - 1), 100 * (interval.high - 1))
