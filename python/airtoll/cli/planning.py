"""`airtoll studies` and `airtoll plan`: the available studies, and the runs of a study in their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from rich.table import Table

from airtoll.cli.json_output import print_json
from airtoll.cli.progress import duration
from airtoll.cli.tables import plain_console
from airtoll.clock import Clock
from airtoll.labs import check_cells, open_lab
from airtoll.study import (
    Plan,
    PlanDescription,
    describe,
    expand,
    find_study,
    load_study,
    shipped_studies,
    switches,
)
from airtoll.study.cell import Method, Switching
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


def print_plan(
    study_name: str,
    lab: str | None,
    clock: Clock | None,
    inventory: Path | None,
    *,
    quick: bool,
    switch_time_s: int,
    as_json: bool,
) -> None:
    """Print all runs in order, their estimated total duration, and the changes of the access point by design.

    `switch_time_s` is the time of a person per change, in seconds.
    """
    study = load_study(find_study(study_name))
    plan = expand(study, lab=lab, quick=quick, clock=clock, inventory=inventory)
    where = open_lab(plan.runs[0].cell.lab, plan, inventory)
    virtual = where.virtual or plan.clock == "virtual"
    check_cells((run.cell for run in plan.runs), where)
    description = describe(plan)
    allowed: tuple[Switching, ...] = get_args(Switching) if plan.method.stop == "fixed" else ("block",)
    designs = [
        plan if each == plan.method.switching else expand(study, lab, quick, clock, switching=each)
        for each in allowed
    ]
    efforts = [Effort(design.method, switches(design.runs), switch_time_s) for design in designs]
    if as_json:
        print_json(_json(plan, description, efforts, virtual=virtual))
        return
    console = plain_console()
    table = Table(box=None, pad_edge=False)
    in_sessions = description.sessions > 0
    for heading in ("run", "block", *(["session"] if in_sessions else []), "replicate", *description.columns):
        table.add_column(heading)
    for row in description.rows:
        replicate = f"{row.replicate} (discarded)" if row.discard else str(row.replicate)
        session = [str(row.session)] if in_sessions else []
        table.add_row(str(row.order), str(row.block), *session, replicate, *row.levels)
    console.print(table)
    console.print(
        "all runs: " + ", ".join(f"{name} {level}" for name, level in description.constants.items())
    )
    probes = [name for name in plan.method.probes if not (virtual and PROBES[name].real_time)]
    on_hosts = where.name != "sim"
    console.print("probes: " + ", ".join(_probe(name, on_hosts=on_hosts) for name in probes))
    # Nobody waits for an access point in virtual time.
    for effort in efforts if not virtual and any(effort.switches for effort in efforts) else ():
        console.print(effort.words(), soft_wrap=True)
    upto = "about" if plan.method.stop == "fixed" else "at most"
    takes = "in virtual time" if virtual else f"{upto} {duration(description.estimate_s)}"
    sessions = f"{description.sessions} sessions and " if in_sessions else ""
    console.print(f"{len(plan.runs)} runs in {sessions}{description.blocks} blocks, {takes}")


@dataclass(frozen=True)
class Effort:
    """The changes of the access point's settings in one design of a study."""

    method: Method
    switches: int
    switch_time_s: int  # of a person, per change

    @property
    def person_s(self) -> int:
        """Seconds of a person's time for all changes."""
        return self.switches * self.switch_time_s

    def words(self) -> str:
        """The design, the number of changes and the minutes that they take."""
        design = f"by {self.method.switching}"
        if self.method.switching == "session":
            design += f", {self.method.sessions} per setting"
        return (
            f"changes of the access point's settings {design}: {self.switches}, "
            f"{self.person_s / 60:.0f} min by hand at {self.switch_time_s} s each"
        )


def _probe(name: str, *, on_hosts: bool) -> str:
    tool = PROBES[name].tool
    return f"{name} (by {tool})" if tool not in ("", name) and on_hosts else name


def _json(
    plan: Plan, description: PlanDescription, efforts: Sequence[Effort], *, virtual: bool
) -> dict[str, Any]:
    return {
        "study": plan.study,
        "lab": plan.runs[0].cell.lab,
        "clock": plan.clock,
        "probes": list(plan.method.probes),
        "cells": description.cells,
        "blocks": description.blocks,
        "switching": plan.method.switching,
        "sessions": description.sessions,
        "switches": {
            effort.method.switching: {"changes": effort.switches, "person_s": effort.person_s}
            for effort in efforts
        },
        "discarded": description.discarded,
        "estimate_s": None if virtual else description.estimate_s,
        "estimate_is_maximum": plan.method.stop != "fixed",
        "runs": [{"id": run.id, **run.model_dump(mode="json")} for run in plan.runs],
    }
