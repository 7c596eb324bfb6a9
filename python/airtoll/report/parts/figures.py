"""Figures of each metric against packet size, rate or load, as in the papers, or bars by security level.

Figures show cells and runs, never samples, so their size follows the plan. Colours come from the page (config.range,
light or dark) in the order of levels. Filled and hollow points repeat the meaning of colour, and shapes and dashes show
IP versions, so that the figures are readable in grey.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final

import altair as alt

from airtoll.report.charts.chart import CROSS_SIZE, FIT, IP_DASHES, ip_shapes, named, reference_shape, spec_of
from airtoll.report.charts.forms import (
    TITLES,
    Axis,
    Colouring,
    axis,
    by_security,
    by_stack,
    in_order,
    panel,
    tick,
)
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import scaled
from airtoll.report.material.section import Chart, Figure, Part, Section
from airtoll.report.parts.publications import BesidePublication
from airtoll.stats import CellSummary, Metric
from airtoll.study.cell import Cell

MAX_DOTS = 3000
"""With more runs in one chart, the dots of single runs are left out: they would hide the figure and slow the page."""

MAX_DOTS_OF_PAGE = 30_000
"""With more values of runs in all charts, the dots are left out everywhere: each takes some 150 octets of the page."""

_RUNS = " runs"  # single runs are drawn in their own slot, beside their mean
_PANEL_HEIGHT = 230
_FRAME = 1.3  # multiple of the largest value
_BAR_HEIGHT = 24
_LINE_LENGTH = 20  # px, of a predicted value


@dataclass(frozen=True)
class _Panel:
    """The cells of one chart and their x axis."""

    data: ReportData
    metric: Metric
    against: Axis
    colouring: Colouring
    cells: Sequence[CellSummary]
    paper: BesidePublication | None

    def series(self, cell: Cell, slot: str = "") -> dict[str, Any]:
        """The fields that determine a cell's position in the chart."""
        ip, level = text.factor("ip", cell.ip), self.colouring.of(cell)
        return {"x": tick(self.against, cell), "ip": ip, "level": level, "slot": f"{ip} {level}{slot}"}

    @property
    def references(self) -> dict[str, str]:
        """The names of the values beside those of the result, by dataset."""
        paper = {"printed": f"published by {self.paper.publication.short_name}"} if self.paper else {}
        return {"expected": "predicted by the model", **paper}

    @property
    def ips(self) -> list[str]:
        return [text.factor("ip", ip) for ip in sorted({cell.cell.ip for cell in self.cells})]

    @property
    def ticks(self) -> list[str]:
        shown = {tick(self.against, cell.cell) for cell in self.cells}
        if self.against == "security":
            return [level for level in self.colouring.levels if level in shown]
        return in_order(shown)

    @cached_property
    def datasets(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each layer; single runs only if there are at most `MAX_DOTS`."""
        metric, shown = self.metric, {cell.cell for cell in self.cells}
        values = sum(len(run.values) for run in self.data.counting)
        dots = [
            {
                **self.series(run.run.cell, _RUNS),
                "run": run.run.id,
                "value": metric.display(run.values[metric.name]),
            }
            for run in self.data.counting
            if run.run.cell in shown and metric.name in run.values
        ]
        return {
            "means": [self._mean(cell) for cell in self.cells],
            "dots": dots if len(dots) <= MAX_DOTS and values <= MAX_DOTS_OF_PAGE else [],
            "expected": [
                {
                    **self.series(cell),
                    "of": self.references["expected"],
                    "expected": metric.display(found.value),
                }
                for (cell, name), found in self.data.expected.items()
                if name == metric.name and cell in shown
            ],
            "printed": [
                {**self.series(cell), "of": self.references["printed"], "printed": metric.display(value)}
                for cell, value in (self.paper.marks(self.metric.name) if self.paper else {}).items()
                if cell in shown
            ],
        }

    def _mean(self, cell: CellSummary) -> dict[str, Any]:
        ci = scaled(cell.summary.ci95_t, self.metric)
        assert cell.summary.mean is not None
        return {
            **self.series(cell.cell),
            "mean": self.metric.display(cell.summary.mean),
            "low": ci.low if ci else None,
            "high": ci.high if ci else None,
            "interval": text.interval(ci, self.metric.decimals) or "unknown",
            "n": cell.summary.n,
        }

    @property
    def scale(self) -> Any:
        """A scale from 0. Very wide intervals of few runs are truncated, so that they do not squash the rest."""
        metric = self.metric
        names = {"means": "mean", "dots": "value", "expected": "expected", "printed": "printed"}
        top = _FRAME * max(row[field] for name, field in names.items() for row in self.datasets[name])
        intervals = (scaled(cell.summary.ci95_t, metric) for cell in self.cells)
        beyond = any(ci is not None and ci.high > top for ci in intervals)
        return alt.Scale(domainMin=0, domainMax=top) if beyond else alt.Scale(domainMin=0)

    def description(self, title: str) -> str:
        """The figures of the chart as text."""
        numbers = (
            f"{text.factor(self.against, getattr(cell.cell, self.against))} {text.factor('ip', cell.cell.ip)} "
            f"{self.colouring.of(cell.cell)}: "
            f"{text.number(self.metric.display(cell.summary.mean or 0), self.metric.decimals)}"
            for cell in self.cells
        )
        against = TITLES[self.against]
        return f"{self.metric.title} in {self.metric.display_unit} against {against}, {title}. " + "; ".join(
            numbers
        )


@lru_cache(maxsize=1)
def measured(data: ReportData) -> tuple[Figure, ...]:
    """One figure per metric, against packet size, rate, load or security; one chart per level of the other factors.

    If the hosts' stacks vary, main metrics have a second figure that compares the stacks.
    """
    return tuple(_measured(data, BesidePublication.of(data)))


def _measured(data: ReportData, paper: BesidePublication | None) -> Iterator[Figure]:
    usual, stacks = by_security(data), by_stack(data)
    explained: set[str] = set()  # only the first caption explains how to read a chart
    empty: dict[bool, list[str]] = {True: [], False: []}
    for metric in data.ranked_metrics:
        drawn = [_figure(data, metric, paper, axis(data), usual)]
        if stacks is not None and metric.main:
            against = axis(data) if axis(data) != "security" else "packet_size"
            drawn.append(_figure(data, metric, paper, against, stacks))
        for figure, against in zip(drawn, (axis(data), "packet_size"), strict=False):
            if not figure.charts:
                continue
            how = _HOW_TO_READ["bars" if against == "security" else "points"].format(units=data.units)
            if any(chart.spec["datasets"]["dots"] for chart in figure.charts):
                how += " Small dots: single runs."
            told = "" if how in explained else how
            explained.add(how)
            yield replace(figure, caption=text.joined(figure.caption, told))
        if not drawn[0].charts:
            empty[metric.main].append(text.within(metric.title))
    for main, titles in empty.items():
        if titles:
            yield Figure("Without a chart", f"All values are 0: {text.listing(titles)}.", (), main=main)


_HOW_TO_READ = {
    "bars": "Bars: mean over {units}; lines: 95 % confidence interval (Student's t).",
    "points": "Points: mean over {units}; bars: 95 % confidence interval (Student's t).",
}


def _figure(
    data: ReportData, metric: Metric, paper: BesidePublication | None, against: Axis, colouring: Colouring
) -> Figure:
    panels: dict[str, list[CellSummary]] = {}
    for cell in data.comparison.cells:
        if cell.metric == metric.name and cell.summary.n:
            panels.setdefault(panel(data, cell.cell, against, colouring), []).append(cell)
    nothing = [title for title, cells in panels.items() if not any(cell.summary.mean for cell in cells)]
    panels = {title: cells for title, cells in panels.items() if title not in nothing}
    other = "" if colouring.factor == "security" else f"-{colouring.factor}"
    draw = _bars if against == "security" else _points
    charts = tuple(
        draw(_Panel(data, metric, against, colouring, cells, paper), f"{metric.name}{other}-{number}", title)
        for number, (title, cells) in enumerate(
            sorted(panels.items(), key=lambda item: text.natural(item[0]))
        )
    )
    by = "" if colouring.factor == "security" else ", by TCP/IP stack of the hosts"
    caption = f"Value of a run: {metric.definition}. {metric.better.capitalize()} is better."
    if nothing:
        caption += f" No chart, because all values are 0: {'; '.join(nothing)}."
    return Figure(f"{metric.title}, {metric.display_unit}{by}", caption, charts, main=metric.main)


def _points(shown: _Panel, chart_id: str, title: str) -> Chart:
    metric, colouring, ticks = shown.metric, shown.colouring, shown.ticks
    slots = [f"{ip} {level}{runs}" for ip in shown.ips for level in colouring.levels for runs in ("", _RUNS)]
    datasets = shown.datasets
    layers = _point_layers(shown, lines=len(ticks) > 1)
    value = alt.Y("value:Q", title=_axis_title(metric))
    if datasets["dots"]:
        layers.insert(0, _dots(shown, y=value))
    layers += _references(shown, alt.Y)
    chart = (
        alt.layer(*layers)
        .encode(
            x=alt.X(
                "x:O",
                sort=ticks,
                title=TITLES[shown.against],
                axis=alt.Axis(labelAngle=0, labelOverlap=True),
                scale=alt.Scale(paddingInner=0.2),
            ),
            xOffset=alt.XOffset("slot:N", scale=alt.Scale(domain=slots, paddingOuter=0.5)),
        )
        .resolve_scale(color="shared", shape="independent")
        .properties(width="container", height=_PANEL_HEIGHT, title=title, autosize=FIT)
    )
    return Chart(f"chart-{chart_id}", title, shown.description(title), spec_of(chart, **datasets))


def _axis_title(metric: Metric) -> str:
    """The axis names the metric, because a chart may be copied out of its page."""
    return f"{metric.short}, {metric.display_unit}"


def _references(shown: _Panel, channel: Any) -> list[Any]:
    """The layers of predicted and of published values, each named in a legend. `channel` is that of the values."""
    metric, datasets = shown.metric, shown.datasets
    layers = []
    for field, who in shown.references.items():
        if not datasets[field]:
            continue
        shape, size = ("stroke", _LINE_LENGTH**2) if field == "expected" else ("cross", CROSS_SIZE)
        mark = named(field).mark_point(
            size=size,
            angle=90 if shape == "stroke" and channel is alt.X else 0,
            filled=shape == "cross",
            strokeWidth=1.4,
            style=["expected"],
            clip=True,
        )
        value = channel(f"{field}:Q", title=_axis_title(metric))
        layers.append(
            mark.encode(
                **({"x": value} if channel is alt.X else {"y": value}),
                shape=reference_shape("of:N", shape),
                tooltip=[
                    alt.Tooltip("slot:N", title=f"{who} for"),
                    alt.Tooltip(
                        f"{field}:Q", title=f"{who}, {metric.display_unit}", format=f".{metric.decimals}f"
                    ),
                ],
            )
        )
    return layers


def _told_of_means(shown: _Panel) -> list[Any]:
    metric = shown.metric
    return [
        alt.Tooltip("level:N", title=shown.colouring.title),
        alt.Tooltip("ip:N", title="IP version"),
        alt.Tooltip("x:O", title=TITLES[shown.against]),
        alt.Tooltip("mean:Q", title=f"Mean, {metric.display_unit}", format=f".{metric.decimals}f"),
        alt.Tooltip("interval:N", title="95 % CI"),
        alt.Tooltip("n:Q", title="Runs"),
    ]


def _point_layers(shown: _Panel, *, lines: bool) -> list[Any]:
    metric, colouring = shown.metric, shown.colouring
    base = named("means")
    # No metric is negative, although the interval of few runs may reach below 0: it is clipped at the axis.
    y = alt.Y("mean:Q", title=_axis_title(metric), scale=shown.scale)
    colour = _colour(colouring)
    layers: list[Any] = []
    if lines:
        layers += [
            base.transform_filter(f"datum.ip === '{ip}'")
            .mark_line(strokeWidth=1.2, opacity=0.45, strokeDash=dash)
            .encode(y=y, color=colour)
            for ip, dash in zip(shown.ips, IP_DASHES, strict=False)
        ]
    layers.append(
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, clip=True)
        .encode(y=alt.Y("low:Q", title=_axis_title(metric)), y2=alt.Y2("high:Q"), color=colour)
    )
    layers.append(
        base.mark_point(size=62, strokeWidth=1.8, opacity=1, filled=False).encode(
            y=y,
            color=colour,
            fill=_colour(colouring, channel=alt.Fill),  # the baseline is hollow
            shape=ip_shapes(shown.ips),
            tooltip=_told_of_means(shown),
        )
    )
    return layers


def _bars(shown: _Panel, chart_id: str, title: str) -> Chart:
    """One bar per level and IP version."""
    metric, ips, datasets = shown.metric, shown.ips, shown.datasets
    x = alt.X("mean:Q", title=_axis_title(metric), scale=shown.scale)
    colour = _colour(shown.colouring, legend=False)
    means = named("means")
    layers = [means.mark_bar(opacity=0.5).encode(x=x, color=colour, tooltip=_told_of_means(shown))]
    if datasets["dots"]:
        layers.append(_dots(shown, x=alt.X("value:Q", title=_axis_title(metric))))
    layers.append(
        means.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, clip=True)
        .encode(x=alt.X("low:Q", title=_axis_title(metric)), x2=alt.X2("high:Q"), color=colour)
    )
    layers += _references(shown, alt.X)
    places: dict[str, Any] = {"y": alt.Y("x:N", sort=shown.ticks, title=None)}
    if len(ips) > 1:
        places["yOffset"] = alt.YOffset("ip:N", sort=ips, scale=alt.Scale(domain=ips))
        title = f"{title}, {text.listing(ips)} from top to bottom"
    chart = (
        alt.layer(*layers)
        .encode(**places)
        .resolve_scale(shape="independent")
        .properties(
            width="container", autosize=FIT, title=title, height=len(shown.ticks) * len(ips) * _BAR_HEIGHT
        )
    )
    return Chart(f"chart-{chart_id}", title, shown.description(title), spec_of(chart, **datasets))


def _dots(shown: _Panel, **place: Any) -> Any:
    unit = shown.metric.display_unit
    return (
        named("dots")
        .mark_point(size=5, strokeWidth=2, opacity=0.6, filled=False)
        .encode(
            **place,
            color=_colour(shown.colouring, legend=shown.against != "security"),
            tooltip=[
                alt.Tooltip("run:N", title="Run"),
                alt.Tooltip("value:Q", title=unit, format=f".{shown.metric.decimals}f"),
            ],
        )
    )


def _colour(colouring: Colouring, channel: Any = alt.Color, *, legend: bool = True) -> Any:
    range_ = colouring.range if channel is alt.Color else colouring.fill
    levels = list(colouring.levels)
    return channel(
        "level:N",
        title=colouring.title,
        sort=levels,
        scale=alt.Scale(domain=levels, range=range_),
        legend=alt.Legend(symbolOpacity=1, symbolStrokeWidth=1.8) if legend and len(levels) > 1 else None,
    )


def _section(data: ReportData) -> Iterator[Section]:
    if main := tuple(figure for figure in measured(data) if figure.main):
        yield Section("figures", "", main)


SECTIONS: Final = (Part(10, _section, ("html", "latex", "figures")),)
