"""points.toml and the target.toml of every target, as models."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from airtoll.documents import first_fault
from airtoll.errors import UsageError
from airtoll.rtl.results import Group, TargetName
from airtoll.study.toml import read_toml

SYN: Final = Path(__file__).resolve().parent
RTL: Final = SYN.parent
TOP: Final = "ccmp_core"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Model = TypeVar("_Model", bound=_Table)
_Of = TypeVar("_Of")


class Design(_Table):
    """A design point: the module `top` with these parameters."""

    title: str
    group: Group
    parameters: dict[str, int]
    top: str = TOP
    targets: tuple[TargetName, ...]
    counts_only: tuple[TargetName, ...] = ()  # targets for which the design is only counted

    @property
    def lanes(self) -> int:
        """The parameter LANES; -1 if frames take turns."""
        return self.parameters.get("LANES", -1)


class Cells(_Table):
    """The meaning of the cells of a mapped netlist, by patterns of their type."""

    lut: dict[str, int]  # LUTs per cell
    carry: dict[str, int]
    ram_blocks: dict[str, int]
    logic_output: dict[str, tuple[str, ...]]  # the outputs of a LUT or a carry that a register can share
    ff_input: dict[str, str]  # the data input of a register


class Recipe(_Table):
    """A target."""

    name: TargetName
    title: str
    lut: str
    ram: str
    synth: str  # the pass of yosys that maps to it
    pads: str = ""  # the pass that then adds pads, if the device requires them
    place: tuple[str, ...] = ()  # the command of nextpnr, if nextpnr supports the target
    package: str = ""  # how to install nextpnr
    registers_apart: bool = True  # from LUTs in nextpnr's delays: required to tell harness from core
    cells: Cells

    @property
    def folder(self) -> Path:
        """The folder of target.toml, of modules that replace the library's, and of files for nextpnr."""
        return SYN / self.name

    @property
    def sources(self) -> list[Path]:
        """The library's modules, with the target's own modules instead of those with the same name."""
        own = {file.name: file for file in self.folder.glob("*.v")}
        library = {file.name: file for file in (RTL / "rtl").glob("*.v")}
        return [file for _, file in sorted((library | own).items())]


def designs(file: Path = SYN / "points.toml") -> dict[str, Design]:
    """All design points by name; UsageError if one has an unknown parameter."""
    tables = read_toml(file, "the design points")[1]
    found = {name: _validate(Design, table, f"{file}: {name}") for name, table in tables.items()}
    for name, design in found.items():
        if missing := sorted(design.parameters.keys() - _parameters_of(design.top)):
            raise UsageError(f"{file}: {name}: {design.top} has no parameter {', '.join(missing)}")
    return found


def among(known: Mapping[str, _Of], names: Sequence[str] | None, what: str) -> dict[str, _Of]:
    """The entries with these names, or all entries; UsageError for an unknown name."""
    for name in names or ():
        if name not in known:
            raise UsageError(f"unknown {what} '{name}'; use {', '.join(known)}")
    return {name: known[name] for name in names or known}


def recipe(name: TargetName) -> Recipe:
    """The target with this name."""
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
