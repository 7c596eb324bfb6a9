"""Read a flat netlist of ECP5 cells from the JSON of yosys into arrays for simulation.

The arrays have gates with four inputs and a table, registers, and memories. A LUT is one gate and takes one unit of
time. The cells after the LUTs within a logic cell (carry, sum, the multiplexers that join LUTs) take no time: yosys's
delays for the ECP5 are 43 ps from carry to carry and 98 ps through a PFUMX, but 141 to 379 ps through a LUT, without
the wires that only LUTs and registers drive. The outputs of a carry cell are nets of the netlist, its internal nets
are not.

`ram_sdp` stays a memory of the library (rtl/rtl/ram_sdp.v), whichever blocks the target uses for it. A DP16KD without
writes is a table with two ports (rtl/syn/ecp5/aes_sbox_ram.v).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airtoll.errors import AirtollError

LOW: Final = 0
HIGH: Final = 1
"""Nets that never change."""

_MUX: Final = 0b11001010  # inputs: value for 0, value for 1, select
_XOR: Final = 0b0110

Integers = NDArray[np.int64]


@dataclass
class Gates:
    """Tables of four inputs, in topological order."""

    inputs: Integers  # nets, four rows
    table: Integers  # bit i: the output if the inputs, first one lowest, are i
    output: Integers
    unit: NDArray[np.bool_]  # whether the gate takes a unit of time or none
    level: Integers  # gates of a level do not depend on each other


@dataclass
class Registers:
    """Flip-flops of the single clock."""

    d: Integers
    q: Integers
    enable: Integers
    enable_low: NDArray[np.bool_]  # enabled by 0
    reset: Integers  # synchronous, takes precedence over enable
    reset_low: NDArray[np.bool_]
    reset_value: NDArray[np.uint8]


@dataclass
class Memory:
    """One `ram_sdp` or a memory that reads like it, with a register of the word and one of the output."""

    name: str
    words: NDArray[np.uint8]  # initial content, one row of bits per word
    write: int
    write_addr: Integers
    write_data: Integers
    enable: int
    read_addr: Integers
    read_data: Integers


@dataclass
class SmallMemory:
    """A TRELLIS_DPR16X4: sixteen words of four bits in LUTs. Its bits are nets, which gates read."""

    bits: Integers  # nets, sixteen rows of four
    initial: NDArray[np.uint8]
    write: int
    write_low: bool
    write_addr: Integers
    write_data: Integers


@dataclass
class Netlist:
    """The netlist of one flat module."""

    nets: int
    gates: Gates
    registers: Registers
    memories: list[Memory]
    small_memories: list[SmallMemory]
    inputs: dict[str, Integers]
    outputs: dict[str, Integers]
    clock: str | None
    fan_out: Integers  # of each net: pins that it drives, including ports of the module
    counted: NDArray[np.bool_]  # nets of the netlist; others are within a cell
    owner: list[str]  # of each net: the instance that drives it, from the name of the cell
    cells: dict[str, int]
    names: dict[str, int]  # of one-bit nets: the net


@dataclass
class _Reader:
    module: dict[str, Any]
    nets: dict[int | str, int] = field(default_factory=lambda: {"0": LOW, "1": HIGH, "x": LOW, "z": LOW})
    count: int = 2
    fan_out: dict[int, int] = field(default_factory=dict)
    owner: dict[int, str] = field(default_factory=dict)
    inside: list[int] = field(default_factory=list)
    gates: list[tuple[tuple[int, ...], int, int, bool]] = field(default_factory=list)
    registers: list[tuple[int, int, int, bool, int, bool, int]] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    small_memories: list[SmallMemory] = field(default_factory=list)
    clocks: set[int] = field(default_factory=set)

    def net(self, bit: int | str) -> int:
        if bit not in self.nets:
            self.nets[bit] = self.count
            self.count += 1
        return self.nets[bit]

    def within(self) -> int:
        """A net within a cell."""
        self.inside.append(self.count)
        self.count += 1
        return self.count - 1

    def pins(self, cell: dict[str, Any], pin: str) -> list[int]:
        return [self.net(bit) for bit in cell["connections"].get(pin, [])]

    def pin(self, cell: dict[str, Any], pin: str, absent: int = LOW) -> int:
        return next(iter(self.pins(cell, pin)), absent)

    def gate(self, inputs: tuple[int, ...], table: int, output: int | None = None, *, unit: bool) -> int:
        """Add a gate and return its output. A table with fewer inputs is extended to four."""
        for used in range(len(inputs), 4):
            table |= table << (1 << used)
        output = self.within() if output is None else output
        self.gates.append(((*inputs, LOW, LOW, LOW, LOW)[:4], table, output, unit))
        return output


def load(file: Path, top: str | None = None) -> Netlist:
    """Read the netlist of a module, by default of the module that yosys marks as the top."""
    try:
        modules = json.loads(file.read_bytes())["modules"]
        name = top or next(
            name for name, module in modules.items() if int(module["attributes"].get("top", "0"), 2)
        )
        module = modules[name]
    except (OSError, ValueError, KeyError, StopIteration) as error:
        raise AirtollError(f"{file}: no netlist of yosys with a top module: {error}") from None
    reader = _Reader(module)
    cells: dict[str, int] = {}
    for cell_name, cell in module["cells"].items():
        kind = cell["type"]
        cells[kind] = cells.get(kind, 0) + 1
        if kind not in _CELLS:
            raise AirtollError(f"{file}: {cell_name}: a cell of type {kind} has no model")
        _CELLS[kind](reader, cell_name, cell)
        _count_pins(reader, cell_name, cell)
    return _assemble(reader, module, cells)


def _count_pins(reader: _Reader, name: str, cell: dict[str, Any]) -> None:
    instance = name.rpartition(".")[0]
    for pin, direction in cell["port_directions"].items():
        for bit in cell["connections"].get(pin, []):
            net = reader.net(bit)
            if direction == "output":
                reader.owner[net] = instance
            elif pin not in ("CLK", "CLKA", "CLKB", "WCK", "clk"):
                reader.fan_out[net] = reader.fan_out.get(net, 0) + 1


def _parameter(cell: dict[str, Any], name: str, default: str = "") -> str:
    # yosys appends a space to a string that could be read as bits.
    return str(cell["parameters"].get(name, default)).strip()


def _bits(cell: dict[str, Any], name: str) -> int:
    return int(_parameter(cell, name, "0").replace("x", "0"), 2)


def _lut(reader: _Reader, _name: str, cell: dict[str, Any]) -> None:
    inputs = tuple(reader.pin(cell, pin) for pin in "ABCD")
    reader.gate(inputs, _bits(cell, "INIT"), reader.pin(cell, "Z"), unit=True)


def _join(reader: _Reader, _name: str, cell: dict[str, Any]) -> None:
    low, high, which = ("BLUT", "ALUT", "C0") if cell["type"] == "PFUMX" else ("D0", "D1", "SD")
    inputs = tuple(reader.pin(cell, pin) for pin in (low, high, which))
    reader.gate(inputs, _MUX, reader.pin(cell, "Z"), unit=False)


def _carry(reader: _Reader, _name: str, cell: dict[str, Any]) -> None:
    carry = reader.pin(cell, "CIN")
    for half in "01":
        inputs = tuple(reader.pin(cell, pin + half) for pin in "ABCD")
        table = _bits(cell, f"INIT{half}")
        passes = reader.gate(inputs, table, unit=True)
        if (
            _parameter(cell, f"INJECT1_{half}", "YES") == "YES"
        ):  # the sum does not use the carry, and no carry is generated
            makes, added = LOW, LOW
        else:
            makes, added = reader.gate(inputs[:2], table & 15, unit=True), carry
        if cell["connections"].get(f"S{half}"):
            reader.gate((passes, added), _XOR, reader.pin(cell, f"S{half}"), unit=False)
        out = reader.pin(cell, "COUT") if half == "1" and cell["connections"].get("COUT") else None
        carry = reader.gate((makes, carry, passes), _MUX, out, unit=False)


def _register(reader: _Reader, name: str, cell: dict[str, Any]) -> None:
    recipe = [
        _parameter(cell, key, default)
        for key, default in (("CLKMUX", "CLK"), ("SRMODE", "LSR_OVER_CE"), ("LSRMODE", "LSR"))
    ]
    if recipe != ["CLK", "LSR_OVER_CE", "LSR"]:
        raise AirtollError(f"{name}: a flip-flop with {', '.join(recipe)} has no model")
    mode = _parameter(cell, "CEMUX", "1")
    enable = {"1": HIGH, "0": LOW}.get(mode, reader.pin(cell, "CE", HIGH))
    reader.clocks.add(reader.pin(cell, "CLK"))
    reset_low = _parameter(cell, "LSRMUX", "LSR") == "INV"
    reset = reader.pin(cell, "LSR", HIGH if reset_low else LOW)
    is_set = int(_parameter(cell, "REGSET", "RESET") == "SET")
    reader.registers.append(
        (reader.pin(cell, "DI"), reader.pin(cell, "Q"), enable, mode == "INV", reset, reset_low, is_set)
    )


def _memory(reader: _Reader, name: str, cell: dict[str, Any]) -> None:
    vector = {
        pin: np.array(reader.pins(cell, pin))
        for pin in ("write_addr", "write_data", "read_addr", "read_data")
    }
    reader.clocks.add(reader.pin(cell, "clk"))
    reader.memories.append(
        Memory(
            name=name,
            words=np.zeros((_bits(cell, "DEPTH"), len(vector["write_data"])), np.uint8),
            write=reader.pin(cell, "write"),
            enable=reader.pin(cell, "enable"),
            **vector,
        )
    )


_TABLE_WORD: Final = 9  # bits; an INITVAL has 20 bits per two words
_TABLE_ADDRESS: Final = range(3, 14)  # address bits used for nine-bit words


def _table(reader: _Reader, name: str, cell: dict[str, Any]) -> None:
    lines = [_bits(cell, f"INITVAL_{line:02X}") for line in range(64)]
    words = [
        line >> (20 * pair + _TABLE_WORD * word) for line in lines for pair in range(16) for word in range(2)
    ]
    for port in "AB":
        recipe = [_bits(cell, f"DATA_WIDTH_{port}"), _parameter(cell, f"REGMODE_{port}")]
        fixed = {pin: reader.pin(cell, pin + port) for pin in ("WE", "CE", "OCE", "RST")}
        if recipe != [_TABLE_WORD, "OUTREG"] or fixed != {"WE": LOW, "CE": HIGH, "OCE": HIGH, "RST": LOW}:
            raise AirtollError(
                f"{name}: a DP16KD that is more than a table of words of nine bits has no model"
            )
        reader.clocks.add(reader.pin(cell, f"CLK{port}"))
        outputs = {bit: reader.pins(cell, f"DO{port}{bit}") for bit in range(_TABLE_WORD)}
        used = [bit for bit, nets in outputs.items() if nets]
        reader.memories.append(
            Memory(
                name=f"{name}.{port}",
                words=np.array([[word >> bit & 1 for bit in used] for word in words], np.uint8),
                write=LOW,
                write_addr=np.array([], np.int64),
                write_data=np.array([], np.int64),
                enable=HIGH,
                read_addr=np.array([reader.pin(cell, f"AD{port}{bit}") for bit in _TABLE_ADDRESS]),
                read_data=np.array([outputs[bit][0] for bit in used]),
            )
        )


def _small_memory(reader: _Reader, name: str, cell: dict[str, Any]) -> None:
    mode = _parameter(cell, "WREMUX", "WRE")
    if mode not in ("WRE", "INV") or _parameter(cell, "WCKMUX", "WCK") != "WCK":
        raise AirtollError(
            f"{name}: a TRELLIS_DPR16X4 with WREMUX {mode} or another edge of the clock has no model"
        )
    reader.clocks.add(reader.pin(cell, "WCK"))
    bits = np.array([[reader.within() for _ in range(4)] for _ in range(16)])
    value = _bits(cell, "INITVAL")
    address = reader.pins(cell, "RAD")
    for bit, out in enumerate(reader.pins(cell, "DO")):
        # A LUT whose table changes: only the last of its multiplexers takes time.
        row = [int(net) for net in bits[:, bit]]
        for which in address[:3]:
            row = [
                reader.gate((low, high, which), _MUX, unit=False)
                for low, high in zip(row[::2], row[1::2], strict=True)
            ]
        reader.gate((row[0], row[1], address[3]), _MUX, out, unit=True)
    reader.small_memories.append(
        SmallMemory(
            bits=bits,
            initial=np.array(
                [[value >> (4 * word + bit) & 1 for bit in range(4)] for word in range(16)], np.uint8
            ),
            write=reader.pin(cell, "WRE"),
            write_low=mode == "INV",
            write_addr=np.array(reader.pins(cell, "WAD")),
            write_data=np.array(reader.pins(cell, "DI")),
        )
    )


_CELLS: Final = {
    "LUT4": _lut,
    "PFUMX": _join,
    "L6MUX21": _join,
    "CCU2C": _carry,
    "TRELLIS_FF": _register,
    "TRELLIS_DPR16X4": _small_memory,
    "DP16KD": _table,
    "ram_sdp": _memory,
}


def _assemble(reader: _Reader, module: dict[str, Any], cells: dict[str, int]) -> Netlist:
    ports: dict[str, dict[str, Integers]] = {"input": {}, "output": {}}
    clock = None
    for name, port in module["ports"].items():
        nets = [reader.net(bit) for bit in port["bits"]]
        if port["direction"] == "input" and reader.clocks & set(nets):
            clock = name
            continue
        ports[port["direction"]][name] = np.array(nets)
        if port["direction"] == "output":
            for net in nets:
                reader.fan_out[net] = reader.fan_out.get(net, 0) + 1
    if len(reader.clocks) > 1:
        raise AirtollError("the netlist has more than one clock")
    fan_out = np.zeros(reader.count, np.int64)
    fan_out[list(reader.fan_out)] = list(reader.fan_out.values())
    counted = np.ones(reader.count, np.bool_)
    counted[reader.inside] = False
    counted[[LOW, HIGH]] = False
    columns = np.array(reader.registers, np.int64).reshape(-1, 7).T
    return Netlist(
        nets=reader.count,
        gates=_in_order(reader.gates, reader.count),
        registers=Registers(
            d=columns[0],
            q=columns[1],
            enable=columns[2],
            enable_low=columns[3].astype(np.bool_),
            reset=columns[4],
            reset_low=columns[5].astype(np.bool_),
            reset_value=columns[6].astype(np.uint8),
        ),
        memories=reader.memories,
        small_memories=reader.small_memories,
        inputs=ports["input"],
        outputs=ports["output"],
        clock=clock,
        fan_out=fan_out,
        counted=counted,
        owner=[reader.owner.get(net, "") for net in range(reader.count)],
        cells=cells,
        names={
            name: reader.nets[net["bits"][0]]
            for name, net in module["netnames"].items()
            if len(net["bits"]) == 1 and net["bits"][0] in reader.nets
        },
    )


def _in_order(gates: list[tuple[tuple[int, ...], int, int, bool]], nets: int) -> Gates:
    driver = {output: at for at, (_, _, output, _) in enumerate(gates)}
    level = [0] * len(gates)
    waits = [0] * len(gates)
    feeds: list[list[int]] = [[] for _ in gates]
    for at, (inputs, *_) in enumerate(gates):
        for source in {driver[net] for net in inputs if net in driver}:
            feeds[source].append(at)
            waits[at] += 1
    order = [at for at, waiting in enumerate(waits) if not waiting]
    for at in order:
        for sink in feeds[at]:
            level[sink] = max(level[sink], level[at] + 1)
            waits[sink] -= 1
            if not waits[sink]:
                order.append(sink)
    if len(order) != len(gates):
        raise AirtollError("the netlist has a loop without a register")
    order.sort(key=lambda at: level[at])
    assert nets > max((gates[at][2] for at in order), default=0)
    return Gates(
        inputs=np.array([gates[at][0] for at in order], np.int64).reshape(-1, 4).T.copy(),
        table=np.array([gates[at][1] for at in order], np.int64),
        output=np.array([gates[at][2] for at in order], np.int64),
        unit=np.array([gates[at][3] for at in order], np.bool_),
        level=np.array([level[at] for at in order], np.int64),
    )


def levels(gates: Gates) -> Iterator[slice]:
    """The gates of each level."""
    bounds = np.flatnonzero(np.diff(gates.level, prepend=-1, append=-1))
    for start, stop in pairwise(bounds.tolist()):
        yield slice(start, stop)
