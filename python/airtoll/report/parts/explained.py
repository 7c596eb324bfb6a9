"""The parts of a cost as a waterfall and a table, and the alternatives that would change the cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

import altair as alt

from airtoll.prediction import ATTRIBUTED, PARTS, Alternative, Attribution, alternatives, attribute, chain
from airtoll.prediction.attribution import PartName
from airtoll.report.charts.chart import FIT, named, spec_of
from airtoll.report.charts.forms import axis, in_order, tick
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.rows import build, expectation
from airtoll.report.material.section import Chart, Drawn, Figure, Part, Section, of_grids
from airtoll.stats import METRICS, Metric
from airtoll.study.cell import Cell

PART_TITLES = {
    "aggregation": "lost aggregation",
    "legacy rate": "legacy rate",
    "bytes": "bytes on the air",
    "symbols": "whole symbols",
    "processor": "processor",
    "unexplained": "unexplained",
}

_COLOURS = {
    "aggregation": "#a13d63",
    "legacy rate": "#d98ba8",
    "bytes": "#2f6fb5",
    "symbols": "#9cc3ea",
    "processor": "#c27a00",
    "unexplained": "#808a94",
}
"""Distinguishable on light and dark backgrounds."""

MAX_FLOWS = 8
"""A waterfall of more flows is longer than a screen."""

_BAR_HEIGHT = 9
_GAP = 14


@dataclass(frozen=True)
class Explained:
    """A measured change against the baseline level, split into its causes."""

    cell: Cell
    attribution: Attribution

    @property
    def metric(self) -> Metric:
        """The metric of the change."""
        return METRICS[self.attribution.metric]


@lru_cache(maxsize=1)
def explained_changes(data: ReportData) -> tuple[Explained, ...]:
    """The causes of the changes against the open level, for the metrics in `ATTRIBUTED`.

    Each cell is predicted with a saturating load, so that its throughput is the capacity of the link.
    """
    if not data.cases or data.comparison.baseline != "open":
        return ()
    rows = [
        row
        for row in data.comparison.pairs
        if row.metric in ATTRIBUTED and row.difference.mean is not None and data.is_saturated(row)
    ]
    data.model.all(case for row in rows for case in chain(data.model.case(row.cell)).values())
    means = {metric: data.means(metric) for metric in ATTRIBUTED}
    found = []
    for row in rows:
        start, end = means[row.metric][row.baseline], means[row.metric][row.cell]
        split = attribute(data.model, data.model.case(row.cell), row.metric, start, end)
        if split is not None:
            found.append(Explained(row.cell, split))
    return tuple(found)


def _leading_cells(data: ReportData) -> list[Cell]:
    """For each transport and level except the baseline, the cell with the largest and fastest packets."""
    best: dict[tuple[str, str], tuple[tuple[float, float], Cell]] = {}
    for cell in data.cases:
        expected = data.expected.get((cell, "throughput"))
        key, size = (cell.transport, cell.security), (cell.packet_size, expected.value if expected else 0.0)
        if cell.security != data.comparison.baseline and (key not in best or size > best[key][0]):
            best[key] = size, cell
    return [cell for _, cell in best.values()]


def shown_parts(data: ReportData) -> tuple[PartName, ...]:
    """The parts that at least one cost of the study has, in order."""
    there = {part.name for explained in explained_changes(data) for part in explained.attribution.parts}
    return tuple(name for name in PARTS if name in there)


def splits(data: ReportData) -> Grid:
    """Every cost and its parts, each as a change in the metric's unit and as a percentage of the open value."""
    return Grid.of(
        "explained",
        "Where the cost comes from",
        "The parts of the measured change against open, by the air's timing in virtual time: each change, and in "
        "brackets its percentage of the open value. The parts add up to the measured change.",
        explained_changes(data),
        {
            "Flow": lambda of: data.flow(of.cell),
            "Metric": lambda of: f"{of.metric.short}, {of.metric.display_unit}",
            "Security": lambda of: text.level(of.cell.security),
            "Measured change": lambda of: _amount(of.attribution, of.attribution.change),
            **{_capital(PART_TITLES[name]): partial(_part, name=name) for name in shown_parts(data)},
        },
        words=3,
    )


def _part(explained: Explained, name: PartName) -> str:
    of = explained.attribution
    return next((_amount(of, part.change) for part in of.parts if part.name == name), text.MISSING)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _amount(of: Attribution, change: float) -> str:
    metric = METRICS[of.metric]
    shown = text.number(metric.display(change), metric.decimals, sign=True)
    return f"{shown} ({text.number(_percent(of, change), 2, sign=True)} %)"


def _percent(of: Attribution, change: float) -> float:
    return 100 * change / of.open


def waterfalls(data: ReportData) -> list[Figure]:
    """One chart per metric and level, from open to secured with one step per part; empty if no cost is explained."""
    groups: dict[tuple[str, str], list[Explained]] = {}
    for explained in _drawn(data):
        key = explained.attribution.metric, explained.cell.security
        groups.setdefault(key, []).append(explained)
    charts = tuple(
        _waterfall(data, METRICS[metric], level, group) for (metric, level), group in groups.items()
    )
    some = (
        " Only flows at both ends of the axis are shown; the table has all flows." if _are_many(data) else ""
    )
    caption = (
        "From the open value at 0 to the secured value, one step per part. Bytes: the suite's octets at the PHY rate. "
        "Whole symbols: the difference from the real airtime of these octets, in whole symbols and with fewer MPDUs "
        "per PPDU. Processor: time of the engine or card per frame. Unexplained: the rest of the measured change."
        f"{some}"
    )
    return [Figure("Where the cost comes from", caption, charts)] if charts else []


def _are_many(data: ReportData) -> bool:
    return len({data.flow(explained.cell) for explained in explained_changes(data)}) > MAX_FLOWS


def _drawn(data: ReportData) -> list[Explained]:
    """The costs to draw: all, or those at both ends of the axis if there are many flows."""
    if not _are_many(data):
        return list(explained_changes(data))
    against = axis(data)
    ticks = in_order({tick(against, explained.cell) for explained in explained_changes(data)})
    return [each for each in explained_changes(data) if tick(against, each.cell) in (ticks[0], ticks[-1])]


def _waterfall(data: ReportData, metric: Metric, level: str, group: Sequence[Explained]) -> Chart:
    values = []
    for explained in group:
        of, reached = explained.attribution, 0.0
        for part in of.parts:
            percent = _percent(of, part.change)
            values.append(
                {
                    "flow": data.short_flow(explained.cell),
                    "part": PART_TITLES[part.name],
                    "from": reached,
                    "to": reached + percent,
                    "words": _amount(of, part.change),
                }
            )
            reached += percent
    flows = list(dict.fromkeys(str(value["flow"]) for value in values))
    parts = [PART_TITLES[name] for name in shown_parts(data)]
    colours = [_COLOURS[name] for name in shown_parts(data)]
    title = f"{metric.title}, {text.level(level)}"
    bars = (
        named("values")
        .mark_bar(minBandSize=2)
        .encode(
            x=alt.X("from:Q", title=f"Change of {text.within(metric.title)}, % of open"),
            x2=alt.X2("to:Q"),
            y=alt.Y("flow:N", sort=flows, title=None, scale=alt.Scale(paddingInner=0.25)),
            yOffset=alt.YOffset("part:N", sort=parts, scale=alt.Scale(domain=parts)),
            color=alt.Color("part:N", title="Part", sort=parts, scale=alt.Scale(domain=parts, range=colours)),
            tooltip=[
                alt.Tooltip("flow:N", title="Flow"),
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("words:N", title=f"Change, {metric.display_unit}"),
            ],
        )
    )
    chart = alt.layer(named("zero").mark_rule(style=["zero"]).encode(x=alt.X("zero:Q")), bars).properties(
        width="container", autosize=FIT, title=title, height=len(flows) * (_BAR_HEIGHT * len(parts) + _GAP)
    )
    description = f"{title}. " + "; ".join(
        f"{value['flow']}, {value['part']}: {value['words']}" for value in values
    )
    return Chart(
        f"chart-waterfall-{metric.name}-{level}",
        title,
        description,
        spec_of(chart, values=values, zero=[{"zero": 0}]),
    )


def answers(data: ReportData) -> list[Grid]:
    """The effect of alternatives on the flow with the largest packets, per transport and level."""
    found = []
    for cell in _leading_cells(data):
        for name in ("throughput", "delay"):
            asked = alternatives(data.model, data.model.case(cell), name)
            if asked:
                found.append(
                    _answers(f"{data.flow(cell)}, {text.level(cell.security)}", METRICS[name], asked)
                )
                break
    return found


def _answers(title: str, metric: Metric, asked: Sequence[Alternative]) -> Grid:
    def value(of: float) -> str:
        return text.number(metric.display(of), metric.decimals)

    return Grid(
        "answers",
        title,
        "",
        ("With", f"{metric.short}, {metric.display_unit}", "Change"),
        (
            ("no change", value(asked[0].now), ""),
            *((_question(each), value(each.then), text.signed_percent(each.percent)) for each in asked),
        ),
    )


def _question(of: Alternative) -> str:
    """The question, with a security level in the spelling of the standard."""
    kind, _, level = of.question.partition(" ")
    return text.level(level) if kind == "security" else of.question


def predictions(data: ReportData) -> Grid:
    """The predictions of each cell's main metrics, and the measurement's deviation from them."""
    cells: dict[Cell, None] = {}
    for row in build(data).rows:
        cells |= {cell.cell: None for cell in (row.baseline, row.other) if cell is not None}
    return Grid(
        "predictions",
        "Measurement and model",
        "Predictions of each cell by the medium in virtual time, with models of traffic and hosts. Deviation: the "
        f"measured value compared with the prediction (geometric mean over {data.units}, 95 % confidence interval).",
        ("Flow", "Metric", "Security", "Predicted", "Deviation"),
        tuple(
            (
                data.flow(cell),
                f"{metric.short}, {metric.display_unit}",
                text.level(cell.security),
                *expectation(found, metric),
            )
            for metric in data.metrics
            if metric.main
            for cell in cells
            if (found := data.expected.get((cell, metric.name))) is not None
        ),
        words=3,
    )


def _page(data: ReportData) -> Iterator[Section]:
    split, predicted = splits(data), predictions(data)
    if not split.rows and not predicted.rows:
        return
    yield Section("explained", "", (*waterfalls(data), *([split] if split.rows else [])))
    if grids := answers(data):
        note = "Predicted in virtual time for the flow with the largest packets, one change at a time."
        yield Section("explained", "What would change the cost", (note, Drawn("answers", {"grids": grids})))
    yield from of_grids("explained", [predicted])


SECTIONS: Final = (
    Part(55, lambda data: of_grids("explained", [predictions(data)]), ("markdown",)),
    Part(56, lambda data: of_grids("explained", [splits(data)]), ("markdown", "latex")),
    Part(65, _page, ("html",)),
    Part(65, lambda data: [Section("explained", "", tuple(waterfalls(data)))], ("figures",)),
)
