"""`airtoll metrics`: exports a result as OpenMetrics text."""

from pathlib import Path
from typing import Any

from airtoll.cli.base import echo
from airtoll.cli.json_output import print_json
from airtoll.durable import make_directory, publish, reporting
from airtoll.errors import UsageError
from airtoll.report.material.data import ReportData
from airtoll.report.pages.openmetrics import Family, families, openmetrics
from airtoll.store import Result
from airtoll.store.layout import check_target


def export_metrics(directory: Path, out: Path | None, *, as_json: bool) -> None:
    """Print the text, or write it to a file atomically, as the textfile collector of Prometheus requires."""
    if as_json and out is not None:
        raise UsageError("--json and --out are mutually exclusive")
    data = ReportData.of(Result.open(directory))
    if as_json:
        print_json([_json(family) for family in families(data)])
        return
    content = openmetrics(data)
    if out is None:
        echo(content, nl=False)
        return
    check_target(directory, out.parent)
    with reporting(f"cannot write {out}"):
        make_directory(out.absolute().parent)
        publish(out.absolute().parent, {out.name: content.encode()})


def _json(family: Family) -> dict[str, Any]:
    samples = [{"labels": dict(labels), "value": value} for labels, value in family.samples]
    return {"name": family.name, "unit": family.unit or None, "help": family.help, "samples": samples}
