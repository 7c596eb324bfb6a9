"""The mean change over several pairs of cells that differ in the same factor, such as IPv4 against IPv6 at every size.

The change of a pair of cells is the mean over its rounds, because runs of one round are close in time. The mean over
the pairs of cells gives each the same weight. Its variance is the sum of the variances of the pairs of cells, and its
degrees of freedom follow Welch and Satterthwaite, because those variances may differ. The interval is that of these
cells, not of other cells.

An interaction compares two such changes in each round, such as the change by encryption over IPv4 with that over IPv6.
Its mean and its interval follow in the same way.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

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


Costs = tuple[Pairs, Sequence[Pairs]]
"""The values of a pair of cells, and of the pairs of cells whose mean change it is compared with; all by round."""


def interaction_difference(sets: Sequence[Costs]) -> MatchedMean:
    """Mean of the difference b - a of the first pair of cells, minus that of the others in the same round.

    A round counts if it has all values. Each set is one combination of all other factors.
    """
    return _mean([_contrasts(of_set, lambda a, b: b - a) for of_set in map(_complete, sets)])


def interaction_ratio(sets: Sequence[Costs]) -> MatchedRatio:
    """Geometric mean of the ratio b / a of the first pair of cells, over that of the others in the same round.

    Without logarithms as in `matched_ratio`.
    """
    complete = [_complete(of_set) for of_set in sets]
    values = [value for of_set in complete for of_round in of_set for value in of_round]
    if bad := sum(value <= 0 for value in values):
        return MatchedRatio(MatchedMean(0), f"{bad} of {len(values)} values are not above 0")
    return MatchedRatio(_mean([_contrasts(of_set, lambda a, b: math.log(b / a)) for of_set in complete]))


def _complete(costs: Costs) -> list[list[float]]:
    """The rounds with all values, in the order of the pairs of cells, a before b."""
    first, others = costs
    rounds = zip(*first, *(side for pair in others for side in pair), strict=True)
    return [
        [value for value in of_round if value is not None]
        for of_round in rounds
        if not any(value is None or math.isnan(value) for value in of_round)
    ]


def _contrasts(rounds: Iterable[Sequence[float]], change: Callable[[float, float], float]) -> list[float]:
    found = []
    for of_round in rounds:
        first, *others = (change(a, b) for a, b in zip(of_round[::2], of_round[1::2], strict=True))
        found.append(first - fmean(others))
    return found


def _mean(sets: Sequence[Sequence[float]]) -> MatchedMean:
    spread = [of_cells for of_cells in sets if len(of_cells) > 1]
    used = spread or [of_cells for of_cells in sets if of_cells]
    if not used:
        return MatchedMean(0)
    mean = fmean(map(fmean, used))
    if not spread:
        return MatchedMean(len(used), mean)
    variances = [
        (_variance(of_cells) / len(of_cells) / len(used) ** 2, len(of_cells) - 1) for of_cells in used
    ]
    if not any(of_mean for of_mean, _ in variances):
        return MatchedMean(len(used), mean, Interval(mean, mean))
    _, _, ci95_t, p = welch(mean, variances)
    return MatchedMean(len(used), mean, ci95_t, p)


def _variance(values: Sequence[float]) -> float:
    """The sample variance; exactly 0 if all values are equal."""
    if max(values) == min(values):
        return 0.0
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
