"""The largest differences between levels, in sentences like those of the papers, in both conventions of percent.

The percentage of a difference refers to the larger or to the smaller of two values; papers rarely say to which.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.section import Lines, Part, Section
from airtoll.report.parts.averages import ANY
from airtoll.stats import METRICS, Metric
from airtoll.study.cell import Cell

Compared = Literal["security", "ip", "stack"]

COMPARED: Final[tuple[Compared, ...]] = ("security", "ip", "stack")
"""The factors whose levels the papers compare."""

METRICS_COMPARED: Final = tuple(name for name, metric in METRICS.items() if metric.extreme)


@dataclass(frozen=True)
class Extreme:
    """The largest difference between two levels of a factor, over packet sizes, rates and loads."""

    metric: Metric
    factor: Compared
    first: Cell
    second: Cell
    first_mean: float  # in the metric's unit
    second_mean: float

    @property
    def difference(self) -> float:
        """The absolute difference of the two means."""
        return abs(self.second_mean - self.first_mean)

    @property
    def percent_of_larger(self) -> float | None:
        """The difference in percent of the larger mean."""
        larger = max(self.first_mean, self.second_mean)
        return 100 * self.difference / larger if larger > 0 else None

    @property
    def percent_of_smaller(self) -> float | None:
        """The difference in percent of the smaller mean."""
        smaller = min(self.first_mean, self.second_mean)
        return 100 * self.difference / smaller if smaller > 0 else None


def extremes(data: ReportData) -> tuple[Extreme, ...]:
    """The largest differences of each metric and factor; security levels are compared with the baseline level."""
    return tuple(
        extreme
        for name in METRICS_COMPARED
        for factor in COMPARED
        for extreme in _of(METRICS[name], factor, data.means(name), data.comparison.baseline)
    )


def _of(
    metric: Metric, factor: Compared, means: Mapping[Cell, float], baseline: str | None
) -> Iterator[Extreme]:
    levels = list(dict.fromkeys(getattr(cell, factor) for cell in means))
    if factor == "security":
        levels = [level for level in levels if level == baseline] + [x for x in levels if x != baseline]
    first_level, others = levels[:1], levels[1:]
    largest: dict[Cell, Extreme] = {}
    for cell, mean in means.items():
        if getattr(cell, factor) not in first_level:
            continue
        for level in others:
            other = cell.model_copy(update={factor: level})
            if other not in means:
                continue
            found = Extreme(metric, factor, cell, other, mean, means[other])
            if not found.difference:
                continue
            group = other.model_copy(update=dict(ANY))
            if group not in largest or found.difference > largest[group].difference:
                largest[group] = found
    yield from largest.values()


def by_metric(data: ReportData) -> dict[str, list[str]]:
    """The sentences, by the metric's title and unit."""
    found: dict[str, list[str]] = {}
    for extreme in extremes(data):
        title = f"{extreme.metric.title}, {extreme.metric.display_unit}"
        found.setdefault(title, []).append(sentence(data, extreme))
    return found


def sentence(data: ReportData, extreme: Extreme) -> str:
    """The difference as a sentence, in percent of each of the two means."""
    metric = extreme.metric

    def shown(value: float) -> str:
        return text.number(metric.display(value), metric.decimals)

    def named(cell: Cell) -> str:
        return text.factor(extreme.factor, getattr(cell, extreme.factor))

    flow = data.flow(extreme.first)
    if extreme.factor != "security":  # the compared levels follow the numbers
        flow = f"{flow}, {text.level(extreme.first.security)}"
    head = (
        f"{flow}: {shown(extreme.first_mean)} with {named(extreme.first)}, {shown(extreme.second_mean)} with "
        f"{named(extreme.second)}; difference {shown(extreme.difference)} {metric.change_unit}"
    )
    if not metric.relative or extreme.percent_of_larger is None or extreme.percent_of_smaller is None:
        return f"{head}."
    larger, smaller = (text.number(p, 2) for p in (extreme.percent_of_larger, extreme.percent_of_smaller))
    return f"{head} ({larger} % of the larger value, {smaller} % of the smaller)."


def _section(data: ReportData, *note: str) -> Iterator[Section]:
    if found := by_metric(data):
        lines = (Lines(tuple(lines), title) for title, lines in found.items())
        yield Section("figures", "The largest differences", (*note, *lines), folded=True)


_NOTE: Final = (
    "Largest differences between the means of two levels, over packet sizes, rates and loads, in percent of the larger "
    "and of the smaller value."
)

SECTIONS: Final = (
    Part(15, lambda data: _section(data, _NOTE), ("html",)),
    Part(75, _section, ("markdown",)),  # which folds nothing
)
