"""Runs of a study in guests: each run boots a guest of its own, and several guests run side by side.

A run's outcome depends only on the run, the guest's kernel and the code: the number of workers, the other runs and the
load of the machine have no influence on it.
"""

import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from pydantic import FailFast, TypeAdapter

from airtoll import _rust
from airtoll.documents import read_json
from airtoll.errors import AirtollError
from airtoll.guest import boot, recipe
from airtoll.guest.job import JOB
from airtoll.labs import open_lab
from airtoll.labs.namespace import machine_facts
from airtoll.probes import probes_of
from airtoll.probes.base import Sample
from airtoll.store import Event, FinishedRun, ProbeStarted, Result, RunRecord
from airtoll.store.recorder import MACHINE, PCAP, RunOrder, naming, perform
from airtoll.store.records import as_facts, dump, parse
from airtoll.store.side_by_side import side_by_side
from airtoll.study.cell import Method, Plan, Run
from airtoll.sweep.cluster import connected

_RECORD: Final = "record.json"
_SAMPLES: Final = "samples.json"
_RAW: Final = "raw"
_ROWS: Final = TypeAdapter(Annotated[list[Sample], FailFast()])


@dataclass(frozen=True)
class Task:
    """One run to perform in a guest."""

    plan: Plan  # without runs: the study's settings
    run: Run
    method: Method
    pcap: bool

    def to_job(self) -> dict[str, Any]:
        """The task as a guest's job."""
        return {
            "task": "run",
            "plan": self.plan.model_dump(mode="json"),
            "run": self.run.model_dump(mode="json"),
            "method": self.method.model_dump(mode="json"),
            "pcap": self.pcap,
        }

    @classmethod
    def of_job(cls, job: Mapping[str, Any]) -> "Task":
        """The task of a guest's job."""
        return cls(
            Plan.model_validate(job["plan"]),
            Run.model_validate(job["run"]),
            Method.model_validate(job["method"]),
            job["pcap"],
        )


def perform_inside(job: Mapping[str, Any], report: Callable[[Mapping[str, Any]], None]) -> None:
    """Perform the run of a job in this guest and leave its record, samples and raw files in the job's directory."""
    task = Task.of_job(job)
    plan = task.plan
    lab = open_lab(task.run.cell.lab, plan)
    probes = probes_of(task.method.probes, lab.name, "virtual")

    def on_event(event: Event) -> None:
        if isinstance(event, ProbeStarted):
            report({"probe": event.probe})

    capture = JOB / PCAP if task.pcap else None
    finished = perform(task.run, lab, probes, task.method, on_event=on_event, capture=capture)
    for name, content in finished.raw.items():
        if isinstance(content, bytes):
            file = JOB / _RAW / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    samples = [asdict(sample) for sample in finished.values]
    (JOB / _SAMPLES).write_text(json.dumps(samples, allow_nan=False), encoding="utf-8")
    (JOB / _RECORD).write_bytes(dump(finished.record))


def perform_run(
    task: Task,
    directory: Path,
    on_probe: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> FinishedRun:
    """Perform one run in a guest of this machine, with its files in the directory.

    Raises AirtollError as `boot.perform` does; its message names the run.
    """

    def on_event(event: Mapping[str, Any]) -> None:
        if "probe" in event:
            on_probe(event["probe"])

    kernel = recipe.needed()
    with naming(task.run):
        ended = boot.perform(kernel, task.to_job(), directory, on_event=on_event, stop=stop)
    record = parse(RunRecord, (directory / _RECORD).read_bytes(), _RECORD)
    samples = read_json(_ROWS, (directory / _SAMPLES).read_bytes(), _SAMPLES)
    raw: dict[str, bytes | Path] = {
        file.relative_to(directory / _RAW).as_posix(): file
        for file in sorted((directory / _RAW).rglob("*"))
        if file.is_file()
    }
    if task.pcap:
        raw[PCAP] = directory / PCAP
    machine = {
        **machine_facts(),
        "guest_package": kernel.package,
        "guest_version": kernel.version,
        "guest_sha256": kernel.sha256,
        "guest_host_s": ended.host_s,
        "guest_virtual_s": ended.virtual_s,
    }
    hosts = {**record.hosts, MACHINE: as_facts(machine, "facts of this machine")}
    dated = record.model_copy(update={"hosts": hosts, "started": ended.started, "finished": ended.finished})
    return FinishedRun(dated, samples, raw)


class _Places(Protocol):
    """The places where guests run."""

    @property
    def number(self) -> int:
        """Number of guests at a time."""
        ...

    def submit(self, task: Task) -> "Future[FinishedRun]":
        """Start a run."""
        ...


@dataclass(frozen=True)
class InGuests:
    """Performs runs in guests, several at a time, on this machine or on the workers of a Dask cluster."""

    pcap: bool = field(kw_only=True)
    workers: int = field(kw_only=True)  # guests at a time on this machine
    scheduler: str | None = field(default=None, kw_only=True)  # address of the cluster

    def __call__(
        self,
        result: Result,
        course: RunOrder,
        on_run: Callable[[Run], None],
        on_event: Callable[[Event], None],
    ) -> Iterator[FinishedRun]:
        """Perform the runs of the course, as `airtoll.store.recorder.Performer` describes."""
        plan = result.plan.model_copy(update={"runs": ()})
        with self._places(result, on_event) as places:
            yield from side_by_side(
                course,
                lambda run, method: places.submit(Task(plan, run, method, self.pcap)),
                places.number,
                on_run,
            )

    def _places(self, result: Result, on_event: Callable[[Event], None]) -> AbstractContextManager[_Places]:
        if self.scheduler is None:
            return _on_cores(result, on_event, self.workers)
        return _on_cluster(self.scheduler)


@dataclass(frozen=True)
class _Cores:
    """The cores of this machine."""

    number: int
    scratch: Path
    on_event: Callable[[Event], None]
    pool: ThreadPoolExecutor
    stopped: threading.Event

    def submit(self, task: Task) -> "Future[FinishedRun]":
        def on_probe(probe: str) -> None:
            self.on_event(ProbeStarted(task.run, probe))

        directory = self.scratch / task.run.id
        directory.mkdir()
        return self.pool.submit(perform_run, task, directory, on_probe, self.stopped.is_set)


@contextmanager
def _on_cores(result: Result, on_event: Callable[[Event], None], workers: int) -> Iterator[_Places]:
    """Guests on this machine. Those in progress are stopped when the context ends, before their files are removed."""
    stopped = threading.Event()
    with result.scratch() as scratch, ThreadPoolExecutor(workers, thread_name_prefix="guest") as pool:
        try:
            yield _Cores(workers, scratch, on_event, pool, stopped)
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Cluster:
    """The workers of a Dask cluster."""

    number: int
    pool: Executor

    def submit(self, task: Task) -> "Future[FinishedRun]":
        return self.pool.submit(_perform_elsewhere, _rust.VERSION, task)


@contextmanager
def _on_cluster(scheduler: str) -> Iterator[_Places]:
    """Guests on the workers of the cluster at that address."""
    with connected(scheduler) as client:
        yield _Cluster(sum(client.nthreads().values()) or 1, client.get_executor(pure=False))


def _perform_elsewhere(version: str, task: Task) -> FinishedRun:
    """Perform one run on a worker of a cluster. The raw files are in memory, for the way back."""
    if version != _rust.VERSION:
        raise AirtollError(f"--scheduler: a worker has airtoll {_rust.VERSION}, this is {version}")
    with tempfile.TemporaryDirectory(prefix="airtoll-guest-") as name:
        finished = perform_run(task, Path(name))
        raw = {
            file: content.read_bytes() if isinstance(content, Path) else content
            for file, content in finished.raw.items()
        }
        return replace(finished, raw=raw)
