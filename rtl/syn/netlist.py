"""Resources of a mapped netlist."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from recipe import Cells

_Of = TypeVar("_Of")


@dataclass(frozen=True)
class Counts:
    """The counts of `airtoll.rtl.Target`."""

    lut: int
    carry_lut: int
    ff: int
    ram_blocks: int
    logic_elements: int


def count(module: Mapping[str, Any], cells: Cells) -> Counts:
    """The cells of a flat module of a netlist.

    A logic element has a LUT and a register. A LUT, or a bit of a carry chain, shares one with a register if it drives
    only this register. This is possible in every part, and a placer finds more.
    """
    types = Counter(cell["type"] for cell in module["cells"].values())
    carry = _total(types, cells.carry)
    lut = _total(types, cells.lut) + carry
    ff = sum(number for name, number in types.items() if _of(name, cells.ff_input) is not None)
    return Counts(lut, carry, ff, _total(types, cells.ram_blocks), lut + ff - _shared(module, cells))


def _shared(module: Mapping[str, Any], cells: Cells) -> int:
    sinks: Counter[Any] = Counter(bit for port in module["ports"].values() for bit in port["bits"])
    driven_by_lut = set()
    for cell in module["cells"].values():
        outputs = _of(cell["type"], cells.logic_output) or ()
        for port, bits in cell["connections"].items():
            if port in outputs:
                driven_by_lut.update(bits)
            elif cell["port_directions"][port] != "output":
                sinks.update(bits)
    shared = 0
    for cell in module["cells"].values():
        port = _of(cell["type"], cells.ff_input)
        if port is not None:
            (bit,) = cell["connections"][port]
            shared += bit in driven_by_lut and sinks[bit] == 1
    return shared


def _total(types: Mapping[str, int], weights: Mapping[str, int]) -> int:
    return sum(number * (_of(name, weights) or 0) for name, number in types.items())


def _of(name: str, by_pattern: Mapping[str, _Of]) -> _Of | None:
    return next((value for pattern, value in by_pattern.items() if fnmatchcase(name, pattern)), None)
