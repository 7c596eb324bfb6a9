"""`airtoll sweep`: runs a grid of cells in virtual time, with progress and resume, and writes one table."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from rich.console import Console

from airtoll import _rust
from airtoll.cli.base import echo
from airtoll.cli.progress import counting
from airtoll.cli.tables import plain_console
from airtoll.durable import make_directory, reporting
from airtoll.errors import AirtollError, StoppedError, UsageError
from airtoll.report.material import text
from airtoll.store import default_directory
from airtoll.store.origin import ALLOW_MIXED, Origin
from airtoll.sweep.cluster import on_cluster
from airtoll.sweep.grid import SweepGrid, load_grid
from airtoll.sweep.journal import SUFFIX, Journal
from airtoll.sweep.table import make_table, write_table
from airtoll.sweep.workers import on_cores


def perform_sweep(
    grid_file: Path,
    out: Path | None,
    *,
    resume: bool,
    allow_mixed: bool,
    formats: Sequence[str],
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Run all remaining cells, then write the table."""
    if resume and out is None:
        raise UsageError("--resume requires --out FILE, the sweep to complete")
    if allow_mixed and not resume:
        raise UsageError(f"{ALLOW_MIXED} requires --resume")
    if workers is not None and scheduler is not None:
        raise UsageError("--workers and --scheduler are mutually exclusive: a cluster has its own workers")
    grid = load_grid(grid_file, _rust.check_scenario)
    path = out or default_directory(grid.name).with_suffix(".parquet")
    if path.suffix != ".parquet":
        raise UsageError(f"--out: '{path}' must end in .parquet")
    if path.exists():
        raise UsageError(f"{path} already exists: use another --out for a new sweep")
    console = plain_console(stderr=True)
    with reporting(f"cannot write {path}"):
        make_directory(path.absolute().parent)
    sweep: dict[str, object] = {"grid": grid.digest, "cells": len(grid.cells)}
    journal_path = path.with_name(path.name + SUFFIX)
    with Journal(journal_path, sweep, Origin.here(), resume=resume, allow_mixed=allow_mixed) as journal:
        console.print(_about(grid, path), soft_wrap=True)
        began_s, before = time.monotonic(), len(journal.done)
        _perform(grid, journal, console, workers, scheduler, path)
        elapsed_s, performed = time.monotonic() - began_s, len(journal.done) - before
        table = make_table(grid.cells, journal.cells())
        written = write_table(table, path, formats)
        journal.remove()
    where = scheduler or text.counted(workers or os.cpu_count() or 1, "core")
    console.print(f"{text.counted(performed, 'cell')} in {elapsed_s:.1f} s, on {where}")
    for file in written:
        echo(str(file))


def _about(grid: SweepGrid, path: Path) -> str:
    levels = " x ".join(f"{count} {word}" for word, count in grid.levels.items())
    left_out = [
        f"{count} {why}"
        for count, why in ((grid.repeated, "repeated"), (grid.skipped, "impossible"))
        if count
    ]
    words = [f"{grid.title}: {text.counted(len(grid.cells), 'cell')}"]
    if levels:
        words.append(f" of {levels}")
    if left_out:
        words.append(f", {' and '.join(left_out)} left out")
    return f"{''.join(words)}, into {path}"


def _perform(
    grid: SweepGrid,
    journal: Journal,
    console: Console,
    workers: int | None,
    scheduler: str | None,
    path: Path,
) -> None:
    """Run the remaining cells. Every error reports the number of cells kept and how to continue."""
    jobs = [(place, cell) for place, cell in enumerate(grid.cells) if place not in journal.done]
    try:
        with counting(console) as progress, _stopping(console) as stop:
            task = progress.add_task("cells", total=len(grid.cells), completed=len(journal.done))
            if scheduler is None:
                results = on_cores(jobs, _rust.simulate, stop.asked, workers)
            else:
                results = on_cluster(jobs, scheduler, stop.asked)
            for done in results:
                journal.append(done)
                progress.update(task, completed=len(journal.done))
    except UsageError:
        if not journal.done:
            journal.remove()  # it has no cell
        raise
    except AirtollError as error:
        raise AirtollError(f"{error}; {_kept(grid, journal, path)}") from error
    except KeyboardInterrupt:
        # A cell in progress cannot be stopped, and the interpreter would wait for it.
        echo(f"airtoll: interrupted; {_kept(grid, journal, path)}", err=True)
        os._exit(StoppedError.exit_code)
    if len(journal.done) < len(grid.cells):
        raise StoppedError(f"interrupted; {_kept(grid, journal, path)}")


def _kept(grid: SweepGrid, journal: Journal, path: Path) -> str:
    again = f"repeat the command with --out {quote(str(path))} --resume to continue"
    return f"{len(journal.done)} of {text.counted(len(grid.cells), 'cell')} are kept; {again}"


class _Stop:
    """Whether the user has asked to stop."""

    def __init__(self) -> None:
        self._asked = False

    def asked(self) -> bool:
        return self._asked

    def ask(self) -> None:
        self._asked = True


@contextmanager
def _stopping(console: Console) -> Iterator[_Stop]:
    """The first Ctrl-C lets the cells in progress finish, which keeps them; a second Ctrl-C drops them."""
    stop = _Stop()

    def interrupted(_signal: int, _frame: object) -> None:
        stop.ask()
        signal.signal(signal.SIGINT, before)
        if console.is_terminal:
            console.print("stopping after the cells in progress; press Ctrl-C again to drop them")

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
