"""Pairs of cells that differ only in compared levels, and the tests of their changes by `airtoll.stats.matched`.

The change of a claim is the mean over its pairs. `Change.pairs` and `Change.groups` have the parts of that mean, so
that it hides none of them.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from airtoll.report.material import text
from airtoll.report.parts.statements import Contrast, Statement, Tested
from airtoll.stats import (
    Interval,
    MatchedMean,
    Metric,
    aligned,
    fixed_factors,
    interaction_difference,
    interaction_ratio,
    is_significant,
    matched_difference,
    matched_ratio,
)
from airtoll.stats.paired import Pairs
from airtoll.study.cell import Cell

ByRound = Mapping[Cell, Mapping[int, float]]
"""The values of one metric by cell and round."""


GROUPS: Final = ("transport", "ip", "phy")
"""A claim must hold at each level of these factors, because changes at their levels have different causes."""


@dataclass(frozen=True)
class MeanChange:
    """A mean change over pairs of cells, in percent or in display units."""

    cells: int  # pairs of cells; of a contrast, pairs of such pairs
    value: float | None
    interval: Interval | None  # 95 %, not corrected
    p: float | None
    name: str = ""  # the levels of the pairs in words

    def resolved(self, p_holm: float | None) -> bool:
        """Whether the change is significant, with its corrected p-value."""
        return is_significant(p_holm, self.interval)


@dataclass(frozen=True)
class Change(MeanChange):
    """The mean change of a claim over all pairs of cells, with its parts."""

    metric: Metric = field(kw_only=True)
    in_percent: bool = field(kw_only=True)
    pairs: tuple[MeanChange, ...] = ()  # the change of each pair that is part of the mean
    groups: tuple[MeanChange, ...] = ()  # the mean at each level of `GROUPS`, if the pairs have several
    identical: int = 0  # pairs that the lab cannot tell apart, which are not part of the mean

    def shown(self, value: float | None) -> str:
        """A value in the unit of this change, as text."""
        if value is None or self.in_percent:
            return text.signed_percent(value, 1)
        return f"{text.number(value, self.metric.decimals, sign=True)} {self.metric.change_unit}"

    def words(self) -> str:
        """The change with its interval."""
        if self.in_percent:
            interval = text.percent_interval(self.interval)
        else:
            interval = text.interval(self.interval, self.metric.decimals, sign=True)
        return text.joined(self.shown(self.value), interval)


_CellPair = tuple[Cell, Cell]
"""The cell of the reference, and that of the subject."""


def change_of(
    tested: Tested,
    values: ByRound,
    *,
    relative: bool,
    in_sessions: bool,
    identical: Callable[[Cell, Cell], bool] = lambda _a, _b: False,
) -> Change:
    """The change of a claim. With `relative` it is in percent, if the claim and the values allow a ratio.

    `in_sessions`: the values of a round are from the same sessions. `identical` says whether the lab gives two cells
    the same scenario; such pairs are excluded.
    """
    every = list(_sets(tested, values))
    sets = [of_set for of_set in every if not all(identical(*pair) for pair in of_set)]
    pairs = list(dict.fromkeys(pair for of_set in sets for pair in of_set))
    of_pair = dict(zip(pairs, aligned((values[a], values[b]) for a, b in pairs), strict=True))

    def mean_of(
        some: Sequence[tuple[_CellPair, ...]], *, relative: bool, name: str = ""
    ) -> tuple[MeanChange, bool]:
        mean, in_percent = _tested(
            tested,
            [[of_pair[pair] for pair in of_set] for of_set in some],
            relative=relative,
            in_sessions=in_sessions,
        )

        def shown(value: float) -> float:
            return 100 * math.expm1(value) if in_percent else tested.metric.display(value)

        ci = mean.ci95_t
        shown_mean = None if mean.mean is None else shown(mean.mean)
        interval = None if ci is None else Interval(shown(ci.low), shown(ci.high))
        return MeanChange(mean.cells, shown_mean, interval, mean.p, name), in_percent

    total, in_percent = mean_of(sets, relative=relative)

    def parts(named: Iterable[tuple[str, Sequence[tuple[_CellPair, ...]]]]) -> tuple[MeanChange, ...]:
        found = [mean_of(some, relative=in_percent, name=name)[0] for name, some in named]
        required = "value" if total.interval is None else "interval"  # as for the mean
        return tuple(one for one in found if getattr(one, required) is not None)

    return Change(
        **vars(total),
        metric=tested.metric,
        in_percent=in_percent,
        pairs=parts((name, [of_set]) for name, of_set in _named(sets)),
        groups=parts(_grouped(sets)),
        identical=len(every) - len(sets),
    )


def _named(sets: Sequence[tuple[_CellPair, ...]]) -> Iterator[tuple[str, tuple[_CellPair, ...]]]:
    """The sets with the levels by which they differ, in words."""
    fixed = fixed_factors(first[1] for first, *_ in sets)
    for of_set in sets:
        levels = _levels_of(of_set[0][1])
        yield (
            " ".join(text.factor(name, level) for name, level in levels.items() if name not in fixed),
            of_set,
        )


def _grouped(sets: Sequence[tuple[_CellPair, ...]]) -> Iterator[tuple[str, list[tuple[_CellPair, ...]]]]:
    """The sets of each level of the factors in `GROUPS` that have several levels, with the level in words."""
    for factor in GROUPS:
        groups: dict[Any, list[tuple[_CellPair, ...]]] = defaultdict(list)
        for of_set in sets:
            groups[getattr(of_set[0][1], factor)].append(of_set)
        if len(groups) > 1:
            yield from ((text.factor(factor, level), some) for level, some in groups.items())


def _sets(tested: Tested, measured: Iterable[Cell]) -> Iterator[tuple[_CellPair, ...]]:
    """The pairs of cells that a claim compares; of an interaction, the pair at the larger level comes first."""
    known = set(measured)
    if isinstance(tested, Statement):
        yield from ((pair,) for pair in _pairs(tested, measured, known))
        return
    groups: dict[Cell, dict[Any, _CellPair]] = defaultdict(dict)
    for pair in _pairs(tested.change, measured, known):
        # Cells that differ only in the second factor are one group, with any of its levels.
        group = pair[1].model_copy(update={tested.by: None})
        groups[group][getattr(pair[1], tested.by)] = pair
    for pairs in groups.values():
        first = pairs.pop(tested.larger, None)
        others = [pair for level, pair in pairs.items() if tested.smaller in (None, level)]
        if first is not None and others:
            yield (first, *others)


def _pairs(statement: Statement, measured: Iterable[Cell], known: set[Cell]) -> Iterator[_CellPair]:
    other = {name: level for name, _, level in statement.compared}
    for cell in measured:
        if statement.pair_of(_levels_of(cell)) is None:
            continue
        if (reference := cell.model_copy(update=other)) in known:
            yield reference, cell


@lru_cache(maxsize=10_000)
def _levels_of(cell: Cell) -> Mapping[str, Any]:
    """The levels of a cell, which many claims ask for."""
    return cell.model_dump()


def _tested(
    tested: Tested, sets: Sequence[Sequence[Pairs]], *, relative: bool, in_sessions: bool
) -> tuple[MatchedMean, bool]:
    """The mean change of a claim. The second value says whether it is the logarithm of a ratio.

    With `relative` it is, unless a value has no logarithm or the claim is about absolute costs.
    """
    if isinstance(tested, Statement):
        pairs = [pair for (pair,) in sets]
        if relative and (ratio := matched_ratio(pairs, in_sessions=in_sessions)).reason is None:
            return ratio.log, True
        return matched_difference(pairs, in_sessions=in_sessions), False
    costs = [(_signed(tested, first), [_signed(tested, each) for each in rest]) for first, *rest in sets]
    if relative and not tested.absolute:
        of_costs = interaction_ratio(costs, in_sessions=in_sessions)
        if of_costs.reason is None:
            return of_costs.log, True
    return interaction_difference(costs, in_sessions=in_sessions), False


def _signed(contrast: Contrast, pair: Pairs) -> Pairs:
    """The values in the order in which a cost is a rise."""
    return pair if contrast.sign > 0 else (pair[1], pair[0])
