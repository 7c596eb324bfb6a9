"""A report's figures and tables for a paper: SVG and PDF, CSV and LaTeX.

The figures are those of the page, in its printed colours. The tables require the LaTeX package booktabs.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

from airtoll import extras
from airtoll.report.charts.chart import Chart
from airtoll.report.charts.forms import colour_names
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid, csv_text
from airtoll.report.pages.drawn import Drawn
from airtoll.report.pages.tables import Tables
from airtoll.report.parts import publications
from airtoll.store import Result
from airtoll.store.durable import make_directory, publish, reporting

FIGURE_WIDTH_PX: Final = 360
"""The width of a column of a paper at 96 px per inch, including the axis."""

_STYLE = Path(__file__).parent / "templates" / "report.css"
_COLOUR = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]+);")


def write_paper(result: Result, directory: Path) -> list[Path]:
    """Write every figure as SVG and PDF and every table as CSV and LaTeX, each file atomically; return the paths.

    Raises UsageError without the extra `figures`, AirtollError if the result cannot be read or a file cannot be
    written.
    """
    vl_convert = extras.require("figures", "writing SVG and PDF files")
    data = ReportData.of(result)
    paper = publications.BesidePublication.of(data)
    files: dict[str, bytes] = {}
    for chart in Drawn.of(data, paper).charts:
        spec = still(data, chart)
        name = chart.id.removeprefix("chart-")
        files[f"{name}.svg"] = vl_convert.vegalite_to_svg(spec).encode()
        files[f"{name}.pdf"] = vl_convert.vegalite_to_pdf(spec)
    for grid in Tables.of(data, paper).grids:
        files[f"{grid.name}.csv"] = csv_text([grid.columns, *grid.rows]).encode()
        files[f"{grid.name}.tex"] = latex(grid).encode()
    with reporting(f"cannot write into {directory}"):
        make_directory(directory.absolute())
        publish(directory, files)
    return [directory / name for name in files]


def latex(grid: Grid) -> str:
    """The table as a float for booktabs, with LaTeX's special characters escaped."""
    places = "l" * grid.words + "r" * (len(grid.columns) - grid.words)
    lines = [
        "\\begin{table}",
        f"  \\caption{{{_tex(grid.title)}}}",
        f"  \\begin{{tabular}}{{{places}}}",
        "    \\toprule",
        f"    {_tex_row(grid.columns)}",
        "    \\midrule",
        *(f"    {_tex_row(row)}" for row in grid.rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


_TEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    text.MINUS: "$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    text.MISSING: "--",
    "\N{INFINITY}": r"$\infty$",
    "\N{MICRO SIGN}": r"\textmu{}",
    "\N{DOT OPERATOR}": r"$\cdot$",
    "\N{MIDDLE DOT}": r"$\cdot$",
    "<": "$<$",
    ">": "$>$",
    **{sign: f"$^{digit}$" for sign, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)},
    "⁻": "$^-$",
}


def _tex(words: str) -> str:
    return "".join(_TEX.get(character, character) for character in words)


def _tex_row(cells: Iterable[str]) -> str:
    # LaTeX takes a bracket at the start of a row as an argument of the \\ before it.
    return " & ".join("{}" + _tex(cell) if cell.startswith("[") else _tex(cell) for cell in cells) + r" \\"


def still(data: ReportData, chart: Chart) -> dict[str, Any]:
    """The chart as a picture, with a fixed width and the page's colours for print."""
    colours = [_colours()[f"level-{level}"] for level in colour_names(data.comparison.levels)]
    ink, muted, line = (_colours()[name] for name in ("ink", "muted", "line"))
    axis = {
        "domainColor": line,
        "gridColor": line,
        "tickColor": line,
        "labelColor": muted,
        "titleColor": muted,
        "gridOpacity": 0.6,
    }
    config = {
        "background": "white",
        "range": {"category": colours, "ordinal": ["white", *colours[1:]]},
        "view": {"stroke": None},
        "axis": {**axis, "titleFontWeight": "normal", "labelLimit": 170},
        "axisX": {"grid": False},
        "title": {"color": ink, "anchor": "start"},
        "legend": {
            "orient": "bottom",
            "direction": "horizontal",
            "columns": 4,
            "labelColor": muted,
            "titleColor": muted,
            "titleFontWeight": "normal",
        },
        "style": {"expected": {"color": ink}, "zero": {"color": muted, "strokeDash": [3, 3]}},
    }
    return {**chart.spec, "width": FIGURE_WIDTH_PX, "autosize": "pad", "config": config}


@cache
def _colours() -> dict[str, str]:
    """The page's print colours by name: the last definition of each colour in the style sheet."""
    return dict(_COLOUR.findall(_STYLE.read_text(encoding="utf-8")))
