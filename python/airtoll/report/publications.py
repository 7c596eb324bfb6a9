"""What a paper printed beside what was measured here and what the model predicts, point by point."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Final

from airtoll.model import CardFit, CardPoint, fit_card
from airtoll.published import Finding, Point, Publication, findings, implied_points, names, published
from airtoll.report import text
from airtoll.report.data import ReportData
from airtoll.stats import METRICS, Metric
from airtoll.study.cell import Cell

_STATISTICS: Final[Mapping[str, Callable[[Collection[float]], float]]] = {
    "mean": fmean,
    "maximum": max,
    "minimum": min,
    "below": max,
    "at-least": min,
}
"""How the values of several cells become the one that a point is of."""

CARD_METRICS: Final = ("throughput", "rtt")


@dataclass(frozen=True)
class Beside:
    """A printed number, and what stands beside it, in the metric's unit; of a change, as a multiple of open."""

    point: Point
    metric: Metric
    cells: int  # of which `measured` is a value or a mean
    measured: float
    expected: float | None

    @property
    def published(self) -> float:
        """The printed number in the same unit."""
        value = float(self.point.standard_value)
        return value if self.point.change is not None else value / self.metric.scale

    @property
    def percent(self) -> float | None:
        """How far the measured value is from the printed one."""
        return 100 * (self.measured / self.published - 1) if self.published else None


@dataclass(frozen=True)
class BesidePublication:
    """All that a report says of the paper whose study it is of."""

    data: ReportData
    publication: Publication

    @classmethod
    def of(cls, data: ReportData) -> "BesidePublication | None":
        """The paper of the study's name; None if there is none."""
        return cls(data, published(data.study)) if data.study in names() else None

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The paper's own, printed before implied."""
        return tuple(p for p in (*self.publication.points, *implied_points(self.publication)) if not p.quoted)

    @cached_property
    def beside(self) -> tuple[Beside, ...]:
        """The points of which this study has something to show."""
        found = (self._beside(point) for point in self.points if point.metric in METRICS)
        return tuple(one for one in found if one is not None)

    @cached_property
    def inconsistencies(self) -> tuple[Finding, ...]:
        """What does not hold in the paper's own arithmetic."""
        return tuple(finding for finding in findings(self.publication) if not finding.consistent)

    @cached_property
    def cards(self) -> Mapping[str, CardFit]:
        """The processor that explains half of the paper's pairs of a metric best, by metric."""
        fits = {name: fit_card(_card_points(self.points, name)) for name in CARD_METRICS}
        return {name: fit for name, fit in fits.items() if fit is not None}

    def marks(self, metric: str) -> dict[Cell, float]:
        """The printed values of single cells, in the metric's unit, for figures."""
        found: dict[Cell, float] = {}
        for point in reversed(self.points):  # what is printed goes before what is implied
            if point.metric == metric and point.change is None and not point.over:
                agreeing = [cell for cell in self._means(metric) if point.condition.agrees(_levels(cell))]
                if len(agreeing) == 1:
                    found[agreeing[0]] = float(point.standard_value) / METRICS[metric].scale
        return found

    def _beside(self, point: Point) -> Beside | None:
        measured = self._changes(point.metric) if point.change is not None else self._means(point.metric)
        values = {cell: value for cell, value in measured.items() if self._is_of(point, cell)}
        if not values:
            return None
        expected = [
            self.data.expected[cell, point.metric].value
            for cell in values
            if point.change is None and (cell, point.metric) in self.data.expected
        ]
        merge = _STATISTICS[point.statistic or "mean"]
        return Beside(
            point,
            METRICS[point.metric],
            len(values),
            merge(values.values()),
            merge(expected) if len(expected) == len(values) else None,
        )

    def _is_of(self, point: Point, cell: Cell) -> bool:
        return point.condition.agrees(_levels(cell))

    def _means(self, metric: str) -> Mapping[Cell, float]:
        return {
            row.cell: row.summary.mean
            for row in self.data.comparison.cells
            if row.metric == metric and row.summary.mean is not None
        }

    def _changes(self, metric: str) -> Mapping[Cell, float]:
        return {
            row.cell: row.ratio.ratio
            for row in self.data.comparison.pairs
            if row.metric == metric and row.ratio.ratio is not None
        }


def shown(one: Beside, value: float | None) -> str:
    """A value of the line as words; of a change, as a percent of open."""
    if value is None:
        return text.MISSING
    if one.point.change is not None:
        return text.number(100 * (value - 1), 2, sign=True) + " %"
    return text.number(one.metric.display(value), one.metric.decimals)


def condition(one: Beside) -> str:
    """What a printed number is of, in words."""
    levels = one.point.condition.given()
    words = [text.factor(name, level) for name, level in levels.items() if name not in ("phy", "topology")]
    over = f"{one.point.statistic or 'mean'} over {text.listing(one.point.over)}" if one.point.over else ""
    implied = "implied" if one.point.implied else ""
    return ", ".join(part for part in (" ".join(words), one.point.subject or "", over, implied) if part)


def _levels(cell: Cell) -> dict[str, Any]:
    return cell.model_dump(exclude={"lab"})


def _card_points(points: Sequence[Point], metric: str) -> list[CardPoint]:
    """Pairs of values, open and secured, that are alike in all else."""
    values = [
        p
        for p in points
        if p.metric == metric and p.change is None and not p.over and p.condition.packet_size
    ]
    opened = {_but_security(p): p for p in reversed(values) if p.condition.security == "open"}
    made: dict[str, CardPoint] = {}
    of = CardPoint.of_throughput if metric == "throughput" else CardPoint.of_rtt
    for point in reversed(values):
        plain = opened.get(_but_security(point))
        if plain is None or point.condition.security in (None, "open"):
            continue
        size = point.condition.packet_size or 0
        name = f"{point.condition.transport or ''} {point.condition.ip or ''} {size} B".strip()
        made[name] = of(name, size, float(plain.standard_value), float(point.standard_value))
    return list(made.values())


def _but_security(point: Point) -> tuple[Any, ...]:
    levels = point.condition.model_copy(update={"security": None}).given()
    return tuple(sorted((name, str(level)) for name, level in levels.items()))
