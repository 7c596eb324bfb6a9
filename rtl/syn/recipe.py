"""points.toml and the target.toml of every target, as models."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from airtoll.errors import UsageError
from airtoll.rtl.results import Group, TargetName, first_fault
from airtoll.study.toml import read_toml

SYN: Final = Path(__file__).resolve().parent
RTL: Final = SYN.parent
TOP: Final = "ccmp_core"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Model = TypeVar("_Model", bound=_Table)
_Of = TypeVar("_Of")


class Design(_Table):
    """A design point."""

    title: str
    group: Group
    parameters: dict[str, int]
    targets: tuple[TargetName, ...]
    counts_only: tuple[TargetName, ...] = ()  # of these

    @property
    def lanes(self) -> int:
        """As LANES says: -1 where frames take turns."""
        return self.parameters.get("LANES", -1)


class Cells(_Table):
    """What cells of a mapped netlist are, by patterns of their type."""

    lut: dict[str, int]  # LUTs of each
    carry: dict[str, int]
    ram_blocks: dict[str, int]
    logic_output: dict[str, tuple[str, ...]]  # the ports of a LUT or a carry that a register may take from
    ff_input: dict[str, str]  # the port of a register that takes data


class Recipe(_Table):
    """A target."""

    name: TargetName
    title: str
    lut: str
    ram: str
    synth: str  # the pass of yosys that maps to it
    pads: str = ""  # the pass that then gives a whole device its pads, if it has to have them
    place: tuple[str, ...] = ()  # nextpnr, if there is one for it
    package: str = ""  # that has it
    registers_apart: bool = True  # from LUTs, in what nextpnr says of delays: else harness and core are one
    cells: Cells

    @property
    def folder(self) -> Path:
        """With target.toml, modules in place of the library's, and files that nextpnr is given."""
        return SYN / self.name

    @property
    def sources(self) -> list[Path]:
        """The library's modules, but for those that the target has its own of."""
        own = {file.name: file for file in self.folder.glob("*.v")}
        library = {file.name: file for file in (RTL / "rtl").glob("*.v")}
        return [file for _, file in sorted((library | own).items())]


def designs(file: Path = SYN / "points.toml") -> dict[str, Design]:
    """All design points, by name; UsageError for one with a parameter that the core has not."""
    tables = read_toml(file, "the design points")[1]
    found = {name: _validate(Design, table, f"{file}: {name}") for name, table in tables.items()}
    there = _parameters_of(TOP)
    for name, design in found.items():
        if missing := sorted(design.parameters.keys() - there):
            raise UsageError(f"{file}: {name}: {TOP} has no parameter {', '.join(missing)}")
    return found


def among(known: Mapping[str, _Of], names: Sequence[str] | None, what: str) -> dict[str, _Of]:
    """Those that were named, or all; UsageError for one that is not there."""
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no {what} '{name}'; there are {', '.join(known)}")
    return {name: known[name] for name in names or known}


def recipe(name: TargetName) -> Recipe:
    """The target of that name."""
    file = SYN / name / "target.toml"
    return _validate(Recipe, {"name": name, **read_toml(file, "a target")[1]}, str(file))


def _parameters_of(module: str) -> set[str]:
    """The names of a module's parameters."""
    text = (RTL / "rtl" / f"{module}.v").read_text()
    head = re.sub(r"//.*", "", text).partition(") (")[0]
    return set(re.findall(r"\bparameter\s+(\w+)", head))


def _validate(model: type[_Model], table: object, where: str) -> _Model:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise UsageError(f"{where}: {first_fault(error)}") from None
