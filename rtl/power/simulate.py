"""Simulate a netlist twice: cycle by cycle without delays, and then all cycles in parallel with delays.

1. `Machine` carries registers and memories from one cycle to the next, and settles the gates in between.
2. `count_toggles` takes the values of registers, memories and inputs in many cycles. The transition of the gates from
   one cycle to the next depends only on these values, so cycles are independent and are processed as the bits of words,
   64 at a time. Every LUT takes one unit of time (gates). Every change counts, including glitches.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from gates import HIGH, Gates, Integers, Memory, Netlist, SmallMemory, levels
from numpy.typing import NDArray

from airtoll.errors import AirtollError

Words = NDArray[np.uint64]
Bits = NDArray[np.uint8]

_CYCLES_AT_ONCE: Final = 2048  # including the cycle before them
_ELEMENTS: Final = 8192  # of a temporary array, which then fits into a core's cache
_ALL: Final = np.uint64(2**64 - 1)


@dataclass
class Accesses:
    """Numbers of bits read from memories, with their enable, and written to them."""

    read: int = 0
    written: int = 0


class _MemoryState:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.words = memory.words.copy()
        self.word = np.zeros(self.words.shape[1], np.uint8)
        self.read_weights = 1 << np.arange(len(memory.read_addr))
        self.write_weights = 1 << np.arange(len(memory.write_addr))

    def clock(self, values: Bits, accesses: Accesses) -> Bits | None:
        """Clock the memory; its next output if the read is enabled."""
        memory = self.memory
        out = None
        if values[memory.enable]:
            out = self.word
            at = int(values[memory.read_addr] @ self.read_weights)
            self.word = self.words[at].copy() if at < len(self.words) else np.zeros_like(self.word)
            accesses.read += len(self.word)
        if values[memory.write]:
            at = int(values[memory.write_addr] @ self.write_weights)
            if at < len(self.words):
                self.words[at] = values[memory.write_data]
            accesses.written += len(self.word)
        return out


class Machine:
    """The netlist's state, initially zero except for registers that reset sets and memories with initial content."""

    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self.values = np.zeros(netlist.nets, np.uint8)
        self.values[HIGH] = 1
        self.values[netlist.registers.q] = netlist.registers.reset_value
        for small in netlist.small_memories:
            self.values[small.bits] = small.initial
        self._memories = [_MemoryState(memory) for memory in netlist.memories]
        gates = netlist.gates
        self._levels = [
            (gates.inputs[:, at].copy(), gates.table[at].astype(np.uint16), gates.output[at])
            for at in levels(gates)
        ]
        self.sources = sources(netlist)

    def put(self, port: str, value: int) -> None:
        """Set an input."""
        nets = self.netlist.inputs[port]
        octets = np.frombuffer(value.to_bytes((len(nets) + 7) // 8, "little"), np.uint8)
        self.values[nets] = np.unpackbits(octets, count=len(nets), bitorder="little")

    def get(self, port: str) -> int:
        """The value of an output or input."""
        nets = (self.netlist.outputs | self.netlist.inputs)[port]
        return int.from_bytes(np.packbits(self.values[nets], bitorder="little").tobytes(), "little")

    def settle(self) -> None:
        """Evaluate all gates."""
        values = self.values
        for inputs, table, output in self._levels:
            a, b, c, d = values[inputs]
            values[output] = table >> (a | b << 1 | c << 2 | d << 3) & 1

    def clock(self, accesses: Accesses | None = None) -> None:
        """One clock edge: registers and memories take the settled values, and accesses to memories are counted."""
        accesses = Accesses() if accesses is None else accesses
        values, registers = self.values, self.netlist.registers
        taken = np.where(
            values[registers.enable] ^ registers.enable_low, values[registers.d], values[registers.q]
        )
        taken = np.where(values[registers.reset] ^ registers.reset_low, registers.reset_value, taken)
        outputs = [(state.memory.read_data, state.clock(values, accesses)) for state in self._memories]
        for small in self.netlist.small_memories:
            _write(small, values)
        values[registers.q] = taken
        for nets, out in outputs:
            if out is not None:
                values[nets] = out


def _write(small: SmallMemory, values: Bits) -> None:
    if values[small.write] != small.write_low:
        at = int(values[small.write_addr] @ (1 << np.arange(4)))
        values[small.bits[at]] = values[small.write_data]


def sources(netlist: Netlist) -> Integers:
    """The nets that change at the clock edge, on which all other nets depend."""
    parts = [netlist.registers.q, *netlist.inputs.values()]
    parts += [memory.read_data for memory in netlist.memories]
    parts += [small.bits.reshape(-1) for small in netlist.small_memories]
    return np.concatenate(parts).astype(np.int64)


@dataclass
class Changes:
    """Numbers of changes of each net."""

    cycles: int
    all: Integers
    settled: Integers  # from the end of a cycle to the end of the next, without glitches
    units: int  # of time until the last gate settled


def count_toggles(netlist: Netlist, history: Bits) -> Changes:
    """The number of changes of each net. Each row of `history` has the `sources` of a cycle, the first of the start."""
    schedule = _schedule(netlist)
    changes = Changes(
        cycles=len(history) - 1,
        all=np.zeros(netlist.nets, np.int64),
        settled=np.zeros(netlist.nets, np.int64),
        units=len(schedule) - 1,
    )
    for start in range(0, changes.cycles, _CYCLES_AT_ONCE - 1):
        _count(netlist, schedule, history[start : start + _CYCLES_AT_ONCE], changes)
    return changes


class _Tables:
    """Gates that are evaluated together."""

    def __init__(self, gates: Gates, at: Integers) -> None:
        self.inputs = gates.inputs[:, at].copy()
        self.output = gates.output[at].copy()
        bits = (gates.table[at] >> np.arange(16)[:, None] & 1).astype(np.uint64) * _ALL
        self.low = bits[::2, :, None].copy()
        self.differs = (bits[::2] ^ bits[1::2])[:, :, None].copy()

    def evaluate(self, values: Words) -> Words:
        """The outputs of the gates."""
        out = np.empty((len(self.output), values.shape[1]), np.uint64)
        step = max(1, _ELEMENTS // values.shape[1])
        for start in range(0, len(self.output), step):
            some = slice(start, start + step)
            a, b, c, d = (values[nets] for nets in self.inputs[:, some])
            row = [
                low ^ (a & differs)
                for low, differs in zip(self.low[:, some], self.differs[:, some], strict=True)
            ]
            for which in (b, c, d):
                row = [low ^ (which & (low ^ high)) for low, high in zip(row[::2], row[1::2], strict=True)]
            out[some] = row[0]
        return out


@dataclass
class _Moment:
    """The gates that can change at one time."""

    unit: _Tables | None  # all together, from the previous values
    others: list[_Tables]  # then level by level, from the current values


def _schedule(netlist: Netlist) -> list[_Moment]:
    gates = netlist.gates
    times = [0] * netlist.nets  # bit t: can change at t
    for net in sources(netlist):
        times[net] = 1
    for at, output in enumerate(gates.output.tolist()):
        when = 0
        for net in gates.inputs[:, at].tolist():
            when |= times[net]
        times[output] = when << 1 if gates.unit[at] else when
    last = max(when.bit_length() for when in times)
    moments = []
    for moment in range(last):
        active = np.array([times[net] >> moment & 1 for net in gates.output.tolist()], np.bool_)
        unit = np.flatnonzero(active & gates.unit)
        others = []
        for level in levels(gates):
            some = np.flatnonzero((active & ~gates.unit)[level]) + level.start
            if len(some):
                others.append(_Tables(gates, some))
        moments.append(_Moment(_Tables(gates, unit) if len(unit) else None, others))
    return moments


def _count(netlist: Netlist, schedule: list[_Moment], history: Bits, changes: Changes) -> None:
    cycles = len(history)
    words = (cycles + 63) // 64
    # Padding repeats the last cycle, which changes nothing.
    padded = np.concatenate([history, np.repeat(history[-1:], 64 * words - cycles, axis=0)])
    packed = np.packbits(padded, axis=0, bitorder="little").T.copy().view("<u8").astype(np.uint64)
    nets = sources(netlist)
    settled = np.zeros((netlist.nets, words), np.uint64)
    settled[HIGH] = _ALL
    settled[nets] = packed
    gates = netlist.gates
    for at in levels(gates):
        tables = _Tables(gates, np.arange(at.start, at.stop))
        settled[tables.output] = tables.evaluate(settled)

    # Each cycle begins with the final values of the previous cycle; the first, which does not count, with its own.
    values = settled << np.uint64(1)
    values[:, 1:] |= settled[:, :-1] >> np.uint64(63)
    values[:, 0] |= settled[:, 0] & np.uint64(1)
    changes.settled += np.bitwise_count(values ^ settled).sum(axis=1, dtype=np.int64)
    changes.all[nets] += np.bitwise_count(values[nets] ^ packed).sum(axis=1, dtype=np.int64)
    values[nets] = packed
    for moment in schedule:
        for tables in ([moment.unit] if moment.unit else []) + moment.others:
            out = tables.evaluate(values)
            changes.all[tables.output] += np.bitwise_count(out ^ values[tables.output]).sum(
                axis=1, dtype=np.int64
            )
            values[tables.output] = out
    if not np.array_equal(values, settled):
        raise AirtollError("the gates did not come to rest where they settle")


@dataclass
class ByKind:
    """Changes of nets by the kind of their driver, weighted with the number of pins that the net drives."""

    lut: int
    ff: int
    memory: int
    clock: int  # two edges per cycle at each register, enabled or not

    @property
    def total(self) -> int:
        """Changes of LUTs, registers and clock, without nets driven by memories."""
        return self.lut + self.ff + self.clock


def by_kind(
    netlist: Netlist, changes: Changes, *, weighted: bool = True, only: NDArray[np.bool_] | None = None
) -> ByKind:
    """Sum the changes of all nets, or of the nets selected by `only`."""
    weights = np.where(netlist.counted, netlist.fan_out if weighted else 1, 0)
    if only is not None:
        weights = np.where(only, weights, 0)
    each = changes.all * weights
    registers = netlist.registers.q
    memory = [memory.read_data for memory in netlist.memories]
    clocked = len(registers) if only is None else int(only[registers].sum())
    return ByKind(
        lut=int(each[netlist.gates.output].sum()),
        ff=int(each[registers].sum()),
        memory=int(each[np.concatenate(memory)].sum()) if memory else 0,
        clock=2 * clocked * changes.cycles,
    )


def glitch_share(netlist: Netlist, changes: Changes) -> float:
    """The share of weighted changes of LUTs, registers and clock that are reversed within the cycle."""
    weights = np.where(netlist.counted, netlist.fan_out, 0)
    taken_back = int(((changes.all - changes.settled) * weights)[netlist.gates.output].sum())
    return taken_back / by_kind(netlist, changes).total


def by_owner(netlist: Netlist, depth: int = 2) -> Mapping[str, NDArray[np.bool_]]:
    """The nets of each instance, by the first `depth` parts of its name."""
    names = np.array([".".join(name.split(".")[:depth]) or "(top)" for name in netlist.owner])
    return {name: names == name for name in sorted(set(names.tolist()))}
