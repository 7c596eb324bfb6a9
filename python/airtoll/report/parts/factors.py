"""Comparisons of the levels of every factor other than security, over all pairs of cells that differ only in it."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Part, of_grids
from airtoll.report.parts.matching import Change, change_of
from airtoll.report.parts.statements import FactorLevels, Statement
from airtoll.stats import Metric, holm
from airtoll.study.factors import FACTORS, level_order

_GROUPED: Final = ("transport", "security")
"""The factors whose levels have rows of their own: their changes may be of another kind."""


def grids(data: ReportData) -> Iterator[Grid]:
    """One table per factor with at least two levels: every level against the lowest or first one."""
    cells = [run.run.cell for run in data.counting]
    for factor in FACTORS:
        levels = sorted({getattr(cell, factor) for cell in cells}, key=_order)
        if factor != "security" and len(levels) > 1:
            grid = _grid(data, factor, levels)
            if grid.rows:
                yield grid


def _order(level: str | float) -> tuple[bool, Any]:
    return (True, text.natural(level)) if isinstance(level, str) else level_order(level)


def _grid(data: ReportData, factor: str, levels: list[Any]) -> Grid:
    first = levels[0]
    metrics = [metric for metric in data.metrics if metric.main]
    tested = [
        (metric, level, group, _change(data, metric, factor, level, first, group))
        for metric in metrics
        for group in _groups(data, metric, factor)
        for level in levels[1:]
    ]
    tested = [one for one in tested if one[-1].value is not None]
    by_metric: dict[str, list[int]] = defaultdict(list)
    for place, (metric, *_) in enumerate(tested):
        by_metric[metric.name].append(place)
    p_holm: dict[int, float | None] = {}
    for places in by_metric.values():
        p_holm.update(zip(places, holm([tested[place][-1].p for place in places]), strict=True))
    reference = text.factor(factor, first)
    rows = tuple(
        (
            metric.title,
            text.factor(factor, level),
            ", ".join(text.factor(*each) for each in group) or "all cells",
            change.words(),
            str(change.cells),
            text.p_value(p_holm[place], change.interval),
        )
        for place, (metric, level, group, change) in enumerate(tested)
    )
    resolved = sum(one[-1].resolved(p_holm[place]) for place, one in enumerate(tested))
    return Grid(
        f"factor-{factor.replace('_', '-')}",
        f"{FACTORS[factor].several}, against {reference}",
        f"{_summary(data, metrics, factor, first, levels[-1])} {resolved} of {text.counted(len(rows), 'change')} "
        f"{'is' if resolved == 1 else 'are'} significant at 5 %. A change is the mean over all pairs of cells that "
        "differ only in this factor, compared within rounds; p is corrected for all changes of the metric (Holm).",
        ("Metric", "Level", "Cells", "Change [95 % CI]", "Pairs", "p (Holm)"),
        rows,
        words=3,
    )


def _groups(data: ReportData, metric: Metric, factor: str) -> list[FactorLevels]:
    """The combinations of levels that have rows of their own, in the order of reports."""
    cells = list(data.means(metric.name))
    several = [
        name for name in _GROUPED if name != factor and len({getattr(cell, name) for cell in cells}) > 1
    ]
    found = dict.fromkeys(tuple((name, getattr(cell, name)) for name in several) for cell in cells)
    places = {level: place for place, level in enumerate(data.comparison.levels)}
    return sorted(found, key=lambda group: [places.get(level, level) for _, level in group])


def _change(
    data: ReportData, metric: Metric, factor: str, level: Any, first: Any, group: FactorLevels
) -> Change:
    statement = Statement(metric, ((factor, level, first),), group, metric.better)
    values = data.by_round[metric.name]
    return change_of(statement, values, relative=metric.relative, in_sessions=data.in_sessions)


def _summary(data: ReportData, metrics: list[Metric], factor: str, first: Any, last: Any) -> str:
    """The mean change of each main metric over all cells, from the first to the last level."""
    changes = [(metric, _change(data, metric, factor, last, first, ())) for metric in metrics]
    told = [
        f"{text.within(metric.title)} {change.words()}"
        for metric, change in changes
        if change.value is not None
    ]
    return f"{text.factor(factor, last)} against {text.factor(factor, first)}, over all cells: {'; '.join(told)}."


SECTIONS: Final = (Part(34, lambda data: of_grids("comparison", grids(data), folded=True)),)
