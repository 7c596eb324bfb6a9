"""`airtoll verify` and `airtoll report`, and the table that ends `airtoll run`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from airtoll import extras
from airtoll.cli.tables import plain_console
from airtoll.course import unneeded
from airtoll.report import table, write_index, write_paper, write_report
from airtoll.store import Result, verify


def verify_result(directory: Path) -> int:
    """Print each problem of the result, or that it has none, and return the exit status."""
    console = plain_console(soft_wrap=True)
    problems = verify(directory)
    for problem in problems:
        console.print(problem)
    if problems:
        return 1
    result = Result.open(directory)
    records = result.records()
    valid = sum(record.verdict.valid for record in records)
    spared = len(unneeded(result))
    left = len(result.pending()) - spared
    console.print(
        f"{directory}: no problems; {len(records)} of {len(result.plan.runs)} runs finished, {valid} of them valid"
        f"{_also(spared, 'not needed')}{_also(left, 'remaining')}",
        markup=False,
    )
    return 0


def report_results(directories: Sequence[Path], out: Path | None, *, paper: bool) -> None:
    """Write the report of each result, print its table and its files; for several results, also write an index."""
    console = plain_console(soft_wrap=True)
    if paper:
        extras.require("figures", "--paper")
    results = [Result.open(directory) for directory in directories]
    for result in results:
        directory = out if out is not None and len(results) == 1 else result.directory
        paths = write_report(result, directory)
        print_summary(console, result)
        for path in (paths.html, paths.markdown, paths.csv):
            console.print(str(path))
        if paper:
            count = len(write_paper(result, directory / "paper"))
            console.print(f"{directory / 'paper'}: {count} files")
    if len(results) > 1:
        where = out or Path(os.path.commonpath([result.directory.absolute() for result in results]))
        console.print(str(write_index(results, where)))
        if not extras.has("figures"):
            print(f"index.html has no pictures: they require {extras.hint('figures')}", file=sys.stderr)


def print_summary(console: Console, result: Result) -> None:
    """Print the comparison table of a result and the number of its invalid runs."""
    comparison = table(result)
    printed = Table(title=result.plan.study)
    for number, heading in enumerate(comparison.columns):
        printed.add_column(heading, justify="left" if number == 0 else "right")
    for row in comparison.cells:
        if not any(row[1:]):  # a row with only the name of a flow
            printed.add_section()
        printed.add_row(*row)
    console.print(printed)
    records = result.records()
    invalid = [record for record in records if not record.verdict.valid]
    console.print(
        f"{len(records)} of {len(result.plan.runs)} runs finished, {len(invalid)} of them invalid"
        f"{_also(len(unneeded(result)), 'not needed')}"
    )
    for record in invalid:
        console.print(f"  {record.run.id}: {'; '.join(record.verdict.reasons)}", soft_wrap=True)


def _also(count: int, what: str) -> str:
    """The end of a sentence: a count, or nothing if it is zero."""
    return f", {count} {what}" if count else ""
