"""The figures of a report as files: SVG and PDF, as wide as a column of a paper, in the page's printed colours."""

import re
import textwrap
from pathlib import Path
from typing import Any, Final

from airtoll import extras
from airtoll.durable import make_directory, publish, reporting
from airtoll.errors import UsageError
from airtoll.report.material.data import ReportData
from airtoll.report.material.section import Chart, Writer
from airtoll.report.pages.colours import colour_names, colours
from airtoll.report.parts import sections
from airtoll.store.layout import check_target

COLUMN_PX: Final = 336
"""The width of a figure, including its axes: 3.5 inches at 96 px per inch, a column of an IEEE paper."""

TEXT_PX: Final = 10.67
"""8 points: the size of text in figures that most publishers ask for."""

FONT: Final = "sans-serif"
"""The default font: Liberation Sans, which vl-convert has and which is as wide as Helvetica."""

_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')
_CHARACTER_PX: Final = 5.8  # the average width of a character of text
_BESIDE_LEGEND_PX: Final = 110  # the axis, and the title of the legend


def write_figures(
    data: ReportData,
    directory: Path,
    font: str = FONT,
    *,
    kinds: tuple[str, ...] = ("svg", "pdf"),
    writer: Writer = "figures",
) -> list[Path]:
    """Write each figure of that writer as NAME.KIND, those of main metrics first, each file atomically.

    Returns the paths. Raises UsageError without the extra `figures`, if the font is not installed, or as
    `check_target` and `make_directory` do; AirtollError if a file cannot be written.
    """
    check_target(data.directory, directory)
    vl_convert = extras.require("figures", "writing SVG and PDF files")
    text = {"mark": {"type": "text", "text": "a", "font": font}, "data": {"values": [{}]}}
    if b"/Font" not in vl_convert.vegalite_to_pdf(text):
        raise UsageError(f"font '{font}' is not installed: the figures would have no text")
    figures = [figure for section in sections(data, writer)[writer] for figure in section.figures]
    files: dict[str, bytes] = {}
    for chart in (
        chart for figure in sorted(figures, key=lambda one: not one.main) for chart in figure.charts
    ):
        svg, name = vl_convert.vegalite_to_svg(still(data, chart, font)), chart.id.removeprefix("chart-")
        if "svg" in kinds:
            files[f"{name}.svg"] = svg.encode()
        if "pdf" in kinds:
            files[f"{name}.pdf"] = vl_convert.svg_to_pdf(_SIZE.sub(_in_points, svg, count=1))
    with reporting(f"cannot write into {directory}"):
        make_directory(directory.absolute())
        publish(directory, files)
    return [directory / name for name in files]


def _in_points(size: re.Match[str]) -> str:
    """The size of a picture in points: vl-convert makes a point of each pixel of a PDF file."""
    width, height = (float(pixels) * 72 / 96 for pixels in size.groups())
    return f'width="{width:g}" height="{height:g}"'


def still(data: ReportData, chart: Chart, font: str = FONT) -> dict[str, Any]:
    """The chart as a picture, with the width of a column and the page's colours for print."""
    own = [colours()[f"level-{level}"] for level in colour_names(data.comparison.levels)]
    ink, muted, line = (colours()[name] for name in ("ink", "muted", "line"))
    axis = {
        "domainColor": line,
        "gridColor": line,
        "tickColor": line,
        "labelColor": muted,
        "titleColor": muted,
        "gridOpacity": 0.6,
        "labelFontSize": TEXT_PX,
        "titleFontSize": TEXT_PX,
    }
    config = {
        "background": "white",
        "font": font,
        "range": {"category": own, "ordinal": ["white", *own[1:]]},
        "view": {"stroke": None},
        "axis": {**axis, "titleFontWeight": "normal", "labelLimit": 170},
        # A title that is wider than the plot extends to the left, below the labels of the rows.
        "axisX": {"grid": False, "titleAnchor": "end"},
        "title": {"color": ink, "anchor": "start", "fontSize": TEXT_PX, "fontWeight": "bold"},
        "legend": {
            "orient": "bottom",
            "direction": "horizontal",
            "titleOrient": "left",
            "titlePadding": 8,
            "symbolSize": 50,
            "columns": _legend_columns(chart.spec),
            "labelLimit": COLUMN_PX - _BESIDE_LEGEND_PX,
            "labelColor": muted,
            "titleColor": muted,
            "titleFontWeight": "normal",
            "labelFontSize": TEXT_PX,
            "titleFontSize": TEXT_PX,
            "layout": {
                "bottom": {"anchor": "start", "direction": "vertical", "margin": 4},
                "top": {"anchor": "end", "direction": "vertical"},
            },
        },
        "style": {"expected": {"color": ink}, "zero": {"color": muted, "strokeDash": [3, 3]}},
    }
    title = textwrap.wrap(chart.title, int(COLUMN_PX / _CHARACTER_PX))
    fit = {"type": "fit-x", "contains": "padding"}
    return {**chart.spec, "title": title, "width": COLUMN_PX, "autosize": fit, "config": config}


def _legend_columns(spec: dict[str, Any]) -> int:
    """The number of columns with which the widest legend fits the width of the figure, at most 4."""
    layers = (spec, *spec.get("layer", ()))
    channels = [
        layer.get("encoding", {}).get(name) for layer in layers for name in ("color", "fill", "shape")
    ]
    labels = [
        str(label)
        for channel in channels
        if channel and channel.get("legend") is not None
        for label in channel.get("scale", {}).get("domain", ())
    ]
    widest_px = max((len(label) for label in labels), default=0) * _CHARACTER_PX
    return max(1, min(4, int((COLUMN_PX - _BESIDE_LEGEND_PX) / (widest_px + 32))))
