"""Paired changes of every flow against the baseline level, with intervals; bars if security is the axis."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import altair as alt

from airtoll.report.charts.chart import CROSS_SIZE, FIT, named, reference_shape, spec_of
from airtoll.report.charts.forms import axis
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import scaled
from airtoll.report.material.section import Chart, Figure, Part, Section
from airtoll.report.parts.publications import BesidePublication
from airtoll.stats import Metric, PairedRow

_ROW_HEIGHT: Final = 26
_SUBROW_HEIGHT: Final = 18
_GAP: Final = 8
_FRAME: Final = 3  # multiple of the usual interval
_SHAPES: Final = 4  # distinguishable shapes


@lru_cache(maxsize=1)
def differences(data: ReportData) -> tuple[Figure, ...]:
    """Changes of the main metrics and of the others; if levels are bars, also delays above the baseline."""
    paper = BesidePublication.of(data)
    baseline = text.level(data.comparison.baseline or "")
    bars = axis(data) == "security"
    figures = []
    if bars:
        times = [m for m in data.metrics if m.main and m.display_unit == "ms"]
        figures.append(
            _figure(
                data,
                None,
                times,
                "above",
                f"Above {baseline}",
                f"Delay and jitter above {baseline}: means of the paired differences with 95 % confidence intervals "
                "(Student's t).",
            )
        )
    for main in (True, False):
        figures.append(
            _figure(
                data,
                paper,
                [m for m in data.metrics if m.main == main],
                "change",
                f"Change against {baseline}",
                f"Each {'bar is one level' if bars else 'row is one flow'}: the mean of its paired differences from "
                f"{baseline} with a 95 % confidence interval (Student's t). If an interval includes zero, the change "
                "is not significant. Intervals that reach the edge of the plot are truncated.",
                main=main,
            )
        )
    return tuple(figure for figure in figures if figure.caption)


def _figure(
    data: ReportData,
    paper: BesidePublication | None,
    metrics: Sequence[Metric],
    kind: str,
    title: str,
    caption: str,
    *,
    main: bool = True,
) -> Figure:
    """A metric equal in all pairs is named in the caption and has no chart; without pairs there is no caption."""
    charts, same = [], []
    for metric in metrics:
        rows = [p for p in data.comparison.pairs if p.metric == metric.name and p.difference.mean is not None]
        for number, chart_title, some in _charts_of(data, metric, rows) if rows else ():
            if all(row.difference.mean == 0 and not row.difference.sd for row in some):
                same.append(text.within(chart_title))
            else:
                percent = kind == "change" and metric.relative
                name = f"{kind}-{metric.name}{number}"
                charts.append(_forest(data, paper, metric, some, name, chart_title, percent=percent))
    unchanged = f"No change at all in {'; '.join(same)}." if same else ""
    return Figure(title, text.joined(caption if charts else "", unchanged), tuple(charts), main=main)


def _charts_of(
    data: ReportData, metric: Metric, rows: Sequence[PairedRow]
) -> Iterator[tuple[str, str, Sequence[PairedRow]]]:
    """Number, title and rows of a metric's charts: one chart, or one per flow if levels are the rows."""
    if axis(data) != "security":
        yield "", metric.title, rows
        return
    flows: dict[str, list[PairedRow]] = {}
    for row in rows:
        flows.setdefault(data.short_flow(row.cell), []).append(row)
    for number, (flow, of_flow) in enumerate(flows.items()):
        yield f"-{number}", f"{metric.title}, {flow}" if len(flows) > 1 else metric.title, of_flow


def _forest(
    data: ReportData,
    paper: BesidePublication | None,
    metric: Metric,
    rows: Sequence[PairedRow],
    name: str,
    title: str,
    *,
    percent: bool,
) -> Chart:
    """A forest plot: in percent if every flow has a ratio, otherwise differences in the metric's unit."""
    percent = percent and all(row.ratio.percent is not None for row in rows)
    points = "percentage points" if metric.display_unit == "%" else metric.display_unit
    unit = "%" if percent else points
    decimals = 2 if percent else metric.decimals
    values = [_value(data, metric, row, decimals, percent=percent) for row in rows]
    marks = paper.change_marks(metric.name) if paper and percent else {}
    printed: list[dict[str, Any]] = [
        {
            **_place(data, row),
            "of": f"published by {paper.publication.short_name}",
            "printed": marks[row.cell],
        }
        for row in rows
        if paper and row.cell in marks
    ]
    levels = [text.level(level) for level in data.comparison.levels]
    others = levels[1:]
    by_level = axis(data) == "security"
    places = list(dict.fromkeys(str(value["security" if by_level else "flow"]) for value in values))
    arrow = "\N{RIGHTWARDS ARROW} worse" if metric.better == "lower" else "worse \N{LEFTWARDS ARROW}"
    ends = _frame(values, [one["printed"] for one in printed])
    frame = alt.Scale() if ends is None else alt.Scale(domain=ends)
    axis_title = f"Change, {unit} ({arrow})"
    few = alt.Axis(tickCount=alt.ExprRef("ceil(width / 60)"))  # by default, long labels touch each other
    x = alt.X("mean:Q", title=axis_title, scale=frame, axis=few)
    beside = len(others) > 1 and not by_level  # several levels in one row
    legend = alt.Legend(values=others) if beside else None
    scale = alt.Scale(domain=levels)
    shared: dict[str, Any] = {
        "y": alt.Y(
            "security:N" if by_level else "flow:N",
            sort=places,
            title=None,
            axis=alt.Axis(labelLimit=240),
            scale=alt.Scale(paddingInner=0.1),
        ),
        "color": alt.Color("security:N", title="Security", sort=others, scale=scale, legend=legend),
    }
    look: dict[str, Any] = {
        "tooltip": [
            alt.Tooltip("flow:N", title="Flow"),
            alt.Tooltip("security:N", title="Security"),
            alt.Tooltip("words:N", title=f"Change, {unit}"),
            alt.Tooltip("n:Q", title="Pairs"),
        ]
    }
    if beside:
        shared["yOffset"] = alt.YOffset("security:N", sort=others, scale=alt.Scale(domain=others))
        if len(others) <= _SHAPES and not printed:  # the shapes of printed changes have a legend of their own
            look["shape"] = alt.Shape("security:N", title="Security", sort=others, scale=scale, legend=legend)
    placed = {channel: place for channel, place in shared.items() if channel != "color"}
    base = named("values")
    means = (
        base.mark_bar(opacity=0.5, clip=True).encode(x=x, **shared, **look)
        if by_level
        else base.mark_point(size=62, filled=True, opacity=1).encode(x=x, **shared, **look)
    )
    intervals = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, clip=True)
        .encode(x=alt.X("low:Q", title=axis_title, scale=frame, axis=few), x2=alt.X2("high:Q"), **shared)
    )
    chart = alt.layer(
        named("zero").mark_rule(style=["zero"]).encode(x=alt.X("zero:Q")),
        *([means, intervals] if by_level else [intervals, means]),
        *([_printed(alt.X("printed:Q", title=axis_title, scale=frame, axis=few), placed)] if printed else []),
    )
    if printed:
        chart = chart.resolve_scale(shape="independent")
    chart = chart.properties(
        width="container",
        autosize=FIT,
        height=len(places) * (_SUBROW_HEIGHT * len(others) + _GAP if beside else _ROW_HEIGHT),
        title=title,
    )
    description = f"{title}, change in {unit}. " + "; ".join(
        f"{value['flow']} {value['security']}: {value['words']}" for value in values
    )
    spec = spec_of(chart, values=values, zero=[{"zero": 0}], **({"printed": printed} if printed else {}))
    return Chart(f"chart-{name}", title, description, spec)


def _printed(x: Any, shared: dict[str, Any]) -> Any:
    """The layer of the changes that a paper printed."""
    return (
        named("printed")
        .mark_point(size=CROSS_SIZE, filled=True, style=["expected"])
        .encode(
            x=x,
            shape=reference_shape("of:N", "cross"),
            tooltip=[alt.Tooltip("of:N"), alt.Tooltip("flow:N"), alt.Tooltip("printed:Q", title="Change, %")],
            **shared,
        )
    )


def _place(data: ReportData, row: PairedRow) -> dict[str, str]:
    """The fields that determine a change's position in the chart."""
    return {"flow": data.short_flow(row.cell), "security": text.level(row.cell.security)}


def _value(
    data: ReportData, metric: Metric, row: PairedRow, decimals: int, *, percent: bool
) -> dict[str, Any]:
    mean: float | None
    if percent:
        mean, ci = row.ratio.percent, row.ratio.percent_ci95_t
    else:
        mean, ci = metric.display(row.difference.mean or 0.0), scaled(row.difference.ci95_t, metric)
    finite = ci is not None and math.isfinite(ci.low) and math.isfinite(ci.high)
    return {
        **_place(data, row),
        "mean": mean if mean is not None and math.isfinite(mean) else None,
        "low": ci.low if ci and finite else None,
        "high": ci.high if ci and finite else None,
        "words": text.joined(text.number(mean, decimals, sign=True), text.interval(ci, decimals, sign=True)),
        "n": row.difference.n,
    }


def _frame(values: Sequence[dict[str, Any]], printed: Sequence[float]) -> list[float] | None:
    """The ends of the frame if some intervals would squash all others, else None.

    With few pairs an interval of ratios can end at about 10,000 %. Such an interval is drawn up to the frame's edge. If
    most intervals are that wide, the means determine the frame.
    """
    intervals = [(v["low"], v["high"]) for v in values if v["low"] is not None]
    reach = sorted(max(abs(low), abs(high)) for low, high in intervals)
    means = [abs(v["mean"]) for v in values if v["mean"] is not None] + [abs(value) for value in printed]
    if not reach or not means:
        return None
    furthest = max(means)
    usual = max(min(_FRAME * reach[len(reach) // 2], 2 * _FRAME * furthest), 1.05 * furthest)
    if usual <= 0 or reach[-1] <= usual:
        return None
    low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
    return [max(-usual, min([low, *printed])), min(usual, max([high, *printed]))]


def _section(data: ReportData) -> Iterator[Section]:
    if main := tuple(figure for figure in differences(data) if figure.main):
        yield Section("figures", "", main)


SECTIONS: Final = (Part(12, _section, ("html", "latex", "figures")),)
