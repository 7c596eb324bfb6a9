"""Checks a result directory, file by file.

Checksums detect accidental changes. They are not signatures: a file changed together with all its checksums is not
detected.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from airtoll import durable
from airtoll.durable import SUMS, TEMPORARY, reporting
from airtoll.errors import AirtollError, UsageError
from airtoll.store import records, samples
from airtoll.store.layout import FIGURES, PLAN, RUN, RUNS, SAMPLES, STUDY, read_file, read_plan, sums_of_run
from airtoll.store.records import RunRecord
from airtoll.study.cell import Run


def verify(directory: Path) -> list[str]:
    """All errors in the directory, one line per file with a relative name; empty for an intact result.

    Derived files beside the record, the lock and unfinished files of a crash are ignored. A run that was never finished
    is not an error; a finished run that is missing is one.
    Raises UsageError if the directory is not a result or was written by a newer airtoll.
    """
    with reporting(f"cannot read {directory}"):
        return _problems(directory)


def _problems(directory: Path) -> list[str]:
    problems: list[str] = []
    if not (directory / SUMS).exists():
        read_plan(directory)
    listed = _read_sums(directory, "", problems)
    of_runs = {name: digest for name, digest in (listed or {}).items() if Path(name).is_relative_to(RUNS)}
    of_head = None if listed is None else {name: listed[name] for name in listed.keys() - of_runs}
    head = {name for name in (STUDY, PLAN, *FIGURES) if (directory / name).exists()}
    planned: dict[str, Run] | None = None
    if PLAN in _check_sums(directory, "", of_head, {STUDY, PLAN}, head, problems):
        try:
            planned = {run.id: run for run in read_plan(directory).plan.attempts()}
        except UsageError:
            raise
        except AirtollError as error:
            problems.append(str(error))

    if (directory / RUNS).is_symlink():
        return [*problems, f"{RUNS}: not a directory"]
    try:
        entries = sorted((directory / RUNS).iterdir())
    except OSError as error:
        return [*problems, f"{RUNS}: cannot be read: {error.strerror}"]
    for entry in entries:
        at = f"{RUNS}/{entry.name}"
        if entry.name.startswith(TEMPORARY):
            continue
        if entry.is_symlink() or not entry.is_dir():
            problems.append(f"{at}: not a run's directory")
        elif planned is not None and entry.name not in planned:
            problems.append(f"{at}: run not in the plan")
        else:
            _check_run(entry, f"{at}/", planned, problems)
    return [*problems, *_changed_runs(directory, of_runs)]


def _changed_runs(directory: Path, digests: Mapping[str, str]) -> Iterator[str]:
    """The problems of finished runs that were removed, or changed together with their own checksum files."""
    for name, digest in digests.items():
        path = directory / name
        if name != sums_of_run(path.parent.name):
            yield f"{SUMS}: lists {name}, which no result contains"
        elif not path.parent.is_dir():
            yield f"{Path(name).parent}: missing; the run was finished"
        elif durable.is_regular(path) and durable.sha256(path) != digest:
            yield f"{name}: does not match its checksum"


def _check_run(root: Path, at: str, planned: dict[str, Run] | None, problems: list[str]) -> None:
    present = durable.files_in(root) - {SUMS}
    digests = _read_sums(root, at, problems)
    whole = _check_sums(root, at, digests, {RUN, SAMPLES}, present, problems)
    # A file that does not match its checksum is reported already; its content does not matter.
    if RUN in whole:
        try:
            record = records.parse(RunRecord, read_file(root / RUN), f"{at}{RUN}")
        except AirtollError as error:
            problems.append(str(error))
        else:
            if record.run.id != root.name:
                problems.append(f"{at}{RUN}: belongs to run {record.run.id}")
            elif planned is not None and record.run != planned[root.name]:
                problems.append(f"{at}{RUN}: its run differs from the plan")
    if SAMPLES in whole:
        problem = samples.problem(read_file(root / SAMPLES), root.name)
        if problem is not None:
            problems.append(f"{at}{SAMPLES}: {problem}")


def _read_sums(root: Path, at: str, problems: list[str]) -> dict[str, str] | None:
    """The digests in a checksum file, by file name; None, and a problem, if the file is missing or damaged."""
    path = root / SUMS
    if not durable.is_regular(path):
        problems.append(f"{at}{SUMS}: {'not a regular file' if path.is_symlink() else 'missing'}")
        return None
    try:
        return durable.parse_sums(read_file(path).decode())
    except UnicodeDecodeError:
        problems.append(f"{at}{SUMS}: not text")
    except ValueError as error:
        problems.append(f"{at}{SUMS}: {error}")
    return None


def _check_sums(
    root: Path,
    at: str,
    digests: Mapping[str, str] | None,
    needed: set[str],
    present: set[str],
    problems: list[str],
) -> set[str]:
    """Return the names of files that match their checksum, and add a problem for every other file.

    Without digests, `_read_sums` has added the problem.
    """
    whole: set[str] = set()
    if digests is None:
        return whole
    for name in sorted(needed | present | digests.keys()):
        if name not in present:
            problems.append(f"{at}{name}: missing")
        elif name not in digests:
            problems.append(f"{at}{name}: {f'not listed in {SUMS}' if name in needed else 'unexpected file'}")
        elif not durable.is_regular(root / name):
            problems.append(f"{at}{name}: not a regular file")
        else:
            try:
                if durable.sha256(root / name) == digests[name]:
                    whole.add(name)
                else:
                    problems.append(f"{at}{name}: does not match its checksum")
            except OSError as error:
                problems.append(f"{at}{name}: cannot be read: {error.strerror}")
    return whole
