"""From a study to its plan: every run, in randomised paired blocks or in sessions.

By default, a *block* holds one replicate of every security level of an otherwise equal cell, so that a secured run is
compared with an open run close to it in time. A *round* holds one block of every such cell. The plan is a sequence of
rounds, so that an interrupted study leaves complete rounds instead of one measured corner of the design. Blocks are
shuffled within their round and security levels within their block, so that drift and warm-up affect all levels alike.

If the access point is hard to change, a *session* holds the runs of one setting of the access point (the factors with
`at_access_point`), with a share of the replicates of each cell. A block then holds one session of every setting, in the
reverse order of the block before (ABBA): a steady drift cancels, and the last setting of a block is the first of the
next. Both designs have the same runs with the same seeds.

The shuffle sorts by SHA-256 of the seed, the replicate and the shuffled item. All orders are equally likely, any
language can reproduce the order, and it does not depend on the version of Python or on the order of levels in the file.
An additional level does not change the order of the others. Nor does a factor that a later version of airtoll added, as
long as it is at its default.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final

from airtoll.clock import ClockChoice
from airtoll.errors import UsageError, listed
from airtoll.study import rules
from airtoll.study.cell import Cell, Method, Plan, Run, Switching
from airtoll.study.crossing import crossed
from airtoll.study.factors import AP_FACTORS, FACTORS, LATER_FACTORS, level_text
from airtoll.study.labs import lab_entry
from airtoll.study.load import Study, dotted
from airtoll.study.probes import PROBES
from airtoll.study.quantity import in_utf8, one_line
from airtoll.study.security import is_enhanced

_PAIRED = tuple(name for name in FACTORS if name != "security")

RETRIES: Final = 2
"""Repeats of an invalid run in real time unless the study sets them: other work delays frames, machines vanish, and
stations roam."""

OVERHEAD_S = 1.0
"""Seconds per run beyond its probes' windows: bringing the link up and down, starting tools, writing the result."""

CPU_PROBE_S = 1.0
"""Seconds that a probe of the CPU takes, including its process. It has no window."""


def expand(
    study: Study,
    lab: str | None = None,
    quick: bool = False,
    clock: ClockChoice | None = None,
    radios: tuple[str, ...] | None = None,
    inventory: Path | None = None,
    switching: Switching | None = None,
) -> Plan:
    """Every run of the study, in execution order.

    `lab`, `clock` and `radios` replace the study's own without changing order or seeds, and `switching` without
    changing seeds. `inventory` is the file of lab hosts, for the record: a study cannot choose it. In lab hosts, the
    machines determine where frames are sealed, so `crypto_at` has one level. `quick` applies the file's [quick] table.
    The clock `auto` is that of the lab by default: only a calibration (`airtoll.calibration`) can select another one.
    With fewer repeats than sessions, each repeat is a session. The same arguments always give the same plan.

    Raises UsageError if the file has no [quick] table, or if the lab cannot measure the primary metric or the metric of
    a claim.
    """
    kept: dict[str, tuple[Any, ...]] = {}
    settings = study.method.model_dump()
    if quick:
        if study.quick is None:
            file = one_line(str(study.path), most=4096)
            raise UsageError(f"{file}: quick: missing table; only a study with [quick] has a quick run")
        kept = study.quick.factors.model_dump(exclude_none=True)
        settings |= study.quick.model_dump(exclude_none=True, exclude={"factors"})
    if switching is not None:
        settings["switching"] = switching
    if settings["switching"] == "session":
        settings["sessions"] = min(settings["sessions"], settings["repeats"])
    name = study.lab.name if lab is None else lab
    entry = lab_entry(name)
    forced: dict[str, tuple[Any, ...]] = {"crypto_at": ("host",)} if entry.has_machines else {}
    if inventory is not None:
        check_has_machines(name)
    if radios is None:
        radios = study.lab.radios if name == study.lab.name else ()
    asked = clock or study.lab.clock or "auto"
    if asked == "auto":
        asked = "virtual" if entry.virtual_by_default and not radios else "real"
    if unmeasured := list(rules.unmeasured(study, name, asked)):
        file = one_line(str(study.path), most=4096)
        raise UsageError(listed([f"{file}: {dotted(where)}: {text}" for where, text in unmeasured]))
    if settings["retries"] is None:
        settings["retries"] = 0 if asked == "virtual" or not entry.has_hosts else RETRIES
    method = Method(**settings)
    pairs = _pairs(study, name, kept, forced)
    in_order = _in_sessions if method.switching == "session" else _in_blocks
    runs = tuple(
        Run(
            order=order,
            block=place.block,
            replicate=place.replicate,
            discard=place.replicate <= method.discard_first,
            seed=_run_seed(method.seed, place.replicate, place.shared),
            cell=place.cell,
            session=place.session,
        )
        for order, place in enumerate(in_order(pairs, method), start=1)
    )
    return Plan(
        study=study.name,
        method=method,
        link=study.link,
        stacks=study.stack,
        profiles=study.security,
        clock=asked,
        radios=radios,
        inventory=None if inventory is None else in_utf8(str(inventory)),
        claims=study.claim,
        runs=runs,
    )


def cells_of_study(study: Study) -> tuple[Cell, ...]:
    """Every cell of the complete study, whether or not its lab can measure it."""
    return tuple(cell for pair in _pairs(study, study.lab.name, {}, {}) for _, cell in pair.cells)


def _pairs(
    study: Study, lab: str, kept: Mapping[str, tuple[Any, ...]], forced: Mapping[str, tuple[Any, ...]]
) -> list["_Pair"]:
    return [
        _Pair.of(dict(zip(_PAIRED, levels, strict=True)), factors["security"], lab)
        for part in crossed(study.factors.model_copy(update=dict(forced)), kept)
        for factors in ({**part, **forced},)
        for levels in product(*(factors[name] for name in _PAIRED))
    ]


def is_auto(study: Study, lab: str | None, clock: ClockChoice | None) -> bool:
    """Whether a calibration selects the clock of the study's plan."""
    return (
        lab_entry(study.lab.name if lab is None else lab).calibrated and (clock or study.lab.clock) == "auto"
    )


def check_has_machines(lab: str) -> None:
    """Raise UsageError if an inventory has no meaning in the lab."""
    if not lab_entry(lab).has_machines:
        raise UsageError(f"--inventory: lab {lab} has no machines; lab hosts has")


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


@dataclass(frozen=True)
class _Place:
    """The place of a run in the plan."""

    block: int
    session: int | None
    replicate: int
    shared: str  # text of the levels except security
    cell: Cell


def _in_blocks(pairs: Sequence[_Pair], method: Method) -> Iterator[_Place]:
    """One round of blocks after the other."""
    block = 0
    for of_stage in _stages(pairs, method):
        for replicate in range(1, method.discard_first + method.repeats + 1):
            for pair in _shuffled(of_stage, method, replicate):
                block += 1
                for _, cell in sorted(
                    pair.cells, key=lambda c: _digest("security", method.seed, replicate, c[0])
                ):
                    yield _Place(block, None, replicate, pair.text, cell)


def _in_sessions(pairs: Sequence[_Pair], method: Method) -> Iterator[_Place]:
    """One block of sessions after the other: a session of every setting of the access point.

    The stages share their blocks, so that TCP and UDP can be compared.
    """
    session = 0
    settings = _settings(pairs, method)
    for of_stage in _stages(pairs, method):
        for block, replicates in enumerate(_shares(method), start=1):
            reverse = session // len(settings) % 2 == 1
            for setting in reversed(settings) if reverse else settings:
                session += 1
                for replicate in replicates:
                    for pair in _shuffled(of_stage, method, replicate):
                        for _, cell in pair.cells:
                            if cell.ap_setting == setting:
                                yield _Place(block, session, replicate, pair.text, cell)


def _stages(pairs: Sequence[_Pair], method: Method) -> list[list[_Pair]]:
    """The pairs that are measured together. TCP throughput may set the UDP load; all TCP runs are then first."""
    stages = ("tcp", "udp") if method.udp_load == "tcp" else (None,)
    return [[pair for pair in pairs if stage in (None, pair.transport)] for stage in stages]


def _shuffled(pairs: Iterable[_Pair], method: Method, replicate: int) -> list[_Pair]:
    return sorted(pairs, key=lambda pair: _digest("block", method.seed, replicate, pair.text))


def _settings(pairs: Iterable[_Pair], method: Method) -> list[tuple[Any, ...]]:
    """The settings of the access point in random order. Settings that differ only in security are neighbours."""

    def place(setting: tuple[Any, ...]) -> tuple[bytes, bytes]:
        levels = dict(zip(AP_FACTORS, setting, strict=True))
        shared = {name: level for name, level in levels.items() if name != "security"}
        first, second = (_digest("session", method.seed, 1, _text(each)) for each in (shared, levels))
        return first, second

    return sorted({cell.ap_setting for pair in pairs for _, cell in pair.cells}, key=place)


def _shares(method: Method) -> list[range]:
    """The replicates of each session of a setting, as equal as possible. Discarded replicates are in the first one."""
    number = method.sessions
    ends = [method.discard_first + n * method.repeats // number for n in range(1, number + 1)]
    return [range(before + 1, end + 1) for before, end in pairwise([0, *ends])]


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
    session: int | None
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
    sessions: int  # 0: switching by block
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
            run.session,
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
        sessions=len({run.session for run in plan.runs} - {None}),
        discarded=sum(run.discard for run in plan.runs),
        estimate_s=estimate_s(plan, overhead_s),
    )


def switches(runs: Iterable[Run]) -> int:
    """How often the access point changes its settings, if the runs are performed in this order."""
    return sum(before.cell.ap_setting != after.cell.ap_setting for before, after in pairwise(runs))


def estimate_s(plan: Plan, overhead_s: float = OVERHEAD_S) -> float:
    """Estimated seconds of the plan, if no rule stops earlier.

    The sum of the probes' windows and of `overhead_s` per run.
    """
    method = plan.method
    window_s = method.warmup + method.duration
    taken_s = (
        sum(
            _cpu_probe_s(run.cell)
            if PROBES[probe].of_cpu
            else PROBES[probe].windows * window_s + PROBES[probe].extra_s
            for probe in method.probes
            if measures(probe, run.cell) and not (plan.clock == "virtual" and PROBES[probe].real_time)
        )
        for run in plan.runs
    )
    return sum(run_s + overhead_s for run_s in taken_s)


def _cpu_probe_s(cell: Cell) -> float:
    # In a cell with lanes, the probe also measures the lanes as printed.
    return 2 * CPU_PROBE_S if is_enhanced(cell.security) else CPU_PROBE_S


def measures(probe: str, cell: Cell) -> bool:
    """Whether the probe of that name can measure the cell."""
    if (entry := PROBES.get(probe)) is None:  # a probe that no study can name has no restrictions
        return True
    if entry.in_sim is None and not lab_entry(cell.lab).has_hosts:
        return False
    if entry.of_cpu:
        return cell.security != "open"
    return entry.transport in (None, cell.transport) and entry.ip in (None, cell.ip)
