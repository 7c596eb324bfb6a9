"""Two results, cell by cell: how much the second differs from the first, and with which confidence.

The runs of two results are not paired, so every difference is Welch's (`stats.independent`). A cell differs in a metric
if its p-value, adjusted by Holm over all cells of that metric, is below 5 %: if all cells are equal, at most one
comparison in twenty names any cell by mistake. A cell is equal if its ratio is 1 within the margin, by two one-sided
tests. It may be both. Intervals and equivalence hold for each cell separately and are not adjusted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from airtoll.errors import UsageError
from airtoll.judge.figures import Figures, matching
from airtoll.stats import (
    MARGIN_PERCENT,
    METRICS,
    Equivalence,
    IndependentDifference,
    IndependentRatio,
    Metric,
    Summary,
    describe_all,
    holm,
    independent_difference,
    independent_equivalence,
    independent_ratio,
    is_significant,
)
from airtoll.study.cell import Cell

DifferenceFinding = Literal["differs", "differs within the margin", "equal", "undecided"]
DIFFERENCE_FINDINGS: Final[tuple[DifferenceFinding, ...]] = get_args(DifferenceFinding)


@dataclass(frozen=True)
class CellDifference:
    """One metric of one cell in both results, in the metric's unit."""

    cell: Cell  # the cell of the second result
    metric: Metric
    a: Summary
    b: Summary
    difference: IndependentDifference  # b - a
    ratio: IndependentRatio  # b / a
    p_holm: float | None  # of the difference, adjusted over all cells of the metric; None without any spread
    equivalence: Equivalence | None  # of the ratio to 1; None if there is no ratio
    same_values: bool  # whether the runs of both results have the same values

    @property
    def finding(self) -> DifferenceFinding:
        """The finding. Results with the same values are equal, whatever their spread."""
        within = self.equivalence is not None and self.equivalence.verdict in ("equivalent", "both")
        if is_significant(self.p_holm, self.difference.ci95_t):
            return "differs within the margin" if within else "differs"
        return "equal" if within or self.same_values or self.difference.error == 0 else "undecided"

    @property
    def worse(self) -> bool | None:
        """Whether the second result is worse; None if the two do not differ."""
        if not self.finding.startswith("differs") or not self.difference.mean:
            return None
        return (self.difference.mean > 0) == (self.metric.better == "lower")


@dataclass(frozen=True)
class Difference:
    """The comparison of two results."""

    margin_percent: float
    ignored: tuple[str, ...]
    rows: tuple[CellDifference, ...]  # metric by metric in the order of reports, then by cell
    cells: int  # number of cells in both results
    only_a: tuple[Cell, ...]
    only_b: tuple[Cell, ...]
    not_compared: tuple[tuple[Cell, str], ...]  # cells in both, with a metric that one of the results lacks

    def counts(self, metric: str | None = None) -> Mapping[DifferenceFinding, int]:
        """Number of rows per finding, for one metric or for all."""
        found = Counter(row.finding for row in self.rows if metric in (None, row.metric.name))
        return {finding: found[finding] for finding in DIFFERENCE_FINDINGS}


def difference(
    a: Figures,
    b: Figures,
    *,
    metrics: Sequence[str] = (),
    ignored: Sequence[str] = (),
    margin_percent: float = MARGIN_PERCENT,
) -> Difference:
    """How `b` differs from `a` in their common cells, which are equal in all factors that are not ignored.

    `metrics`: names in METRICS; empty means all that both measured. Raises UsageError if there is nothing to compare,
    ValueError unless 0 < margin_percent < 100.
    """
    names = tuple(metrics) or tuple(name for name in METRICS if name in a.metrics and name in b.metrics)
    for name in names:
        for each in (a, b):
            if name not in each.metrics:
                raise UsageError(
                    f"{each.directory}: {name} was not measured; measured metrics: {', '.join(each.metrics)}"
                )
    if not names:
        raise UsageError(f"{a.directory} and {b.directory} have no metric in common")
    both = matching(a, b, ignored)
    rows: list[CellDifference] = []
    not_compared: list[tuple[Cell, str]] = []
    for name in names:
        of_metric = _rows(METRICS[name], both, a, b, margin_percent)
        rows += of_metric
        compared = {row.cell for row in of_metric}
        not_compared += [
            (cell_b, name)
            for cell_a, cell_b in both
            if cell_b not in compared and (name in a.numbers[cell_a] or name in b.numbers[cell_b])
        ]
    in_a, in_b = {cell for cell, _ in both}, {cell for _, cell in both}
    return Difference(
        margin_percent=margin_percent,
        ignored=tuple(ignored),
        rows=tuple(rows),
        cells=len(both),
        only_a=tuple(cell for cell in a.numbers if cell not in in_a),
        only_b=tuple(cell for cell in b.numbers if cell not in in_b),
        not_compared=tuple(not_compared),
    )


def _rows(
    metric: Metric, both: Sequence[tuple[Cell, Cell]], a: Figures, b: Figures, margin_percent: float
) -> list[CellDifference]:
    sides = [
        (cell_b, a.numbers[cell_a][metric.name], b.numbers[cell_b][metric.name])
        for cell_a, cell_b in both
        if metric.name in a.numbers[cell_a] and metric.name in b.numbers[cell_b]
    ]
    differences = [independent_difference(x, y) for _, x, y in sides]
    ratios = [independent_ratio(x, y) for _, x, y in sides]
    # Without any spread there is no test, and no finding that could be a mistake.
    adjusted = holm([each.p for each in differences])
    summaries_a = describe_all([x for _, x, _ in sides])
    summaries_b = describe_all([y for _, _, y in sides])
    return [
        CellDifference(
            cell,
            metric,
            of_a,
            of_b,
            diff,
            ratio,
            p,
            independent_equivalence(ratio, margin_percent),
            sorted(x) == sorted(y),
        )
        for (cell, x, y), of_a, of_b, diff, ratio, p in zip(
            sides, summaries_a, summaries_b, differences, ratios, adjusted, strict=True
        )
    ]


def changes(a: Figures, b: Figures, metric: str, ignored: Sequence[str]) -> dict[Cell, CellDifference]:
    """The change of one metric from `a` to `b`, by cell of `b`, where both results have the metric."""
    rows = _rows(METRICS[metric], matching(a, b, ignored), a, b, MARGIN_PERCENT)
    return {row.cell: row for row in rows}
