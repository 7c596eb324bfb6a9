"""Two sets of numbers in pairs: the difference b - a, the ratio b / a, and the effect size.

Runs of one block are close in time and share their seed and every factor except one. Disturbances affect both runs, so
the difference within a block does not contain them. All intervals are of the mean over blocks.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from airtoll.stats.effect import EffectSize, effect_sizes
from airtoll.stats.equivalence import MARGIN_PERCENT, Equivalence, LogMean, equivalences
from airtoll.stats.ratio import Ratio, exp_interval
from airtoll.stats.sign_flip import sign_flip
from airtoll.stats.summary import Interval, Summary, describe_all

Pairs = tuple[Sequence[float | None], Sequence[float | None]]


@dataclass(frozen=True)
class PairedDifference(Summary):
    """The differences b - a, in the unit of the values; n counts the pairs that have both values."""

    effect: EffectSize | None = None
    p: float | None = None
    """Two-sided p-value of the paired t test; None for one pair and for differences without any spread."""

    p_sign_flip: float | None = None
    """P-value of `sign_flip`, which does not assume normal differences; None for more than 20 pairs."""


@dataclass(frozen=True)
class PairedRatio(Ratio[Summary]):
    """The geometric mean of b / a, with intervals computed from ln(b / a) and transformed back."""

    n: int = 0  # pairs that have both values

    @property
    def ci95_bca(self) -> Interval | None:
        """The BCa interval of the ratio."""
        return exp_interval(self.log.ci95_bca)


def paired_difference(a: Sequence[float | None], b: Sequence[float | None]) -> PairedDifference:
    """Differences b - a of paired values. Excludes pairs with a missing value (None, NaN).

    Raises ValueError if the lengths differ or a value is infinite.
    """
    return paired_differences([(a, b)])[0]


def paired_ratio(a: Sequence[float | None], b: Sequence[float | None]) -> PairedRatio:
    """Ratio b / a of paired values. Excludes pairs with a missing value (None, NaN).

    A value of 0 or below has no logarithm. In this case there is no ratio, and `reason` says so: excluding only such
    pairs would bias the ratio. Raises ValueError if the lengths differ or a value is infinite.
    """
    return paired_ratios([(a, b)])[0]


def paired_differences(sets: Sequence[Pairs]) -> list[PairedDifference]:
    """`paired_difference` for many sets at once."""
    complete = [complete_pairs(a, b) for a, b in sets]
    differences = [[y - x for x, y in pairs] for pairs in complete]
    sizes = [max((abs(value) for pair in pairs for value in pair), default=0.0) for pairs in complete]
    summaries = describe_all(differences, sizes)
    return [
        PairedDifference(
            n=s.n,
            mean=s.mean,
            sd=s.sd,
            ci95_t=s.ci95_t,
            ci95_bca=s.ci95_bca,
            effect=effect,
            p=p,
            p_sign_flip=sign_flip(values) if p is not None else None,
        )
        for s, effect, p, values in zip(
            summaries, effect_sizes(summaries), _p_values(summaries), differences, strict=True
        )
    ]


def paired_ratios(sets: Sequence[Pairs]) -> list[PairedRatio]:
    """`paired_ratio` for many sets at once."""
    complete = [complete_pairs(a, b) for a, b in sets]
    reasons = [_no_ratio(pairs) for pairs in complete]
    logs = describe_all(
        [
            [] if reason else [math.log(y) - math.log(x) for x, y in pairs]
            for pairs, reason in zip(complete, reasons, strict=True)
        ],
        [1.0] * len(sets),  # a logarithm of 1e-9 is a ratio of 1 + 1e-9
    )
    return [
        PairedRatio(log, reason, len(pairs))
        for pairs, reason, log in zip(complete, reasons, logs, strict=True)
    ]


def paired_equivalences(
    ratios: Sequence[PairedRatio], margin_percent: float = MARGIN_PERCENT
) -> list[Equivalence | None]:
    """Whether each ratio is 1 within the margin; None if there is no ratio."""
    known = [i for i, ratio in enumerate(ratios) if ratio.log.n]
    logs = [ratios[i].log for i in known]
    means = [
        LogMean(
            math.nan if log.mean is None else log.mean,
            math.nan if log.sd is None else log.sd / math.sqrt(log.n),
            log.n - 1,
        )
        for log in logs
    ]
    result: list[Equivalence | None] = [None] * len(ratios)
    for i, equivalence in zip(known, equivalences(means, margin_percent), strict=True):
        result[i] = equivalence
    return result


def _p_values(differences: Sequence[Summary]) -> list[float | None]:
    n, mean, sd = (
        np.array([math.nan if (value := getattr(s, name)) is None else value for s in differences])
        for name in ("n", "mean", "sd")
    )
    with np.errstate(all="ignore"):
        p = 2 * special.stdtr(n - 1, -np.abs(mean) / (sd / np.sqrt(n)))
    return [one if s.sd else None for s, one in zip(differences, p.tolist(), strict=True)]


def complete_pairs(a: Sequence[float | None], b: Sequence[float | None]) -> list[tuple[float, float]]:
    """The pairs that have both values. Raises ValueError if the lengths differ or a value is infinite."""
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
