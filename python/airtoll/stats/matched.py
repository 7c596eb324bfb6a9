"""The mean change over several pairs of cells that differ in the same factor, such as IPv4 against IPv6 at every size.

The change of a pair of cells is the mean over its rounds, because runs of one round are close in time. The mean over
the pairs of cells gives each the same weight. Its variance is the sum of the variances of the pairs of cells, and its
degrees of freedom follow Welch and Satterthwaite, because those variances may differ. The interval is that of these
cells, not of other cells.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from airtoll.stats.independent import welch
from airtoll.stats.paired import Pairs, complete_pairs
from airtoll.stats.ratio import Ratio
from airtoll.stats.summary import Interval


@dataclass(frozen=True)
class MatchedMean:
    """The mean of the mean differences b - a of several pairs of cells; unknown values are None."""

    cells: int  # pairs of cells
    mean: float | None = None
    ci95_t: Interval | None = None  # None if no pair of cells has two rounds
    p: float | None = None  # two-sided p-value of the t test; None without any spread


@dataclass(frozen=True)
class MatchedRatio(Ratio[MatchedMean]):
    """The geometric mean of the ratios b / a of several pairs of cells."""


def matched_difference(sets: Sequence[Pairs]) -> MatchedMean:
    """Mean difference b - a. Each set has the values of one pair of cells, by round; None is a missing value.

    If a pair of cells has two rounds, pairs of cells with fewer are excluded. Raises ValueError for an infinite value.
    """
    return _mean([[b - a for a, b in complete_pairs(*of_cells)] for of_cells in sets])


def matched_ratio(sets: Sequence[Pairs]) -> MatchedRatio:
    """Geometric mean of b / a, with sets as in `matched_difference`.

    A value of 0 or below has no logarithm. In this case there is no ratio, and `reason` says so.
    """
    complete = [complete_pairs(*of_cells) for of_cells in sets]
    every = [pair for of_cells in complete for pair in of_cells]
    if bad := sum(min(pair) <= 0 for pair in every):
        reason = f"{bad} of {len(every)} pairs have a value that is not above 0"
        return MatchedRatio(MatchedMean(0), reason)
    return MatchedRatio(_mean([[math.log(b / a) for a, b in of_cells] for of_cells in complete]))


def _mean(sets: Sequence[Sequence[float]]) -> MatchedMean:
    spread = [of_cells for of_cells in sets if len(of_cells) > 1]
    used = spread or [of_cells for of_cells in sets if of_cells]
    if not used:
        return MatchedMean(0)
    mean = fmean(map(fmean, used))
    if not spread:
        return MatchedMean(len(used), mean)
    variances = [
        (variance(of_cells) / len(of_cells) / len(used) ** 2, len(of_cells) - 1) for of_cells in used
    ]
    if not any(of_mean for of_mean, _ in variances):
        return MatchedMean(len(used), mean, Interval(mean, mean))
    _, _, ci95_t, p = welch(mean, variances)
    return MatchedMean(len(used), mean, ci95_t, p)
