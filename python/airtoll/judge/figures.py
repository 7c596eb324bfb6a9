"""A result as numbers: for every cell the values of its valid runs, by metric."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from airtoll.errors import UsageError
from airtoll.stats import METRICS, Comparison, Outcome, RunNumber, by_unit, compare, per_run
from airtoll.store import PlanRecord, Result, RunRecord
from airtoll.store.records import spoiled_metrics
from airtoll.study import levels_of
from airtoll.study.cell import Cell
from airtoll.study.factors import level_order, level_text
from airtoll.study.levels import CELL_FACTORS
from airtoll.study.quantity import one_of
from airtoll.study.security import in_order

CellKey = tuple[tuple[str, Any], ...]
"""A cell without the ignored factors: (factor, level) in the order of a cell."""


@dataclass(frozen=True)
class Figures:
    """The data of a result that comparisons and rules require."""

    directory: Path
    head: PlanRecord
    records: Sequence[RunRecord]  # of the finished runs
    outcomes: Sequence[Outcome]  # of all planned runs and their repeats
    values: Sequence[RunNumber]

    @classmethod
    def of(cls, result: Result) -> Self:
        """Read the result. Raises UsageError if none of its runs is valid, AirtollError if it cannot be read."""
        recorded = result.recorded()
        outcomes = [Outcome.of(run, record) for run, record in recorded]
        records = [record for _, record in recorded if record is not None]
        if all(outcome.left_out is not None for outcome in outcomes):
            raise UsageError(f"{result.directory}: none of its {len(outcomes)} runs counts")
        values = per_run(result.samples(), spoiled_metrics(records))
        return cls(result.directory, result.plan_record, records, outcomes, values)

    def where(self, levels: Mapping[str, Collection[Any]]) -> Self:
        """The cells with one of these levels, by factor. Raises UsageError if there are none."""
        for name, chosen in levels.items():
            if not set(self.levels[name]) & set(chosen):
                raise UsageError(
                    f"{self.directory}: no cell has {name} {one_of([level_text(name, each) for each in chosen])}; "
                    f"levels: {', '.join(level_text(name, each) for each in self.levels[name])}"
                )
        outcomes = [
            outcome
            for outcome in self.outcomes
            if all(getattr(outcome.run.cell, name) in chosen for name, chosen in levels.items())
        ]
        if all(outcome.left_out is not None for outcome in outcomes):
            raise UsageError(f"{self.directory}: no run that counts has all of the levels that --where names")
        return replace(self, outcomes=outcomes)

    @cached_property
    def numbers(self) -> Mapping[Cell, Mapping[str, Sequence[float]]]:
        """The values of runs or sessions. Contains every planned cell, but only metrics that were measured."""
        counting = [outcome.run for outcome in self.outcomes if outcome.left_out is None]
        planned = {outcome.run.cell for outcome in self.outcomes}
        levels = in_order((cell.security for cell in planned), self.head.plan.profiles)
        ordered = sorted(planned, key=lambda cell: _cell_order(cell, levels))
        found: dict[Cell, dict[str, list[float]]] = {cell: {} for cell in ordered}
        for metric, cells in by_unit(self.values, counting, lambda run: run.block).items():
            for cell, units in cells.items():
                found[cell][metric] = list(units.values())
        return found

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that at least one valid run has, in the order of reports."""
        known = {metric for metrics in self.numbers.values() for metric in metrics}
        return tuple(name for name in METRICS if name in known)

    @cached_property
    def comparison(self) -> Comparison:
        """The summaries of its cells, and the paired comparisons of its security levels."""
        return compare(self.values, self.outcomes, profiles=self.head.plan.profiles)

    @cached_property
    def left_out(self) -> Mapping[Cell, Mapping[str, int]]:
        """Number of excluded runs by reason, for the cells without any valid run."""
        counts: dict[Cell, dict[str, int]] = defaultdict(dict)
        counting = set()
        for outcome in self.outcomes:
            cell, reason = outcome.run.cell, outcome.left_out
            if reason is None:
                counting.add(cell)
            else:
                counts[cell][reason] = counts[cell].get(reason, 0) + 1
        return {cell: of_cell for cell, of_cell in counts.items() if cell not in counting}

    @cached_property
    def levels(self) -> Mapping[str, Sequence[Any]]:
        """The levels of each factor in its cells, including the lab."""
        return {
            name: list(dict.fromkeys(getattr(cell, name) for cell in self.numbers)) for name in CELL_FACTORS
        }

    def by_key(self, ignored: Iterable[str]) -> dict[CellKey, Cell]:
        """Its cells without some factors. Raises UsageError if two cells become equal."""
        left = set(ignored)
        kept = [name for name in CELL_FACTORS if name not in left]
        cells: dict[CellKey, Cell] = {}
        for cell in self.numbers:
            key = tuple((name, getattr(cell, name)) for name in kept)
            if (twin := cells.setdefault(key, cell)) != cell:
                name = next(each for each in CELL_FACTORS if getattr(cell, each) != getattr(twin, each))
                raise UsageError(
                    f"{self.directory}: {name} cannot be ignored: the cells differ in this factor "
                    f"({level_text(name, getattr(twin, name))}, {level_text(name, getattr(cell, name))})"
                )
        return cells


def _cell_order(cell: Cell, security: Sequence[str]) -> tuple[Any, ...]:
    """Sort key: factor by factor, then security in its order."""
    levels = [level_order(getattr(cell, name)) for name in CELL_FACTORS if name != "security"]
    return (*levels, security.index(cell.security))


def cell_name(cell: Cell, *, without: Iterable[str] = ()) -> str:
    """The levels in a cell's name, except those in `without`: "udp ipv4 1408 B ccmp"."""
    levels = {name: text for name, text in levels_of(cell).items() if name not in set(without)}
    first = [levels.pop(name) for name in ("transport", "ip", "packet_size", "security") if name in levels]
    return ", ".join([" ".join(first), *(f"{name} {text}" for name, text in levels.items())])


def fixed_factors_of(*figures: Figures) -> set[str]:
    """The factors that have a single level in all of these results, which the names of cells can omit."""
    return {
        name
        for name in CELL_FACTORS
        if len({level for each in figures for level in each.levels[name]}) == 1
        and name not in ("transport", "ip", "packet_size", "security")
    }


def matching(a: Figures, b: Figures, ignored: Iterable[str]) -> list[tuple[Cell, Cell]]:
    """The cells of both results, as (of `a`, of `b`). Raises UsageError if they have no cell in common."""
    ignored = tuple(ignored)
    of_a, of_b = a.by_key(ignored), b.by_key(ignored)
    both = [(of_a[key], cell) for key, cell in of_b.items() if key in of_a]
    if not both:
        unlike = [
            name
            for name in CELL_FACTORS
            if name not in ignored and not set(a.levels[name]) & set(b.levels[name])
        ]
        hint = "; ".join(
            f"{name}: {_listed(a, name)} in the first, {_listed(b, name)} in the second" for name in unlike
        )
        remedy = f"; use --ignore {' --ignore '.join(unlike)} to compare them" if unlike else ""
        raise UsageError(
            f"{a.directory} and {b.directory} have no cell in common{': ' if hint else ''}{hint}{remedy}"
        )
    return both


def _listed(figures: Figures, name: str) -> str:
    texts = [level_text(name, level) for level in figures.levels[name]]
    return ", ".join(texts[:4]) + (", ..." if len(texts) > 4 else "")
