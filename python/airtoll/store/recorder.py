"""Performs the remaining runs of a plan, one link at a time, and stores each run when it ends."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol, Self, TypeGuard

from pydantic import JsonValue

from airtoll import other_load
from airtoll.agent.connection import LostError
from airtoll.errors import AirtollError, UsageError
from airtoll.labs import Lab, check_cells
from airtoll.labs.base import Link
from airtoll.labs.namespace import machine_facts
from airtoll.probes import missing
from airtoll.probes.base import Measurement, Probe
from airtoll.probes.machines import with_machines
from airtoll.probes.watch import InterfaceEvents
from airtoll.store.records import Facts, RunRecord, Verdict, Versions, as_facts
from airtoll.store.result import FinishedRun, Result
from airtoll.store.verdict import HOST_LOST, LINK_CHANGED, NO_LOAD, link_changes, one_line, verdict_of
from airtoll.study.cell import Method, Run
from airtoll.study.labs import lab_entry
from airtoll.study.plan import measures

PCAP: Final = "air.pcap"
"""Name of the capture in raw/."""

MACHINE: Final = "machine"
"""Role of the machine that performs runs in virtual time, which have no hosts."""

COUNTERS_BEFORE: Final = "counters-before.json"
COUNTERS_AFTER: Final = "counters-after.json"

_NUMBER: Final = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True)
class RunStarted:
    """A run starts. `done` of the plan's `total` runs are stored."""

    run: Run
    done: int
    total: int


@dataclass(frozen=True)
class ProbeStarted:
    """A probe starts to measure the current run."""

    run: Run
    probe: str


@dataclass(frozen=True)
class RepeatWaits:
    """The repeat of an invalid run waits until nothing disturbs this machine. `why` says what disturbs it."""

    run: Run
    why: str


@dataclass(frozen=True)
class RunFinished:
    """A run is stored. `done` of the plan's `total` runs, including this run, are stored."""

    record: RunRecord
    done: int
    total: int


Event = RunStarted | ProbeStarted | RepeatWaits | RunFinished


BATCH_RUNS: Final = 64
BATCH_S: Final = 1.0
"""Limits of a batch of runs in virtual time, which are stored together: flushing each run to the disk would take longer
than the run itself, and runs lost in a crash are repeated at once."""


REPEAT_WAIT_S: Final = 10.0
"""Longest wait of a repeat for the end of a burst of other load."""

REPEAT_WAITS_S: Final = 60.0
"""Longest time that all repeats of a recording wait."""


_DRAIN_STEP_S: Final = 0.02  # longer than any exchange of frames
_DRAIN_LIMIT_S: Final = 5.0


class NoLoadError(AirtollError):
    """A run cannot be measured: its load follows from earlier runs, and none of them is valid."""


class LinkChangedError(AirtollError):
    """A probe failed in a run in which the link changed."""


class RunOrder(Protocol):
    """The remaining runs and their methods."""

    def left(self) -> Iterator[Run]:
        """The remaining runs. Each is decided when it is requested, from the runs recorded until then."""
        ...

    def decided(self, begun: Collection[str]) -> Iterator[Run]:
        """The remaining runs that no unfinished run can affect, without the runs with ids in `begun`."""
        ...

    def method(self, run: Run) -> Method:
        """The method of the run. Raises NoLoadError if no earlier run gives its load."""
        ...

    def add(self, run: FinishedRun) -> None:
        """Record a completed run."""
        ...


class Performer(Protocol):
    """The way in which the remaining runs of a result are performed."""

    def __call__(
        self,
        result: Result,
        course: RunOrder,
        on_run: Callable[[Run], None],
        on_event: Callable[[Event], None],
    ) -> Iterator[FinishedRun]:
        """Perform the runs of the course. Yields each when it ends; the caller adds it to the course.

        Calls `on_run` when a run starts. The files of a yielded run exist until the next one is requested.
        """
        ...


def record(
    result: Result,
    lab: Lab,
    probes: Sequence[Probe],
    on_event: Callable[[Event], None],
    pcap: bool = False,
    course: RunOrder | None = None,
    performer: Performer | None = None,
) -> None:
    """Perform the runs that the result lacks, in the order of the course; without a course, all of them in plan order.

    The default performer performs one run after the other in this process.

    `check_ready` has checked the runs. Raises AirtollError when a run fails: the error names the run, which is not
    stored. Finished runs always remain stored.
    """
    if lab.name != result.plan_record.lab:
        raise UsageError(f"{result.directory} is recorded in lab {result.plan_record.lab}, not in {lab.name}")
    course = course or _AllPending(result)
    performer = performer or _Here(lab, probes, pcap=pcap)
    with _Batch(result, on_event, BATCH_RUNS if lab.virtual else 1) as batch:

        def started(run: Run) -> None:
            on_event(RunStarted(run, batch.done, batch.total))

        for finished in performer(result, course, started, on_event):
            batch.add(finished)
            course.add(finished)


@dataclass(frozen=True)
class _Here:
    """Performs one run after the other in this process."""

    lab: Lab
    probes: Sequence[Probe]
    pcap: bool = field(kw_only=True)

    def __call__(
        self,
        result: Result,
        course: RunOrder,
        on_run: Callable[[Run], None],
        on_event: Callable[[Event], None],
    ) -> Iterator[FinishedRun]:
        waits_left_s = REPEAT_WAITS_S
        for run in course.left():
            if run.attempt > 1 and not lab_entry(run.cell.lab).has_machines:
                waits_left_s -= _wait(run, min(REPEAT_WAIT_S, waits_left_s), on_event)
            on_run(run)
            with ExitStack() as stack:
                capture = stack.enter_context(result.scratch()) / PCAP if self.pcap else None
                try:
                    method = course.method(run)
                except NoLoadError as error:
                    finished = unmeasured(run, NO_LOAD, str(error))
                else:
                    finished = self._performed(run, method, on_event, capture)
                yield finished

    def _performed(
        self, run: Run, method: Method, on_event: Callable[[Event], None], capture: Path | None
    ) -> FinishedRun:
        """The run. If a host vanishes or a link breaks, the run is invalid, and recording continues."""
        try:
            with naming(run):
                return perform(run, self.lab, self.probes, method, on_event=on_event, capture=capture)
        except AirtollError as error:
            if not self.lab.survives_loss:
                raise
            match error.__cause__:
                case LostError() as lost:
                    return unmeasured(run, HOST_LOST, str(lost))
                case LinkChangedError() as changed:
                    return unmeasured(run, LINK_CHANGED, str(changed))
                case _:
                    raise


def _wait(run: Run, limit_s: float, on_event: Callable[[Event], None]) -> float:
    """Wait until nothing disturbs this machine, at most `limit_s`. Returns the time that passed, in seconds."""
    began_s = time.monotonic()
    if limit_s > 0:
        other_load.wait_until_over(limit_s, lambda why: on_event(RepeatWaits(run, why)))
    return time.monotonic() - began_s


class _AllPending:
    """The course of a plan without stopping rule."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def left(self) -> Iterator[Run]:
        return iter(self._result.pending())

    def decided(self, begun: Collection[str]) -> Iterator[Run]:
        """The remaining runs: none affects another."""
        return (run for run in self._result.pending() if run.id not in begun)

    def method(self, run: Run) -> Method:  # noqa: ARG002  (all runs have the same method)
        return self._result.plan.method

    def add(self, run: FinishedRun) -> None:
        """Do nothing: no later run depends on this one."""


class _Batch:
    """Finished runs that are stored together, at the latest when the context ends for any reason."""

    def __init__(self, result: Result, on_event: Callable[[Event], None], most: int) -> None:
        self._result = result
        self._on_event = on_event
        self._most = most
        self._runs: list[FinishedRun] = []
        self._began_s = 0.0
        self.total = len(result.plan.runs)
        self.done = len(result.finished())  # stored runs

    def add(self, run: FinishedRun) -> None:
        if not self._runs:
            self._began_s = time.monotonic()
        self._runs.append(run)
        if len(self._runs) >= self._most or time.monotonic() - self._began_s > BATCH_S:
            self._store()

    def _store(self) -> None:
        runs, self._runs = self._runs, []
        if not runs:
            return
        self._result.write_all(runs)
        for run in runs:
            self.done += run.record.run.attempt == 1
            self._on_event(RunFinished(run.record, self.done, self.total))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store()


def check_ready(runs: Sequence[Run], lab: Lab, probes: Sequence[Probe]) -> None:
    """Raise UsageError if the lab does not support one of the runs, or if lab or probe cannot run on this machine."""
    if len({probe.name for probe in probes}) != len(probes):
        raise UsageError(f"duplicate probe: {', '.join(probe.name for probe in probes)}")
    check_cells([run.cell for run in runs], lab)
    if (reason := lab.missing()) is not None:
        raise UsageError(reason)
    for probe in probes:
        if (lacking := missing(probe, lab)) is not None:
            raise UsageError(f"probe {probe.name}: {lacking}")


@contextmanager
def naming(run: Run) -> Iterator[None]:
    """Add the run's name to the message of an error."""
    try:
        yield
    except (AirtollError, OSError, subprocess.SubprocessError) as error:
        kind = UsageError if isinstance(error, UsageError) else AirtollError
        raise kind(f"run {run.id}: {one_line(str(error))}") from error


def unmeasured(run: Run, reason: str, why: str) -> FinishedRun:
    """The record of a skipped run. The run is invalid, and recording continues with the next run."""
    now = datetime.now(UTC)
    verdict = Verdict(valid=False, reasons=(f"{reason}: {one_line(why)}",))
    record = RunRecord(
        run=run,
        started=now,
        finished=now,
        versions=Versions.current({}),
        hosts={},
        link={},
        counters={},
        probes={},
        verdict=verdict,
    )
    return FinishedRun(record, [], {})


def perform(
    run: Run,
    lab: Lab,
    probes: Sequence[Probe],
    method: Method,
    *,
    on_event: Callable[[Event], None],
    capture: Path | None,
) -> FinishedRun:
    """Perform one run in this process. Raises AirtollError if lab or probe fail.

    With `capture`, the air is captured in that file, which becomes part of the run.
    """
    measurements: dict[str, Measurement] = {}
    started = datetime.now(UTC)
    lab.begin(run.session)
    with lab.open(run.cell, run.seed, capture) as link, InterfaceEvents(link) as watched:
        before = as_facts(with_machines(link.counters(), link), "link counters")
        try:
            for probe in probes:
                if measures(probe.name, run.cell):
                    if measurements:
                        _drain(link)
                    on_event(ProbeStarted(run, probe.name))
                    measurements[probe.name] = probe.measure(link, run.cell, method)
        except LostError:
            raise
        except AirtollError as error:
            if lab.survives_loss:
                for host in link.hosts.values():
                    host.texts()  # raises LostError if the probe failed because this host vanished
            if changes := list(link_changes(watched.end())):
                raise LinkChangedError(f"{', '.join(changes)}: {error}") from error
            raise
        after = as_facts(with_machines(link.counters(), link), "link counters")
        events = watched.end()
        hosts = {role: as_facts(host.facts(), f"facts of host {role}") for role, host in link.hosts.items()}
        if lab.virtual:
            hosts = {MACHINE: as_facts(machine_facts(), "facts of this machine")}
        link_facts = as_facts(
            {**link.facts, "events": events} if link.interfaces else link.facts, "facts of the link"
        )
    finished = datetime.now(UTC)

    counters = difference(before, after)
    probe_facts = {name: as_facts(m.facts, f"facts of probe {name}") for name, m in measurements.items()}
    tools = {name: facts["version"] for name, facts in probe_facts.items()}
    raw: dict[str, bytes | Path] = {
        f"{name}/{file}": content for name, m in measurements.items() for file, content in m.raw.items()
    }
    raw[COUNTERS_BEFORE] = _json(before)
    raw[COUNTERS_AFTER] = _json(after)
    if capture is not None:
        if not capture.is_file():
            raise AirtollError(f"lab {lab.name} wrote no capture")
        raw[PCAP] = capture
    record = RunRecord(
        run=run,
        started=started,
        finished=finished,
        versions=Versions.current({name: v for name, v in tools.items() if isinstance(v, str)}),
        hosts=hosts,
        link=link_facts,
        counters=counters,
        probes=probe_facts,
        verdict=verdict_of(run, method, measurements, link_facts, counters, link.known.cipher, link.expected),
    )
    samples = [sample for measurement in measurements.values() for sample in measurement.samples]
    return FinishedRun(record, samples, raw)


def _drain(link: Link) -> None:
    """Wait until the last probe's packets have left the link, whose full queue would drop the next probe's packets."""
    until_s = time.monotonic() + _DRAIN_LIMIT_S
    before: list[int] = []
    sent = _sent(link)
    while sent != before and time.monotonic() < until_s:
        time.sleep(_DRAIN_STEP_S)
        before, sent = sent, _sent(link)


def _sent(link: Link) -> list[int]:
    """The MPDUs that each station has sent so far; empty in a lab that does not count them."""
    stations = (totals for totals in link.counters().values() if isinstance(totals, dict))
    return [totals["mpdus"] for totals in stations if "mpdus" in totals]


def difference(before: Facts, after: Facts) -> Facts:
    """The change of a link's counters between two readings, key by key.

    A number is a running total: the result is the difference, or null if the first reading lacks the number. A count by
    value (its key is a number) begins at zero. Other
    values are those of the second reading, as is a distribution (an object with the key p50), which has no difference.
    """
    counted: Facts = {}
    for key, value in after.items():
        earlier = before.get(key)
        if isinstance(value, dict) and "p50" not in value:
            counted[key] = difference(earlier if isinstance(earlier, dict) else {}, value)
        elif _is_number(value):
            begins_at = 0 if _NUMBER.fullmatch(key) else None
            earlier = earlier if _is_number(earlier) else begins_at
            counted[key] = None if earlier is None else value - earlier
        else:
            counted[key] = value
    return counted


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _json(facts: Facts) -> bytes:
    return json.dumps(facts, indent=2).encode() + b"\n"
