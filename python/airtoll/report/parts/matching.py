"""Pairs of cells that differ only in compared levels, and the tests of their changes by `airtoll.stats.matched`."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from airtoll.report.material import text
from airtoll.report.parts.statements import Contrast, Statement, Tested
from airtoll.stats import (
    Interval,
    MatchedMean,
    Metric,
    aligned,
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


@dataclass(frozen=True)
class Change:
    """The mean change of a claim over all pairs of cells, in percent or in display units."""

    metric: Metric
    in_percent: bool
    cells: int  # pairs of cells; of a contrast, pairs of such pairs
    value: float | None
    interval: Interval | None  # 95 %, not corrected
    p: float | None

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

    def resolved(self, p_holm: float | None) -> bool:
        """Whether the change is significant, with its corrected p-value."""
        return is_significant(p_holm, self.interval)


def change_of(tested: Tested, values: ByRound, *, relative: bool, in_sessions: bool) -> Change:
    """The change of a claim. With `relative` it is in percent, if the claim and the values allow a ratio.

    `in_sessions`: the values of a round are from the same sessions.
    """
    sets = list(_sets(tested, values))
    pairs = list(dict.fromkeys(pair for of_set in sets for pair in of_set))
    of_pair = dict(zip(pairs, aligned((values[a], values[b]) for a, b in pairs), strict=True))
    mean, in_percent = _tested(
        tested,
        [[of_pair[pair] for pair in of_set] for of_set in sets],
        relative=relative,
        in_sessions=in_sessions,
    )

    def shown(value: float) -> float:
        return 100 * math.expm1(value) if in_percent else tested.metric.display(value)

    ci = mean.ci95_t
    return Change(
        tested.metric,
        in_percent,
        mean.cells,
        None if mean.mean is None else shown(mean.mean),
        None if ci is None else Interval(shown(ci.low), shown(ci.high)),
        mean.p,
    )


_CellPair = tuple[Cell, Cell]
"""The cell of the reference, and that of the subject."""


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
