"""The result directory is the record: what a study measured, kept to be read years later elsewhere.

- `records`: what `plan.json` and `run.json` hold, and their schema version.
- `samples`: the table of samples and its Parquet form.
- `durable`: files that are on the disk as a whole or not at all; the lock; checksums.
- `result`: `Result`, the directory itself: create, open, resume, write, read.
- `origin`: which code and which machine make a result, and whether they may change on the way.
- `check`: what is wrong with a directory, file by file.
- `verdict`: whether a run counts, and if not, why.
- `recorder`: performs the runs that are left and writes each as it ends.
- `importers`: results of other tools' files.

A finished run is never changed. It is written under a temporary name, flushed to the disk and renamed, so
what bears a run's name is whole whatever happened. docs/reference/data-format.md describes every file and key.
"""

from airtoll.store.check import verify
from airtoll.store.recorder import (
    Event,
    NoLoadError,
    ProbeStarted,
    RunFinished,
    RunStarted,
    check_cells,
    check_ready,
    record,
)
from airtoll.store.records import SCHEMA_VERSION, PlanRecord, RunRecord, Verdict, Versions, run_schema
from airtoll.store.result import FinishedRun, Result, default_directory
from airtoll.store.samples import COLUMNS

__all__ = [
    "COLUMNS",
    "SCHEMA_VERSION",
    "Event",
    "FinishedRun",
    "NoLoadError",
    "PlanRecord",
    "ProbeStarted",
    "Result",
    "RunFinished",
    "RunRecord",
    "RunStarted",
    "Verdict",
    "Versions",
    "check_cells",
    "check_ready",
    "default_directory",
    "record",
    "run_schema",
    "verify",
]
