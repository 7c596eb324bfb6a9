"""Curves of throughput and FTP rate over the PHY rate with their equations and R^2 (Pacheco et al., Figures 4, 5, 11).

As in the paper, a curve is fitted to the means at the rates. The paper does not state the degree; this module uses the
degree with the lowest AICc. Fewer than five rates are too few for that choice: then one degree of freedom is left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from airtoll.report.charts.chart import FIT, named, spec_of
from airtoll.report.charts.forms import SERIES_COLOURS, Colouring, axis, by_security, panel
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Chart, Figure, Part, Section, of_grids
from airtoll.stats import METRICS, Fit, Metric, choose_degree, fit
from airtoll.study.cell import Cell

CURVED: Final = tuple(name for name, metric in METRICS.items() if metric.curve)

_LEAST: Final = 3  # rates; fewer do not make a curve
_CHOSEN_FROM: Final = 5
_UNIT: Final = " Mbit/s"
_STEPS: Final = 60
_HEIGHT: Final = 230
_SUPERSCRIPTS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Curve:
    """The curve of one series: one metric, security level, IP version and chart."""

    metric: Metric
    panel: str
    level: str
    ip: str
    points: tuple[tuple[float, float], ...]  # rate in Mbit/s, mean in the metric's display unit
    fit: Fit

    @property
    def series(self) -> str:
        """The series without its metric and level."""
        return f"{self.panel}, {self.ip}"

    @property
    def equation(self) -> str:
        """The polynomial with four significant digits, highest power last: y = c0 + c1 x + ..."""
        terms: list[str] = []
        for power, value in enumerate(self.fit.coefficients):
            x = "" if power == 0 else " x" if power == 1 else f" x{str(power).translate(_SUPERSCRIPTS)}"
            sign = text.MINUS if value < 0 else "+" if terms else ""
            terms.append(f"{sign}{' ' if terms else ''}{_digits(abs(value))}{x}")
        return f"y = {' '.join(terms)}"


def curves(data: ReportData) -> tuple[Curve, ...]:
    """The curves of all series; none unless the x axis of the figures is a rate in Mbit/s."""
    rates = {run.run.cell.rate for run in data.runs}
    if axis(data) != "rate" or len(rates) < _LEAST or not all(rate.endswith(_UNIT) for rate in rates):
        return ()
    usual = by_security(data)
    found = []
    for name in CURVED:
        metric, series = METRICS[name], dict[Cell, dict[float, float]]()
        for cell, mean in data.means(name).items():
            key = cell.model_copy(update={"rate": ""})
            series.setdefault(key, {})[float(cell.rate.removesuffix(_UNIT))] = metric.display(mean)
        # The study sets the UDP load, so UDP throughput is not a property of the link.
        with_tcp = any(cell.transport == "tcp" for cell in series)
        for cell, means in series.items():
            if len(means) < _LEAST or (with_tcp and cell.transport != "tcp"):
                continue
            x, y = list(means), list(means.values())
            degree = choose_degree(x, y) if len(x) >= _CHOSEN_FROM else len(x) - 2
            found.append(
                Curve(
                    metric,
                    panel(data, cell, "rate", usual),
                    text.level(cell.security),
                    text.factor("ip", cell.ip),
                    tuple(means.items()),
                    fit(x, y, degree),
                )
            )
    return tuple(found)


def figures(data: ReportData) -> list[Figure]:
    """Points and curves over the rate, to scale: one chart per level with its PHYs, as in the paper.

    If each level has one curve, all levels share a chart. Without curves the list is empty.
    """
    groups: dict[tuple[str, str], list[Curve]] = {}
    found = curves(data)
    by_level = len({(curve.panel, curve.ip) for curve in found}) > 1
    for curve in found:
        groups.setdefault((curve.metric.title, curve.level if by_level else curve.panel), []).append(curve)
    colouring = None if by_level else by_security(data)
    charts = tuple(
        _chart(number, f"{metric}, {of}", group, colouring)
        for number, ((metric, of), group) in enumerate(groups.items())
    )
    caption = (
        f"Points: means over {data.units}; lines: polynomials fitted to the means by least squares (equations "
        "below)."
    )
    return [Figure("Curves over the PHY rate", caption, charts)] if charts else []


def grid(data: ReportData) -> Grid:
    """The table of equations."""
    return Grid.of(
        "curves",
        "Equations of the curves",
        "y: the metric in its unit; x: PHY rate in Mbit/s. The degree, from 1 to 6, is the one with the lowest AICc; "
        f"with fewer than {_CHOSEN_FROM} rates it is the number of rates minus two. R² as in a spreadsheet.",
        curves(data),
        {
            "Series": lambda curve: curve.series,
            "Metric": lambda curve: f"{curve.metric.title}, {curve.metric.display_unit}",
            "Security": lambda curve: curve.level,
            "Equation": lambda curve: curve.equation,
            "R²": lambda curve: text.number(curve.fit.r_squared, 5),
            "R² adjusted": lambda curve: text.number(curve.fit.adjusted_r_squared, 5),
        },
        words=4,
    )


def _digits(value: float) -> str:
    """A value with four significant digits; powers of ten in superscript, as in 1.2·10⁻³."""
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    if not exponent:
        return mantissa
    power = str(abs(int(exponent))).translate(_SUPERSCRIPTS)
    return f"{mantissa}·10{'⁻' if int(exponent) < 0 else ''}{power}"


def _chart(number: int, title: str, group: list[Curve], colouring: Colouring | None) -> Chart:
    metric = group[0].metric
    names = [curve.series if colouring is None else curve.level for curve in group]
    points, lines = list[dict[str, Any]](), list[dict[str, Any]]()
    for name, curve in zip(names, group, strict=True):
        points += [{"series": name, "x": x, "y": y} for x, y in curve.points]
        low, high = min(x for x, _ in curve.points), max(x for x, _ in curve.points)
        along = [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]
        lines += [{"series": name, "x": x, "y": y} for x, y in zip(along, curve.fit.at(along), strict=True)]
    domain = names if colouring is None else list(colouring.levels)
    range_ = SERIES_COLOURS if colouring is None else colouring.range
    shared: dict[str, Any] = {
        "title": "Series" if colouring is None else colouring.title,
        "sort": domain,
        "legend": alt.Legend(symbolOpacity=1, symbolStrokeWidth=1.8),
    }
    x = alt.X("x:Q", title="PHY rate, Mbit/s", scale=alt.Scale(domainMin=0, nice=True))
    y = alt.Y("y:Q", title=f"{metric.short}, {metric.display_unit}", scale=alt.Scale(domainMin=0))
    colour = alt.Color("series:N", scale=alt.Scale(domain=domain, range=range_), **shared)
    shape = alt.Shape("series:N", scale=alt.Scale(domain=domain), **shared)
    tooltip = [
        alt.Tooltip("series:N", title=shared["title"]),
        alt.Tooltip("x:Q", title="PHY rate, Mbit/s"),
        alt.Tooltip("y:Q", title=metric.display_unit, format=f".{metric.decimals}f"),
    ]
    chart = alt.layer(
        named("lines").mark_line(strokeWidth=1.4, opacity=0.8).encode(x=x, y=y, color=colour),
        named("points")
        .mark_point(size=44, strokeWidth=1.8, opacity=1, filled=False)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
    ).properties(width="container", height=_HEIGHT, title=title, autosize=FIT)
    description = f"{title}. " + "; ".join(
        f"{name}: {curve.equation}" for name, curve in zip(names, group, strict=True)
    )
    spec = spec_of(chart, points=points, lines=lines)
    return Chart(f"chart-curve-{metric.name}-{number}", title, description, spec)


def _figures(data: ReportData) -> Iterator[Section]:
    if found := figures(data):
        yield Section("figures", "", tuple(found))


def _grids(data: ReportData) -> Iterator[Section]:
    yield from of_grids("averages", [grid(data)], heading="Averages and curves")


SECTIONS: Final = (
    Part(11, _figures, ("html", "latex", "figures")),
    Part(51, _grids, ("html", "markdown", "latex")),
)
