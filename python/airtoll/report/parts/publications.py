"""Published values of a paper beside the measured and the predicted values, point by point."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from airtoll.prediction import (
    AGREES_PERCENT,
    CHANGE_FACTOR,
    Case,
    Gap,
    Target,
    cases_of,
    gap_of,
    target_of,
)
from airtoll.published import Finding, Point, Publication, findings, implied_points, lookup, merged
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.rows import plus_minus, scaled
from airtoll.report.material.section import Lines, Part, Section, of_grids
from airtoll.report.parts import averages
from airtoll.stats import METRICS, Interval, Metric, Summary
from airtoll.study.cell import Cell


@dataclass(frozen=True)
class Beside:
    """A printed value with the measured and predicted values, in the metric's unit (a change: as a ratio to open)."""

    point: Point
    metric: Metric
    of_cells: tuple[Cell, ...]  # `measured` is the value of one cell or the statistic of several
    measured: float
    interval: Interval | None  # 95 % t interval of one cell or of an average over one factor
    expected: float | None

    @property
    def published(self) -> float:
        """The printed value in the same unit."""
        value = float(self.point.standard_value)
        return value if self.point.change is not None else value / self.metric.scale

    @property
    def percent(self) -> float | None:
        """The deviation of the measured value from the printed value, in percent."""
        return 100 * (self.measured / self.published - 1) if self.published else None


@dataclass(frozen=True)
class BesidePublication:
    """Everything a report contains about the paper that its study repeats."""

    data: ReportData
    publication: Publication

    @staticmethod
    @lru_cache(maxsize=1)
    def of(data: ReportData) -> "BesidePublication | None":
        """Compare with the paper that the study repeats; None if it repeats none."""
        return None if data.publication is None else BesidePublication(data, data.publication)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The paper's own points, without quoted ones; printed points come before implied points."""
        return tuple(p for p in (*self.publication.points, *implied_points(self.publication)) if not p.quoted)

    @cached_property
    def beside(self) -> tuple[Beside, ...]:
        """The points that this study measured. PHY rates are excluded: they are settings here, not measurements."""
        found = (
            self._beside(point)
            for point in self.points
            if point.metric in METRICS and point.metric != "phy_rate"
        )
        return tuple(one for one in found if one is not None)

    @cached_property
    def inconsistencies(self) -> tuple[Finding, ...]:
        """Inconsistencies in the paper's own arithmetic."""
        return tuple(finding for finding in findings(self.publication) if not finding.consistent)

    def marks(self, metric: str) -> dict[Cell, float]:
        """The printed values of single cells, in the metric's unit, for figures."""
        found: dict[Cell, float] = {}
        for point in reversed(self.points):  # printed values overwrite implied values
            if point.metric == metric and point.change is None and not point.over:
                agreeing = [cell for cell in self.data.means(metric) if self._is_of(point, cell)]
                if len(agreeing) == 1:
                    found[agreeing[0]] = float(point.standard_value) / METRICS[metric].scale
        return found

    def change_marks(self, metric: str) -> dict[Cell, float]:
        """The printed changes of single cells from the open network, in percent, for figures."""
        found: dict[Cell, float] = {}
        for point in reversed(self.points):  # printed values overwrite implied values
            if point.metric == metric and point.change is not None and not point.over:
                cells = (cell for cell in self._changes(metric) if self._is_of(point, cell))
                found |= dict.fromkeys(cells, 100 * (float(point.standard_value) - 1))
        return found

    @cached_property
    def printed_averages(self) -> Mapping[averages.AverageKey, str]:
        """The printed averages over one factor as text, by cells and metric."""
        over = averages.over(self.data)
        found: dict[averages.AverageKey, str] = {}
        for cell, name in self._averages:
            for point in reversed(self.points):
                if (
                    point.metric == name
                    and point.over == (over,)
                    and point.change is None
                    and point.statistic in (None, "mean")
                    and self._is_of(point, cell, but=over)
                ):
                    found[cell, name] = printed(point, METRICS[name])
        return found

    @cached_property
    def _averages(self) -> dict[averages.AverageKey, Summary]:
        return averages.averages(self.data)

    def _beside(self, point: Point) -> Beside | None:
        measured = self._changes(point.metric) if point.change is not None else self.data.means(point.metric)
        values = {cell: measured[cell] for cell in self._cells_of(point, measured)}
        if not values:
            return None
        expected = [
            self.data.expected[cell, point.metric].value
            for cell in values
            if point.change is None and (cell, point.metric) in self.data.expected
        ]
        return Beside(
            point,
            METRICS[point.metric],
            tuple(values),
            merged(point, values.values()),
            self._interval(point, list(values)),
            merged(point, expected) if len(expected) == len(values) else None,
        )

    def _cells_of(self, point: Point, cells: Collection[Cell]) -> tuple[Cell, ...]:
        of_paper = [cell for cell in cells if is_of_paper(self.data, cell, point.metric)]
        return lookup.cells_of(point, of_paper)

    @cached_property
    def gaps(self) -> Mapping[str, Gap]:
        """The gap between the air alone and each published value, by the value's id, if the medium predicts it."""
        model, cases = self.data.model, self.data.cases
        found: list[tuple[Target, list[Case]]] = []
        for one in self.beside:
            of_point = one.of_cells
            if one.published and not any(cell.unknown for cell in of_point):
                of_cells = [cases.get(cell) or model.case(cell) for cell in of_point]
                found.append((target_of(one.point, of_point), of_cells))
        model.all(case for target, of_cells in found for case in cases_of(target, of_cells))
        gaps = (gap_of(model, target, of_cells) for target, of_cells in found)
        return {gap.target.point.id: gap for gap in gaps if gap is not None and gap.target.point is not None}

    def explanation(self, one: Beside) -> str:
        """The mechanisms that explain a published value, or "not explained"."""
        gap = self.gaps.get(one.point.id)
        if gap is not None:
            return gap.explanation(one.measured, one.interval)
        near = one.percent is not None and abs(one.percent) <= AGREES_PERCENT
        return "as published" if near else "not explained"

    def _interval(self, point: Point, cells: Sequence[Cell]) -> Interval | None:
        if len(cells) == 1:
            if point.change is not None:
                return self.data.pairs[cells[0], point.metric].ratio.ci95_t
            return self.data.summaries[cells[0], point.metric].summary.ci95_t
        over = averages.over(self.data)
        if over is None or point.over != (over,) or point.change is not None:
            return None
        groups = {averages.without(cell, over) for cell in cells}
        if len(groups) > 1 or point.statistic not in (None, "mean"):
            return None
        average = self._averages.get((groups.pop(), point.metric))
        return average.ci95_t if average else None

    def _is_of(self, point: Point, cell: Cell, but: str | None = None) -> bool:
        """Whether a point belongs to a cell, ignoring the factor `but`."""
        levels = cell.model_dump(exclude={"lab", but or "lab"})
        return is_of_paper(self.data, cell, point.metric) and point.condition.agrees(levels)

    def _changes(self, metric: str) -> Mapping[Cell, float]:
        return {
            row.cell: row.ratio.ratio
            for row in self.data.comparison.pairs
            if row.metric == metric and row.ratio.ratio is not None
        }

    def grid(self) -> Grid:
        """The published values beside the measured and the predicted values."""
        columns: dict[str, Callable[[Beside], str]] = {
            "Figure": lambda one: one.point.figure or one.point.place,
            "Condition": lambda one: (
                condition(self.data, one) + (f" ({len(one.of_cells)} cells)" if len(one.of_cells) > 1 else "")
            ),
            "Metric": lambda one: f"{one.metric.short}, {one.metric.display_unit}",
            "Published": _published,
            f"{self.data.obtained.capitalize()} here": _measured,
            "Model": lambda one: shown(one, one.expected),
            "Deviation": lambda one: text.signed_percent(one.percent, 1),
            "Explained by": self.explanation,
        }
        if not (modelled := any(one.expected is not None for one in self.beside)):
            del columns["Model"]
        return Grid.of(
            "published",
            f"{self.publication.byline}: published and {self.data.obtained}",
            f"The published values beside the values {self.data.obtained} here"
            + (" and the model's predictions of the same cells." if modelled else ".")
            + f" Deviation: the {self.data.obtained} value compared with the published value. The hardware, location "
            "and year differ, so disagreement does not mean that either value is wrong. Explained by: the mechanisms "
            f"of this study that lead from the air alone to a value within {AGREES_PERCENT:g} % of the published one, "
            f"or to a change within a factor of {CHANGE_FACTOR:g}; a rate that the air alone cannot carry, or carries "
            "more than twice, is named.",
            self.beside,
            columns,
            words=3,
        )


def is_of_paper(data: ReportData, cell: Cell, metric: str) -> bool:
    """Whether a paper's values of a metric refer to the cell of this result."""
    return lookup.is_of_paper(cell, metric, _places(data))


@lru_cache(maxsize=1)
def _places(data: ReportData) -> frozenset[str]:
    return frozenset(run.run.cell.crypto_at for run in data.runs)


def printed(point: Point, metric: Metric) -> str:
    """A printed value and its uncertainty in the metric's display unit; the printed digits stay if the unit does."""
    value = float(point.value)
    scale = float(point.standard_value) / value if value else 1.0

    def number(of: object) -> str:
        return str(of) if scale == 1 else text.number(float(str(of)) * scale, metric.decimals)

    uncertainty = "" if point.uncertainty is None else f"\N{PLUS-MINUS SIGN} {number(point.uncertainty)}"
    return text.joined(number(point.value), uncertainty)


def _published(one: Beside) -> str:
    if one.point.change is not None or one.point.implied is not None:
        return shown(one, one.published)
    return text.joined("about" if one.point.approximate else "", printed(one.point, one.metric))


def _measured(one: Beside) -> str:
    value = shown(one, one.measured)
    if one.interval is None or one.point.change is not None:
        return value
    return text.joined(value, plus_minus(scaled(one.interval, one.metric), one.metric.decimals))


def shown(one: Beside, value: float | None) -> str:
    """A value as text; a change in percent of open."""
    if value is None:
        return text.MISSING
    if one.point.change is not None:
        return text.signed_percent(100 * (value - 1))
    return text.number(one.metric.display(value), one.metric.decimals)


def condition(data: ReportData, one: Beside) -> str:
    """The condition of a printed value as text, by the factors that vary in the study."""
    levels = one.point.condition.given()
    words = [text.factor(name, level) for name, level in levels.items() if name not in data.fixed]
    factors = text.listing(f"{name.replace('_', ' ')}s" for name in one.point.over)
    over = f"{one.point.statistic or 'mean'} over {factors}" if one.point.over else ""
    implied = "implied" if one.point.implied else ""
    return (
        ", ".join(part for part in (" ".join(words), one.point.subject or "", over, implied) if part) or "all"
    )


def _averages(data: ReportData) -> Iterator[Section]:
    """The averages, beside the averages that the paper prints."""
    paper = BesidePublication.of(data)
    yield from of_grids("averages", averages.grids(data, paper.printed_averages if paper else {}))


def _source(data: ReportData) -> Iterator[Section]:
    if paper := BesidePublication.of(data):
        yield Section("published", "", (paper.publication.source,))


def _values(data: ReportData) -> Iterator[Section]:
    if paper := BesidePublication.of(data):
        yield from of_grids("published", [paper.grid()])


def _inconsistencies(data: ReportData) -> Iterator[Section]:
    paper = BesidePublication.of(data)
    if paper and (found := paper.inconsistencies):
        title = f"Inconsistencies in the paper's own numbers ({len(found)})"
        lines = tuple(f"{f'{each.place}: ' if each.place else ''}{each.text}" for each in found)
        yield Section("published", title, (Lines(lines),), folded=True)


SECTIONS: Final = (
    Part(50, _averages, ("html", "markdown", "latex")),
    Part(60, _source, ("html",)),
    Part(61, _values, ("html", "markdown", "latex")),
    Part(63, _inconsistencies, ("html",)),
)
