"""What a reader sees of a result: HTML, Markdown, CSV and the table in the terminal; no arithmetic here.

1. `data`: a result to `ReportData`: runs, records, and the figures that `airtoll.stats` makes of them.
2. `text`: numbers, intervals and factor levels as words.
3. `rows`: the rows that HTML, Markdown and terminal share.
4. `sentences`: what was found, and how, in words.
5. `facts`: what is known about machines, tools and link, and where runs differ in it.
6. `figures`: Vega-Lite charts of cells and runs, never of raw samples.
7. `page`: the self-contained HTML page; `files`: Markdown, CSV and writing all of it.

Charts and templates are imported when a report is written, so that printing a table does not wait for them.
"""

from airtoll.report.files import ReportPaths, write_report
from airtoll.report.rows import Row, Table, table

__all__ = ["ReportPaths", "Row", "Table", "table", "write_report"]
