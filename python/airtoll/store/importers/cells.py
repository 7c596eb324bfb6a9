"""The cell of an imported file: levels of the file, its owner, a study and the file's name. Others are unknown."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from airtoll.errors import UsageError
from airtoll.labs.sim import Sim
from airtoll.study import security
from airtoll.study.cell import Cell
from airtoll.study.factors import LATER_FACTORS, UNKNOWN, level_text
from airtoll.study.labs import IMPORTED
from airtoll.study.levels import AUTO_RATE, CELL_FACTORS, REQUIRED, check_factor, parse_level
from airtoll.study.link import LinkSettings
from airtoll.study.load import Study
from airtoll.study.phys import ALIASES, MCS, PHYS
from airtoll.study.quantity import one_line
from airtoll.study.security import READY_MADE, not_ready_made

GIVABLE: Final = tuple(name for name in CELL_FACTORS if name != "lab")
_OTHER_COLUMNS: Final = ("file", "block", "discard")
_ONLY: Final[Mapping[str, Mapping[str, Any]]] = {
    word: {"bandwidth": phy.bandwidths_mhz[0], "gi": phy.guard_intervals[0]}
    for word, phy in PHYS.items()
    if len(phy.bandwidths_mhz) == len(phy.guard_intervals) == 1
}
"""Levels implied by a PHY: PHYs before HT have one width and one guard interval (IEEE Std 802.11-2020, 15 to 18)."""


_SUFFIX: Final = 2
"""Letters after "802.11" of an amendment."""


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
            raise ValueError(f"the lab of an imported result is {IMPORTED}")
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


@dataclass(frozen=True)
class Told:
    """The levels of a test by their sources; an earlier source replaces a later one."""

    by_file: Mapping[str, Any]
    by_owner: Mapping[str, Any]
    by_study: Mapping[str, Any] = field(default_factory=dict)  # the factors that have one level in it
    by_name: Mapping[str, Any] = field(default_factory=dict)  # of the file

    @property
    def levels(self) -> Mapping[str, Any]:
        """The known levels, including the levels that the PHY implies."""
        levels = {**self.by_name, **self.by_study, **self.by_file, **self.by_owner}
        return {**_ONLY.get(levels.get("phy", ""), {}), **levels}

    def cell(self, who: str) -> Cell:
        """The cell. Raises UsageError if file and owner disagree, if the security is unknown, or if no cell is so."""
        for name, level in self.by_owner.items():
            if name in self.by_file and self.by_file[name] != level:
                texts = [level_text(name, each) for each in (self.by_file[name], level)]
                raise UsageError(f"{who}: {name}: the file says {texts[0]}, you say {texts[1]}")
        levels = self.levels
        if "security" not in levels:
            raise UsageError(
                f"{who}: the file's name does not tell the security level: give --security LEVEL, once for all files "
                "or once per file"
            )
        cell = Cell(lab=IMPORTED, **{**dict.fromkeys(REQUIRED, UNKNOWN), **levels})
        if (obstacle := _obstacle(cell)) is not None:
            named = [
                name for name in self.by_name if name not in {*self.by_file, *self.by_owner, *self.by_study}
            ]
            origin = f" (from the name of the file: {', '.join(named)})" if named else ""
            raise UsageError(f"{who}: {obstacle}{origin}")
        return cell

    def sources(self) -> Mapping[str, Sequence[str]]:
        """The factors by the source of their level. The levels of `levels_unsaid` are defaults, not facts."""
        known: set[str] = set()
        facts: dict[str, list[str]] = {}
        for source in ("file", "owner", "study", "name"):
            factors = getattr(self, f"by_{source}")
            facts[f"levels_by_{source}"] = sorted(
                name for name in factors if source == "owner" or name not in known
            )
            known |= set(factors)
        for source in ("study", "name"):
            if not facts[f"levels_by_{source}"]:
                del facts[f"levels_by_{source}"]
        return {
            **facts,
            "levels_unknown": [name for name in GIVABLE if name in REQUIRED and name not in self.levels],
            "levels_unsaid": [name for name in LATER_FACTORS if name not in known],
        }


def _obstacle(cell: Cell) -> str | None:
    """Return why the standard does not define these levels together, or None. Any level may replace an unknown one."""
    unknown = cell.unknown
    if "phy" in unknown:
        return None
    phy = PHYS[cell.phy]
    # Check only the keys of the link: other programs may send packets that studies do not support.
    plain: dict[str, Any] = {"packet_size": 1000, "offered": "max", "stack": "default"}
    plain |= {"transport": "udp", "ip": "ipv4"}
    likely = {
        "rate": phy.rates[0],
        "bandwidth": phy.bandwidths_mhz[-1],  # not every MCS exists in 20 MHz
        "gi": phy.guard_intervals[0],
        "topology": "stations",
    }
    plain |= {name: level for name, level in likely.items() if name in unknown}
    if cell.rate == AUTO_RATE:
        plain["rate"] = phy.rates[0]
    return Sim(LinkSettings(legacy_fallback=True)).check(cell.model_copy(update=plain))


def single_levels(study: Study) -> Mapping[str, Any]:
    """The factors that have one level in the study, with that level."""
    levels = {name: getattr(study.factors, name) for name in GIVABLE}
    return {name: of[0] for name, of in levels.items() if len(of) == 1}


_WORDS: Final[Mapping[str, tuple[str, Any]]] = {
    **{name: ("security", level) for name, level in security.ALIASES.items()},
    **dict.fromkeys(("unencrypted", "nosec", "plaintext"), ("security", "open")),
    **{level.replace("-", ""): ("security", level) for level in READY_MADE},
    **{name: ("phy", word) for name, word in ALIASES.items() if name.startswith("wifi")},
    **{
        f"11{name}": ("phy", word)
        for name, word in ALIASES.items()
        if name.isalpha() and len(name) <= _SUFFIX
    },
    **{word: ("phy", word) for word in PHYS},
    **{f"{mhz}mhz": ("bandwidth", mhz) for phy in PHYS.values() for mhz in phy.bandwidths_mhz},
    **{mcs: ("rate", mcs) for mcs in MCS},
}
"""Words in file names that tell a level."""

_PHY_WITH_WIDTH: Final = re.compile(rf"(?<![a-z0-9])({'|'.join(PHYS)})([0-9]+)(?![a-z0-9])")
"""A PHY and a width in one word, as in hostapd and OpenWrt: vht80."""


def levels_in_name(path: Path) -> Mapping[str, Any]:
    """The levels in the name of a file: `home_11ac-80MHz_wpa2.json`, or in that of its folder (`ccmp/1.json`).

    A name with two levels of a factor (`open-vs-ccmp`) tells neither of them.
    """
    levels: dict[str, Any] = {}
    for name in (path.parent.name, path.name):
        levels |= _levels_in(name)
    return levels


def _levels_in(name: str) -> Mapping[str, Any]:
    words = re.findall(r"[a-z0-9]+", _PHY_WITH_WIDTH.sub(r"\1 \2mhz", name.lower()))
    found: dict[str, set[Any]] = {}
    while words:
        length = next((n for n in (3, 2, 1) if "".join(words[:n]) in _WORDS), None)
        if length is not None:
            factor, level = _WORDS["".join(words[:length])]
            found.setdefault(factor, set()).add(level)
        del words[: length or 1]
    return {factor: levels.pop() for factor, levels in found.items() if len(levels) == 1}
