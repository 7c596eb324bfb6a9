"""`airtoll verify` and `airtoll report`, and the table or JSON that ends `airtoll run`."""

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from airtoll import extras
from airtoll.cli.json_output import print_json
from airtoll.cli.tables import plain_console
from airtoll.condition import RunCounts, damage, mixture
from airtoll.errors import UsageError
from airtoll.report import ReportPaths, write_index, write_papers
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Lines
from airtoll.report.pages.files import cell_records, write_files
from airtoll.report.parts import sentences
from airtoll.stats import METRICS
from airtoll.store import Result, RunRecord, verify
from airtoll.store.recorder import MACHINE
from airtoll.study import Run

REASONS_MOST: Final = 9
"""The terminal shows at most this many reasons of invalid runs, and one line that counts the others."""


def verify_result(directory: Path, *, as_json: bool) -> int:
    """Print each problem of the result, or that it has none, and return the exit status."""
    problems = verify(directory)
    runs, mixed = None, []
    if not problems:
        result = Result.open(directory)
        records = result.records()
        runs, mixed = RunCounts.of(result, records), mixture(records)
    if as_json:
        print_json(
            {
                "directory": str(directory),
                "problems": problems,
                "mixture": mixed,
                "runs": None if runs is None else asdict(runs),
            }
        )
        return 1 if problems else 0
    console = plain_console(soft_wrap=True)
    for problem in problems:
        console.print(problem)
    if runs is not None:
        console.print(
            f"{directory}: no problems; {runs.finished} of {runs.planned} runs finished, {runs.valid} of them valid"
            f"{_also(runs.repeated, 'repeats')}{_also(runs.not_needed, 'not needed')}"
            f"{_also(runs.remaining, 'remaining')}"
        )
    for line in mixed:
        console.print(f"warning: {line}")
    return 1 if problems else 0


def report_results(
    directories: Sequence[Path],
    out: Path | None,
    *,
    paper: bool,
    figures: Path | None = None,
    font: str | None = None,
    pages: Path | None = None,
    as_json: bool,
) -> None:
    """Write the report of each result, print its table and its files; for several results, also write an index.

    `figures` is the directory of the figures, `font` the name of their font, `pages` the directory of the pages of
    published papers. Raises UsageError for options that do not go together.
    """
    console = plain_console(soft_wrap=True)
    if paper:
        extras.require("figures", "--paper")
    if figures is not None and len(directories) > 1:
        raise UsageError(
            "--figures requires a single result: the figures of several results have the same names"
        )
    if font is not None and not paper and figures is None:
        raise UsageError("--font requires --figures or --paper")
    results = [Result.open(directory) for directory in directories]
    published = [str(path) for path in write_papers(results, pages)] if pages is not None else []
    reports: list[dict[str, Any]] = []
    for result in results:
        directory = out if out is not None and len(results) == 1 else result.directory
        data = replace(ReportData.of(result), damage=damage(result.directory))
        paths = write_files(data, directory)
        written = _extra_files(data, directory / "paper" if paper else None, figures, font)
        if as_json:
            named = {name: [str(path) for path in of_name] for name, of_name in written.items()}
            reports.append(report_json(result, data, paths) | named)
            continue
        print_summary(console, result, data)
        for warning in sentences.warnings(data):
            console.print(f"warning: {warning}", soft_wrap=True)
        for path in (paths.html, paths.markdown, paths.csv):
            console.print(str(path))
        for of_name in filter(None, written.values()):
            console.print(f"{of_name[0].parent}: {text.counted(len(of_name), 'file')}")
    index = None
    if len(results) > 1:
        where = out or Path(os.path.commonpath([result.directory.absolute() for result in results]))
        index = str(write_index(results, where))
        if not extras.has("figures"):
            print(f"index.html has no pictures: they require {extras.hint('figures')}", file=sys.stderr)
    if as_json:
        print_json({"reports": reports, "index": index, "pages": published})
        return
    for page in (*([] if index is None else [index]), *published):
        console.print(page)


def _extra_files(
    data: ReportData, paper: Path | None, figures: Path | None, font: str | None
) -> dict[str, list[Path]]:
    """Write the files for a paper and the figures into these directories, and return their paths."""
    if paper is None and figures is None:
        return {"paper": [], "figures": []}
    from airtoll.report.pages.figure_files import FONT, write_figures
    from airtoll.report.pages.paper import write_paper

    return {
        "paper": [] if paper is None else write_paper(data, paper, font or FONT),
        "figures": [] if figures is None else write_figures(data, figures, font or FONT),
    }


def report_json(result: Result, data: ReportData, paths: ReportPaths) -> dict[str, Any]:
    """A result with its counted and invalid runs, the rows of cells.csv and the files of its report."""
    records = result.records()
    return {
        "directory": str(result.directory),
        "study": data.study,
        "lab": data.lab,
        "quick": data.quick,
        "airtoll": data.airtoll,
        "runs": asdict(RunCounts.of(result, records)),
        "invalid_runs": [
            {"id": record.run.id, "reasons": record.verdict.reasons}
            for record in records
            if not record.verdict.valid
        ],
        "cells": cell_records(data),
        "files": {name: str(path) for name, path in asdict(paths).items()},
    }


def print_summary(console: Console, result: Result, data: ReportData) -> None:
    """Print the sections of a report for a terminal, and the invalid runs by reason."""
    from airtoll.report.parts import sections

    for block in (block for section in sections(data, "terminal")["terminal"] for block in section.body):
        match block:
            case Grid():
                console.print(_table(block))
            case Lines():
                for line in block.lines:
                    console.print(line)
            case str():
                console.print(block)
    records = result.records()
    runs = RunCounts.of(result, records)
    console.print(
        f"{runs.finished} of {runs.planned} runs finished, {runs.invalid} of them invalid"
        f"{_also(runs.repeated, 'repeats')}{_also(runs.not_needed, 'not needed')}"
    )
    for line in invalid_by_reason(records):
        console.print(f"  {line}", soft_wrap=True)
    if (metrics := not_counted(records)) is not None:
        console.print(metrics, soft_wrap=True)
    if (slowness := _host_s_per_virtual_s(records)) is not None:
        console.print(f"virtual time: {slowness:.1f} s of real time per second in each guest")


def _table(grid: Grid) -> Table:
    printed = Table(title=grid.title)
    for number, heading in enumerate(grid.columns):
        printed.add_column(heading, justify="left" if number < grid.words else "right")
    for row in grid.rows:
        if not any(row[1:]):  # a row with only the name of a flow
            printed.add_section()
        printed.add_row(*row)
    return printed


def invalid_by_reason(records: Iterable[RunRecord]) -> Iterator[str]:
    """One line per reason: the number of invalid runs and the first of them, with the details of this run.

    The attempts of a run count as one run, and also if a later attempt is valid.
    """
    runs: dict[str, list[tuple[Run, str]]] = defaultdict(list)
    for record in records:
        for reason in record.verdict.reasons:
            name, _, detail = reason.partition(": ")
            runs[name].append((record.run, detail))
    by_count = sorted(runs.items(), key=lambda item: -len(item[1]))
    for name, of_reason in by_count[:REASONS_MOST]:
        first, detail = of_reason[0]
        distinct = len({run.order for run, _ in of_reason})
        attempts = f" in {len(of_reason)} attempts" if len(of_reason) > distinct else ""
        yield f"{name}, {text.counted(distinct, 'run')}{attempts}, such as {first.id}: {detail}"
    if len(by_count) > REASONS_MOST:
        yield f"and {len(by_count) - REASONS_MOST} more reasons"


def not_counted(records: Iterable[RunRecord]) -> str | None:
    """The metrics of valid runs that do not count, with the number of these runs; None if all count."""
    runs: dict[str, list[tuple[Run, str]]] = defaultdict(list)
    for record in records:
        for metric, why in record.verdict.spoiled.items():
            if metric in METRICS:
                runs[metric].append((record.run, why))
    if not runs:
        return None
    by_count = sorted(runs.items(), key=lambda item: -len(item[1]))
    counts = [f"{metric} of {text.counted(len(of_metric), 'run')}" for metric, of_metric in by_count]
    first, why = by_count[0][1][0]
    return f"not counted in valid runs: {text.listing(counts)}, such as {first.id}: {why}"


def _host_s_per_virtual_s(records: Iterable[RunRecord]) -> float | None:
    """The real time per second of virtual time in the guests of the runs; None without guests."""
    host_s = virtual_s = 0.0
    for record in records:
        machine = record.hosts.get(MACHINE, {})
        took_s, lasted_s = machine.get("guest_host_s"), machine.get("guest_virtual_s")
        if isinstance(took_s, float) and isinstance(lasted_s, float):
            host_s, virtual_s = host_s + took_s, virtual_s + lasted_s
    return host_s / virtual_s if virtual_s else None


def _also(count: int, what: str) -> str:
    """The end of a sentence: a count, or nothing if it is zero."""
    return f", {count} {what}" if count else ""
