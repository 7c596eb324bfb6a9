"""The mean change over several pairs of cells that differ in the same factor, such as IPv4 against IPv6 at every size.

The change of a pair of cells is the mean over its rounds, because runs of one round are close in time. The mean over
the pairs of cells gives each the same weight. Its variance is the sum of the variances of the pairs of cells, and its
degrees of freedom follow Welch and Satterthwaite, because those variances may differ. The interval is that of these
cells, not of other cells.

If the access point is switched by session, the runs of a round share their sessions, whatever their cells. The changes
of different pairs of cells in a round are then not independent, so they are averaged first, and the variance is that of
the averages of rounds.

An interaction compares two such changes in each round, such as the change by encryption over IPv4 with that over IPv6.
Its mean and its interval follow in the same way.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from airtoll.stats.independent import welch
from airtoll.stats.paired import Pairs
from airtoll.stats.ratio import Ratio
from airtoll.stats.summary import Interval, is_rounding


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


Costs = tuple[Pairs, Sequence[Pairs]]
"""The values of a pair of cells, and of the pairs of cells whose mean change it is compared with; all by round."""


def aligned(pairs: Iterable[tuple[Mapping[int, float], Mapping[int, float]]]) -> list[Pairs]:
    """The values of pairs of cells, given by round, as sets with the same rounds in the same order."""
    given = list(pairs)
    rounds = sorted({one for pair in given for values in pair for one in values})
    return [([a.get(one) for one in rounds], [b.get(one) for one in rounds]) for a, b in given]


def matched_difference(sets: Sequence[Pairs], *, in_sessions: bool = False) -> MatchedMean:
    """Mean difference b - a. Each set has the values of one pair of cells, by round; None is a missing value.

    If a pair of cells has two rounds, pairs of cells with fewer are excluded. With `in_sessions`, the sets share the
    sessions of a round, and all sets have the same rounds in the same order. Raises ValueError for an infinite value.
    """
    return interaction_difference([(pair, ()) for pair in sets], in_sessions=in_sessions)


def matched_ratio(sets: Sequence[Pairs], *, in_sessions: bool = False) -> MatchedRatio:
    """Geometric mean of b / a, with arguments as in `matched_difference`.

    A value of 0 or below has no logarithm. In this case there is no ratio, and `reason` says so.
    """
    complete = [_complete((pair, ())) for pair in sets]
    every = [pair for of_set in complete for pair in of_set.values()]
    if bad := sum(min(pair) <= 0 for pair in every):
        reason = f"{bad} of {len(every)} pairs have a value that is not above 0"
        return MatchedRatio(MatchedMean(0), reason)
    return MatchedRatio(
        _mean([_contrasts(of_set, _log_ratio) for of_set in complete], size=1.0, in_sessions=in_sessions)
    )


def interaction_difference(sets: Sequence[Costs], *, in_sessions: bool = False) -> MatchedMean:
    """Mean of the difference b - a of the first pair of cells, minus that of the others in the same round.

    A round counts if it has all values. Each set is one combination of all other factors. `in_sessions` as in
    `matched_difference`.
    """
    complete = [_complete(of_set) for of_set in sets]
    size = max(
        (abs(one) for of_set in complete for of_round in of_set.values() for one in of_round), default=0.0
    )
    contrasts = [_contrasts(of_set, lambda a, b: b - a) for of_set in complete]
    return _mean(contrasts, size=size, in_sessions=in_sessions)


def interaction_ratio(sets: Sequence[Costs], *, in_sessions: bool = False) -> MatchedRatio:
    """Geometric mean of the ratio b / a of the first pair of cells, over that of the others in the same round.

    Without logarithms as in `matched_ratio`. `in_sessions` as in `matched_difference`.
    """
    complete = [_complete(of_set) for of_set in sets]
    values = [value for of_set in complete for of_round in of_set.values() for value in of_round]
    if bad := sum(value <= 0 for value in values):
        return MatchedRatio(MatchedMean(0), f"{bad} of {len(values)} values are not above 0")
    return MatchedRatio(
        _mean([_contrasts(of_set, _log_ratio) for of_set in complete], size=1.0, in_sessions=in_sessions)
    )


def _log_ratio(a: float, b: float) -> float:
    return math.log(b / a)


def _complete(costs: Costs) -> dict[int, list[float]]:
    """The rounds with all values, in the order of the pairs of cells, a before b. Rounds are positions in the sets."""
    first, others = costs
    rounds = zip(*first, *(side for pair in others for side in pair), strict=True)
    found = {}
    for position, of_round in enumerate(rounds):
        values = [value for value in of_round if value is not None and not math.isnan(value)]
        if any(map(math.isinf, values)):
            raise ValueError("a value is infinite")
        if len(values) == len(of_round):
            found[position] = values
    return found


Changes = Mapping[int, float]
"""The change of one set by round."""


def _contrasts(rounds: Mapping[int, Sequence[float]], change: Callable[[float, float], float]) -> Changes:
    found = {}
    for position, of_round in rounds.items():
        first, *others = (change(a, b) for a, b in zip(of_round[::2], of_round[1::2], strict=True))
        found[position] = first - fmean(others) if others else first
    return found


def _mean(sets: Sequence[Changes], *, size: float, in_sessions: bool) -> MatchedMean:
    """The mean of the sets' means. `size` is that of the numbers from which the changes were computed."""
    spread = [of_set for of_set in sets if len(of_set) > 1]
    used = spread or [of_set for of_set in sets if of_set]
    if not used:
        return MatchedMean(0)
    mean = fmean(fmean(of_set.values()) for of_set in used)
    if not spread:
        return MatchedMean(len(used), mean)
    independent = _sharing_rounds(used) if in_sessions else [[of_set] for of_set in used]
    variances = []
    for together in independent:
        values = _averages(together)
        of_mean = _variance(values, size) / len(values) * len(together) ** 2 / len(used) ** 2
        variances.append((of_mean, len(values) - 1))
    if not any(of_mean for of_mean, _ in variances):
        mean = 0.0 if is_rounding(mean, size) else mean
        return MatchedMean(len(used), mean, Interval(mean, mean))
    _, _, ci95_t, p = welch(mean, variances)
    return MatchedMean(len(used), mean, ci95_t, p)


def _sharing_rounds(sets: Sequence[Changes]) -> list[list[Changes]]:
    """The sets in groups that have no round in common."""
    groups: list[tuple[set[int], list[Changes]]] = []
    for of_set in sets:
        rounds, together = set(of_set), [of_set]
        for group in [group for group in groups if group[0] & rounds]:
            groups.remove(group)
            rounds, together = rounds | group[0], [*group[1], *together]
        groups.append((rounds, together))
    return [together for _, together in groups]


def _averages(together: Sequence[Changes]) -> list[float]:
    """The average of the sets in each round. Sets that lack a round have no influence on its distance from the mean."""
    if len(together) == 1:
        return list(together[0].values())
    means = [fmean(of_set.values()) for of_set in together]
    mean = fmean(means)
    return [
        mean
        + fmean(
            of_set[one] - of_mean for of_set, of_mean in zip(together, means, strict=True) if one in of_set
        )
        for one in sorted(set().union(*together))
    ]


def _variance(values: Sequence[float], size: float) -> float:
    """The sample variance; exactly 0 if all values are equal up to rounding."""
    if is_rounding(max(values) - min(values), size):
        return 0.0
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
