"""Published figures as functions of simulated cells."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean
from typing import Final

from airtoll.prediction.predictions import Case, Predictions
from airtoll.published import Point, Publication, cells_of, implied_points, merged
from airtoll.stats import METRICS
from airtoll.study.cell import Cell
from airtoll.study.contract import KEYS
from airtoll.study.factors import FACTORS

Settings = Mapping[str, float | None]
"""Settings of [link], or levels of factors, that replace those of a study; None: the key is not set."""

AGREES_PERCENT: Final = 10.0
"""A prediction within this limit of the published value agrees with it."""

_LEAST_SHARE: Final = 0.01
"""A prediction below this share of the published value counts as this share, so that its logarithm is finite."""


@dataclass(frozen=True)
class Target:
    """A published figure: the statistic of the predictions of some cells, or of their ratios to the open network."""

    name: str
    metric: str
    value: float  # in the metric's unit; with `to_open`, a ratio
    cells: tuple[Cell, ...]
    merge: Callable[[Collection[float]], float]
    to_open: bool = False
    point: Point | None = None

    def cases(self, predictions: Predictions, settings: Settings) -> list[Case]:
        """The cases to predict with these settings."""
        return self.with_open([_with(predictions.case(cell), settings) for cell in self.cells])

    def with_open(self, cases: Sequence[Case]) -> list[Case]:
        """These cases of the figure's cells, and the open cases that the figure compares them with."""
        return [*cases, *(case.with_cell(security="open") for case in cases if self.to_open)]

    def predicted(self, predictions: Predictions, settings: Settings) -> float | None:
        """The prediction with these settings; None if the medium does not predict the metric of a cell."""
        return self._value(predictions, self.cases(predictions, settings))

    def value_of(self, predictions: Predictions, cases: Sequence[Case]) -> float | None:
        """The prediction from these cases of the figure's cells; None as in `predicted`."""
        return self._value(predictions, self.with_open(cases))

    def _value(self, predictions: Predictions, cases: Sequence[Case]) -> float | None:
        values = [predictions[case].values.get(self.metric) for case in cases]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        if self.to_open:
            half = len(self.cells)
            if 0.0 in known[half:]:
                return None
            known = [secured / plain for secured, plain in zip(known[:half], known[half:], strict=True)]
        return self.merge(known)

    def shown(self, value: float) -> float:
        """A value in the metric's display unit; a ratio to open as a change in percent."""
        return 100 * (value - 1) if self.to_open else METRICS[self.metric].display(value)

    @property
    def unit(self) -> str:
        """The unit of `shown`."""
        return "% of open" if self.to_open else METRICS[self.metric].display_unit


def _with(case: Case, settings: Settings) -> Case:
    link = {
        name: _whole(name, value) for name, value in settings.items() if name in KEYS and name not in FACTORS
    }
    levels = {name: value for name, value in settings.items() if name in FACTORS and value is not None}
    return case.with_link(**link).with_cell(**levels) if levels else case.with_link(**link)


def _whole(name: str, value: float | None) -> float | int | None:
    kind = KEYS[name].values.kind
    return round(value) if value is not None and kind in ("integer", "whole quantity") else value


def targets_of(
    publication: Publication, cells: Collection[Cell], metrics: Collection[str] | None = None
) -> tuple[Target, ...]:
    """The publication's own figures of these cells, sorted by kind. A figure that is printed twice counts once.

    Decreases are relative to the open network. Where a printed and an implied figure have one condition, the printed
    figure counts. Extremes over a factor repeat the figure of one cell. `metrics` selects some metrics.
    """
    found: dict[tuple[object, ...], Target] = {}
    for point in (*publication.points, *implied_points(publication)):
        if not is_target(point):
            continue
        if metrics is not None and point.metric not in metrics:
            continue
        agreeing = cells_of(point, cells)
        is_extreme = point.over and point.change is None and point.statistic not in (None, "mean")
        if agreeing and not is_extreme and (point.over or len(agreeing) == 1):
            key = (point.metric, point.change, point.statistic, agreeing)
            found.setdefault(key, target_of(point, agreeing))
    return tuple(sorted(found.values(), key=_order))


def is_target(point: Point) -> bool:
    """Whether a number is a measurement of the publication's own. A PHY rate is a setting here; 0 has no ratio."""
    is_measured = point.metric in METRICS and point.metric != "phy_rate"
    return is_measured and not point.quoted and float(point.standard_value) != 0


def _order(target: Target) -> tuple[object, ...]:
    """The kind of a figure, then its packet size and its name."""
    first = target.cells[0]
    kind = (target.metric, target.to_open, first.transport, first.phy, first.security, first.ip)
    return *kind, first.packet_size, target.name


def target_of(point: Point, cells: tuple[Cell, ...]) -> Target:
    """The figure of these cells."""
    metric = METRICS[point.metric]
    value = float(point.standard_value)
    over = f", {point.statistic or 'mean'} over {' and '.join(point.over)}" if point.over else ""
    change = f" {point.change} than open" if point.change else ""
    return Target(
        f"{point.metric}{change}: {point.condition.text()}{over}",
        point.metric,
        value if point.change else value / metric.scale,
        cells,
        lambda values: merged(point, values),
        to_open=point.change is not None,
        point=point,
    )


@dataclass(frozen=True)
class Residual:
    """A published figure and its prediction."""

    target: Target
    predicted: float

    @property
    def log_error(self) -> float:
        """The logarithm of predicted / published."""
        return log(max(self.predicted / self.target.value, _LEAST_SHARE))

    @property
    def error_percent(self) -> float:
        """The deviation of the prediction from the published figure, in percent."""
        return 100 * (self.predicted / self.target.value - 1)


def rms_percent(residuals: Collection[Residual]) -> float:
    """The root mean square of relative errors in percent; the residuals must not be empty."""
    return 100 * (exp(sqrt(sum(each.log_error**2 for each in residuals) / len(residuals))) - 1)


def mean_percent(residuals: Sequence[Residual]) -> float:
    """The mean of the relative errors without their signs, in percent; the residuals must not be empty."""
    return fmean(abs(each.error_percent) for each in residuals)
