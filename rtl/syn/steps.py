"""Run measurements in order: report failed measurements and continue with the others; entry point of the scripts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click
from rich.console import Console

from airtoll.cli.progress import counting
from airtoll.errors import AirtollError, StoppedError, UsageError


@dataclass(frozen=True)
class Step:
    """One measurement."""

    name: str
    measure: Callable[[], None]


def take(steps: Sequence[Step], console: Console) -> None:
    """Run all measurements. AirtollError if one failed, StoppedError at Ctrl-C."""
    failed = 0
    with counting(console) as progress:
        task = progress.add_task("", total=len(steps))
        for step in steps:
            progress.update(task, description=step.name)
            try:
                step.measure()
            except KeyboardInterrupt:
                raise StoppedError("interrupted; finished measurements are stored") from None
            except AirtollError as error:
                failed += 1
                what = "left out" if isinstance(error, UsageError) else "failed"
                console.print(f"{step.name}: {what}: {error}", markup=False)
            progress.advance(task)
    if failed:
        raise AirtollError(f"{failed} of {len(steps)} measurements failed")


def script(main: click.Command, name: str) -> None:
    """Run `main` as the script with this name: every failure ends in one line and an exit status."""
    try:
        main(prog_name=name)
    except AirtollError as error:
        click.echo(f"{name}: {error}", err=True)
        raise SystemExit(error.exit_code) from None
