"""`airtoll studies` and `airtoll plan`: the available studies, and the runs of a study in their order."""

from rich.table import Table

from airtoll.cli.progress import duration
from airtoll.cli.tables import plain_console
from airtoll.labs import check_cells, open_lab
from airtoll.study import describe, expand, find_study, load_study, shipped_studies


def list_studies() -> None:
    """Print one row per study: name, number of runs and title."""
    table = Table(box=None, pad_edge=False)
    for heading in ("study", "runs", "title"):
        table.add_column(heading)
    for path in shipped_studies():
        study = load_study(path)
        table.add_row(study.name, str(len(expand(study).runs)), study.title)
    plain_console().print(table)


def print_plan(study_name: str, lab: str | None, *, quick: bool) -> None:
    """Print all runs in order, and their estimated total duration."""
    plan = expand(load_study(find_study(study_name)), lab=lab, quick=quick)
    where = open_lab(plan.runs[0].cell.lab, plan.link, plan.stacks)
    check_cells((run.cell for run in plan.runs), where)
    description = describe(plan)
    console = plain_console()
    table = Table(box=None, pad_edge=False)
    for heading in ("run", "block", "replicate", *description.columns):
        table.add_column(heading)
    for row in description.rows:
        replicate = f"{row.replicate} (left out)" if row.discard else str(row.replicate)
        table.add_row(str(row.order), str(row.block), replicate, *row.levels)
    console.print(table)
    console.print(
        "all runs: " + ", ".join(f"{name} {level}" for name, level in description.constants.items())
    )
    upto = "about" if plan.method.stop == "fixed" else "at most"
    takes = "in virtual time" if where.virtual else f"{upto} {duration(description.estimate_s)}"
    console.print(f"{len(plan.runs)} runs in {description.blocks} blocks, {takes}")
