"""From a grid file to the list of its cells."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from airtoll.errors import UsageError
from airtoll.labs.sim import Check
from airtoll.study.factors import CRYPTO_AT
from airtoll.study.quantity import one_line, show
from airtoll.study.scenario import Scenario, WordError, read_scenario, unused_processor
from airtoll.study.toml import read_toml
from airtoll.study.values import did_you_mean

CELLS_MAX = 250_000

CELLS_MAX_B = 256 << 20
"""Limit of all cells as JSON. A cell without matrices has some 500 octets; each cell of a grid repeats a matrix."""

GRID = "grid"
_KEYS = ("title", "description", "impossible", GRID)
_IMPOSSIBLE = ("refuse", "skip")
_RANGE = re.compile(r"([0-9]{1,15})\.\.([0-9]{1,15})")
_COUNTS = ("stations", "streams", "seed")
"""The keys that accept a range such as '1..100'."""

_MATRICES = ("snr", "hears")
"""The keys for which a list of lists is a single value."""


@dataclass(frozen=True)
class SweepGrid:
    """A checked grid file."""

    name: str
    title: str
    cells: tuple[str, ...]  # scenarios as JSON, without duplicates, in the order of the file
    repeated: int  # number of duplicate cells that were omitted
    skipped: int  # number of cells that were omitted because the medium refuses them
    levels: Mapping[str, int]  # number of levels of each key that has several

    @property
    def digest(self) -> str:
        """Two grids have the same digest exactly if they have the same cells in the same order."""
        return hashlib.sha256("\n".join(self.cells).encode()).hexdigest()


def load_grid(path: Path, check: Check) -> SweepGrid:
    """Read a grid file and expand it. `check` raises ValueError for an invalid cell.

    Raises UsageError with one line: file, key and error.
    """
    file = one_line(str(path), most=4096)
    _, raw = read_toml(path, "a grid file")
    try:
        return _expand(raw, path.stem, check)
    except WordError as error:
        raise UsageError(f"{file}: {error}") from None


def _expand(raw: Mapping[str, Any], name: str, check: Check) -> SweepGrid:
    title = raw.get("title", name)
    if not isinstance(title, str):
        raise WordError("title", f"{show(title)} is not a string")
    impossible = raw.get("impossible", _IMPOSSIBLE[0])
    if impossible not in _IMPOSSIBLE:
        raise WordError("impossible", f"{show(impossible)} is not allowed; use {' or '.join(_IMPOSSIBLE)}")
    grids = list(_grids(raw))
    count = sum(prod(len(levels) for levels in grid.values()) for grid in grids)
    if count > CELLS_MAX:
        raise WordError(GRID, f"expands to {count} cells; a sweep may have at most {CELLS_MAX}")
    cells: dict[str, None] = {}
    total_b = skipped = 0
    for grid in grids:
        for values in product(*grid.values()):
            cell = Scenario.model_construct(**dict(zip(grid, values, strict=True))).to_json()
            if cell in cells:
                continue
            try:
                check(cell)
            except ValueError as error:
                if impossible == "refuse":
                    raise _refusal(grid, values, str(error)) from None
                skipped += 1
                count -= 1
                continue
            total_b += len(cell)
            if total_b > CELLS_MAX_B:
                raise WordError(GRID, f"its cells have more than {CELLS_MAX_B >> 20} MiB: divide the grid")
            cells[cell] = None
    if not cells:
        raise WordError(GRID, "contains no valid cell")
    several: dict[str, set[str]] = {}
    for grid in grids:
        for word, levels in grid.items():
            several.setdefault(word, set()).update(map(repr, levels))
    return SweepGrid(
        name=name,
        title=title,
        cells=tuple(cells),
        repeated=count - len(cells),
        skipped=skipped,
        levels={word: len(levels) for word, levels in several.items() if len(levels) > 1},
    )


def _refusal(grid: Mapping[str, Sequence[Any]], values: Sequence[Any], why: str) -> WordError:
    several = [
        f"{word} {value}"
        for (word, levels), value in zip(grid.items(), values, strict=True)
        if len(levels) > 1
    ]
    which = f" ({', '.join(several)})" if several else ""
    return WordError(GRID, f'{why}{which}; impossible = "skip" omits such cells')


def _grids(raw: Mapping[str, Any]) -> Iterator[dict[str, tuple[Any, ...]]]:
    """The levels of every key in each table [[grid]]. Keys above the tables apply to all of them."""
    shared = {key: value for key, value in raw.items() if key not in _KEYS}
    tables = raw.get(GRID, [{}])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables) or not tables:
        raise WordError(GRID, "must be a list of tables: [[grid]]")
    for number, table in enumerate(tables):
        at = f"{GRID}[{number}]." if GRID in raw else ""
        levels: dict[str, tuple[Any, ...]] = {}
        given = {**shared, **table}
        for word in given:
            if word not in Scenario.model_fields:
                known = [*Scenario.model_fields, *_KEYS]
                where = at if word in table else ""
                raise WordError(f"{where}{one_line(word)}", f"unknown key{did_you_mean(word, known)}")
        for word in Scenario.model_fields:  # in this order, independent of the file's
            if word in given:
                levels[word] = _levels(word, given[word], at if word in table else "")
        for word, text in unused_processor(levels, levels.get("crypto_at", (CRYPTO_AT.default,))):
            raise WordError(f"{at if word in table else ''}{word}", text)
        yield levels


def _levels(word: str, value: Any, at: str) -> tuple[Any, ...]:
    """The checked levels of one key."""
    several = isinstance(value, list) and not (word in _MATRICES and _depth(value) == 2)
    if several and not value:
        raise WordError(f"{at}{word}", "the list is empty; give at least one level")
    listed = value if several else [value]
    if word in _COUNTS and isinstance(value, str):
        listed = _range(value, f"{at}{word}") or listed
    levels: dict[str, Any] = {}  # by text, because a matrix or a table has no hash
    for index, level in enumerate(listed):
        try:
            checked = getattr(read_scenario({word: level}), word)
        except WordError as error:
            raise WordError(f"{at}{word}{f'[{index}]' if several else ''}", error.text) from None
        if repr(checked) in levels:
            raise WordError(
                f"{at}{word}{f'[{index}]' if several else ''}",
                f"{show(level)} is a duplicate; levels must be unique",
            )
        levels[repr(checked)] = checked
    return tuple(levels.values())


def _range(text: str, key: str) -> Sequence[int] | None:
    """The whole numbers of '1..100', including both ends; None if the text is not a range."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    numbers = range(int(match[1]), int(match[2]) + 1)
    if len(numbers) > CELLS_MAX:
        raise WordError(
            key, f"{show(text)} has {len(numbers)} levels; a sweep may have at most {CELLS_MAX} cells"
        )
    return numbers


def _depth(value: Any) -> int:
    return 1 + _depth(value[0]) if isinstance(value, list) and value else 0
