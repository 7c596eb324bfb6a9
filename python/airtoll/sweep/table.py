"""The answers of all cells as one table, and its files.

The table has one row per cell, in the order of the grid. Its columns are: `cell` (position in the grid), the keys of
the scenario as sent to the medium, the medium's answer, and the origin of the answer (`airtoll`, its version;
`machine_processor`, `machine_kernel`). Objects within the answer become separate columns (`delay_ms.p99` is
`delay_ms_p99`), and lists become JSON text. The answer's `stations`, one object per station, is `per_station`. Missing
values of a scenario or an answer are null. A column without any value is omitted.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from airtoll.documents import read_json
from airtoll.durable import publish, reporting
from airtoll.errors import AirtollError
from airtoll.store import parquet
from airtoll.sweep.workers import Done

_ANSWER: Final[TypeAdapter[dict[str, Any]]] = TypeAdapter(dict[str, Any])

FORMATS = ("csv", "json")
"""File formats of a table besides Parquet."""

TableColumns = Mapping[str, Sequence[Any]]
"""A table: the values of each column by its name, None in rows without a value."""

_RENAMED = {"stations": "per_station"}


def make_table(cells: Sequence[str], answers: Iterable[Done]) -> TableColumns:
    """The table of the cells that have an answer."""
    by_place = {done.place: done for done in answers}
    scenarios: dict[str, list[Any]] = {}
    results: dict[str, list[Any]] = {}
    origins: dict[str, list[Any]] = {}
    places = sorted(by_place)
    for row, place in enumerate(places):
        if place >= len(cells):
            raise AirtollError(f"cell {place}: the grid has {len(cells)} cells")
        _fill(scenarios, row, _flat(json.loads(cells[place]), matrices=True))
        answer = read_json(_ANSWER, by_place[place].answer, f"cell {place}: its answer")
        _fill(results, row, _flat({_RENAMED.get(name, name): value for name, value in answer.items()}))
        origin = by_place[place].origin
        made = {
            "airtoll": origin.airtoll,
            "machine_processor": origin.processor,
            "machine_kernel": origin.kernel,
        }
        _fill(origins, row, _flat(made))
    columns = {**origins, **results, **scenarios}  # a key of the scenario takes precedence
    ordered = list(dict.fromkeys(["cell", *scenarios, *results, *origins]))
    columns["cell"] = list(places)
    table = {}
    for name in ordered:
        values = columns[name] + [None] * (len(places) - len(columns[name]))
        if any(isinstance(value, float) for value in values):  # JSON may print whole ones as integers
            values = [float(value) if isinstance(value, int) else value for value in values]
        table[name] = values
    return table


def _fill(columns: dict[str, list[Any]], row: int, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        column = columns.setdefault(name, [])
        column.extend([None] * (row - len(column)))
        column.append(value)


def _flat(of: Mapping[str, Any], above: str = "", *, matrices: bool = False) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in of.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            flat |= _flat(value, f"{name}_", matrices=matrices)
        elif isinstance(value, list):
            flat[f"{name}_matrix" if matrices else name] = json.dumps(value, separators=(",", ":"))
        elif value is not None:
            flat[name] = value
    return flat


def write_table(table: TableColumns, path: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Write the table as Parquet (zstd) and in the other formats. Each file appears completely or not at all."""
    paths = [*(path.with_suffix(f".{name}") for name in formats), path]  # Parquet completes the sweep
    for target in paths:
        with reporting(f"cannot write {target}"):
            content = _content(table, "parquet" if target == path else target.suffix[1:])
            publish(target.absolute().parent, {target.name: content})
    return [path, *paths[:-1]]


def _content(table: TableColumns, form: str) -> bytes:
    match form:
        case "parquet":
            return parquet.write([parquet.Column.of(name, values) for name, values in table.items()])
        case "csv":
            return _csv(table).encode()
        case _:
            rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
            return json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()


def _csv(table: TableColumns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    for row in zip(*table.values(), strict=True):
        writer.writerow(json.dumps(value) if isinstance(value, bool) else value for value in row)
    return text.getvalue()
