"""The cell of an imported file: levels in the file, of its owner, and of a study. Nothing is guessed."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from airtoll.errors import UsageError
from airtoll.labs.sim import Sim
from airtoll.study.cell import Cell
from airtoll.study.factors import LATER_FACTORS, level_text
from airtoll.study.levels import AUTO_RATE, CELL_FACTORS, check_factor, parse_level
from airtoll.study.link import LinkSettings
from airtoll.study.load import Study
from airtoll.study.phys import PHYS
from airtoll.study.quantity import one_line
from airtoll.study.security import READY_MADE, not_ready_made

LAB: Final = "imported"
"""The lab of results that other tools recorded."""

GIVABLE: Final = tuple(name for name in CELL_FACTORS if name != "lab")
_OTHER_COLUMNS: Final = ("file", "block", "discard")
_NEEDED: Final = tuple(name for name in GIVABLE if name not in LATER_FACTORS)
_ONLY: Final[Mapping[str, Mapping[str, Any]]] = {
    word: {"bandwidth": phy.bandwidths_mhz[0], "gi": phy.guard_intervals[0]}
    for word, phy in PHYS.items()
    if len(phy.bandwidths_mhz) == len(phy.guard_intervals) == 1
}
"""Levels implied by a PHY: PHYs before HT have one width and one guard interval (IEEE Std 802.11-2020, 15 to 18)."""


@dataclass(frozen=True)
class Given:
    """A file to import, with the levels that its owner gives."""

    path: Path
    levels: Mapping[str, Any] = field(default_factory=dict)
    block: int | None = None  # files of one block are compared in pairs
    discard: bool = False  # a warm-up measurement: stored, but excluded from every statistic


def given_level(text: str, where: str) -> tuple[str, Any]:
    """Parse a level in the form `FACTOR=LEVEL`. Raises UsageError with the name of the option."""
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise UsageError(f"{where}: '{one_line(text)}' is not FACTOR=LEVEL, such as phy=ht")
    return name, _parsed(name, level, where)


def _parsed(name: str, level: str, where: str) -> Any:
    try:
        if check_factor(name) == "lab":
            raise ValueError(f"the lab of an imported result is {LAB}")
        if name == "security" and level not in READY_MADE:  # no study declares other profiles
            raise ValueError(not_ready_made(level))
        return parse_level(name, level)
    except ValueError as error:
        raise UsageError(f"{where}: {name}: {error}") from None


def read_table(table: Path) -> list[Given]:
    """The files and levels in a CSV table with the columns `file`, factors, `block` and `discard`.

    File names are relative to the table. An empty field leaves the level open. Raises UsageError with the line number.
    """
    name = one_line(str(table), most=4096)
    try:
        rows = list(csv.reader(io.StringIO(table.read_bytes().decode("utf-8-sig")), strict=True))
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise UsageError(f"{name}: is not CSV: {one_line(str(error))}") from None
    heads = [head.strip() for head in rows[0]] if rows else []
    if "file" not in heads:
        raise UsageError(f"{name}: line 1: missing column 'file'")
    if len(set(heads)) != len(heads):
        raise UsageError(f"{name}: line 1: duplicate column")
    for head in heads:
        if head not in _OTHER_COLUMNS:
            try:
                check_factor(head)
            except ValueError as error:
                raise UsageError(
                    f"{name}: line 1: {error} (other columns: {', '.join(_OTHER_COLUMNS)})"
                ) from None
    return [
        _row(dict(zip(heads, row, strict=False)), len(row) - len(heads), table, f"{name}: line {number}")
        for number, row in enumerate(rows[1:], start=2)
        if any(each.strip() for each in row)
    ]


def _row(row: Mapping[str, str], extra: int, table: Path, where: str) -> Given:
    if extra > 0:
        raise UsageError(f"{where}: has {extra} more fields than line 1")
    told = {name: text.strip() for name, text in row.items() if text.strip()}
    if "file" not in told:
        raise UsageError(f"{where}: names no file")
    block = told.pop("block", None)
    if block is not None and not (block.isascii() and block.isdigit() and len(block) < 10):
        raise UsageError(f"{where}: block: '{one_line(block)}' is not a whole number")
    discard = told.pop("discard", "no")
    if discard not in ("yes", "no"):
        raise UsageError(f"{where}: discard: '{one_line(discard)}' is neither yes nor no")
    path = table.parent / told.pop("file")
    levels = {name: _parsed(name, text, where) for name, text in told.items()}
    return Given(path, levels, None if block is None else int(block), discard == "yes")


def swapped(said: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether the owner's direction is opposite to the file's. If so, the client was on the access point's side."""
    return {said.get("direction"), given.get("direction")} == {"up", "down"}


def cell_of(said: Mapping[str, Any], given: Mapping[str, Any], usual: Mapping[str, Any], who: str) -> Cell:
    """The cell. `usual` are the levels of a study, which file and owner replace.

    Raises UsageError if file and owner disagree, if a level is missing, or if the cell is invalid.
    """
    for name, level in given.items():
        if name in said and said[name] != level:
            texts = [level_text(name, each) for each in (said[name], level)]
            raise UsageError(f"{who}: {name}: the file says {texts[0]}, you say {texts[1]}")
    levels = {**usual, **said, **given}
    for name, only in _ONLY.get(levels.get("phy", ""), {}).items():
        levels.setdefault(name, only)
    missing = [name for name in _NEEDED if name not in levels]
    if missing:
        raise UsageError(
            f"{who}: missing levels: {', '.join(missing)}: give --level {missing[0]}=LEVEL, or columns of --levels"
        )
    cell = Cell(lab=LAB, **levels)
    # Check only the keys of the link: other programs may send packets that studies do not support.
    plain = {"packet_size": 1000, "offered": "max", "transport": "udp", "stack": "default"}
    if cell.rate == AUTO_RATE:
        plain["rate"] = PHYS[cell.phy].rates[0]
    obstacle = Sim(LinkSettings(legacy_fallback=True)).check(cell.model_copy(update=plain))
    if obstacle is not None:
        raise UsageError(f"{who}: {obstacle}")
    return cell


def single_levels(study: Study) -> Mapping[str, Any]:
    """The factors that have one level in the study, with that level."""
    levels = {name: getattr(study.factors, name) for name in GIVABLE}
    return {name: of[0] for name, of in levels.items() if len(of) == 1}


def sources(
    said: Mapping[str, Any], given: Mapping[str, Any], usual: Mapping[str, Any]
) -> Mapping[str, Sequence[str]]:
    """The factors by the source of their level. The levels of `levels_unsaid` are defaults, not facts."""
    known = {*said, *given}
    studied = [name for name in usual if name not in known]
    facts: dict[str, list[str]] = {
        "levels_by_file": sorted(said),
        "levels_by_owner": sorted(given),
        "levels_by_study": sorted(studied),
        "levels_unsaid": [name for name in LATER_FACTORS if name not in known and name not in studied],
    }
    if not usual:
        del facts["levels_by_study"]
    return facts
