"""Reports of a result: HTML, Markdown, CSV and the table in the terminal. This package does no arithmetic.

Each sub-package imports only the sub-packages above it:

1. `material`: the content of a report. `data`: a result as `ReportData`: runs, records and the figures of
   `airtoll.stats` and `airtoll.prediction`. `text`: numbers, intervals and factor levels as text. `grid`: a table of
   text. `rows`: the comparison that HTML, Markdown and terminal share, and the tests of each change. `alike`: cells
   that lab sim cannot tell apart. `facts`: recorded facts about machines, tools and link, and the facts in which runs
   differ.
2. `charts`: the form of charts. `chart`: a Vega-Lite specification, its title and its description. `forms`: the x axis
   of figures and the meaning of colours.
3. `parts`: one module per part of a report. `answer`: the top of the report. `sentences`: subject and method in
   sentences. `extremes`: the largest differences between levels. `averages`, `curves`, `engine`, `explained`, `claims`,
   `publications`, `hardware`, `stability`: tables and figures of one subject. `figures`, `changes`: charts of cells
   and runs, never of raw samples.
4. `pages`: the files. `tables`, `drawn`: all tables and all figures in their order. `page`: the self-contained HTML
   page. `markdown`. `files`: CSV, and writing all files. `figure_files`: figures as SVG and PDF.
   `paper`: tables and figures for a paper. `papers`: a Markdown
   page per published paper. `index`: an index of several reports. `openmetrics`.

Charts and templates are imported when a report is written, so that a table is printed without loading them.
"""

from collections.abc import Sequence
from pathlib import Path

from airtoll.report.material.rows import Row, Table, table
from airtoll.report.pages.files import ReportPaths, write_report
from airtoll.store import Result


def write_papers(results: Sequence[Result], directory: Path) -> list[Path]:
    """`airtoll.report.pages.papers.write_papers`, imported when it is called."""
    from airtoll.report.pages import papers

    return papers.write_papers(results, directory)


def write_index(results: Sequence[Result], directory: Path) -> Path:
    """`airtoll.report.pages.index.write_index`, imported when it is called."""
    from airtoll.report.pages import index

    return index.write_index(results, directory)


__all__ = [
    "ReportPaths",
    "Row",
    "Table",
    "table",
    "write_index",
    "write_papers",
    "write_report",
]
