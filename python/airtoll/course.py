"""The remaining runs of a plan and their loads, as a function of the completed runs.

A stopping rule decides on a block from the replicates before that block alone, so an interrupted study resumes with the
same runs. The rule checks each security level of a block. All levels continue until each has enough replicates, so that
pairs stay complete.

Invalid runs in real time are repeated at the end of their session or block, before the access point changes its
settings for the next one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final

from airtoll.stats.metrics import METRICS, per_run
from airtoll.stats.stopping import Agreement, Fixed, Precision, StoppingRule, enough
from airtoll.store import FinishedRun, NoLoadError, Result, RunRecord
from airtoll.store.records import spoiled_metrics
from airtoll.store.samples import Samples
from airtoll.study.cell import Cell, Method, Plan, Run
from airtoll.study.labs import lab_entry

REPEATS_LEAST: Final = 10
"""Repeats that every study may have. A larger study may have as many repeats as runs: more would not make a
machine valid that cannot carry the study."""


def rule_of(method: Method) -> StoppingRule:
    """The stopping rule of a study."""
    match method.stop:
        case "fixed":
            return Fixed(method.repeats)
        case "precision":
            return Precision(method.within, method.confidence, method.least_repeats, method.repeats)
        case "agreement":
            return Agreement(method.within, method.least_repeats, method.repeats)


def unneeded(result: Result) -> frozenset[str]:
    """The ids of the runs that a result lacks and does not need. Reads no samples if the replicates are fixed."""
    return frozenset() if result.plan.method.stop == "fixed" else Course.of(result).unneeded()


class Course:
    """The remaining runs of a result, in order. `add` records each completed run."""

    def __init__(self, plan: Plan) -> None:
        """A course of a plan without completed runs."""
        self._plan = plan
        self._rule = rule_of(plan.method)
        # Otherwise the measurements change no decision and need not be read.
        self._decides = plan.method.stop != "fixed" or plan.method.udp_load == "tcp"
        self._retries = 0 if _is_virtual(plan) else plan.method.retries
        self._repeats = 0
        self._repeats_most = max(REPEATS_LEAST, len(plan.runs))
        self._done: set[str] = set()
        self._latest: dict[
            int, tuple[int, bool]
        ] = {}  # last attempt of each run and whether it is valid, by order
        # cell -> metric -> values of the valid runs, by replicate
        self._values: dict[Cell, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        self._levels: dict[Cell, set[Cell]] = defaultdict(set)
        for run in plan.runs:
            self._levels[_flow(run.cell)].add(run.cell)

    @classmethod
    def of(cls, result: Result) -> "Course":
        """The course of a result, after the runs that it contains."""
        course = cls(result.plan)
        if not course._decides and not course._retries:
            course._done = result.finished()
            return course
        values: dict[str, list[tuple[str, float]]] = defaultdict(list)
        records = result.records()
        samples = result.samples() if course._decides else ()
        for run_id, metric, value in per_run(samples, spoiled_metrics(records)):
            values[run_id].append((metric, value))
        for record in records:
            course._add(record, values[record.run.id])
        return course

    def add(self, run: FinishedRun) -> None:
        """Record a completed run."""
        samples = [Samples.of(run.record.run.id, run.values)] if self._decides else []
        numbers = per_run(samples, spoiled_metrics([run.record]))
        self._add(run.record, [(metric, value) for _, metric, value in numbers])

    def _add(self, record: RunRecord, values: Iterable[tuple[str, float]]) -> None:
        run = record.run
        self._done.add(run.id)
        self._latest[run.order] = run.attempt, record.verdict.valid
        self._repeats += run.attempt > 1
        if record.verdict.valid and not run.discard:
            for metric, value in values:
                self._values[run.cell][metric][run.replicate] = value

    def left(self) -> Iterator[Run]:
        """The remaining runs. Each is decided when it is requested, from the runs recorded until then."""
        for _, group in groupby(self._plan.runs, key=lambda run: (run.block, run.session)):
            together = list(group)
            for run in together:
                if run.id not in self._done and self._is_needed(run):
                    yield run
            for attempt in range(2, self._retries + 2):
                for run in together:
                    repeat = self.again(run)
                    if repeat is not None and repeat.attempt == attempt:
                        yield repeat

    def again(self, run: Run) -> Run | None:
        """The next attempt of a run whose attempts are all invalid; None if it may not be repeated (again)."""
        attempt, is_valid = self._latest.get(run.order, (0, True))
        if is_valid or run.discard or attempt > self._retries or self._repeats >= self._repeats_most:
            return None
        return run.model_copy(update={"attempt": attempt + 1})

    def decided(self, begun: Collection[str]) -> Iterator[Run]:
        """The remaining runs that no unfinished run can affect, without the runs with ids in `begun`.

        A block depends on the earlier replicates of its levels; a load may depend on the TCP runs of the same cell.
        """
        open_flows: dict[Cell, int] = {}  # lowest replicate of a flow that may still be performed
        open_tcp: set[Cell] = set()
        decides = self._plan.method.stop != "fixed"
        for run in self._plan.runs:
            if run.id in self._done:
                continue
            flow = _flow(run.cell)
            waits = decides and open_flows.get(flow, run.replicate) < run.replicate
            if not waits and not self._is_needed(run):
                continue
            open_flows.setdefault(flow, run.replicate)
            if run.cell.transport == "tcp":
                open_tcp.add(run.cell)
            elif self._plan.method.udp_load == "tcp" and run.cell.offered == "max":
                waits = waits or run.cell.model_copy(update={"transport": "tcp"}) in open_tcp
            if not waits and run.id not in begun:
                yield run

    def unneeded(self) -> frozenset[str]:
        """The ids of the runs that are skipped because their cells have enough replicates."""
        return frozenset(r.id for r in self._plan.runs if r.id not in self._done and not self._is_needed(r))

    def method(self, run: Run) -> Method:
        """The study's method with the UDP load of this run, which may follow from earlier runs.

        Raises NoLoadError if no earlier run gives a load.
        """
        method, cell = self._plan.method, run.cell
        if method.udp_load != "tcp" or cell.transport != "udp" or cell.offered != "max":
            return method
        bits = self._values[cell.model_copy(update={"transport": "tcp"})]["throughput"].values()
        if not bits:
            raise NoLoadError("no valid TCP run of the same cell, whose rate would set the load")
        return method.model_copy(update={"udp_load": sum(bits) / len(bits) / 1e6})

    def _is_needed(self, run: Run) -> bool:
        if run.discard or isinstance(self._rule, Fixed):
            return True
        return any(not enough(self._rule, self._before(run, cell)) for cell in self._levels[_flow(run.cell)])

    def _before(self, run: Run, cell: Cell) -> list[float]:
        """The values of a cell's first metric in the replicates before the run, in order of replicate."""
        of_cell = self._values[cell]
        metric = next((name for name in METRICS if name in of_cell), None)
        if metric is None:
            return []
        return [value for replicate, value in sorted(of_cell[metric].items()) if replicate < run.replicate]


def _is_virtual(plan: Plan) -> bool:
    """Whether the runs are in virtual time, where a repeat with the same seed has the same outcome."""
    return plan.clock == "virtual" or not any(lab_entry(run.cell.lab).has_hosts for run in plan.runs)


def _flow(cell: Cell) -> Cell:
    """The cell that all security levels of a block share: the one with level `open`."""
    return cell.model_copy(update={"security": "open"})
