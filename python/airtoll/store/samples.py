"""The table of samples and its Parquet form: one row per sample, with the run's id in the first column."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

import polars as pl

from airtoll.errors import AirtollError
from airtoll.probes.base import Phase, Sample

COLUMNS: Final[dict[str, pl.DataType]] = {
    "run": pl.String(),
    "probe": pl.String(),
    "metric": pl.String(),
    "unit": pl.String(),
    "endpoint": pl.String(),
    "direction": pl.String(),
    "t_ns": pl.Int64(),
    "dur_ns": pl.Int64(),
    "value": pl.Float64(),
    "phase": pl.String(),
}
"""Every column and its type. Only `value` may be null; it is never NaN."""

PHASES: Final = get_args(Phase)

# A panic in polars' Rust code is not an Exception; a crafted Parquet file can cause one.
PARQUET_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def to_frame(run_id: str, samples: Sequence[Sample]) -> pl.DataFrame:
    """The samples of one run, in the given order. Raises AirtollError for a value that is not finite."""
    for sample in samples:
        if sample.value is not None and not math.isfinite(sample.value):
            raise AirtollError(
                f"run {run_id}: {sample.probe} returned {sample.value} for {sample.metric} at {sample.t_ns} ns "
                "(a value that was not measured must be None)"
            )
    fields = [name for name in COLUMNS if name != "run"]
    columns = {name: [getattr(sample, name) for sample in samples] for name in fields}
    return pl.DataFrame({"run": [run_id] * len(samples), **columns}, schema=COLUMNS)


def to_parquet(frame: pl.DataFrame) -> bytes:
    """The frame as a Parquet file, compressed with zstd."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def read(files: Sequence[Path]) -> pl.DataFrame:
    """The rows of all files, in order. Raises AirtollError with the name of a file that cannot be read."""
    if not files:
        return pl.DataFrame(schema=COLUMNS)
    try:
        return _scan(files).collect()
    except PARQUET_ERRORS as error:
        for file in files:
            try:
                _scan([file]).collect()
            except PARQUET_ERRORS as cause:
                raise AirtollError(f"{file}: cannot be read: {_first_line(cause)}") from cause
        raise AirtollError(
            f"{files[0].parent.parent}: samples cannot be read: {_first_line(error)}"
        ) from error


def _scan(files: Sequence[Path]) -> pl.LazyFrame:
    # No globbing and no partitions: a result directory may have any name, such as `a=b[1]`.
    return pl.scan_parquet(list(files), schema=COLUMNS, glob=False, hive_partitioning=False)


def problem(content: bytes, run_id: str) -> str | None:
    """Return the error in the content of the run's samples.parquet, or None."""
    try:
        frame = pl.read_parquet(io.BytesIO(content), hive_partitioning=False)
    except PARQUET_ERRORS as error:
        return f"cannot be read: {_first_line(error)}"
    if list(frame.schema.items()) != list(COLUMNS.items()):
        found = ", ".join(f"{name} {dtype}" for name, dtype in frame.schema.items())
        wanted = ", ".join(f"{name} {dtype}" for name, dtype in COLUMNS.items())
        return f"has the columns {found}; expected {wanted}"
    incomplete = [name for name in COLUMNS if name != "value" and frame[name].null_count()]
    if incomplete:
        return f"column {incomplete[0]} has a row without a value"
    faults = {
        "column value has a NaN or an infinity": frame["value"].is_finite().not_(),
        "has rows of another run": frame["run"] != run_id,
        f"column phase has a value other than {', '.join(PHASES)}": frame["phase"].is_in(PHASES).not_(),
    }
    return next((fault for fault, rows in faults.items() if rows.any()), None)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
