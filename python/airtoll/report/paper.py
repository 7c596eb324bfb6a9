"""A report's figures and tables as a paper takes them: SVG and PDF, CSV and LaTeX.

Figures are those of the page in its printed colours; tables want the LaTeX package booktabs.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import vl_convert

from airtoll.report import explained, figures, publications, rows, text
from airtoll.report.charts import Chart
from airtoll.report.data import ReportData
from airtoll.store import Result
from airtoll.store.durable import make_directory, publish, reporting

FIGURE_WIDTH_PX: Final = 360
"""A column of a paper, at 96 px an inch, with its axis."""

_STYLE = Path(__file__).parent / "templates" / "report.css"
_COLOUR = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]+);")


@dataclass(frozen=True)
class Table:
    """Headings and rows of words."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_paper(result: Result, directory: Path) -> list[Path]:
    """Write every figure as SVG and PDF and every table as CSV and LaTeX; the files, each whole or not there.

    Raises AirtollError if the result cannot be read or a file cannot be written.
    """
    data = ReportData.of(result)
    paper = publications.BesidePublication.of(data)
    files: dict[str, bytes] = {}
    for chart in _charts(data, paper):
        spec = still(data, chart)
        name = chart.id.removeprefix("chart-")
        files[f"{name}.svg"] = vl_convert.vegalite_to_svg(spec).encode()
        files[f"{name}.pdf"] = vl_convert.vegalite_to_pdf(spec)
    for table in tables(data, paper):
        files[f"{table.name}.csv"] = _csv(table).encode()
        files[f"{table.name}.tex"] = latex(table).encode()
    with reporting(f"cannot write into {directory}"):
        make_directory(directory.absolute())
        publish(directory, files)
    return [directory / name for name in files]


def tables(data: ReportData, paper: publications.BesidePublication | None) -> Iterator[Table]:
    """The tables of a report that have a row."""
    comparison = rows.build(data)
    if comparison.rows:
        yield Table("comparison", data.title, *comparison.full())
    if data.explained:
        heads = ("Flow", "Metric", "Security", "Change")
        parts = [explained.PART_TITLES[name] for name in explained.shown_parts(data)]
        lines = [
            (
                split.flow,
                f"{split.metric.short}, {split.metric.display_unit}",
                split.level,
                split.change,
                *split.parts,
            )
            for split in explained.splits(data)
        ]
        yield Table("explained", "Where the cost comes from", (*heads, *parts), lines)
    if paper is not None and paper.beside:
        columns = ("Figure", "Of what", "Metric", "Published", "Measured", "Model")
        yield Table(
            "published",
            f"{', '.join(paper.publication.authors)}: published and measured",
            columns,
            [
                (
                    one.point.figure or one.point.place,
                    publications.condition(one),
                    f"{one.metric.short}, {one.metric.display_unit}",
                    publications.shown(one, one.published),
                    publications.shown(one, one.measured),
                    publications.shown(one, one.expected),
                )
                for one in paper.beside
            ],
        )


def latex(table: Table) -> str:
    """The table as a float for booktabs; what LaTeX takes for commands is written out."""
    lines = [
        "\\begin{table}",
        f"  \\caption{{{_tex(table.caption)}}}",
        f"  \\begin{{tabular}}{{{'l' * len(table.columns)}}}",
        "    \\toprule",
        f"    {_tex_row(table.columns)}",
        "    \\midrule",
        *(f"    {_tex_row(row)}" for row in table.rows),
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
}


def _tex(words: str) -> str:
    return "".join(_TEX.get(character, character) for character in words)


def _tex_row(cells: Iterable[str]) -> str:
    # A row that begins with a bracket would be an argument of the \\ before it.
    return " & ".join("{}" + _tex(cell) if cell.startswith("[") else _tex(cell) for cell in cells) + r" \\"


def _csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([table.columns, *table.rows])
    return out.getvalue()


def _charts(data: ReportData, paper: publications.BesidePublication | None) -> Iterator[Chart]:
    for figure in (figures.differences(data), explained.waterfalls(data), *figures.measured(data, paper)):
        if figure is not None:
            yield from figure.charts


def still(data: ReportData, chart: Chart) -> dict[str, Any]:
    """The chart as one picture: a width of its own, and the page's colours for paper."""
    colours = [_colours()[f"level-{level}"] for level in data.comparison.levels]
    ink, muted, line = (_colours()[name] for name in ("ink", "muted", "line"))
    axis = {
        "domainColor": line,
        "gridColor": line,
        "tickColor": line,
        "labelColor": muted,
        "titleColor": muted,
    }
    config = {
        "background": "white",
        "range": {"category": colours, "ordinal": ["white", *colours[1:]]},
        "view": {"stroke": None},
        "axis": {**axis, "titleFontWeight": "normal", "labelLimit": 170},
        "axisX": {"grid": False},
        "title": {"color": ink, "anchor": "start"},
        "legend": {"orient": "bottom", "direction": "horizontal", "labelColor": muted, "titleColor": muted},
        "style": {"expected": {"color": ink}, "zero": {"color": muted, "strokeDash": [3, 3]}},
    }
    return {**chart.spec, "width": FIGURE_WIDTH_PX, "autosize": "pad", "config": config}


@cache
def _colours() -> dict[str, str]:
    """The page's colours by name, as they are printed: the last of each in its style sheet."""
    return dict(_COLOUR.findall(_STYLE.read_text(encoding="utf-8")))
