"""The table of a run's samples and its Parquet form: one row per sample, with the run's id in the first column."""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from airtoll.errors import AirtollError
from airtoll.probes.base import Phase, Sample
from airtoll.store import parquet
from airtoll.store.layout import read_file
from airtoll.store.parquet import Column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS: Final = {
    "run": "String",
    "probe": "String",
    "metric": "String",
    "unit": "String",
    "endpoint": "String",
    "direction": "String",
    "t_ns": "Int64",
    "dur_ns": "Int64",
    "value": "Float64",
    "phase": "String",
}
"""Every column and its type. Only `value` may lack a value in a row; it is never NaN."""

PHASES: Final = get_args(Phase)


@dataclass(frozen=True)
class Words:
    """A column of text: per row an index into the distinct words."""

    codes: "NDArray[np.uint32]"
    words: Sequence[str]

    def __getitem__(self, row: int) -> str:
        """The text of a row."""
        return self.words[int(self.codes[row])]

    def __iter__(self) -> Iterator[str]:
        """The text of each row."""
        return (self.words[code] for code in self.codes)

    def equal(self, word: str) -> "NDArray[np.bool_]":
        """Whether each row contains the word."""
        code = self.words.index(word) if word in self.words else len(self.words)
        found: NDArray[np.bool_] = self.codes == code
        return found

    def where(self, chosen: "NDArray[np.bool_] | NDArray[np.intp]") -> "Words":
        """The chosen rows."""
        return Words(self.codes[chosen], self.words)


@dataclass(frozen=True)
class Samples:
    """The samples of one run, as columns with one row per sample."""

    run: str
    probe: Words
    metric: Words
    unit: Words
    endpoint: Words
    direction: Words
    t_ns: "NDArray[np.int64]"
    dur_ns: "NDArray[np.int64]"
    value: "NDArray[np.float64]"  # NaN if it was not measured
    phase: Words

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.value)

    @classmethod
    def of(cls, run_id: str, samples: Sequence[Sample]) -> "Samples":
        """The samples of one run, in the given order. Raises AirtollError for a value that is not finite."""
        return _of_columns(run_id, _columns(run_id, samples))


def to_parquet(run_id: str, samples: Sequence[Sample]) -> bytes:
    """A run's samples as a Parquet file, compressed with zstd.

    Raises AirtollError for a value that is not finite.
    """
    return parquet.write(_columns(run_id, samples))


def read(files: Mapping[str, Path]) -> list[Samples]:
    """The samples of runs, by their ids, in order. Raises AirtollError with the name of a file that cannot be read."""
    found = []
    for run_id, file in files.items():
        samples = _parsed(run_id, read_file(file))
        if isinstance(samples, str):
            raise AirtollError(f"{file}: {samples}")
        found.append(samples)
    return found


def problem(content: bytes, run_id: str) -> str | None:
    """Return the error in the content of the run's samples.parquet, or None."""
    samples = _parsed(run_id, content)
    return samples if isinstance(samples, str) else None


def _parsed(run_id: str, content: bytes) -> Samples | str:  # noqa: PLR0911  (one return per error)
    """The samples, or the error in the content."""
    try:
        columns = parquet.read(content)
    except ValueError as error:
        return f"cannot be read: {error}"
    types = {column.name: column.kind for column in columns}
    if list(types.items()) != list(COLUMNS.items()) or len(columns) != len(COLUMNS):
        found = ", ".join(f"{column.name} {column.kind}" for column in columns)
        wanted = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        return f"has the columns {found}; expected {wanted}"
    for column in columns:
        if column.present is not None and column.name != "value":
            return f"column {column.name} has a row without a value"
    value = columns[list(COLUMNS).index("value")]
    if not all(map(math.isfinite, array("d", value.data))):  # zeros in rows without a value
        return "column value has a NaN or an infinity"
    words = {column.name: set(column.words) for column in columns}
    if words["run"] - {run_id}:
        return "has rows of another run"
    if words["phase"] - set(PHASES):
        return f"column phase has a value other than {', '.join(PHASES)}"
    return _of_columns(run_id, columns)


def _columns(run_id: str, samples: Sequence[Sample]) -> list[Column]:
    for sample in samples:
        if sample.value is not None and not math.isfinite(sample.value):
            raise AirtollError(
                f"run {run_id}: {sample.probe} returned {sample.value} for {sample.metric} at {sample.t_ns} ns "
                "(a value that was not measured must be None)"
            )
    values: dict[str, list[Any]] = {
        name: [run_id] * len(samples) if name == "run" else [getattr(sample, name) for sample in samples]
        for name in COLUMNS
    }
    return [Column.of(name, values[name], kind) for name, kind in COLUMNS.items()]


def _of_columns(run_id: str, columns: Sequence[Column]) -> Samples:
    """The samples in columns that are those of `COLUMNS`."""
    import numpy as np  # imported here: commands that read no samples start without it

    dtypes = {"Int64": "<i8", "Float64": "<f8", "String": "<u4"}
    found: dict[str, Any] = {}
    for column in columns:
        data = np.frombuffer(column.data, dtypes[column.kind])
        found[column.name] = Words(data, column.words) if column.kind == "String" else data
        if column.name == "value" and column.present is not None:
            found["value"] = np.where(np.frombuffer(column.present, np.bool_), data, np.nan)
    return Samples(**found | {"run": run_id})
