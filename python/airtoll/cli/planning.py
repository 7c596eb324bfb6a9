"""`airtoll studies` and `airtoll plan`: the available studies, and the runs of a study in their order."""

from typing import Any

from rich.table import Table

from airtoll.cli.json_output import print_json
from airtoll.cli.progress import duration
from airtoll.cli.tables import plain_console
from airtoll.clock import Clock
from airtoll.labs import check_cells, open_lab
from airtoll.study import Plan, PlanDescription, describe, expand, find_study, load_study, shipped_studies
from airtoll.study.probes import PROBES


def list_studies(*, as_json: bool) -> None:
    """Print one row per study: name, number of runs and title."""
    studies = [load_study(path) for path in shipped_studies()]
    rows = [(study, len(expand(study).runs)) for study in studies]
    if as_json:
        print_json(
            [
                {"study": study.name, "runs": runs, "title": study.title, "file": str(study.path)}
                for study, runs in rows
            ]
        )
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("study", "runs", "title"):
        table.add_column(heading)
    for study, runs in rows:
        table.add_row(study.name, str(runs), study.title)
    plain_console().print(table)


def print_plan(study_name: str, lab: str | None, clock: Clock | None, *, quick: bool, as_json: bool) -> None:
    """Print all runs in order, and their estimated total duration."""
    plan = expand(load_study(find_study(study_name)), lab=lab, quick=quick, clock=clock)
    where = open_lab(plan.runs[0].cell.lab, plan)
    virtual = where.virtual or plan.clock == "virtual"
    check_cells((run.cell for run in plan.runs), where)
    description = describe(plan)
    if as_json:
        print_json(_json(plan, description, virtual=virtual))
        return
    console = plain_console()
    table = Table(box=None, pad_edge=False)
    for heading in ("run", "block", "replicate", *description.columns):
        table.add_column(heading)
    for row in description.rows:
        replicate = f"{row.replicate} (discarded)" if row.discard else str(row.replicate)
        table.add_row(str(row.order), str(row.block), replicate, *row.levels)
    console.print(table)
    console.print(
        "all runs: " + ", ".join(f"{name} {level}" for name, level in description.constants.items())
    )
    probes = [name for name in plan.method.probes if not (virtual and PROBES[name].real_time)]
    on_hosts = where.name != "sim"
    console.print("probes: " + ", ".join(_probe(name, on_hosts=on_hosts) for name in probes))
    upto = "about" if plan.method.stop == "fixed" else "at most"
    takes = "in virtual time" if virtual else f"{upto} {duration(description.estimate_s)}"
    console.print(f"{len(plan.runs)} runs in {description.blocks} blocks, {takes}")


def _probe(name: str, *, on_hosts: bool) -> str:
    tool = PROBES[name].tool
    return f"{name} (by {tool})" if tool not in ("", name) and on_hosts else name


def _json(plan: Plan, description: PlanDescription, *, virtual: bool) -> dict[str, Any]:
    return {
        "study": plan.study,
        "lab": plan.runs[0].cell.lab,
        "clock": plan.clock,
        "probes": list(plan.method.probes),
        "cells": description.cells,
        "blocks": description.blocks,
        "discarded": description.discarded,
        "estimate_s": None if virtual else description.estimate_s,
        "estimate_is_maximum": plan.method.stop != "fixed",
        "runs": [{"id": run.id, **run.model_dump(mode="json")} for run in plan.runs],
    }
