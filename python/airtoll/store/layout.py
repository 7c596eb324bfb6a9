"""File names of a result directory, and its plan, which makes a directory a result."""

from pathlib import Path
from typing import Final

from airtoll.durable import SUMS, open_regular, reporting
from airtoll.errors import AirtollError, UsageError
from airtoll.ownership import check_folder
from airtoll.store import records
from airtoll.store.records import PlanRecord, RunRecord

STUDY: Final = "study.toml"
FIGURES: Final = ("figures.toml", "figures.csv")
"""The published figures of a user's study, in one of these forms; absent for other studies."""
PLAN: Final = "plan.json"
RUNS: Final = "runs"
RUN: Final = "run.json"
SAMPLES: Final = "samples.parquet"
RAW: Final = "raw"


def sums_of_run(run_id: str) -> str:
    """The name of a finished run's checksum file in the SHA256SUMS of the result."""
    return f"{RUNS}/{run_id}/{SUMS}"


_MOST_BYTES: Final = {PLAN: PlanRecord.MOST_BYTES, RUN: RunRecord.MOST_BYTES}


def read_file(path: Path) -> bytes:
    """The file's content.

    Raises AirtollError with the file's name, also if it is a link, a device, a pipe, or longer than such a file may be.
    """
    most = _MOST_BYTES.get(path.name)
    with reporting(f"cannot read {path}"), open_regular(path) as file:
        content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise AirtollError(f"cannot read {path}: is longer than {most >> 20} MiB")
    return content


def check_target(directory: Path, target: Path) -> None:
    """Raise UsageError if `target` is below a result directory, which may be a stranger's, and a link leads to it, or
    another user can replace files on the way.

    The result directory itself may be a link.
    """
    way: list[Path] = []
    for path in (target.absolute(), *target.absolute().parents):
        if path.exists() and path.samefile(directory):
            for each in way:
                if each.is_symlink():
                    raise UsageError(f"cannot write into {target}: {each} is a link")
            for each in filter(Path.exists, (path, *way)):
                check_folder(each)
            return
        way.insert(0, path)


def read_plan(directory: Path) -> PlanRecord:
    """The plan of a result directory.

    Raises UsageError if there is no plan or a newer airtoll wrote it, AirtollError if it cannot be read.
    """
    path = directory / PLAN
    try:
        content = read_file(path)
    except AirtollError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            raise UsageError(f"{directory}: not a result directory: it has no {PLAN}") from error
        raise
    return records.parse(PlanRecord, content, str(path))
