"""From a study to its plan: every run, in randomised paired blocks.

A *block* holds one replicate of every security level of an otherwise equal cell, so that a secured run is compared with
an open run close to it in time. A *round* holds one block of every such cell. The plan is a sequence of rounds, so that
an interrupted study leaves complete rounds instead of one measured corner of the design. Blocks are shuffled within
their round and security levels within their block, so that drift and warm-up affect all levels alike.

The shuffle sorts by SHA-256 of the seed, the replicate and the shuffled item. All orders are equally likely, any
language can reproduce the order, and it does not depend on the version of Python or on the order of levels in the file.
An additional level does not change the order of the others. Nor does a factor that a later version of airtoll added, as
long as it is at its default.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from airtoll.clock import Clock
from airtoll.errors import UsageError
from airtoll.study.cell import Cell, Method, Plan, Run
from airtoll.study.factors import FACTORS, LATER_FACTORS, level_text
from airtoll.study.load import Study
from airtoll.study.probes import PROBES
from airtoll.study.quantity import one_line

_PAIRED = tuple(name for name in FACTORS if name != "security")

OVERHEAD_S = 1.0
"""Seconds per run beyond its probes' windows: bringing the link up and down, starting tools, writing the result."""

CPU_PROBE_S = 1.0
"""Seconds that a probe of the CPU takes, including its process. It has no window."""


def expand(
    study: Study,
    lab: str | None = None,
    quick: bool = False,
    clock: Clock | None = None,
    radios: tuple[str, ...] | None = None,
) -> Plan:
    """Every run of the study, in execution order.

    `lab`, `clock` and `radios` replace the study's own without changing order or seeds. `quick` applies the file's
    [quick] table. Raises UsageError if the file has none. The same arguments always give the same plan.
    """
    factors = {name: getattr(study.factors, name) for name in FACTORS}
    settings = study.method.model_dump()
    if quick:
        if study.quick is None:
            file = one_line(str(study.path), most=4096)
            raise UsageError(f"{file}: quick: missing table; only a study with [quick] has a quick run")
        factors |= study.quick.factors.model_dump(exclude_none=True)
        settings |= study.quick.model_dump(exclude_none=True, exclude={"factors"})
    method = Method(**settings)

    name = study.lab.name if lab is None else lab
    if radios is None:
        radios = study.lab.radios if name == study.lab.name else ()
    pairs = [
        _Pair.of(dict(zip(_PAIRED, levels, strict=True)), factors["security"], name)
        for levels in product(*(factors[name] for name in _PAIRED))
    ]
    runs: list[Run] = []
    block = 0
    # TCP throughput sets the UDP load, so all TCP rounds run first.
    stages = ("tcp", "udp") if method.udp_load == "tcp" else (None,)
    for stage, replicate in product(stages, range(1, method.discard_first + method.repeats + 1)):
        of_stage = [pair for pair in pairs if stage in (None, pair.transport)]
        for pair in sorted(of_stage, key=lambda p: _digest("block", method.seed, replicate, p.text)):
            block += 1
            seed = _run_seed(method.seed, replicate, pair.text)
            for _, cell in sorted(
                pair.cells, key=lambda c: _digest("security", method.seed, replicate, c[0])
            ):
                runs.append(
                    Run(
                        order=len(runs) + 1,
                        block=block,
                        replicate=replicate,
                        discard=replicate <= method.discard_first,
                        seed=seed,
                        cell=cell,
                    )
                )
    return Plan(
        study=study.name,
        method=method,
        link=study.link,
        stacks=study.stack,
        profiles=study.security,
        clock=clock or study.lab.clock or ("virtual" if name == "linux" and not radios else "real"),
        radios=radios,
        claims=study.claim,
        runs=tuple(runs),
    )


@dataclass(frozen=True)
class _Pair:
    """The cells that differ only in security, each with the text of its levels."""

    transport: str
    text: str  # of the levels that they share
    cells: Sequence[tuple[str, Cell]]

    @classmethod
    def of(cls, shared: Mapping[str, Any], levels: Iterable[str], lab: str) -> "_Pair":
        cells = []
        for level in levels:
            of_cell = {**shared, "security": level}
            cells.append((_text(of_cell), Cell(lab=lab, **of_cell)))
        return cls(shared["transport"], _text(shared), cells)


def _text(levels: Mapping[str, Any]) -> str:
    """One line 'FACTOR=LEVEL' per factor, sorted by name. Later factors are omitted at their default."""
    return "\n".join(
        f"{name}={level_text(name, levels[name])}" for name in sorted(levels) if _named(name, levels)
    )


def _digest(purpose: str, seed: int, replicate: int, text: str) -> bytes:
    """SHA-256 of the line 'airtoll plan 1 PURPOSE SEED REPLICATE' and the text of levels, separated by a line feed.

    The encoding is UTF-8.
    """
    return hashlib.sha256(f"airtoll plan 1 {purpose} {seed} {replicate}\n{text}".encode()).digest()


def _named(name: str, levels: Mapping[str, Any]) -> bool:
    return name not in LATER_FACTORS or levels[name] != LATER_FACTORS[name]


def _run_seed(seed: int, replicate: int, text: str) -> int:
    """The seed of a block's runs: 53 bits, which every JSON reader represents exactly."""
    return int.from_bytes(_digest("seed", seed, replicate, text)[:8], "big") >> 11


@dataclass(frozen=True)
class PlanRow:
    """One run in the listing of `airtoll plan`."""

    order: int
    block: int
    replicate: int
    discard: bool
    levels: tuple[str, ...]  # of the factors in `columns` of the description


@dataclass(frozen=True)
class PlanDescription:
    """A plan as text, to read before it is run."""

    columns: tuple[str, ...]  # the factors that vary
    constants: Mapping[str, str]  # the other factors and the lab, each with its single level
    rows: tuple[PlanRow, ...]
    cells: int
    blocks: int
    discarded: int  # runs that are measured but excluded
    estimate_s: float


def levels_of(cell: Cell) -> dict[str, str]:
    """The cell's lab and levels in the syntax of a study file. Omits later factors at their default."""
    levels = {name: getattr(cell, name) for name in FACTORS}
    named = {name: level_text(name, level) for name, level in levels.items() if _named(name, levels)}
    return {"lab": cell.lab} | named


def varying_factors(cells: Iterable[Cell]) -> tuple[str, ...]:
    """The factors with more than one level in these cells, in the order of a study file."""
    distinct = set(cells)
    return tuple(name for name in FACTORS if len({getattr(cell, name) for cell in distinct}) > 1)


def describe(plan: Plan, overhead_s: float = OVERHEAD_S) -> PlanDescription:
    """The plan as rows, with the varying and the constant factors, and its estimated duration."""
    varying = varying_factors(run.cell for run in plan.runs)
    rows = tuple(
        PlanRow(
            run.order,
            run.block,
            run.replicate,
            run.discard,
            tuple(level_text(name, getattr(run.cell, name)) for name in varying),
        )
        for run in plan.runs
    )
    constants = levels_of(plan.runs[0].cell) if plan.runs else {}
    return PlanDescription(
        columns=varying,
        constants={name: level for name, level in constants.items() if name not in varying},
        rows=rows,
        cells=len({run.cell for run in plan.runs}),
        blocks=len({run.block for run in plan.runs}),
        discarded=sum(run.discard for run in plan.runs),
        estimate_s=estimate_s(plan, overhead_s),
    )


def estimate_s(plan: Plan, overhead_s: float = OVERHEAD_S, runs: Iterable[Run] | None = None) -> float:
    """Estimated seconds of the plan, or of these runs of it, if no rule stops earlier.

    The sum of the probes' windows and of `overhead_s` per run.
    """
    method = plan.method
    window_s = method.warmup + method.duration
    taken_s = (
        sum(
            CPU_PROBE_S if PROBES[probe].of_cpu else PROBES[probe].windows * window_s + PROBES[probe].extra_s
            for probe in method.probes
            if measures(probe, run.cell) and not (plan.clock == "virtual" and PROBES[probe].real_time)
        )
        for run in (plan.runs if runs is None else runs)
    )
    return sum(run_s + overhead_s for run_s in taken_s)


def measures(probe: str, cell: Cell) -> bool:
    """Whether the probe of that name can measure the cell."""
    if (entry := PROBES.get(probe)) is None:  # a probe that no study can name has no restrictions
        return True
    if entry.in_sim is None and cell.lab == "sim":
        return False
    if entry.of_cpu:
        return cell.security != "open"
    return entry.transport in (None, cell.transport) and entry.ip in (None, cell.ip)
