"""From the numbers of all runs to a summary of every cell and to paired differences between security levels.

A run counts if it is finished, valid, and not among the first replicates that the method discards. Every other run is
excluded and counted by reason. The number of a cell in a block is that of its run, or with sessions the mean of its
runs (`units`). A pair consists of two such numbers of one block, one at the baseline level and one at another level. A
block in which either is missing gives no pair and counts as unpaired.

The family of Holm's correction consists of all pairs of a metric, which one figure shows. Intervals and verdicts of
equivalence hold for each pair separately and are not corrected.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from airtoll.stats.equivalence import MARGIN_PERCENT, Equivalence
from airtoll.stats.holm import holm
from airtoll.stats.metrics import METRICS, RunNumber
from airtoll.stats.paired import (
    PairedDifference,
    PairedRatio,
    Pairs,
    paired_differences,
    paired_equivalences,
    paired_ratios,
)
from airtoll.stats.stability import Instability, instabilities
from airtoll.stats.summary import Interval, Summary, describe_all
from airtoll.stats.units import ByUnit, by_unit
from airtoll.study.cell import Cell, Run
from airtoll.study.factors import level_order
from airtoll.study.security import Security, in_order

if TYPE_CHECKING:
    from airtoll.store import RunRecord

LeftOut = Literal["discarded", "not finished", "invalid", "not measured"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one planned run, or of one of its repeats."""

    run: Run
    finished: bool
    valid: bool = True
    reasons: tuple[str, ...] = ()  # why the run is invalid, one line each: "name: detail"

    @classmethod
    def of(cls, run: Run, record: "RunRecord | None") -> "Outcome":
        """The outcome of a run with its record, or None if it is not finished."""
        if record is None:
            return cls(run, finished=False)
        return cls(run, finished=True, valid=record.verdict.valid, reasons=record.verdict.reasons)

    @property
    def left_out(self) -> LeftOut | None:
        """The reason why the run is excluded from all statistics, or None if it counts."""
        if not self.finished:
            return "not finished"
        if self.run.discard:
            return "discarded"
        return None if self.valid else "invalid"


@dataclass(frozen=True)
class CellSummary:
    """One metric of one cell over its blocks, in the metric's unit."""

    cell: Cell
    metric: str
    summary: Summary
    left_out: Mapping[LeftOut, int]  # excluded replicates, by reason
    instabilities: tuple[Instability, ...] = ()  # of its values


@dataclass(frozen=True)
class PairedRow:
    """One metric of one cell against the cell that differs only in having the baseline security."""

    cell: Cell
    baseline: Cell
    metric: str
    difference: PairedDifference  # cell - baseline, in the metric's unit
    ratio: PairedRatio  # cell / baseline
    unpaired: int  # blocks in which one of the two cells has no number
    p_holm: float | None  # p of the difference, corrected over all pairs of the metric
    equivalence: Equivalence | None  # of the ratio to 1, within the margin; None if there is no ratio

    @property
    def p(self) -> float | None:
        """P-value of the two-sided paired t test of the difference, uncorrected."""
        return self.difference.p


@dataclass(frozen=True)
class Comparison:
    """All statistics of a result."""

    baseline: Security | None  # None if the plan is empty
    levels: tuple[Security, ...]  # of the plan, the baseline first
    metrics: tuple[str, ...]  # metrics that at least one counted run has
    cells: tuple[CellSummary, ...]
    pairs: tuple[PairedRow, ...]
    left_out: Mapping[LeftOut, int]  # excluded runs, by reason
    reasons: Mapping[str, int]  # invalid runs by name of the reason; a run may have several


@dataclass(frozen=True)
class Span:
    """The range of several changes, in their unit."""

    n: int
    low: float
    high: float
    resolved: int  # changes whose 95 % t interval excludes 0


@dataclass(frozen=True)
class Coverage:
    """Completeness of a planned comparison with the baseline or, in a study of one level, of a cell."""

    cell: Cell
    valid: int  # pairs; runs in a study of one level
    planned: int
    needed: int

    @property
    def falls_short(self) -> bool:
        """Whether there are fewer than needed."""
        return self.valid < self.needed


def compare(
    values: Iterable[RunNumber],
    outcomes: Sequence[Outcome],
    *,
    profiles: Iterable[Security] = (),
    margin_percent: float = MARGIN_PERCENT,
    precision_percent: float | None = None,
) -> Comparison:
    """Summaries of every cell and metric, and paired comparisons with the baseline level.

    `values` is the result of `metrics.per_run`, with runs identified by `Run.id`. `profiles` are the names of the
    study's own security profiles. The baseline is "open" if the plan contains it, otherwise the plan's first level in
    the order of `security.in_order`. Rows follow the order of cells (factor by factor, security last) and of `METRICS`.
    A ratio within `margin_percent` of 1 counts as equivalent. `precision_percent` is the study's target half width of
    the intervals, in percent of the mean, or None without a target. Raises ValueError unless 0 < margin_percent < 100.
    """
    levels = in_order((outcome.run.cell.security for outcome in outcomes), profiles)
    values = list(values)
    counting = [outcome.run for outcome in outcomes if outcome.left_out is None]
    numbers = by_unit(values, counting, lambda run: run.block)
    measured = {(run_id, metric) for run_id, metric, _ in values}
    metrics = tuple(name for name in METRICS if name in numbers)
    by_cell = _by_cell(outcomes, levels)
    return Comparison(
        baseline=levels[0] if levels else None,
        levels=levels,
        metrics=metrics,
        cells=_cell_summaries(by_cell, metrics, numbers, measured, precision_percent),
        pairs=_paired_rows(by_cell, levels, metrics, numbers, margin_percent),
        left_out=Counter(outcome.left_out for outcome in outcomes if outcome.left_out is not None),
        reasons=Counter(
            name
            for outcome in outcomes
            if outcome.left_out == "invalid"
            for name in {reason.partition(":")[0] for reason in outcome.reasons}
        ),
    )


PAIRS_MIN: Final = 2
"""With fewer pairs, there is no interval."""


def coverage(outcomes: Sequence[Outcome], profiles: Iterable[Security] = ()) -> tuple[Coverage, ...]:
    """The number of valid pairs of each planned comparison, in the order of cells. `profiles` as in `compare`.

    A comparison needs two pairs, or one pair if only one is planned. With a single security level nothing is compared,
    and every cell needs one valid run.
    """
    levels = in_order((outcome.run.cell.security for outcome in outcomes), profiles)
    by_cell = _by_cell(outcomes, levels)
    found = []
    for cell, of_cell in by_cell.items():
        planned, valid, needed = _blocks(of_cell), _valid_blocks(of_cell), 1
        if len(levels) > 1:
            if cell.security == levels[0]:
                continue
            of_baseline = by_cell.get(cell.model_copy(update={"security": levels[0]}), [])
            planned, valid, needed = (
                planned & _blocks(of_baseline),
                valid & _valid_blocks(of_baseline),
                PAIRS_MIN,
            )
        found.append(Coverage(cell, len(valid), len(planned), min(needed, len(planned))))
    return tuple(found)


def _valid_blocks(outcomes: Sequence[Outcome]) -> set[int]:
    return {outcome.run.block for outcome in outcomes if outcome.left_out is None}


def span(changes: Iterable[tuple[float | None, Interval | None]]) -> Span | None:
    """The range of changes, each given with its t interval; None if none of them is known."""
    known = [(change, ci) for change, ci in changes if change is not None]
    if not known:
        return None
    values = [change for change, _ in known]
    resolved = sum(ci is not None and not ci.contains(0) for _, ci in known)
    return Span(len(known), min(values), max(values), resolved)


def fixed_factors(cells: Iterable[Cell]) -> dict[str, Any]:
    """The factors that have a single level in all cells, with that level."""
    dumps = [cell.model_dump() for cell in cells]
    if not dumps:
        return {}
    return {name: level for name, level in dumps[0].items() if all(dump[name] == level for dump in dumps)}


def _by_cell(outcomes: Iterable[Outcome], levels: Sequence[Security]) -> dict[Cell, list[Outcome]]:
    """The outcomes by cell, in the order of cells and of runs. `levels` are the security levels in order."""
    by_cell: dict[Cell, list[Outcome]] = defaultdict(list)
    for outcome in sorted(outcomes, key=lambda o: (_cell_order(o.run.cell, levels), o.run.order)):
        by_cell[outcome.run.cell].append(outcome)
    return by_cell


def _cell_order(cell: Cell, levels: Sequence[Security]) -> tuple[Any, ...]:
    snr = level_order(cell.snr)
    place = (cell.lab, cell.topology, cell.stations, cell.direction, snr, cell.crypto_at)
    rate = (cell.phy, cell.bandwidth, cell.gi, cell.streams, len(cell.rate), cell.rate)
    flow = (cell.transport, cell.ip, cell.packet_size, cell.stack, cell.tcp_size, level_order(cell.offered))
    return (*place, *rate, *flow, levels.index(cell.security))


def _cell_summaries(
    by_cell: Mapping[Cell, Sequence[Outcome]],
    metrics: Sequence[str],
    numbers: ByUnit,
    measured: Set[tuple[str, str]],  # run and metric
    precision_percent: float | None,
) -> tuple[CellSummary, ...]:
    keys: list[tuple[Cell, str, Counter[LeftOut], tuple[Instability, ...]]] = []
    sets: list[list[float]] = []
    for cell, outcomes in by_cell.items():
        for metric in metrics:
            left_out: Counter[LeftOut] = Counter()
            for outcome in outcomes:
                if outcome.left_out is not None:
                    left_out[outcome.left_out] += 1
                elif (outcome.run.id, metric) not in measured:
                    left_out["not measured"] += 1
            of_blocks = numbers[metric].get(cell, {})
            orders = {each.run.block: each.run.order for each in outcomes if each.run.block in of_blocks}
            values = [of_blocks[block] for block in orders]
            unstable = instabilities(
                values,
                list(orders.values()),
                precision_percent=precision_percent,
                # A spread in percent is misleading for a share of datagrams that is 0 in most runs.
                relative=METRICS[metric].unit != "1",
            )
            keys.append((cell, metric, left_out, unstable))
            sets.append(values)
    return tuple(
        CellSummary(cell, metric, summary, left_out, unstable)
        for (cell, metric, left_out, unstable), summary in zip(keys, describe_all(sets), strict=True)
    )


def _paired_rows(
    by_cell: Mapping[Cell, Sequence[Outcome]],
    levels: Sequence[Security],
    metrics: Sequence[str],
    numbers: ByUnit,
    margin_percent: float,
) -> tuple[PairedRow, ...]:
    keys: list[tuple[Cell, Cell, str, int]] = []
    sets: list[Pairs] = []
    for cell, outcomes in by_cell.items():
        baseline = cell.model_copy(update={"security": levels[0]})
        if cell == baseline or baseline not in by_cell:
            continue
        blocks = sorted(_blocks(by_cell[baseline]) | _blocks(outcomes))
        for metric in metrics:
            of_cells = numbers[metric]
            a, b = ([of_cells.get(one, {}).get(block) for block in blocks] for one in (baseline, cell))
            unpaired = sum(x is None or y is None for x, y in zip(a, b, strict=True))
            keys.append((cell, baseline, metric, unpaired))
            sets.append((a, b))
    differences, ratios = paired_differences(sets), paired_ratios(sets)
    corrected: list[float | None] = [None] * len(keys)
    for metric in metrics:
        family = [i for i, (_, _, of, _) in enumerate(keys) if of == metric]
        for i, p in zip(family, holm([differences[i].p for i in family]), strict=True):
            corrected[i] = p
    return tuple(
        PairedRow(cell, baseline, metric, difference, ratio, unpaired, p_holm, equivalence)
        for (cell, baseline, metric, unpaired), difference, ratio, p_holm, equivalence in zip(
            keys, differences, ratios, corrected, paired_equivalences(ratios, margin_percent), strict=True
        )
    )


def _blocks(outcomes: Sequence[Outcome]) -> set[int]:
    """The blocks with runs that the plan does not discard."""
    return {outcome.run.block for outcome in outcomes if not outcome.run.discard}
