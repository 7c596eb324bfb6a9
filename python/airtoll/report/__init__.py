"""What a reader sees of a result: HTML, Markdown, CSV and the table in the terminal; no arithmetic here.

1. `data`: a result to `ReportData`: runs, records, and what `airtoll.stats` and `airtoll.model` make of them.
2. `text`: numbers, intervals and factor levels as words.
3. `rows`: the rows that HTML, Markdown and terminal share.
4. `sentences`: what was found, and how, in words; `extremes`: where levels differ most.
5. `facts`: what is known about machines, tools and link, and where runs differ in it.
6. `explained`: where the cost comes from; `publications`: what a paper printed beside it.
7. `charts`, `figures`: Vega-Lite charts of cells and runs, never of raw samples.
8. `page`: the self-contained HTML page; `files`: Markdown, CSV and writing all of it; `paper`: figures and tables as a
   paper takes them; `index`: a page that leads to several reports.

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
