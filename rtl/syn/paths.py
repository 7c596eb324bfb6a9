"""The slowest paths into, out of and within the core, from the delays of a routed design (SDF, IEEE 1497).

nextpnr itself reports only the slowest path of a clock. Here registers of the harness represent ports:

- Tsu: from a register of the harness to one of the core, without the first one's clock-to-output;
- Tco: from a register of the core to one of the harness, without the second one's setup;
- Clk-to-Clk: from a register of the core to one of the core, clock-to-output and setup included.

Tsu and Tco therefore include the wires between harness and core, as in a design around the core.
"""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from airtoll.errors import AirtollError

_NEVER = float("-inf")
_TRIPLE = re.compile(r"[-\d.]*:[-\d.]*:([-\d.]+)")


@dataclass
class _Cell:
    name: str = ""  # as in SDF, with a backslash before each bracket
    type: str = ""
    paths: list[tuple[str, str, float]] = field(default_factory=list)  # from, to, ps
    setups: list[tuple[str, str, float]] = field(default_factory=list)  # data, clock, ps


@dataclass(frozen=True)
class Slowest:
    """The slowest paths in nanoseconds; None if there is no path of that kind."""

    clk_to_clk_ns: float | None
    tsu_ns: float | None
    tco_ns: float | None
    of_all_ns: float  # the clock's period, including paths within the harness


@dataclass
class _Graph:
    """Pins of the design; times in picoseconds, from the clock's edge."""

    following: dict[str, list[tuple[str, float]]]  # the pins that a pin drives, with the delay
    starts: list[tuple[str, bool, float]]  # output of a register, whether of the core, clock-to-output
    ends: list[tuple[str, bool, float]]  # input of a register, whether of the core, setup

    @classmethod
    def of(cls, sdf: Path, around: Container[str]) -> "_Graph":
        graph = cls(defaultdict(list), [], [])
        cells = list(_cells(sdf, graph.following))
        clocks: dict[str, set[str]] = defaultdict(
            set
        )  # ports, by type of cell: a register without data has no setup entry
        for cell in cells:
            clocks[cell.type].update(clock for _, clock, _ in cell.setups)
        for cell in cells:
            in_core = cell.name.replace("\\", "") not in around
            for from_, to, ps in cell.paths:
                if from_ in clocks[cell.type]:
                    graph.starts.append((f"{cell.name}/{to}", in_core, ps))
                else:
                    graph.following[f"{cell.name}/{from_}"].append((f"{cell.name}/{to}", ps))
            graph.ends += ((f"{cell.name}/{data}", in_core, ps) for data, _, ps in cell.setups)
        return graph

    def latest(self, starts: Iterable[tuple[str, float]]) -> dict[str, float]:
        """The time of the last change at each pin that is reachable from the starts."""
        at: dict[str, float] = {}
        for pin, ps in starts:
            at[pin] = max(ps, at.get(pin, _NEVER))
        for pin in self._order:
            if pin in at:
                for to, ps in self.following[pin]:
                    at[to] = max(at[pin] + ps, at.get(to, _NEVER))
        return at

    @cached_property
    def _order(self) -> list[str]:
        """Pins that drive others, in topological order."""
        before: dict[str, int] = defaultdict(int)
        for pins in self.following.values():
            for pin, _ in pins:
                before[pin] += 1
        order = [pin for pin in self.following if not before[pin]]
        for pin in order:  # the loop appends to order
            for to, _ in self.following[pin]:
                before[to] -= 1
                if not before[to] and to in self.following:
                    order.append(to)
        if len(order) < len(self.following):
            raise AirtollError("the routed design has a loop without a register")
        return order


def slowest_paths(sdf: Path, around: Container[str]) -> Slowest:
    """The slowest paths of a design in a harness of these registers, with one clock. AirtollError if it has a loop."""
    graph = _Graph.of(sdf, around)
    from_core = graph.latest((pin, ps) for pin, in_core, ps in graph.starts if in_core)
    from_harness = graph.latest((pin, 0.0) for pin, in_core, _ in graph.starts if not in_core)
    from_all = graph.latest((pin, ps) for pin, _, ps in graph.starts)
    return Slowest(
        _slowest(from_core[pin] + ps for pin, in_core, ps in graph.ends if in_core and pin in from_core),
        _slowest(
            from_harness[pin] + ps for pin, in_core, ps in graph.ends if in_core and pin in from_harness
        ),
        _slowest(from_core[pin] for pin, in_core, _ in graph.ends if not in_core and pin in from_core),
        _slowest(from_all[pin] + ps for pin, _, ps in graph.ends if pin in from_all) or 0.0,
    )


def _slowest(ps: Iterable[float]) -> float | None:
    most = max(ps, default=None)
    return None if most is None else round(most / 1000, 3)


def _cells(sdf: Path, wires: dict[str, list[tuple[str, float]]]) -> Iterator[_Cell]:
    """The cells of the file, with one construct per line as nextpnr writes it; adds its wires to `wires`."""
    cell = _Cell()
    with sdf.open() as lines:
        for line in lines:
            words = line.replace("(posedge ", "").replace("(negedge ", "").split()
            match words:
                case ["(CELLTYPE", type_]:
                    cell = _Cell(type=type_.strip('")'))
                case ["(INSTANCE", *name]:
                    cell.name = "".join(name).strip(")")
                    yield cell
                case ["(INTERCONNECT", from_, to, *delays]:
                    wires[from_].append((to, _most(delays)))
                case ["(IOPATH", from_, to, *delays]:
                    cell.paths.append((from_, to, _most(delays)))
                case ["(SETUPHOLD", data, clock, setup, *_]:
                    cell.setups.append((data.strip(")"), clock.strip(")"), _most([setup])))


def _most(delays: list[str]) -> float:
    return max(float(_TRIPLE.findall(delay)[0]) for delay in delays if _TRIPLE.search(delay))
