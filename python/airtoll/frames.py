"""A result as frames of polars or pandas, for figures and statistics of the user's own.

The frames have the rows of `runs.csv` and `cells.csv` of a report, and the samples. No program has to know how a result
is stored. Importing this module imports neither library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from airtoll.errors import UsageError
from airtoll.report.material.data import ReportData
from airtoll.report.pages.files import cell_records, run_records
from airtoll.store import COLUMNS, Result
from airtoll.store.parquet import kind_of
from airtoll.store.samples import Words

FrameLibrary = Literal["polars", "pandas"]

LIBRARIES: Final[tuple[FrameLibrary, ...]] = ("polars", "pandas")
"""In the order of preference."""


@dataclass(frozen=True)
class Frames:
    """The frames of one result. A missing value is null in polars, and NaN or None in pandas."""

    runs: Any
    """One row per run and metric. `state` is "valid" only for runs that count; `reasons` says why a run or its value
    does not count. `value` is in `unit`."""
    cells: Any
    """One row per cell and metric: mean, intervals and paired comparison of the valid runs, in `unit`."""
    result: Result
    library: FrameLibrary
    states: Mapping[str, str]
    """The state of each run by its id."""

    @cached_property
    def samples(self) -> Any:
        """One row per sample, with the state of its run; read when it is first used.

        `value` is in `unit`; `t_ns` and `dur_ns` are in nanoseconds from the start of the probe. Raises AirtollError if
        a file of samples cannot be read.
        """
        import numpy as np

        samples = self.result.samples()
        kinds = {"run": "String", "state": "String", **COLUMNS}
        series = {}
        for name, kind in kinds.items():
            parts: list[Any] = [np.zeros(0, {"String": object, "Int64": int, "Float64": float}[kind])]
            for one in samples:
                if name in ("run", "state"):
                    parts.append(
                        np.full(len(one), one.run if name == "run" else self.states[one.run], dtype=object)
                    )
                elif kind == "String":
                    words: Words = getattr(one, name)
                    parts.append(np.array([*words.words, ""], dtype=object)[words.codes])
                else:
                    parts.append(getattr(one, name))
            series[name] = _series(self.library, name, kind, np.concatenate(parts))
        return import_module(self.library).DataFrame(series)


def load(directory: str | Path, library: FrameLibrary | None = None) -> Frames:
    """Read a result as frames of `library`, by default polars if it is installed, otherwise pandas.

    Raises UsageError if the directory is not a result or the library is not installed, AirtollError if a file of the
    result cannot be read.
    """
    library = _installed(library)
    result = Result.open(Path(directory))
    data = ReportData.of(result)
    return Frames(
        _frame(library, run_records(data)),
        _frame(library, cell_records(data)),
        result,
        library,
        {run.run.id: run.state for run in data.runs},
    )


def _installed(library: str | None) -> FrameLibrary:
    """The library, or the first one that is installed. Raises UsageError if it is unknown or not installed."""
    if library is not None and library not in LIBRARIES:
        raise UsageError(f"airtoll.load: unknown library '{library}' (expected {' or '.join(LIBRARIES)})")
    for name in LIBRARIES:
        if library in (None, name) and find_spec(name) is not None:
            return name
    raise UsageError(
        f"airtoll.load requires {library or ' or '.join(LIBRARIES)}: pip install {library or LIBRARIES[0]}"
    )


def _frame(library: FrameLibrary, rows: Sequence[Mapping[str, Any]]) -> Any:
    series = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        kind = kind_of(values)
        if kind == "String" and name not in _TEXTS and all(value is None for value in values):
            kind = "Float64"
        if kind == "String":
            values = [None if value is None else str(value) for value in values]
        series[name] = _series(library, name, kind, values)
    return import_module(library).DataFrame(series)


_TEXTS: Final = ("baseline", "no_ratio_because", "equivalence")
"""Columns of text that may have no value at all. Every other column without a value is one of numbers."""


def _series(library: FrameLibrary, name: str, kind: str, values: Any) -> Any:
    """A column of the type `kind`, as `airtoll.store.parquet` names types. NaN is a missing value."""
    module = import_module(library)
    if library == "polars":
        return module.Series(name, values, dtype=getattr(module, kind), nan_to_null=True)
    return module.Series(values, name=name, dtype="float64" if kind == "Float64" else None)
