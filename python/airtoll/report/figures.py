"""Vega-Lite charts: every figure is of cells and runs, never of samples, so its size follows the plan.

Colours come from the page (config.range, light or dark) in the order of levels. What colour tells is told again
by filled and hollow points, and IP versions by shape and dash: the figures hold in grey too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from airtoll.report import text
from airtoll.report.data import ReportData
from airtoll.report.rows import scaled
from airtoll.stats import CellSummary, Metric, PairedRow
from airtoll.study.cell import Cell

MAX_DOTS = 3000
"""With more runs in one chart the dots of single runs would hide the figure and weigh down the page."""

_RUNS = " runs"  # single runs stand beside their mean, in a slot of their own
_FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
_PANEL_HEIGHT = 230
_ROW_HEIGHT = 26


@dataclass(frozen=True)
class Chart:
    """One Vega-Lite chart and the words that stand for it."""

    id: str
    title: str
    description: str  # what a reader who cannot see it is told
    spec: dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """Charts that belong together, and their caption."""

    title: str
    caption: str
    charts: tuple[Chart, ...]


def measured(data: ReportData) -> list[Figure]:
    """One figure a metric, against packet size, with one chart a transport (and other factor that varies)."""
    figures = []
    for metric in data.metrics:
        panels: dict[str, list[CellSummary]] = {}
        for cell in data.comparison.cells:
            if cell.metric == metric.name and cell.summary.n:
                panels.setdefault(_panel(data, cell.cell), []).append(cell)
        charts = tuple(
            _metric_chart(data, metric, f"{metric.name}-{number}", title, cells)
            for number, (title, cells) in enumerate(panels.items())
        )
        caption = _caption(metric)
        if metric.name == "throughput" and data.predictions:
            caption += " Thin lines across: what the lab's model of the link expects."
        figures.append(Figure(f"{metric.title}, {metric.display_unit}", caption, charts))
    return figures


def differences(data: ReportData) -> Figure | None:
    """Paired differences of all metrics, one chart a metric; None without any pair."""
    charts = []
    for metric in data.metrics:
        rows = [p for p in data.comparison.pairs if p.metric == metric.name and p.difference.mean is not None]
        if rows:
            charts.append(_forest(data, metric, rows))
    if not charts:
        return None
    baseline = text.level(data.comparison.baseline or "")
    return Figure(
        f"Change against {baseline}",
        f"Each row is one flow: the mean of its paired differences from {baseline} and its 95 % confidence "
        "interval (Student's t). An interval that crosses the line at 0 leaves open if there is a change.",
        tuple(charts),
    )


def _panel(data: ReportData, cell: Cell) -> str:
    return " ".join(text.factor(name, getattr(cell, name)) for name in ("transport", *data.varying))


def _caption(metric: Metric) -> str:
    return (
        f"One run's number: {metric.definition}. Points: mean over runs; bars: its 95 % confidence interval "
        f"(Student's t); small dots: single runs. {metric.better.capitalize()} is better."
    )


def _metric_chart(
    data: ReportData, metric: Metric, chart_id: str, title: str, cells: Sequence[CellSummary]
) -> Chart:
    shown = {cell.cell for cell in cells}
    sizes = sorted({cell.packet_size for cell in shown})
    levels = [text.level(level) for level in data.comparison.levels]
    ips = [text.factor("ip", ip) for ip in sorted({cell.ip for cell in shown})]
    slots = [f"{ip} {level}{runs}" for ip in ips for level in levels for runs in ("", _RUNS)]
    layers = _metric_layers(metric, _means(metric, cells), levels, ips)
    dots = [
        {
            **_series(run.run.cell, _RUNS),
            "run": run.run.id,
            "value": metric.display(run.values[metric.name]),
        }
        for run in data.counting
        if run.run.cell in shown and metric.name in run.values
    ]
    if len(dots) <= MAX_DOTS:
        layers.insert(0, _dots(metric, dots, levels))
    if metric.name == "throughput":
        expected = [
            {**_series(cell), "expected": metric.display(found.expected.mean)}
            for cell, found in data.predictions.items()
            if cell in shown and found.expected.mean is not None
        ]
        if expected:
            layers.insert(0, _expected(metric, expected))
    chart = (
        alt.layer(*layers)
        .encode(
            x=alt.X(
                "size:O",
                sort=sizes,
                title="Packet size, B",
                axis=alt.Axis(labelAngle=0),
                scale=alt.Scale(paddingInner=0.2),
            ),
            xOffset=alt.XOffset("slot:N", scale=alt.Scale(domain=slots, paddingOuter=0.5)),
        )
        .resolve_scale(color="shared", shape="shared")
        .properties(width="container", height=_PANEL_HEIGHT, title=title, autosize=_FIT)
    )
    description = f"{metric.title} in {metric.display_unit} against packet size, {title}. " + "; ".join(
        f"{cell.cell.packet_size} B {text.factor('ip', cell.cell.ip)} {text.level(cell.cell.security)}: "
        f"{text.number(metric.display(cell.summary.mean or 0), metric.decimals)}"
        for cell in cells
    )
    return Chart(f"chart-{chart_id}", title, description, chart.to_dict())


def _chart(values: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=values))


def _series(cell: Cell, slot: str = "") -> dict[str, Any]:
    ip, level = text.factor("ip", cell.ip), text.level(cell.security)
    return {"size": cell.packet_size, "ip": ip, "security": level, "slot": f"{ip} {level}{slot}"}


def _means(metric: Metric, cells: Sequence[CellSummary]) -> list[dict[str, Any]]:
    rows = []
    for cell in cells:
        ci = scaled(cell.summary.ci95_t, metric)
        mean = cell.summary.mean
        assert mean is not None
        rows.append(
            {
                **_series(cell.cell),
                "mean": metric.display(mean),
                "low": ci.low if ci else None,
                "high": ci.high if ci else None,
                "interval": text.interval(ci, metric.decimals) or "not known",
                "n": cell.summary.n,
            }
        )
    return rows


def _metric_layers(
    metric: Metric, means: list[dict[str, Any]], levels: list[str], ips: list[str]
) -> list[Any]:
    base = _chart(means)
    # no metric can be below 0, even where the interval of few runs reaches there: it is clipped at the axis
    y = alt.Y("mean:Q", title=metric.display_unit, scale=alt.Scale(domainMin=0))
    colour = _colour(levels)
    key = alt.Legend(symbolOpacity=1, symbolDash=[1, 0], symbolStrokeWidth=1.8)
    dash = alt.StrokeDash(
        "ip:N", title="IP version", sort=ips, scale=alt.Scale(domain=ips, range=[[1, 0], [5, 4]]), legend=key
    )
    shape = alt.Shape(
        "ip:N",
        title="IP version",
        sort=ips,
        scale=alt.Scale(domain=ips, range=["circle", "square"]),
        legend=key,
    )
    layers: list[Any] = []
    if len({row["size"] for row in means}) > 1:
        layers.append(
            base.mark_line(strokeWidth=1.2, opacity=0.45).encode(y=y, color=colour, strokeDash=dash)
        )
    layers.append(
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, clip=True)
        .encode(y=alt.Y("low:Q", title=metric.display_unit), y2="high:Q", color=colour)
    )
    layers.append(
        base.mark_point(size=62, strokeWidth=1.8, opacity=1, filled=False).encode(
            y=y,
            color=colour,
            fill=_colour(levels, channel=alt.Fill, range_="ordinal"),  # the baseline is hollow
            shape=shape,
            tooltip=[
                alt.Tooltip("security:N", title="Security"),
                alt.Tooltip("ip:N", title="IP version"),
                alt.Tooltip("size:O", title="Packet size, B"),
                alt.Tooltip("mean:Q", title=f"Mean, {metric.display_unit}", format=f".{metric.decimals}f"),
                alt.Tooltip("interval:N", title="95 % CI"),
                alt.Tooltip("n:Q", title="Runs"),
            ],
        )
    )
    return layers


def _colour(levels: list[str], channel: Any = alt.Color, range_: str = "category") -> Any:
    """Levels in the page's colours: "category" all of them, "ordinal" with the first one hollow."""
    return channel(
        "security:N",
        title="Security",
        sort=levels,
        scale=alt.Scale(domain=levels, range=range_),
        legend=alt.Legend(symbolOpacity=1, symbolStrokeWidth=1.8),
    )


def _dots(metric: Metric, dots: list[dict[str, Any]], levels: list[str]) -> Any:
    return (
        _chart(dots)
        .mark_circle(size=15, opacity=0.6)
        .encode(
            y=alt.Y("value:Q", title=metric.display_unit),
            color=_colour(levels),
            tooltip=[
                alt.Tooltip("run:N", title="Run"),
                alt.Tooltip("value:Q", title=metric.display_unit, format=f".{metric.decimals}f"),
            ],
        )
    )


def _expected(metric: Metric, expected: list[dict[str, Any]]) -> Any:
    return (
        _chart(expected)
        .mark_tick(orient="horizontal", thickness=1.2, size=26, style=["expected"])
        .encode(
            y=alt.Y("expected:Q", title=metric.display_unit),
            tooltip=[
                alt.Tooltip("slot:N", title="Model for"),
                alt.Tooltip(
                    "expected:Q", title=f"Expected, {metric.display_unit}", format=f".{metric.decimals}f"
                ),
            ],
        )
    )


def _forest(data: ReportData, metric: Metric, rows: Sequence[PairedRow]) -> Chart:
    """Percent where every flow has a ratio; otherwise (loss, which may be 0) differences in the unit."""
    percent = metric.name != "loss" and all(row.ratio.percent is not None for row in rows)
    points = "percentage points" if metric.display_unit == "%" else metric.display_unit
    unit = "%" if percent else points
    decimals = 2 if percent else metric.decimals
    values = []
    for row in rows:
        mean: float | None
        if percent:
            mean, ci = row.ratio.percent, row.ratio.percent_ci95_t
        else:
            mean, ci = metric.display(row.difference.mean or 0.0), scaled(row.difference.ci95_t, metric)
        finite = ci is not None and math.isfinite(ci.low) and math.isfinite(ci.high)
        values.append(
            {
                "flow": data.flow(row.cell),
                "security": text.level(row.cell.security),
                "mean": mean if mean is not None and math.isfinite(mean) else None,
                "low": ci.low if ci and finite else None,
                "high": ci.high if ci and finite else None,
                "words": text.joined(
                    text.number(mean, decimals, sign=True), text.interval(ci, decimals, sign=True)
                ),
                "n": row.difference.n,
            }
        )
    levels = [text.level(level) for level in data.comparison.levels]
    others = levels[1:]
    flows = list(dict.fromkeys(str(value["flow"]) for value in values))
    arrow = "\N{RIGHTWARDS ARROW} worse" if metric.better == "lower" else "worse \N{LEFTWARDS ARROW}"
    base = _chart(values)
    y = alt.Y("flow:N", sort=flows, title=None)
    colour = alt.Color(
        "security:N",
        title="Security",
        sort=others,
        scale=alt.Scale(domain=levels),
        legend=alt.Legend(values=others) if len(others) > 1 else None,
    )
    shared: dict[str, Any] = {"y": y, "color": colour}
    if len(others) > 1:
        shared["yOffset"] = alt.YOffset("security:N", sort=others, scale=alt.Scale(domain=others))
    chart = alt.layer(
        _chart([{"zero": 0}]).mark_rule(style=["zero"]).encode(x="zero:Q"),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(x=alt.X("low:Q", title=f"{unit} ({arrow})"), x2="high:Q", **shared),
        base.mark_point(size=62, filled=True, opacity=1).encode(
            x=alt.X("mean:Q", title=f"{unit} ({arrow})"),
            tooltip=[
                alt.Tooltip("flow:N", title="Flow"),
                alt.Tooltip("security:N", title="Security"),
                alt.Tooltip("words:N", title=f"Change, {unit}"),
                alt.Tooltip("n:Q", title="Pairs"),
            ],
            **shared,
        ),
    ).properties(
        width="container",
        autosize=_FIT,
        height={"step": _ROW_HEIGHT * (1 if len(others) < 2 else 0.7 * len(others))},
        title=f"{metric.title}, change in {unit}",
    )
    description = f"{metric.title}, change in {unit}. " + "; ".join(
        f"{value['flow']} {value['security']}: {value['words']}" for value in values
    )
    return Chart(f"chart-change-{metric.name}", metric.title, description, chart.to_dict())
