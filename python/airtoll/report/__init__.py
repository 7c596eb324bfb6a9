"""What a reader sees of a result: HTML, Markdown, CSV and the table in the terminal; no arithmetic here.

Each sub-package imports only those above it:

1. `material`: what a report is made of. `data`: a result to `ReportData`: runs, records, and what `airtoll.stats` and
   `airtoll.model` make of them. `text`: numbers, intervals and factor levels as words. `grid`: a table of words.
   `rows`: the comparison that HTML, Markdown and terminal share, and the tests of each change. `facts`: what is known
   about machines, tools and link, and where runs differ in it.
2. `charts`: how charts look. `chart`: a Vega-Lite specification, its title and its description. `forms`: what figures
   are drawn against, and what colour means.
3. `parts`: one part of a report each. `sentences`: what was found, and how, in words. `extremes`: where levels differ
   most. `averages`, `curves`, `engine`, `explained`, `publications`, `hardware`, `stability`: tables and figures of one
   subject. `figures`, `changes`: charts of cells and runs, never of raw samples.
4. `pages`: what is written. `tables`, `drawn`: all tables and all figures in their order. `page`: the self-contained
   HTML page. `markdown`. `files`: CSV, and writing all of it. `paper`: figures and tables as a paper takes them.
   `index`: a page that leads to several reports. `openmetrics`.

Charts and templates are imported when a report is written, so that printing a table does not wait for them.
"""

from collections.abc import Sequence
from pathlib import Path

from airtoll.report.material.rows import Row, Table, table
from airtoll.report.pages.files import ReportPaths, write_report
from airtoll.store import Result


def write_paper(result: Result, directory: Path) -> list[Path]:
    """`airtoll.report.pages.paper.write_paper`, imported when it is called."""
    from airtoll.report.pages import paper

    return paper.write_paper(result, directory)


def write_index(results: Sequence[Result], directory: Path) -> Path:
    """`airtoll.report.pages.index.write_index`, imported when it is called."""
    from airtoll.report.pages import index

    return index.write_index(results, directory)


__all__ = ["ReportPaths", "Row", "Table", "table", "write_index", "write_paper", "write_report"]
