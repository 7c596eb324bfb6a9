"""`airtoll run`: performs a study, shows the progress and prints the table."""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote

from rich.console import Console

from airtoll.cli.json_output import print_json
from airtoll.cli.progress import counting, duration
from airtoll.cli.results import print_summary, report_json
from airtoll.cli.tables import plain_console
from airtoll.clock import Clock
from airtoll.course import Course
from airtoll.errors import AirtollError, StoppedError, UsageError
from airtoll.labs import Lab, open_lab
from airtoll.labs.inventory import digest
from airtoll.probes import probes_of
from airtoll.probes.base import Probe
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.pages.files import write_files
from airtoll.stats import Outcome, coverage
from airtoll.store import (
    Event,
    ProbeStarted,
    Result,
    RunFinished,
    RunStarted,
    check_ready,
    default_directory,
    record,
)
from airtoll.store.origin import ALLOW_MIXED
from airtoll.store.recorder import Performer
from airtoll.store.side_by_side import OnCores
from airtoll.study import Plan, estimate_s, expand, find_study, load_study, varying_factors
from airtoll.study.plan import check_has_machines
from airtoll.study.quantity import one_line


def perform(
    study_name: str,
    lab_name: str | None,
    clock: Clock | None,
    radios: tuple[str, ...] | None,
    inventory: Path | None,
    *,
    quick: bool,
    workers: int | None,
    scheduler: str | None,
    out: Path | None,
    resume: bool,
    allow_mixed: bool,
    pcap: bool,
    as_json: bool,
) -> None:
    """Measure all runs missing from the result, then write the report and print the table."""
    if allow_mixed and not resume:
        raise UsageError(f"{ALLOW_MIXED} requires --resume")
    if resume and out is None:
        out = Path(study_name)
        study_text, plan = _stored(out, lab_name, clock, radios, inventory, quick=quick)
    else:
        study = load_study(find_study(study_name))
        study_text = study.text
        plan = expand(study, lab=lab_name, quick=quick, clock=clock, radios=radios, inventory=inventory)
        if inventory is not None:
            plan = plan.model_copy(update={"inventory_sha256": digest(inventory)})
    with closing(open_lab(plan.runs[0].cell.lab, plan, inventory)) as lab:
        if pcap and (obstacle := lab.capture_obstacle()) is not None:
            raise UsageError(f"--pcap: {obstacle}")
        console = plain_console(stderr=as_json)
        probes = probes_of(plan.method.probes, lab.name, plan.clock)
        check_ready(plan.runs, lab, probes)
        performer = _performer(plan, lab, probes, workers, scheduler, pcap=pcap)
        if resume and out is not None:
            result = Result.resume(out, study_text, plan, allow_mixed=allow_mixed)
        else:
            result = Result.create(out or default_directory(plan.study), study_text, plan, lab.name, quick)
        with result:
            _record(console, result, lab, probes, inventory, pcap=pcap, performer=performer)
            data = ReportData.of(result)
            paths = write_files(data, result.directory)
        if as_json:
            print_json(report_json(result, data, paths))
        else:
            print_summary(console, result)
            console.print(f"report: {paths.html}", soft_wrap=True)
    if (too_little := _too_little(result)) is not None:
        raise AirtollError(too_little)


def _performer(
    plan: Plan, lab: Lab, probes: Sequence[Probe], workers: int | None, scheduler: str | None, *, pcap: bool
) -> Performer | None:
    """Guests for the virtual clock, threads for lab sim; None to perform the runs one after the other."""
    if scheduler is not None and (lab.virtual or plan.clock == "real"):
        raise UsageError("--scheduler: requires the virtual clock of a lab with hosts")
    cores = len(os.sched_getaffinity(0))
    if lab.virtual:
        return OnCores(lab, probes, workers=workers or cores)
    if plan.clock == "real":
        if workers is not None:
            raise UsageError(
                "--workers: requires the virtual clock; runs in real time would disturb each other"
            )
        return None
    from airtoll.guest import recipe
    from airtoll.guest.runs import InGuests

    recipe.needed()
    return InGuests(pcap=pcap, workers=workers or cores, scheduler=scheduler)


def _stored(
    directory: Path,
    lab_name: str | None,
    clock: Clock | None,
    radios: tuple[str, ...] | None,
    inventory: Path | None,
    *,
    quick: bool,
) -> tuple[str, Plan]:
    """The study and the plan of the result to complete.

    The directory may come from a stranger, so it chooses neither machines nor radios. Raises UsageError if the
    inventory or the radios are not those with which the result was begun.
    """
    if not directory.is_dir():
        raise UsageError(f"--resume: {directory} is not a result directory; usage: airtoll run --resume DIR")
    given = {"--lab": lab_name is not None, "--clock": clock is not None, "--quick": quick}
    if any(given.values()):
        option = next(option for option, is_given in given.items() if is_given)
        raise UsageError(f"{option}: the plan in {directory} cannot change")
    stored = Result.open(directory)
    if not stored.plan.runs:
        raise UsageError(f"--resume: the plan in {directory} has no runs")
    if (radios or ()) != stored.plan.radios:
        begun = ",".join(stored.plan.radios)
        words = f"with --radios {quote(one_line(begun, most=4096))}" if begun else "without radios"
        raise UsageError(f"--resume: {directory} was begun {words}: use the same radios")
    if inventory is not None:
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
    inventory: Path | None,
    *,
    pcap: bool,
    performer: Performer | None,
) -> None:
    """Perform the remaining runs. Every error reports the number of runs kept and how to continue."""
    total = len(result.plan.runs)
    course = Course.of(result)
    left = len(result.pending()) - len(course.unneeded())
    console.print(f"{result.plan.study}: {left} of {total} runs, into {result.directory}", soft_wrap=True)
    if not lab.virtual and result.plan.clock == "real":
        takes_s = estimate_s(result.plan, runs=course.left())
        upto = "at most" if result.plan.method.stop != "fixed" else "about"
        console.print(f"this takes {upto} {duration(takes_s)}")
    try:
        with _Display(console, total=total, finished=total - left) as display:
            record(result, lab, probes, display.show, pcap=pcap, course=course, performer=performer)
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

    def __init__(self, console: Console, total: int, finished: int) -> None:
        self._console = console
        self._total = total
        self._order = finished
        self._invalid = 0
        self._progress = counting(console)
        self._task = self._progress.add_task("starting", total=total, completed=finished)

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
            case RunFinished(record=done):
                # All earlier runs are done, no longer needed, or in progress.
                self._order = max(self._order, done.run.order)
                self._progress.update(self._task, completed=self._order)
                self._invalid += not done.verdict.valid
                if not self._console.is_terminal:
                    verdict = "" if done.verdict.valid else f": invalid: {'; '.join(done.verdict.reasons)}"
                    self._console.print(f"{done.run.order}/{self._total} {done.run.id}{verdict}")

    def _describe(self, now: str) -> None:
        invalid = f", {self._invalid} invalid" if self._invalid else ""
        self._progress.update(self._task, description=f"{now}{invalid}")
