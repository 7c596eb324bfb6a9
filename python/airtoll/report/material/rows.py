"""The rows of the comparison, shared by HTML, Markdown, CSV and the terminal."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from airtoll.report.material import text
from airtoll.report.material.data import Expected, ReportData
from airtoll.report.material.grid import Grid
from airtoll.stats import MARGIN_PERCENT, CellSummary, Interval, Metric, PairedRow, Summary, is_significant
from airtoll.study.cell import Cell

Tone = Literal["worse", "better", "unresolved", "none"]


def is_resolved(pair: PairedRow) -> bool:
    """Whether a change is significant after Holm's correction over all changes of its metric."""
    return is_significant(pair.p_holm, pair.difference.ci95_t)


@dataclass(frozen=True)
class Row:
    """One metric of one flow: the baseline level compared with one other level."""

    flow: str
    metric: Metric
    baseline: CellSummary
    other: CellSummary | None  # None if the plan has no other level for this flow
    pair: PairedRow | None

    @property
    def label(self) -> str:
        """The metric, with the unit of the row's figures."""
        return f"{self.metric.title}, {self.metric.display_unit}"

    @property
    def short_label(self) -> str:
        """The short form of `label`."""
        return f"{self.metric.short}, {self.metric.display_unit}"

    @property
    def level(self) -> str:
        """The other level."""
        return text.level(self.other.cell.security) if self.other else text.MISSING

    def mean(self, cell: CellSummary | None) -> str:
        """The mean of one of the two cells."""
        mean = cell.summary.mean if cell else None
        return text.number(None if mean is None else self.metric.display(mean), self.metric.decimals)

    def ci(self, cell: CellSummary | None) -> str:
        """Half-width of the 95 % t interval of the cell's mean, as +-."""
        return plus_minus(scaled(cell.summary.ci95_t, self.metric) if cell else None, self.metric.decimals)

    def sd(self, cell: CellSummary | None) -> str:
        """Standard deviation of the cell."""
        sd = cell.summary.sd if cell else None
        return "" if sd is None else f"sd {text.number(self.metric.display(sd), self.metric.decimals)}"

    @property
    def difference(self) -> str:
        """Mean of the paired differences, other - baseline."""
        mean = self.pair.difference.mean if self.pair else None
        shown = None if mean is None else self.metric.display(mean)
        return text.number(shown, self.metric.decimals, sign=True)

    @property
    def difference_ci(self) -> str:
        """The 95 % t interval of the difference."""
        ci = self.pair.difference.ci95_t if self.pair else None
        return text.interval(scaled(ci, self.metric), self.metric.decimals, sign=True)

    @property
    def change(self) -> str:
        """The paired ratio as a change in percent; missing for metrics in percent."""
        percent = self.pair.ratio.percent if self.pair and self.metric.relative else None
        return text.signed_percent(percent)

    @property
    def change_ci(self) -> str:
        """The 95 % t interval of the change."""
        ci = self.pair.ratio.percent_ci95_t if self.pair and self.metric.relative else None
        return text.percent_interval(ci)

    @property
    def p(self) -> str:
        """The p-value of the difference, uncorrected."""
        return text.p_value(self.pair.p, self.pair.difference.ci95_t) if self.pair else text.MISSING

    @property
    def p_holm(self) -> str:
        """The p-value of the difference, corrected over all pairs of the metric."""
        return text.p_value(self.pair.p_holm, self.pair.difference.ci95_t) if self.pair else text.MISSING

    @property
    def effect(self) -> str:
        """The effect size d_z with Hedges' correction, and its 95 % interval."""
        effect = self.pair.difference.effect if self.pair else None
        if effect is None:
            return text.MISSING
        return text.joined(
            text.number(effect.corrected, 2, sign=True), text.interval(effect.ci95, 2, sign=True)
        )

    @property
    def equivalence(self) -> str:
        """The verdict whether the change is smaller than the margin."""
        equivalence = self.pair.equivalence if self.pair and self.metric.relative else None
        return text.MISSING if equivalence is None else equivalence.verdict

    @property
    def equivalence_ci(self) -> str:
        """The 90 % interval of the change in percent, which decides equivalence."""
        equivalence = self.pair.equivalence if self.pair and self.metric.relative else None
        ci = equivalence.percent_ci90 if equivalence else None
        return text.percent_interval(ci) or text.MISSING

    @property
    def pairs(self) -> str:
        """The number of pairs, and of blocks if some blocks have no pair: "4 of 5"."""
        if self.pair is None:
            return text.MISSING
        n, unpaired = self.pair.difference.n, self.pair.unpaired
        return f"{n} of {n + unpaired}" if unpaired else str(n)

    @property
    def tone(self) -> Tone:
        """Whether security makes the metric worse, according to the interval of the difference."""
        if self.pair is None or self.pair.difference.mean is None:
            return "none"
        ci = self.pair.difference.ci95_t
        if ci is None or ci.contains(0):
            return "unresolved"
        return "better" if (ci.low > 0) == (self.metric.better == "higher") else "worse"

    @property
    def holds(self) -> bool:
        """Whether the change is significant after Holm's correction over all pairs of the metric."""
        return self.pair is not None and is_resolved(self.pair)


RowColumns = dict[str, Callable[[Row], str]]
"""The columns of a table with one line per row: heading, and the text of a row."""


@dataclass(frozen=True)
class Table:
    """The comparison of every flow and metric: typed rows, and the same rows as text."""

    rows: tuple[Row, ...]
    baseline: str | None
    levels: tuple[str, ...]  # besides the baseline

    def means(self, *, spread: bool = True) -> RowColumns:
        """The columns of the means, with the half-widths of their intervals if `spread`."""

        def mean(row: Row, cell: CellSummary | None) -> str:
            return text.joined(row.mean(cell), row.ci(cell) if spread else "")

        baseline = "Mean" if self.baseline is None else text.level(self.baseline)
        columns: RowColumns = {baseline: lambda row: mean(row, row.baseline)}
        if len(self.levels) > 1:
            columns["Security"] = lambda row: row.level
        if self.levels:
            other = "Mean" if len(self.levels) > 1 else text.level(self.levels[0])
            columns[other] = lambda row: mean(row, row.other)
        return columns

    def narrow(self, title: str) -> Grid:
        """The main metrics, narrow enough for 80 columns.

        Each flow begins with a row that has only the name of the flow, in the first column.
        """
        columns: RowColumns = {"Flow, metric": lambda row: f"  {row.short_label}", **self.means(spread=False)}
        if self.levels:
            columns["Difference [95 % CI]"] = lambda row: text.joined(row.difference, row.difference_ci)
            columns["Change"] = lambda row: row.change
        lines: list[tuple[str, ...]] = []
        for flow, rows in self.by_flow(main=True).items():
            lines.append((flow, *[""] * (len(columns) - 1)))
            lines += (tuple(of(row) for of in columns.values()) for row in rows)
        return Grid("comparison", title, "", tuple(columns), tuple(lines))

    @property
    def pairs(self) -> str:
        """The number of pairs per row if it is the same for all rows; empty if rows differ."""
        found = {row.pairs for row in self.rows if row.pair is not None}
        return next(iter(found)) if len(found) == 1 and "of" not in next(iter(found)) else ""

    def by_flow(self, *, main: bool | None = None) -> dict[str, list[Row]]:
        """The rows of each flow, in order. `main` selects only main metrics or only the others."""
        flows: dict[str, list[Row]] = {}
        for row in self.rows:
            if main is None or row.metric.main == main:
                flows.setdefault(row.flow, []).append(row)
        return flows

    def full(self, note: str) -> Grid:
        """All metrics with all intervals, for wide pages."""
        columns: RowColumns = {"Flow": lambda row: row.flow, "Metric": lambda row: row.label, **self.means()}
        if self.levels:
            columns |= {
                "Difference [95 % CI]": lambda row: text.joined(row.difference, row.difference_ci),
                "Change [95 % CI]": lambda row: text.joined(row.change, row.change_ci),
                "p (Holm)": lambda row: row.p_holm,
                "Pairs": lambda row: row.pairs,
            }
        return Grid.of("comparison", "Comparison", note, self.rows, columns, words=2)


def tests(data: ReportData) -> Grid:
    """The statistical tests of each change of a main metric."""
    tested = (
        row
        for row in build(data).rows
        if row.metric.main and row.other is not None and row.pair is not None and row.pair.difference.n > 1
    )
    margin = next(
        (p.equivalence.margin_percent for p in data.comparison.pairs if p.equivalence), MARGIN_PERCENT
    )
    return Grid.of(
        "tests",
        "Tests of every change",
        "p: p-value of the paired t test, unadjusted and adjusted by Holm over all changes of the metric. Effect: d_z, "
        "the mean difference divided by the standard deviation of the differences, with Hedges' correction and a 95 % "
        f"interval. Within {margin:g} %: equivalent if the 90 % interval of the change lies within the margin, "
        "different if its 95 % interval excludes 0, both if both conditions hold, otherwise undecided.",
        tested,
        {
            "Flow": lambda row: row.flow,
            "Metric": lambda row: row.short_label,
            "Security": lambda row: row.level,
            "Change [95 % CI]": lambda row: text.joined(row.change, row.change_ci),
            "p": lambda row: row.p,
            "p (Holm)": lambda row: row.p_holm,
            "Effect [95 % CI]": lambda row: row.effect,
            f"Within {margin:g} %": lambda row: row.equivalence,
            "Change [90 % CI]": lambda row: row.equivalence_ci,
        },
        words=3,
    )


@lru_cache(maxsize=1)
def build(data: ReportData) -> Table:
    """The comparison as rows, ordered by flow, metric and level."""
    comparison, summaries, pairs = data.comparison, data.summaries, data.pairs
    flows: dict[Cell, list[Cell]] = {}  # the flow's cell at the baseline level -> its cells at other levels
    for c in comparison.cells:
        others = flows.setdefault(c.cell.model_copy(update={"security": comparison.baseline}), [])
        if c.cell.security != comparison.baseline and c.cell not in others:
            others.append(c.cell)
    rows: list[Row] = []
    for baseline, cells in flows.items():
        for metric in data.metrics:
            none = CellSummary(baseline, metric.name, Summary(n=0), {})
            of_baseline = summaries.get((baseline, metric.name), none)
            of_others: list[tuple[CellSummary | None, PairedRow | None]] = [
                (summaries[cell, metric.name], pairs.get((cell, metric.name))) for cell in cells
            ]
            rows += [
                Row(data.flow(baseline), metric, of_baseline, other, pair)
                for other, pair in (of_others or [(None, None)])
                if of_baseline.summary.n or (other is not None and other.summary.n)
            ]
    other_levels = tuple(level for level in comparison.levels if level != comparison.baseline)
    return Table(tuple(rows), comparison.baseline, other_levels)


def scaled(ci: Interval | None, metric: Metric) -> Interval | None:
    """The interval in the metric's display unit."""
    return None if ci is None else Interval(metric.display(ci.low), metric.display(ci.high))


def expectation(found: Expected, metric: Metric) -> tuple[str, str]:
    """The model's prediction in the metric's display unit, and the measurement's deviation from it."""
    ratio = found.measured_to_expected
    expected = text.number(metric.display(found.value), metric.decimals)
    off = text.signed_percent(ratio.percent)
    return expected, text.joined(off, text.percent_interval(ratio.percent_ci95_t))


def plus_minus(ci: Interval | None, decimals: int) -> str:
    """The half-width of a symmetric interval, as +-; empty if the interval is unknown."""
    return "" if ci is None else f"\N{PLUS-MINUS SIGN} {text.number(ci.half_width, decimals)}"
