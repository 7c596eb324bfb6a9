"""Averages over all rates or packet sizes with their intervals, as in Pacheco et al., Table I.

Each round gives one average over the rates, and the interval is over rounds. A round that lacks a rate gives no
average.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Final

from airtoll.report.charts.forms import Axis, axis, by_security, panel
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.rows import plus_minus, scaled
from airtoll.stats import METRICS, Metric, Summary, describe_all
from airtoll.study.cell import Cell

_LEAST: Final = 3  # an average over fewer levels is meaningless

AverageKey = tuple[Cell, str]
"""A cell whose averaged factor has the level `ANY`, and a metric."""

ANY: Final[dict[str, object]] = {"packet_size": 0, "rate": "", "offered": "max"}


def over(data: ReportData) -> Axis | None:
    """The factor to average over: the axis of the figures, if it has enough levels."""
    against = axis(data)
    if against == "security":
        return None
    levels = {getattr(run.run.cell, against) for run in data.runs}
    return against if len(levels) >= _LEAST else None


def averages(data: ReportData) -> dict[AverageKey, Summary]:
    """The average of each main metric over rounds, in the metric's unit."""
    against = over(data)
    if against is None:
        return {}
    values: dict[AverageKey, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    levels: dict[Cell, set[Cell]] = defaultdict(set)
    for run in data.runs:
        levels[without(run.run.cell, against)].add(run.run.cell)
    for name, cells in data.by_round.items():
        if name in METRICS and METRICS[name].main:
            for cell, rounds in cells.items():
                for one, value in rounds.items():
                    values[without(cell, against), name][one].append(value)
    means = [
        [fmean(of_all) for of_all in of_key.values() if len(of_all) == len(levels[cell])]
        for (cell, _), of_key in values.items()
    ]
    return {key: summary for key, summary in zip(values, describe_all(means), strict=True) if summary.n}


def without(cell: Cell, against: Axis) -> Cell:
    """The cell with the level `ANY` of a factor."""
    return cell.model_copy(update={against: ANY[against]})


def words(summary: Summary | None, metric: Metric) -> str:
    """The average and the half-width of its interval."""
    if summary is None or summary.mean is None:
        return text.MISSING
    mean = text.number(metric.display(summary.mean), metric.decimals)
    return text.joined(mean, plus_minus(scaled(summary.ci95_t, metric), metric.decimals))


def grids(data: ReportData, printed: Mapping[AverageKey, str]) -> Iterator[Grid]:
    """One row per metric and chart, one column per level, with the printed average beside it if there is one.

    Yields no table if there is no average.
    """
    against, found = over(data), averages(data)
    if against is None or not found:
        return
    levels = data.comparison.levels
    beside = {
        cell.security for cell, name in printed if (cell, name) in found
    }  # levels with a printed average
    columns = ["Metric", "Series"]
    for level in levels:
        columns.append(text.level(level))
        if level in beside:
            columns.append("published")
    order = {name: place for place, name in enumerate(METRICS)}
    cells = (without(cell.cell, against) for cell in data.comparison.cells)  # in the order of reports
    flows = dict.fromkeys(cell.model_copy(update={"security": levels[0]}) for cell in cells)
    known = {(cell.model_copy(update={"security": levels[0]}), name) for cell, name in found}
    groups = ((flow, name) for flow in flows for name in METRICS if (flow, name) in known)
    rows = []
    for cell, name in sorted(groups, key=lambda group: order[group[1]]):
        metric = METRICS[name]
        of_what = f"{panel(data, cell, against, by_security(data))}, {text.factor('ip', cell.ip)}"
        line = [f"{metric.title}, {metric.display_unit}", of_what]
        for level in levels:
            key = cell.model_copy(update={"security": level}), name
            line.append(words(found.get(key), metric))
            if level in beside:
                line.append(printed.get(key, text.MISSING))
        rows.append(tuple(line))
    count = len({getattr(run.run.cell, against) for run in data.runs})
    yield Grid(
        "averages",
        f"Averages over all {_PLURALS[against]}",
        f"Means over {count} {_PLURALS[against]} and over {data.units} \N{PLUS-MINUS SIGN} half of the 95 % confidence "
        f"interval (Student's t) over {data.units}.",
        tuple(columns),
        tuple(rows),
        words=2,
    )


_PLURALS: Final[dict[Axis, str]] = {
    "packet_size": "packet sizes",
    "rate": "PHY rates",
    "offered": "loads",
}
