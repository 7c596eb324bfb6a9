"""`airtoll run`: performs a study, shows the progress and prints the table."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Final

from rich.console import Console

from airtoll import calibration, other_load
from airtoll.cli.json_output import print_json
from airtoll.cli.progress import counting, duration
from airtoll.cli.results import print_summary, report_json
from airtoll.cli.tables import plain_console
from airtoll.clock import ClockChoice
from airtoll.course import Course
from airtoll.errors import AirtollError, StoppedError, UsageError
from airtoll.labs import Lab, open_lab
from airtoll.labs.inventory import digest
from airtoll.probes import probes_of
from airtoll.probes.base import Probe
from airtoll.published import publication_of
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.pages.files import write_files
from airtoll.stats import Outcome, coverage
from airtoll.store import (
    Event,
    ProbeStarted,
    RepeatWaits,
    Result,
    RunFinished,
    RunRecord,
    RunStarted,
    check_ready,
    default_directory,
    record,
)
from airtoll.store.origin import ALLOW_MIXED
from airtoll.store.recorder import Performer
from airtoll.store.side_by_side import OnCores
from airtoll.store.verdict import HOST_LOST, LINK_CHANGED, NO_LOAD
from airtoll.study import Cell, Plan, Study, estimate_s, expand, find_study, load_study, varying_factors
from airtoll.study.labs import lab_entry
from airtoll.study.plan import check_has_machines, is_auto
from airtoll.study.quantity import one_line


@dataclass(frozen=True)
class RunOptions:
    """The options of `airtoll run`."""

    study: str  # file or name, or the directory of the result to complete
    lab: str | None
    clock: ClockChoice | None
    radios: tuple[str, ...] | None
    inventory: Path | None
    quick: bool
    workers: int | None
    scheduler: str | None
    out: Path | None
    resume: bool
    allow_mixed: bool
    pcap: bool
    as_json: bool


def perform(options: RunOptions) -> None:
    """Measure all runs missing from the result, then write the report and print the table."""
    if options.allow_mixed and not options.resume:
        raise UsageError(f"{ALLOW_MIXED} requires --resume")
    console = plain_console(stderr=options.as_json)
    out = options.out
    if options.resume and out is None:
        out = Path(options.study)
        study_text, plan = _stored(out, options)
        figures = None
    else:
        study = load_study(find_study(options.study))
        publication_of(study)  # refuses invalid figures before anything is measured
        study_text, figures, plan = study.text, study.figures, _planned(console, study, options)
    with closing(open_lab(plan.runs[0].cell.lab, plan, options.inventory)) as lab:
        if options.pcap and (obstacle := lab.capture_obstacle()) is not None:
            raise UsageError(f"--pcap: {obstacle}")
        probes = probes_of(plan.method.probes, lab.name, plan.clock)
        check_ready(plan.runs, lab, probes)
        performer = _performer(plan, lab, probes, options)
        if options.resume and out is not None:
            result = Result.resume(out, study_text, plan, figures=figures, allow_mixed=options.allow_mixed)
        else:
            directory = out or default_directory(plan.study)
            result = Result.create(directory, study_text, plan, lab.name, options.quick, figures)
        with result:
            _record(console, result, lab, probes, performer, options)
            data = ReportData.of(result)
            paths = write_files(data, result.directory)
        if options.as_json:
            print_json(report_json(result, data, paths))
        else:
            print_summary(console, result, data)
            console.print(f"report: {paths.html}", soft_wrap=True)
    if (too_little := _too_little(result)) is not None:
        raise AirtollError(too_little)


def _planned(console: Console, study: Study, options: RunOptions) -> Plan:
    """The plan of the study with the options. Selects the clock if the study leaves the selection to airtoll."""
    expanded = partial(
        expand,
        study,
        lab=options.lab,
        quick=options.quick,
        radios=options.radios,
        inventory=options.inventory,
    )
    plan = expanded(clock=options.clock)
    if is_auto(study, options.lab, options.clock):
        chosen = _selected(console, plan, options)
        console.print(f"clock: {chosen.reason}", soft_wrap=True)
        plan = expanded(clock=chosen.clock).model_copy(update={"clock_reason": chosen.reason})
    if options.inventory is not None:
        plan = plan.model_copy(update={"inventory_sha256": digest(options.inventory)})
    return plan


def _selected(console: Console, plan: Plan, options: RunOptions) -> calibration.Chosen:
    """The clock of a plan in lab air. Measures this machine if the guest is built and no option decides."""
    from airtoll.guest import recipe

    try:
        recipe.needed()
    except UsageError as error:
        return calibration.Chosen("real", f"all runs use real time; {error}")
    for option, value in (("--workers", options.workers), ("--scheduler", options.scheduler)):
        if value is not None:
            return calibration.Chosen(
                "virtual", f"{option} requires virtual time, which gives no CPU metrics"
            )
    lab = open_lab(plan.runs[0].cell.lab, plan)
    if (missing := lab.missing()) is not None:
        why = f"{missing}; all runs use virtual time, which does not require this and gives no CPU metrics"
        return calibration.Chosen("virtual", why)
    check_ready(plan.runs, lab, probes_of(plan.method.probes, lab.name))
    with console.status("measuring what this machine carries in real time"):
        demands = calibration.demands_of(plan)
        capacity = calibration.measure(plan, demands)
    takes = duration(_virtual_s(plan, demands))
    return calibration.choose(demands, capacity, takes)


def _virtual_s(plan: Plan, demands: Mapping[Cell, float], options: RunOptions | None = None) -> float:
    """Estimated time of a plan in guests, beside the present load of this machine."""
    workers = (options and options.workers) or len(os.sched_getaffinity(0))
    return calibration.virtual_s(plan, demands, workers) * calibration.slowdown(other_load.measure())


def _performer(plan: Plan, lab: Lab, probes: Sequence[Probe], options: RunOptions) -> Performer | None:
    """Guests for the virtual clock, threads for lab sim; None to perform the runs one after the other."""
    if options.scheduler is not None and (lab.virtual or plan.clock == "real"):
        raise UsageError("--scheduler: requires the virtual clock of a lab with hosts")
    workers = options.workers or len(os.sched_getaffinity(0))
    if lab.virtual:
        return OnCores(lab, probes, workers=workers)
    if plan.clock == "real":
        if options.workers is not None:
            raise UsageError(
                "--workers: requires the virtual clock; runs in real time would disturb each other"
            )
        return None
    from airtoll.guest import recipe
    from airtoll.guest.runs import InGuests

    recipe.needed()
    return InGuests(pcap=options.pcap, workers=workers, scheduler=options.scheduler)


def _stored(directory: Path, options: RunOptions) -> tuple[str, Plan]:
    """The study and the plan of the result to complete.

    The directory may come from a stranger, so it chooses neither machines nor radios. Raises UsageError if the
    inventory or the radios are not those with which the result was begun.
    """
    if not directory.is_dir():
        raise UsageError(f"--resume: {directory} is not a result directory; usage: airtoll run --resume DIR")
    given = {
        "--lab": options.lab is not None,
        "--clock": options.clock is not None,
        "--quick": options.quick,
    }
    if any(given.values()):
        option = next(option for option, is_given in given.items() if is_given)
        raise UsageError(f"{option}: the plan in {directory} cannot change")
    stored = Result.open(directory)
    if not stored.plan.runs:
        raise UsageError(f"--resume: the plan in {directory} has no runs")
    if (options.radios or ()) != stored.plan.radios:
        begun = ",".join(stored.plan.radios)
        words = f"with --radios {quote(one_line(begun, most=4096))}" if begun else "without radios"
        raise UsageError(f"--resume: {directory} was begun {words}: use the same radios")
    if (inventory := options.inventory) is not None:
        check_has_machines(stored.plan_record.lab)
        if stored.plan.inventory_sha256 not in (None, digest(inventory)):  # None: an earlier version
            raise UsageError(
                f"--inventory: {inventory} is not the inventory with which {directory} was begun"
            )
    return stored.study_text, stored.plan


def _too_little(result: Result) -> str | None:
    """A message that names the planned comparisons with too few valid pairs, or None."""
    outcomes = [Outcome.of(run, record) for run, record in result.recorded()]
    every = coverage(outcomes, result.plan.profiles)
    short = [each for each in every if each.falls_short]
    if not short:
        return None
    varying = varying_factors([each.cell for each in every])
    flows = [
        text.flow(each.cell, [name for name in varying if name not in (*text.IN_FLOW, "security")])
        for each in short
    ]
    verb = "has" if len(short) == 1 else "have"
    if len({run.cell.security for run in result.plan.runs}) == 1:
        return f"{len(short)} of {text.counted(len(every), 'cell')} {verb} no valid run: {', '.join(flows)}"
    which = ", ".join(
        f"{text.level(each.cell.security)} {flow} ({each.valid} of {each.planned})"
        for each, flow in zip(short, flows, strict=True)
    )
    return (
        f"{len(short)} of {text.counted(len(every), 'comparison')} {verb} fewer than two valid pairs: {which}"
    )


def _record(
    console: Console,
    result: Result,
    lab: Lab,
    probes: Sequence[Probe],
    performer: Performer | None,
    options: RunOptions,
) -> None:
    """Perform the remaining runs. Every error reports the number of runs kept and how to continue."""
    plan, inventory = result.plan, options.inventory
    total = len(plan.runs)
    course = Course.of(result)
    left = len(result.pending()) - len(course.unneeded())
    console.print(f"{plan.study}: {left} of {total} runs, into {result.directory}", soft_wrap=True)
    if not lab.virtual and options.scheduler is None:
        upto = "at most" if plan.method.stop != "fixed" else "about"
        remaining = plan.model_copy(update={"runs": tuple(course.left())})
        takes_s = (
            estimate_s(remaining)
            if plan.clock == "real"
            else _virtual_s(remaining, calibration.demands_of(remaining), options)
        )
        console.print(f"this takes {upto} {duration(takes_s)}")
    try:
        with _Display(console, result, finished=total - left) as display:
            record(result, lab, probes, display.show, pcap=options.pcap, course=course, performer=performer)
    except KeyboardInterrupt:
        raise StoppedError(f"interrupted; {_kept(result, inventory)}") from None
    except UsageError:
        raise
    except AirtollError as error:
        raise AirtollError(f"{error}; {_kept(result, inventory)}") from error


def _kept(result: Result, inventory: Path | None) -> str:
    done = len(result.finished())
    again = f"airtoll run --resume {quote(str(result.directory))}"
    if result.plan.radios:
        again += f" --radios {quote(','.join(result.plan.radios))}"
    if inventory is not None:
        again += f" --inventory {quote(str(inventory))}"
    return f"{done} of {len(result.plan.runs)} runs are kept; to continue: {again}"


class _Display:
    """A progress bar on a terminal with the number of invalid runs, otherwise one line per run."""

    def __init__(self, console: Console, result: Result, finished: int) -> None:
        self._console = console
        self._plan = result.plan
        self._total = len(result.plan.runs)
        self._order = finished
        self._invalid = 0
        self._with_valid_run = {record.run.cell for record in result.records() if record.verdict.valid}
        self._way_out_shown = False
        self._progress = counting(console)
        self._task = self._progress.add_task("starting", total=self._total, completed=finished)

    def __enter__(self) -> "_Display":
        self._progress.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._progress.update(self._task, completed=self._total)
        self._progress.stop()

    def show(self, event: Event) -> None:
        match event:
            case RunStarted(run=run):
                self._describe(run.id)
            case ProbeStarted(run=run, probe=probe):
                self._describe(f"{run.id} {probe}")
            case RepeatWaits(run=run, why=why):
                self._describe(f"{run.id} waits: {why}")
            case RunFinished(record=done):
                # All earlier runs are done, no longer needed, or in progress.
                self._order = max(self._order, done.run.order)
                self._progress.update(self._task, completed=self._order)
                self._invalid += not done.verdict.valid
                if done.verdict.valid:
                    self._with_valid_run.add(done.run.cell)
                if not self._console.is_terminal:
                    verdict = "" if done.verdict.valid else f": invalid: {'; '.join(done.verdict.reasons)}"
                    self._console.print(f"{done.run.order}/{self._total} {done.run.id}{verdict}")
                if (
                    not self._way_out_shown
                    and (line := way_out(self._plan, done, self._with_valid_run)) is not None
                ):
                    self._way_out_shown = True
                    self._console.print(line, soft_wrap=True)

    def _describe(self, now: str) -> None:
        invalid = f", {self._invalid} invalid" if self._invalid else ""
        self._progress.update(self._task, description=f"{now}{invalid}")


_NOT_BY_LOAD: Final = (NO_LOAD, HOST_LOST, LINK_CHANGED, "wrong cipher", "wrong link", "open errors")
"""Reasons of invalid runs that virtual time does not remove."""


def way_out(plan: Plan, done: RunRecord, with_valid_run: Collection[Cell]) -> str | None:
    """How to measure the study in virtual time, if a run in real time is invalid and is not repeated again; or None.

    The other cells with a valid run count as carried, and so do those with a lower demand than the cell of this run.
    """
    run, reasons = done.run, done.verdict.reasons
    if (
        plan.clock != "real"
        or not lab_entry(run.cell.lab).calibrated
        or run.discard
        or run.attempt <= plan.method.retries
    ):
        return None
    if all(reason.startswith(_NOT_BY_LOAD) for reason in reasons):  # also if the run is valid
        return None
    from airtoll.guest import recipe

    demands = calibration.demands_of(plan)
    carried = sum(
        cell != run.cell and (cell in with_valid_run or demand < demands[run.cell])
        for cell, demand in demands.items()
    )
    first = f" ({missing})" if (missing := recipe.missing()) is not None else ""
    return (
        f"{calibration.carries(carried, len(demands))}; --clock virtual takes about "
        f"{duration(_virtual_s(plan, demands))}{first}"
    )
