"""The clock of a study: what this machine carries in real time, and what virtual time costs.

    plan -> demand of each cell (lab sim) -> short runs in real time -> cells carried -> clock

The demand of a cell is the number of packets per second that its programs write: the throughput that lab sim predicts,
divided by the packet size; UDP offers 1.25 times of it. The programs, the hosts' stacks and the emulator work per
packet, in real time and in a guest.

A short run of the cell with the highest demand measures the machine, by the same verdict as every other run. If this
run is valid, the machine carries all cells. Otherwise further short runs halve the list of the cells, and every cell
with a lower demand than a carried one counts as carried. The clock is the same for all runs of a study, so that no
comparison mixes real and virtual time.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from airtoll import other_load
from airtoll.clock import Clock
from airtoll.errors import AirtollError
from airtoll.labs import open_lab
from airtoll.labs.sim import Sim
from airtoll.probes import probes_of
from airtoll.probes.iperf3_report import OVERLOAD
from airtoll.store.recorder import perform
from airtoll.study.cell import Cell, Method, Plan
from airtoll.study.factors import Transport

WARMUP_S: Final = 0.2
DURATION_S: Final = 0.5
"""Times of a short run."""

HALVINGS_MOST: Final = 3
"""Short runs after the cell with the highest demand, so that a calibration takes a few seconds at most."""

WAIT_S: Final = 3.0
"""Longest wait of a calibration for the end of a disturbance."""

GUEST_RUN_S: Final = 2.5
GUEST_PACKET_S: Final[Mapping[Transport, float]] = {"tcp": 40e-6, "udp": 55e-6}
"""CPU time of a run in a guest: its start and end with the tools, and per packet that a program writes. Derived from
docs/measurements/virtual-time.md, and within a quarter of the real time of all rows of lab air."""

_PREDICTED_S: Final = 0.05  # of warm-up, and as much of measurement: the demand is accurate to a few percent
_PROBE: Final = "throughput"


@dataclass(frozen=True)
class Capacity:
    """The load that this machine carries in real time."""

    packets_per_s: float
    """The highest demand that it carries; infinite if it carries the highest demand of the study."""
    reason: str = ""
    """Why it does not carry more."""

    def carried(self, demands: Mapping[Cell, float]) -> int:
        """The number of these cells that the machine carries."""
        return sum(demand <= self.packets_per_s for demand in demands.values())


@dataclass(frozen=True)
class Chosen:
    """The clock of all runs of a study, with the reason as a sentence."""

    clock: Clock
    reason: str


def choose(demands: Mapping[Cell, float], capacity: Capacity, virtual_time: str) -> Chosen:
    """The clock of a study whose guest is built: real if the machine carries every cell, otherwise virtual.

    `virtual_time` is the time that the study takes in guests, in words.
    """
    carried = capacity.carried(demands)
    if carried == len(demands):
        return Chosen("real", f"{carries(carried, len(demands))}, so all runs use real time")
    return Chosen(
        "virtual",
        f"{carries(carried, len(demands))} ({capacity.reason}), so all runs use virtual time, which takes about "
        f"{virtual_time} and gives no CPU metrics",
    )


def carries(carried: int, cells: int) -> str:
    """The words for a number of cells that this machine carries."""
    return f"this machine carries {carried} of {cells} cells of this study in real time"


def demands_of(plan: Plan) -> dict[Cell, float]:
    """The demand of each cell in packets per second; infinite for a cell that lab sim cannot predict."""
    cells = list(dict.fromkeys(run.cell for run in plan.runs))
    lab = Sim(plan.link, plan.stacks, plan.profiles)
    method = _short(plan.method, warmup_s=_PREDICTED_S, duration_s=_PREDICTED_S)
    (probe,) = probes_of([_PROBE], lab.name)

    def demand(cell: Cell) -> float:
        simulated = cell.model_copy(update={"lab": lab.name})
        if lab.check(simulated) is not None:
            return math.inf
        try:
            with lab.open(simulated, plan.method.seed) as link:
                samples = probe.measure(link, simulated, method).samples
        except AirtollError:
            return math.inf
        (bit_per_s,) = [sample.value for sample in samples if sample.metric == "throughput"]
        offer = OVERLOAD if cell.transport == "udp" and cell.offered == "max" else 1.0
        return math.inf if bit_per_s is None else offer * bit_per_s / (8 * cell.packet_size)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the medium releases the interpreter's lock
        return dict(zip(cells, pool.map(demand, cells), strict=True))


def virtual_s(plan: Plan, demands: Mapping[Cell, float], workers: int) -> float:
    """Estimated time of the plan in guests side by side on this machine, without cells of an unknown demand."""
    window_s = plan.method.warmup + plan.method.duration
    each_s = [
        GUEST_RUN_S + GUEST_PACKET_S[run.cell.transport] * window_s * demand
        for run in plan.runs
        if math.isfinite(demand := demands[run.cell])
    ]
    return sum(each_s) / max(1, min(workers, len(each_s)))


def slowdown(load: other_load.OtherLoad) -> float:
    """The factor by which other programs lengthen work that uses all cores of this machine."""
    return 1.0 + load.busy_cores / load.cores


def measure(plan: Plan, demands: Mapping[Cell, float]) -> Capacity:
    """Measure this machine by short runs of the plan's cells."""
    return find_capacity(demands, _ShortRuns(plan))


def find_capacity(demands: Mapping[Cell, float], fault: Callable[[Cell], str | None]) -> Capacity:
    """The capacity of a machine on which `fault` says why a short run of a cell is invalid; None if it is valid.

    A fault of the cell with the highest demand is measured twice, because a burst of other load may cause the first.
    """
    ascending = sorted(demands, key=lambda cell: demands[cell])
    heaviest = ascending[-1]
    reason = fault(heaviest) and fault(heaviest)
    if reason is None:
        return Capacity(math.inf)
    # The first `carried` cells are carried, and the cells from `not_carried` are not.
    carried, not_carried = 0, len(ascending) - 1
    for _ in range(HALVINGS_MOST):
        if carried == not_carried:
            break
        middle = (carried + not_carried) // 2
        if fault(ascending[middle]) is None:
            carried = middle + 1
        else:
            not_carried = middle
    most = demands[ascending[carried - 1]] if carried else 0.0
    return Capacity(most, reason)


class _ShortRuns:
    """Short runs of cells in real time."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan.model_copy(update={"clock": "real"})
        self._lab = open_lab(plan.runs[0].cell.lab, self._plan)
        self._probes = probes_of([_PROBE], self._lab.name, "real")
        self._method = _short(plan.method, warmup_s=WARMUP_S, duration_s=DURATION_S)
        self._wait_until_s = time.monotonic() + WAIT_S

    def __call__(self, cell: Cell) -> str | None:
        """Why a run of this cell is invalid or a metric of it does not count, or None."""
        left_s = max(0.0, self._wait_until_s - time.monotonic())
        if (obstacle := other_load.wait_until_over(left_s, lambda _: None)) is not None:
            return obstacle
        run = next(run for run in self._plan.runs if run.cell == cell)
        try:
            done = perform(run, self._lab, self._probes, self._method, on_event=lambda _: None, capture=None)
        except AirtollError as error:
            return str(error)
        verdict = done.record.verdict
        return next(iter((*verdict.reasons, *verdict.spoiled.values())), None)


def _short(method: Method, *, warmup_s: float, duration_s: float) -> Method:
    """The method of a measurement that only shows the demand: a load that follows from earlier runs has none."""
    load = "overload" if method.udp_load == "tcp" else method.udp_load
    times = {"warmup": warmup_s, "duration": duration_s}
    return method.model_copy(update={"probes": (_PROBE,), "udp_load": load, **times})
