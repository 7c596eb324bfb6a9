"""`Result`: the directory that stores the measurements of a study."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from airtoll import _rust, durable
from airtoll.durable import LOCK, SUMS, TEMPORARY, Lock, reporting, staging
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.namespace import machine_facts
from airtoll.ownership import check_folder
from airtoll.probes.base import Sample
from airtoll.store import check, records, samples
from airtoll.store.layout import (
    FIGURES,
    PLAN,
    RAW,
    RUN,
    RUNS,
    SAMPLES,
    STUDY,
    read_file,
    read_plan,
    sums_of_run,
)
from airtoll.store.origin import Origin, refuse_mixture
from airtoll.store.records import SCHEMA_VERSION, PlanRecord, RunRecord
from airtoll.store.samples import Samples
from airtoll.study.cell import Plan, Run
from airtoll.study.load import Figures
from airtoll.study.quantity import one_line

# No character that sha256sum would escape, no hidden file, no path out of the directory.
_RAW_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,=+-]*(/[A-Za-z0-9_][A-Za-z0-9_.,=+-]*)*")


def default_directory(study_name: str) -> Path:
    """A new directory name for a result of the study: results/STUDY-TIME, with the time in UTC."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", study_name).strip(".-") or "study"
    return Path("results") / f"{slug}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


@dataclass(frozen=True)
class FinishedRun:
    """Everything that is stored for one run."""

    record: RunRecord
    values: Sequence[Sample]
    raw: Mapping[str, bytes | Path]  # by name below raw/: content, or a file to move in


class Result:
    """A result directory, for reading (`open`) or for recording (`create`, `resume`).

    While it is open for recording, no other process can record into it. `close` or the end of the context releases it.
    """

    def __init__(self, directory: Path, plan_record: PlanRecord, lock: Lock | None) -> None:
        """Private: use `create`, `open` or `resume`."""
        self.directory = directory
        self.plan_record = plan_record
        self._lock = lock

    @classmethod
    def create(
        cls,
        directory: Path,
        study_text: str,
        plan: Plan,
        lab: str,
        quick: bool,
        figures: Figures | None = None,
    ) -> Self:
        """Create a result in a new or empty directory. `figures` is the file that the study's key `published` names.

        Raises UsageError if the directory is not empty, another user can replace files in it or another process records
        into it, AirtollError if it cannot be written. In both cases nothing is left in the directory.
        """
        record = PlanRecord(
            airtoll=_rust.VERSION,
            machine=records.as_facts(machine_facts(), "facts of this machine"),
            created=datetime.now(UTC),
            lab=lab,
            quick=quick,
            plan=plan,
        )
        with reporting(f"cannot create result directory {directory}"):
            existed = directory.exists()
            if existed:
                _refuse_unless_empty(directory)
            try:
                durable.make_directory(directory.absolute())
                lock = Lock(directory)
                try:
                    _refuse_unless_empty(directory)
                    _write_head(directory, study_text, figures, record)
                except BaseException:
                    lock.release()
                    raise
            except BaseException:
                if not existed:
                    _remove_if_empty(directory)
                raise
        return cls(directory, record, lock)

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open a result for reading. Another process may continue to record into it.

        Raises UsageError if the directory is not a result, was written by a newer airtoll, or has its runs elsewhere;
        AirtollError if its plan cannot be read.
        """
        plan = read_plan(directory)
        if (directory / RUNS).is_symlink():
            raise UsageError(f"{directory}: {RUNS} is a link to another directory")
        return cls(directory, plan, None)

    @classmethod
    def resume(
        cls,
        directory: Path,
        study_text: str,
        plan: Plan,
        *,
        figures: Figures | None = None,
        allow_mixed: bool = False,
    ) -> Self:
        """Open a result to record its remaining runs, and remove unfinished files of a crash.

        Raises UsageError under the same conditions as `open`; if another user can replace files in the directory; if
        another process records into it; if study or plan differ from the stored ones; and, unless `allow_mixed`, if
        another version of airtoll, or a machine with another processor or kernel, created the result.
        """
        stored = cls.open(directory)
        with reporting(f"cannot resume {directory}"):
            for folder in (directory, directory / RUNS):
                check_folder(folder)
        if (difference := _first_different_line(stored.study_text, study_text)) is not None:
            raise UsageError(
                f"{directory}: cannot resume: the study file differs from the stored one: {difference}"
            )
        if figures is not None:
            kept = stored.figures(figures.name)
            difference = _first_different_line("" if kept is None else kept.text, figures.text)
            if difference is not None:
                raise UsageError(
                    f"{directory}: cannot resume: {figures.name} differs from the stored file: {difference}"
                )
        if (difference := _first_difference(stored.plan, plan)) is not None:
            raise UsageError(
                f"{directory}: cannot resume: the plan differs from the stored one: {difference}"
            )
        if stored.plan_record.schema_version != SCHEMA_VERSION:
            raise UsageError(
                f"{directory}: cannot resume: it has schema version {stored.plan_record.schema_version}, this airtoll "
                f"writes {SCHEMA_VERSION}: resume it with the version that created it"
            )
        if not allow_mixed:
            head = stored.plan_record
            refuse_mixture(str(directory), Origin.of(head.airtoll, head.machine), Origin.here())
        with reporting(f"cannot resume {directory}"):
            lock = Lock(directory)
            try:
                for unfinished in (directory, directory / RUNS):
                    durable.remove_leftovers(unfinished)
                # A crash may have left a stored run unlisted. A run whose directory was removed is performed again.
                stored._list_runs(stored._finished_in_order())
            except BaseException:
                lock.release()
                raise
        return cls(directory, stored.plan_record, lock)

    def close(self) -> None:
        """Allow other processes to record into the directory. Reading remains possible."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def plan(self) -> Plan:
        """Every run of the study, in execution order."""
        return self.plan_record.plan

    @cached_property
    def _planned(self) -> dict[str, Run]:
        return {run.id: run for run in self.plan.attempts()}

    @property
    def study_text(self) -> str:
        """The study file, verbatim."""
        return read_file(self.directory / STUDY).decode(errors="replace")

    def figures(self, named: str) -> Figures | None:
        """The stored file with published figures, which the study names so; None if the result has none."""
        for path in (self.directory / name for name in FIGURES):
            if path.exists() or path.is_symlink():
                text = read_file(path).decode(errors="replace")
                return Figures(one_line(str(path), most=4096), text, Path(named).stem)
        return None

    def run_directory(self, run_id: str) -> Path:
        """The directory of the run, which exists once the run is finished."""
        return self.directory / RUNS / run_id

    def finished(self) -> set[str]:
        """The ids of the stored runs of the plan, valid or not; without repeats."""
        return {run.id for run in self.plan.runs} & self._stored()

    def pending(self) -> tuple[Run, ...]:
        """The runs that are not stored, in execution order."""
        finished = self.finished()
        return tuple(run for run in self.plan.runs if run.id not in finished)

    def records(self) -> list[RunRecord]:
        """The records of all finished runs, in plan order, each followed by those of its repeats."""
        files = [self.run_directory(run_id) / RUN for run_id in self._finished_in_order()]
        return [records.parse(RunRecord, read_file(file), str(file)) for file in files]

    def recorded(self) -> list[tuple[Run, RunRecord | None]]:
        """Every run of the plan with its record, or None if it is not finished. Stored repeats follow their run."""
        records = {record.run.id: record for record in self.records()}
        return [
            (run, records.get(run.id))
            for run in self.plan.attempts()
            if run.attempt == 1 or run.id in records
        ]

    def samples(self) -> list[Samples]:
        """The samples of each finished run, in the order of `records`."""
        return samples.read(
            {run_id: self.run_directory(run_id) / SAMPLES for run_id in self._finished_in_order()}
        )

    def verify(self) -> list[str]:
        """All errors in the directory, one line per file; empty for an intact result."""
        return check.verify(self.directory)

    def write(self, record: RunRecord, values: Sequence[Sample], raw: Mapping[str, bytes | Path]) -> None:
        """Store a finished run completely or not at all.

        `raw` contains, by name below raw/, contents or files; a file is moved in. Raises AirtollError if the run cannot
        be stored; earlier runs do not change.
        """
        self.write_all([FinishedRun(record, values, raw)])

    def write_all(self, runs: Sequence[FinishedRun]) -> None:
        """Store finished runs like `write`, each completely or not at all.

        Several runs are flushed to the disk together, because flushing each would dominate runs in virtual time.
        """
        if self._lock is None:
            raise RuntimeError("the result is open for reading only")
        contents = [self._checked(run) for run in runs]
        with ExitStack() as stack:
            stages = []
            for run, content in zip(runs, contents, strict=True):
                stages.append(self._stage(run, content, stack, flush=len(runs) == 1))
            with self._storing(*runs):
                if len(runs) > 1:
                    durable.sync_all(self.directory / RUNS)
                for run, stage in zip(runs, stages, strict=True):
                    stage.rename(self.run_directory(run.record.run.id))
                durable.sync(self.directory / RUNS)
                self._list_runs(run.record.run.id for run in runs)

    def _checked(self, run: FinishedRun) -> bytes:
        """The run's samples as a Parquet file. Raises AirtollError if the run does not belong to this result."""
        run_id = run.record.run.id
        if self._planned.get(run_id) != run.record.run:
            raise AirtollError(f"run {run_id} is not in the plan of {self.directory}")
        if (name := next((name for name in run.raw if not _RAW_NAME.fullmatch(name)), None)) is not None:
            raise AirtollError(f"run {run_id}: '{name}' cannot be the name of a file in {RAW}/")
        if self.run_directory(run_id).exists():
            raise AirtollError(f"run {run_id} is already stored in {self.directory}")
        return samples.to_parquet(run_id, run.values)

    def _stage(self, run: FinishedRun, content: bytes, stack: ExitStack, *, flush: bool) -> Path:
        """Write the run under a temporary name. `stack` removes the directory unless it is renamed."""
        with self._storing(run):
            stage = stack.enter_context(staging(self.directory / RUNS, run.record.run.id))
            durable.write_new(stage / RUN, records.dump(run.record), flush=flush)
            durable.write_new(stage / SAMPLES, content, flush=flush)
            for name, output in run.raw.items():
                _write_raw(stage / RAW / name, output, flush=flush)
            sums = durable.sums(stage, durable.files_in(stage))
            durable.write_new(stage / SUMS, sums.encode(), flush=flush)
            if flush:
                durable.sync_directories(stage)
        return stage

    @cached_property
    def _listed(self) -> dict[str, str]:
        """The digests in SHA256SUMS, without runs whose directories were removed. Requires the lock."""
        path = self.directory / SUMS
        try:
            listed = durable.parse_sums(read_file(path).decode())
        except ValueError as error:
            raise AirtollError(f"{path}: {error}") from error
        return {name: digest for name, digest in listed.items() if (self.directory / name).exists()}

    def _list_runs(self, run_ids: Iterable[str]) -> None:
        """Add stored runs to SHA256SUMS."""
        for name in map(sums_of_run, run_ids):
            if name not in self._listed and (self.directory / name).exists():
                self._listed[name] = durable.sha256(self.directory / name)
        durable.publish(self.directory, {SUMS: durable.sums_of(self._listed).encode()})

    def _storing(self, *runs: FinishedRun) -> AbstractContextManager[None]:
        what = f"run {runs[0].record.run.id}" if len(runs) == 1 else f"{len(runs)} runs"
        return reporting(f"cannot store {what} in {self.directory}")

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A temporary directory, as an absolute path, for files that `write` will move in. Removed at the end."""
        with ExitStack() as stack:
            with reporting(f"cannot write in {self.directory}"):
                directory = stack.enter_context(staging(self.directory.absolute(), "scratch"))
            yield directory

    def _stored(self) -> set[str]:
        with reporting(f"cannot read {self.directory / RUNS}"):
            entries = list(os.scandir(self.directory / RUNS))
        names = {entry.name: entry.is_symlink() for entry in entries if not entry.name.startswith(TEMPORARY)}
        if (link := next((name for name, is_link in names.items() if is_link), None)) is not None:
            raise AirtollError(f"cannot read {self.run_directory(link)}: is a link")
        return set(names)

    def _finished_in_order(self) -> list[str]:
        stored = self._stored()
        return [run_id for run_id in self._planned if run_id in stored]


def _refuse_unless_empty(directory: Path) -> None:
    if not directory.is_dir():
        raise UsageError(f"{directory} exists and is not a directory")
    if set(os.listdir(directory)) - {LOCK}:
        raise UsageError(
            f"{directory} exists and is not empty: use --resume to continue an interrupted study, "
            "or another --out to start a new one"
        )


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()


def _write_head(directory: Path, study_text: str, figures: Figures | None, record: PlanRecord) -> None:
    """Write the files of a result without runs. plan.json, which makes the directory a result, appears last."""
    published: list[Path] = []
    try:
        with staging(directory, "head") as stage:
            durable.write_new(stage / STUDY, study_text.encode())
            durable.write_new(stage / PLAN, records.dump(record))
            beside = {} if figures is None else {f"figures{figures.suffix}": figures.text}
            for name, text in beside.items():
                durable.write_new(stage / name, text.encode())
            durable.write_new(stage / SUMS, durable.sums(stage, (STUDY, *beside, PLAN)).encode())
            (stage / RUNS).mkdir()
            durable.sync_directories(stage)
            for name in (RUNS, STUDY, *beside, SUMS, PLAN):
                published.append(directory / name)
                (stage / name).rename(directory / name)
            durable.sync(directory)
    except BaseException:
        for path in reversed(published):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        raise


def _write_raw(path: Path, content: bytes | Path, *, flush: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        durable.move_in(content, path)
    else:
        durable.write_new(path, content, flush=flush)


def _first_different_line(stored: str, given: str) -> str | None:
    """Describe the first line in which two texts differ, or return None if they are equal."""
    if stored == given:
        return None
    pairs = zip_longest(stored.splitlines(keepends=True), given.splitlines(keepends=True))
    number, (was, now) = next((n, pair) for n, pair in enumerate(pairs, start=1) if pair[0] != pair[1])
    shown = ["the end of the file" if line is None else f"'{line.rstrip()}'" for line in (now, was)]
    return f"line {number} is {shown[0]}, was {shown[1]}"


def _first_difference(stored: Plan, given: Plan) -> str | None:
    """Describe the first key in which two plans differ, with both values, or return None if they are equal."""
    if len(stored.runs) != len(given.runs) and stored.method == given.method:
        return f"it has {len(given.runs)} runs, had {len(stored.runs)}"
    was, now = (dict(_leaves(plan.model_dump(mode="json"))) for plan in (stored, given))
    for key in {**was, **now}:
        if was.get(key) != now.get(key):
            return f"{key} is {now.get(key)}, was {was.get(key)}"
    return None


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value, start=1)
        for name, inner in items:
            yield from _leaves(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, value
