"""Where the cost comes from, as a waterfall and a table; what else would change it."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from airtoll.model import PARTS, Alternative, Attribution, alternatives
from airtoll.report import text
from airtoll.report.charts import FIT, Chart, Figure, named, spec_of
from airtoll.report.data import Explained, ReportData
from airtoll.stats import METRICS, Metric

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
"""Told apart on light and dark paper alike."""

_BAR_HEIGHT = 9
_GAP = 14


@dataclass(frozen=True)
class Split:
    """One cost as a line of the table, in the metric's display unit."""

    flow: str
    level: str
    metric: Metric
    change: str
    parts: tuple[str, ...]  # of `shown_parts`, in their order; each a change and its share of the open value


@dataclass(frozen=True)
class Answers:
    """What alternatives would change in one cell."""

    flow: str
    level: str
    metric: Metric
    now: str
    answers: tuple[tuple[str, str, str], ...]  # question, what the metric would be, change


def shown_parts(data: ReportData) -> tuple[str, ...]:
    """The parts that any of the study's costs has, in their order."""
    there = {part.name for explained in data.explained for part in explained.attribution.parts}
    return tuple(name for name in PARTS if name in there)


def splits(data: ReportData) -> tuple[Split, ...]:
    """Every cost and its parts."""
    return tuple(_split(data, explained) for explained in data.explained)


def _split(data: ReportData, explained: Explained) -> Split:
    of = explained.attribution
    metric = METRICS[of.metric]
    by_name = {part.name: part.change for part in of.parts}
    return Split(
        flow=data.flow(explained.cell),
        level=text.level(explained.cell.security),
        metric=metric,
        change=_amount(of, metric, of.change),
        parts=tuple(
            _amount(of, metric, by_name[name]) if name in by_name else text.MISSING
            for name in shown_parts(data)
        ),
    )


def _amount(of: Attribution, metric: Metric, change: float) -> str:
    shown = text.number(metric.display(change), metric.decimals, sign=True)
    return f"{shown} ({text.number(_percent(of, change), 2, sign=True)} %)"


def _percent(of: Attribution, change: float) -> float:
    return 100 * change / of.open


def waterfalls(data: ReportData) -> Figure | None:
    """A chart for each metric and level: from open to secured, a step a part; None if nothing is explained."""
    groups: dict[tuple[str, str], list[Explained]] = {}
    for explained in data.explained:
        key = explained.attribution.metric, explained.cell.security
        groups.setdefault(key, []).append(explained)
    if not groups:
        return None
    charts = tuple(
        _waterfall(data, METRICS[metric], level, group) for (metric, level), group in groups.items()
    )
    return Figure(
        "Where the cost comes from",
        "From the open value at 0 to the secured one, a step for each part. Bytes: the suite's octets at the PHY rate. "
        "Whole symbols: what those octets really take, in whole symbols and with fewer MPDUs a PPDU. Processor: what "
        "the engine or card takes for a frame. Unexplained: what is left of the measured change.",
        charts,
    )


def _waterfall(data: ReportData, metric: Metric, level: str, group: Sequence[Explained]) -> Chart:
    values = []
    for explained in group:
        of, reached = explained.attribution, 0.0
        for part in of.parts:
            percent = _percent(of, part.change)
            values.append(
                {
                    "flow": data.flow(explained.cell),
                    "part": PART_TITLES[part.name],
                    "from": reached,
                    "to": reached + percent,
                    "words": _amount(of, metric, part.change),
                }
            )
            reached += percent
    flows = list(dict.fromkeys(str(value["flow"]) for value in values))
    parts = [PART_TITLES[name] for name in shown_parts(data)]
    colours = [_COLOURS[name] for name in shown_parts(data)]
    title = f"{metric.title}, {text.level(level)}"
    chart = (
        named("values")
        .mark_bar(minBandSize=2)
        .encode(
            x=alt.X("from:Q", title=f"Change of {metric.title.lower()}, % of open"),
            x2="to:Q",
            y=alt.Y("flow:N", sort=flows, title=None, scale=alt.Scale(paddingInner=0.25)),
            yOffset=alt.YOffset("part:N", sort=parts, scale=alt.Scale(domain=parts)),
            color=alt.Color("part:N", title="Part", sort=parts, scale=alt.Scale(domain=parts, range=colours)),
            tooltip=[
                alt.Tooltip("flow:N", title="Flow"),
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("words:N", title=f"Change, {metric.display_unit}"),
            ],
        )
        .properties(
            width="container",
            autosize=FIT,
            title=title,
            height=len(flows) * (_BAR_HEIGHT * len(parts) + _GAP),
        )
    )
    description = f"{title}. " + "; ".join(
        f"{value['flow']}, {value['part']}: {value['words']}" for value in values
    )
    return Chart(f"chart-waterfall-{metric.name}-{level}", title, description, spec_of(chart, values=values))


def answers(data: ReportData) -> tuple[Answers, ...]:
    """What alternatives would change, for the flow with the largest packets of each transport and level."""
    found = []
    for cell in data.leading_cells:
        for name in ("throughput", "delay"):
            asked = alternatives(data.model, data.model.case(cell), name)
            if asked:
                found.append(_answers(cell.security, data.flow(cell), METRICS[name], asked))
                break
    return tuple(found)


def _answers(security: str, flow: str, metric: Metric, asked: Sequence[Alternative]) -> Answers:
    def value(of: float) -> str:
        return text.number(metric.display(of), metric.decimals)

    return Answers(
        flow=flow,
        level=text.level(security),
        metric=metric,
        now=value(asked[0].now),
        answers=tuple(
            (
                each.question,
                value(each.then),
                text.number(each.percent, 2, sign=True) + " %",
            )
            for each in asked
        ),
    )
