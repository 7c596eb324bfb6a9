"""The result directory: the record of what a study measured, which stays readable years later on other machines.

- `records`: the contents of `plan.json` and `run.json`, and their schema version.
- `parquet`: columns of a table, and Parquet files of them. `samples`: the table of a run's samples.
- `result`: `Result`, the directory itself: create, open, resume, write, read.
- `origin`: the version of airtoll and the machine that make a result, and whether they may change within a result.
- `check`: finds errors in a directory, file by file.
- `verdict`: decides whether a run is valid, or for which reasons it is not.
- `recorder`: performs the remaining runs and stores each when it ends. `side_by_side`: several at a time.
- `importers`: results from other tools' files.

A finished run never changes. It is written under a temporary name, flushed to the disk and renamed, so that every
directory with a run's name is complete. docs/reference/data-format.md describes every file and key.
"""

from airtoll.store.check import verify
from airtoll.store.recorder import (
    Event,
    NoLoadError,
    ProbeStarted,
    RepeatWaits,
    RunFinished,
    RunStarted,
    check_ready,
    record,
)
from airtoll.store.records import SCHEMA_VERSION, PlanRecord, RunRecord, Verdict, Versions, run_schema
from airtoll.store.result import FinishedRun, Result, default_directory
from airtoll.store.samples import COLUMNS, Samples

__all__ = [
    "COLUMNS",
    "SCHEMA_VERSION",
    "Event",
    "FinishedRun",
    "NoLoadError",
    "PlanRecord",
    "ProbeStarted",
    "RepeatWaits",
    "Result",
    "RunFinished",
    "RunRecord",
    "RunStarted",
    "Samples",
    "Verdict",
    "Versions",
    "check_ready",
    "default_directory",
    "record",
    "run_schema",
    "verify",
]
