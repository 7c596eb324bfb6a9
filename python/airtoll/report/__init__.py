"""Reports of a result: HTML, Markdown, LaTeX, CSV and the table in the terminal. This package does no arithmetic.

A report is a list of sections. A section has a title and a body of tables, figures and lines. A module of `parts` names
the functions of the data that make its sections, with their places in the report and their writers. Every writer shows
the list in its own form, so a new section requires one new module.

Each sub-package imports only the sub-packages above it:

1. `material`: the content of a report. `data`: a result as `ReportData`: runs, records and the figures of
   `airtoll.stats` and `airtoll.prediction`. `section`: sections, figures and lines. `grid`: a table of text. `text`:
   numbers, intervals and factor levels as text. `rows`: the comparison that all writers share, and the tests of each
   change. `alike`: cells that lab sim cannot tell apart. `facts`: recorded facts about machines, tools and link, and
   the facts in which runs differ.
2. `charts`: the form of charts. `chart`: parts of Vega-Lite specifications. `forms`: the x axis of figures and the
   meaning of colours.
3. `parts`: the sections, one module per subject; `parts.sections` lists them. `answer`: the top of the report.
   `sentences`: subject and method in sentences. `claims`, `publications`, `hardware`: the sections of studies that
   repeat a paper.
4. `pages`: the writers. `page`: the HTML page. `markdown`. `paper`: tables in LaTeX and figures for a paper.
   `figure_files`: figures as SVG and PDF. `files`: CSV, and writing all files. `papers`: a Markdown page per published
   paper. `index`: an index of several reports. `openmetrics`. `airtoll.cli.results` prints to the terminal.

Charts and templates are imported when a report is written, so that other commands do not load them.
"""

from collections.abc import Sequence
from pathlib import Path

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
    "write_index",
    "write_papers",
    "write_report",
]
