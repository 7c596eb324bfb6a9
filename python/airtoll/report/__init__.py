"""What a reader sees of a result: HTML, Markdown, CSV and the table in the terminal; no arithmetic here.

1. `data`: a result to `ReportData`: runs, records, and what `airtoll.stats` and `airtoll.model` make of them.
2. `text`: numbers, intervals and factor levels as words. `grid`: a table of them, however it is shown.
3. `rows`: the comparison that HTML, Markdown and terminal share, and the tests of each change.
4. `sentences`: what was found, and how, in words; `extremes`: where levels differ most; `facts`: what is known about
   machines, tools and link, and where runs differ in it.
5. `averages`, `curves`, `engine`, `explained`, `publications`, `hardware`, `stability`: one part of a page each, its
   table and its figure, if it has one. `tables`: all tables in their order.
6. `forms`: against what a study's figures are drawn, and what colour tells; `charts`, `figures`, `changes`: Vega-Lite
   charts of cells and runs, never of raw samples; `drawn`: all figures in their order.
7. `page`: the self-contained HTML page; `markdown`; `files`: CSV and writing all of it; `paper`: figures and tables as
   a paper takes them; `index`: a page that leads to several reports.

Charts and templates are imported when a report is written, so that printing a table does not wait for them.
"""

from collections.abc import Sequence
from pathlib import Path

from airtoll.report.files import ReportPaths, write_report
from airtoll.report.rows import Row, Table, table
from airtoll.store import Result


def write_paper(result: Result, directory: Path) -> list[Path]:
    """`airtoll.report.paper.write_paper`, imported when it is called."""
    from airtoll.report import paper

    return paper.write_paper(result, directory)


def write_index(results: Sequence[Result], directory: Path) -> Path:
    """`airtoll.report.index.write_index`, imported when it is called."""
    from airtoll.report import index

    return index.write_index(results, directory)


__all__ = ["ReportPaths", "Row", "Table", "table", "write_index", "write_paper", "write_report"]
