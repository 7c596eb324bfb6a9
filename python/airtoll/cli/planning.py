"""`airtoll studies` and `airtoll plan`: the available studies, and the runs of a study in their order."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rich.table import Table

from airtoll.cli.json_output import print_json
from airtoll.cli.progress import duration
from airtoll.cli.tables import plain_console
from airtoll.clock import ClockChoice
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
from airtoll.study.labs import lab_entry
from airtoll.study.plan import is_auto
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


@dataclass(frozen=True)
class PlanOptions:
    """The options of `airtoll plan`."""

    study: str  # file or name
    lab: str | None
    clock: ClockChoice | None
    inventory: Path | None
    quick: bool
    switch_time_s: int  # of a person, per change of the access point's settings
    as_json: bool


def print_plan(options: PlanOptions) -> None:
    """Print all runs in order, their estimated total duration, and the changes of the access point by design."""
    study = load_study(find_study(options.study))
    if study.figures is not None:  # refuses invalid ones; a shipped publication is valid
        from airtoll.published import publication_of

        publication_of(study)
    expanded = partial(
        expand,
        study,
        lab=options.lab,
        quick=options.quick,
        clock=options.clock,
        inventory=options.inventory,
    )
    plan = expanded()
    auto = is_auto(study, options.lab, options.clock)
    where = open_lab(plan.runs[0].cell.lab, plan, options.inventory)
    virtual = where.virtual or plan.clock == "virtual"
    check_cells((run.cell for run in plan.runs), where)
    description = describe(plan)
    allowed: tuple[Switching, ...] = get_args(Switching) if plan.method.stop == "fixed" else ("block",)
    designs = [plan if each == plan.method.switching else expanded(switching=each) for each in allowed]
    efforts = [Effort(design.method, switches(design.runs), options.switch_time_s) for design in designs]
    in_guests_s = None
    if auto or (virtual and not where.virtual):
        from airtoll import calibration

        cores = len(os.sched_getaffinity(0))
        in_guests_s = calibration.virtual_s(plan, calibration.demands_of(plan), cores)
    real_s = None if virtual else description.estimate_s
    if options.as_json:
        made = _json(plan, description, efforts)
        clock = {"clock": "auto" if auto else plan.clock}
        print_json(made | clock | {"estimate_s": real_s, "estimate_in_guests_s": in_guests_s})
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
    on_hosts = lab_entry(where.name).has_hosts
    console.print("probes: " + ", ".join(_probe(name, on_hosts=on_hosts) for name in probes))
    # Nobody waits for an access point in virtual time.
    for effort in efforts if not virtual and any(effort.switches for effort in efforts) else ():
        console.print(effort.words(), soft_wrap=True)
    upto = "about" if plan.method.stop == "fixed" else "at most"
    times = [
        *([] if real_s is None else [f"{upto} {duration(real_s)}{' in real time' if auto else ''}"]),
        *([] if in_guests_s is None else [f"{upto} {duration(in_guests_s)} in virtual time"]),
    ]
    takes = " or ".join(times) or "in virtual time"
    sessions = f"{description.sessions} sessions and " if in_sessions else ""
    console.print(f"{len(plan.runs)} runs in {sessions}{description.blocks} blocks, {takes}")
    if auto:
        console.print(
            "clock auto: airtoll run measures for about a second what this machine carries in real time, and selects "
            "one clock for all runs; in virtual time, CPU metrics are absent",
            soft_wrap=True,
        )


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


def _json(plan: Plan, description: PlanDescription, efforts: Sequence[Effort]) -> dict[str, Any]:
    return {
        "study": plan.study,
        "lab": plan.runs[0].cell.lab,
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
        "estimate_is_maximum": plan.method.stop != "fixed",
        "runs": [{"id": run.id, **run.model_dump(mode="json")} for run in plan.runs],
    }
