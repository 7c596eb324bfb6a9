"""Vega-Lite charts: every figure is of cells and runs, never of samples, so its size follows the plan.

Colours come from the page (config.range, light or dark) in the order of levels. What colour tells is told
again by filled and hollow points, and IP versions by shape and dash: the figures hold in grey too.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from airtoll.report import text
from airtoll.report.charts import FIT, Chart, Figure, named, spec_of
from airtoll.report.data import ReportData
from airtoll.report.publications import BesidePublication
from airtoll.report.rows import scaled
from airtoll.stats import CellSummary, Metric, PairedRow
from airtoll.study.cell import Cell

MAX_DOTS = 3000
"""With more runs in one chart the dots of single runs would hide the figure and weigh down the page."""

_RUNS = " runs"  # single runs stand beside their mean, in a slot of their own
_PANEL_HEIGHT = 230
_ROW_HEIGHT = 26
_SUBROW_HEIGHT = 18
_FRAME = 3  # times the usual interval


def measured(data: ReportData, paper: BesidePublication | None) -> list[Figure]:
    """One figure a metric, against packet size, rate or load; one chart a transport and other factor that varies."""
    figures = []
    for metric in data.metrics:
        panels: dict[str, list[CellSummary]] = {}
        for cell in data.comparison.cells:
            if cell.metric == metric.name and cell.summary.n:
                panels.setdefault(_panel(data, cell.cell), []).append(cell)
        marks = paper.marks(metric.name) if paper else {}
        charts = tuple(
            _metric_chart(data, metric, f"{metric.name}-{number}", title, cells, marks)
            for number, (title, cells) in enumerate(panels.items())
        )
        caption = _caption(metric)
        if any(name == metric.name for _, name in data.expected):
            caption += " Thin lines across: what the model expects."
        if marks:
            caption += " Crosses: what the paper prints."
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
        "interval (Student's t). An interval that crosses the line at 0 leaves open if there is a change; "
        "one that reaches the edge of its frame goes on beyond it.",
        tuple(charts),
    )


_AXES = {"packet_size": "Packet size, B", "rate": "PHY rate", "offered": "Offered by each sender, Mbit/s"}


def axis(data: ReportData) -> str:
    """The factor that figures are drawn against: the first of packet size, rate and load that varies."""
    cells = {run.run.cell for run in data.runs}
    return next((name for name in _AXES if len({getattr(c, name) for c in cells}) > 1), "packet_size")


def _panel(data: ReportData, cell: Cell) -> str:
    names = (name for name in ("transport", *data.varying) if name != axis(data))
    return ", ".join(text.factor(name, getattr(cell, name)) for name in names)


def _tick(name: str, cell: Cell) -> str:
    """The level on the axis, as its labels have it."""
    level = getattr(cell, name)
    return text.factor(name, level) if isinstance(level, str) else f"{level:g}"


def _in_order(ticks: set[str]) -> list[str]:
    """Levels by their number: "mcs9" before "mcs10"."""
    return sorted(ticks, key=lambda tick: [float(part) for part in re.findall(r"[0-9.]+", tick)])


def _caption(metric: Metric) -> str:
    return (
        f"One run's number: {metric.definition}. Points: mean over runs; bars: its 95 % confidence interval "
        f"(Student's t); small dots: single runs. {metric.better.capitalize()} is better."
    )


def _metric_chart(
    data: ReportData,
    metric: Metric,
    chart_id: str,
    title: str,
    cells: Sequence[CellSummary],
    marks: Mapping[Cell, float],
) -> Chart:
    shown = {cell.cell for cell in cells}
    x = axis(data)
    ticks = _in_order({_tick(x, cell) for cell in shown})
    levels = [text.level(level) for level in data.comparison.levels]
    ips = [text.factor("ip", ip) for ip in sorted({cell.ip for cell in shown})]
    slots = [f"{ip} {level}{runs}" for ip in ips for level in levels for runs in ("", _RUNS)]
    means = _means(metric, cells, x)
    layers = _metric_layers(metric, _AXES[x], levels, ips, lines=len(ticks) > 1)
    dots = [
        {
            **_series(run.run.cell, x, _RUNS),
            "run": run.run.id,
            "value": metric.display(run.values[metric.name]),
        }
        for run in data.counting
        if run.run.cell in shown and metric.name in run.values
    ]
    if len(dots) > MAX_DOTS:
        dots = []
    if dots:
        layers.insert(0, _dots(metric, levels))
    expected = [
        {**_series(cell, x), "expected": metric.display(found.value)}
        for (cell, name), found in data.expected.items()
        if name == metric.name and cell in shown
    ]
    if expected:
        layers.insert(0, _expected(metric))
    printed = [
        {**_series(cell, x), "printed": metric.display(value)}
        for cell, value in marks.items()
        if cell in shown
    ]
    if printed:
        layers.append(_printed(metric))
    chart = (
        alt.layer(*layers)
        .encode(
            x=alt.X(
                "x:O",
                sort=ticks,
                title=_AXES[x],
                axis=alt.Axis(labelAngle=0),
                scale=alt.Scale(paddingInner=0.2),
            ),
            xOffset=alt.XOffset("slot:N", scale=alt.Scale(domain=slots, paddingOuter=0.5)),
        )
        .resolve_scale(color="shared", shape="shared")
        .properties(width="container", height=_PANEL_HEIGHT, title=title, autosize=FIT)
    )
    description = f"{metric.title} in {metric.display_unit} against {_AXES[x]}, {title}. " + "; ".join(
        f"{text.factor(x, getattr(cell.cell, x))} {text.factor('ip', cell.cell.ip)} {text.level(cell.cell.security)}: "
        f"{text.number(metric.display(cell.summary.mean or 0), metric.decimals)}"
        for cell in cells
    )
    spec = spec_of(chart, means=means, dots=dots, expected=expected, printed=printed)
    return Chart(f"chart-{chart_id}", title, description, spec)


def _series(cell: Cell, x: str, slot: str = "") -> dict[str, Any]:
    ip, level = text.factor("ip", cell.ip), text.level(cell.security)
    return {"x": _tick(x, cell), "ip": ip, "security": level, "slot": f"{ip} {level}{slot}"}


def _means(metric: Metric, cells: Sequence[CellSummary], x: str) -> list[dict[str, Any]]:
    rows = []
    for cell in cells:
        ci = scaled(cell.summary.ci95_t, metric)
        mean = cell.summary.mean
        assert mean is not None
        rows.append(
            {
                **_series(cell.cell, x),
                "mean": metric.display(mean),
                "low": ci.low if ci else None,
                "high": ci.high if ci else None,
                "interval": text.interval(ci, metric.decimals) or "not known",
                "n": cell.summary.n,
            }
        )
    return rows


def _metric_layers(
    metric: Metric, axis_title: str, levels: list[str], ips: list[str], *, lines: bool
) -> list[Any]:
    base = named("means")
    # no metric can be below 0, even where the interval of few runs reaches there: it is clipped at the axis
    y = alt.Y("mean:Q", title=metric.display_unit, scale=alt.Scale(domainMin=0))
    colour = _colour(levels)
    grey = "#808a94"  # tells shapes apart on light and dark paper alike
    key = alt.Legend(
        symbolOpacity=1,
        symbolDash=[1, 0],
        symbolStrokeWidth=1.8,
        symbolStrokeColor=grey,
        symbolFillColor="transparent",
    )
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
    if lines:
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
                alt.Tooltip("x:O", title=axis_title),
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


def _dots(metric: Metric, levels: list[str]) -> Any:
    return (
        named("dots")
        .mark_point(size=5, strokeWidth=2, opacity=0.6, filled=False)
        .encode(
            y=alt.Y("value:Q", title=metric.display_unit),
            color=_colour(levels),
            tooltip=[
                alt.Tooltip("run:N", title="Run"),
                alt.Tooltip("value:Q", title=metric.display_unit, format=f".{metric.decimals}f"),
            ],
        )
    )


def _expected(metric: Metric) -> Any:
    return (
        named("expected")
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


def _printed(metric: Metric) -> Any:
    return (
        named("printed")
        .mark_point(shape="cross", size=70, filled=True, style=["expected"], angle=45)
        .encode(
            y=alt.Y("printed:Q", title=metric.display_unit),
            tooltip=[
                alt.Tooltip("slot:N", title="Published for"),
                alt.Tooltip("printed:Q", title=f"Published, {metric.display_unit}"),
            ],
        )
    )


def _forest(data: ReportData, metric: Metric, rows: Sequence[PairedRow]) -> Chart:
    """Percent for a metric of which every flow has a ratio; otherwise differences in its unit."""
    percent = metric.relative and all(row.ratio.percent is not None for row in rows)
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
    ends = _frame(values)
    frame = alt.Scale() if ends is None else alt.Scale(domain=ends)
    axis = f"Change, {unit} ({arrow})"
    base = named("values")
    y = alt.Y("flow:N", sort=flows, title=None)
    legend = alt.Legend(values=others) if len(others) > 1 else None
    colour = alt.Color(
        "security:N",
        title="Security",
        sort=others,
        scale=alt.Scale(domain=levels),
        legend=legend,
    )
    shared: dict[str, Any] = {"y": y, "color": colour}
    marks = {}
    if len(others) > 1:
        marks["shape"] = alt.Shape(
            "security:N", title="Security", sort=others, scale=alt.Scale(domain=levels), legend=legend
        )
        shared["yOffset"] = alt.YOffset("security:N", sort=others, scale=alt.Scale(domain=others))
    chart = alt.layer(
        named("zero").mark_rule(style=["zero"]).encode(x="zero:Q"),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, clip=True)
        .encode(x=alt.X("low:Q", title=axis, scale=frame), x2="high:Q", **shared),
        base.mark_point(size=62, filled=True, opacity=1).encode(
            x=alt.X("mean:Q", title=axis, scale=frame),
            tooltip=[
                alt.Tooltip("flow:N", title="Flow"),
                alt.Tooltip("security:N", title="Security"),
                alt.Tooltip("words:N", title=f"Change, {unit}"),
                alt.Tooltip("n:Q", title="Pairs"),
            ],
            **shared,
            **marks,
        ),
    ).properties(
        width="container",
        autosize=FIT,
        height=len(flows) * (_ROW_HEIGHT if len(others) < 2 else _SUBROW_HEIGHT * len(others)),
        title=metric.title,
    )
    description = f"{metric.title}, change in {unit}. " + "; ".join(
        f"{value['flow']} {value['security']}: {value['words']}" for value in values
    )
    spec = spec_of(chart, values=values, zero=[{"zero": 0}])
    return Chart(f"chart-change-{metric.name}", metric.title, description, spec)


def _frame(values: Sequence[dict[str, Any]]) -> list[float] | None:
    """Ends of the frame if one interval would squash all others, else None.

    With few pairs an interval of ratios can end at some 10,000 %. It is then drawn up to the frame's edge.
    """
    intervals = [(v["low"], v["high"]) for v in values if v["low"] is not None]
    reach = sorted(max(abs(low), abs(high)) for low, high in intervals)
    if not reach:
        return None
    means = (abs(v["mean"]) for v in values if v["mean"] is not None)
    usual = max([_FRAME * reach[len(reach) // 2], *means])
    if reach[-1] <= usual:
        return None
    return [max(-usual, min(low for low, _ in intervals)), min(usual, max(high for _, high in intervals))]
