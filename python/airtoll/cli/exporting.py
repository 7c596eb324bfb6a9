"""`airtoll metrics`: exports a result as OpenMetrics text."""

from pathlib import Path

import typer

from airtoll.report.material.data import ReportData
from airtoll.report.pages.openmetrics import openmetrics
from airtoll.store import Result
from airtoll.store.durable import make_directory, publish, reporting


def export_metrics(directory: Path, out: Path | None) -> None:
    """Print the text, or write it to a file atomically, as the textfile collector of Prometheus requires."""
    content = openmetrics(ReportData.of(Result.open(directory)))
    if out is None:
        typer.echo(content, nl=False)
        return
    with reporting(f"cannot write {out}"):
        make_directory(out.absolute().parent)
        publish(out.absolute().parent, {out.name: content.encode()})
