"""One clock for a study: real if the machine carries every cell, otherwise virtual."""

import math
import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll import calibration, other_load
from airtoll.calibration import Capacity, choose, demands_of, find_capacity, virtual_s
from airtoll.other_load import OtherLoad
from airtoll.study import expand, find_study, load_study
from airtoll.study.cell import Cell
from airtoll.study.plan import is_auto

QUICKSTART = load_study(find_study("quickstart"))
PLAN = expand(QUICKSTART)
CELLS = list(dict.fromkeys(run.cell for run in PLAN.runs))
DEMANDS = st.lists(st.floats(1, 1e6), min_size=len(CELLS), max_size=len(CELLS)).map(
    lambda each: dict(zip(CELLS, each, strict=True))
)


class Machine:
    """A machine that carries cells up to a demand."""

    def __init__(self, demands: Mapping[Cell, float], most: float, bursts: int = 0) -> None:
        self.demands, self.most, self.bursts = demands, most, bursts
        self.runs: list[Cell] = []

    def __call__(self, cell: Cell) -> str | None:
        self.runs.append(cell)
        if len(self.runs) <= self.bursts or self.demands[cell] > self.most:
            return "emulation late: 2000 us"
        return None


@given(DEMANDS, st.floats(0, 2e6))
def test_no_cell_counts_as_carried_that_the_machine_does_not_carry(
    demands: Mapping[Cell, float], most: float
) -> None:
    machine = Machine(demands, most)
    capacity = find_capacity(demands, machine)
    able = sum(demand <= most for demand in demands.values())
    assert capacity.carried(demands) <= able
    assert (capacity.carried(demands) == len(demands)) == (able == len(demands))
    assert len(machine.runs) <= 2 + calibration.HALVINGS_MOST


@given(DEMANDS, st.floats(0, 2e6))
def test_the_clock_is_real_only_if_every_cell_is_carried(demands: Mapping[Cell, float], most: float) -> None:
    capacity = find_capacity(demands, Machine(demands, most))
    chosen = choose(demands, capacity, "3 min")
    carried = capacity.carried(demands)
    assert (chosen.clock == "real") == (carried == len(demands))
    assert (
        f"this machine carries {carried} of {len(demands)} cells of this study in real time" in chosen.reason
    )
    absent = "virtual time, which takes about 3 min and gives no CPU metrics" in chosen.reason
    assert absent == (chosen.clock == "virtual")


def test_one_burst_of_other_load_does_not_change_the_clock() -> None:
    demands = demands_of(PLAN)
    machine = Machine(demands, math.inf, bursts=1)
    assert find_capacity(demands, machine) == Capacity(math.inf)
    assert machine.runs == [max(CELLS, key=lambda cell: demands[cell])] * 2


def test_the_demand_is_the_rate_of_the_packets_that_programs_write() -> None:
    demands = demands_of(PLAN)
    assert demands.keys() == set(CELLS)
    for cell, demand in demands.items():
        mbit_per_s = demand * 8 * cell.packet_size / 1e6
        # 802.11a at 54 Mbit/s, and 1.25 times the capacity over UDP.
        assert 5 < mbit_per_s < 40, cell
    small = [cell for cell in CELLS if cell.packet_size == 128]
    assert min(demands[cell] for cell in small) > max(demands[cell] for cell in CELLS if cell not in small)


def test_the_estimate_of_virtual_time_grows_with_runs_and_falls_with_workers() -> None:
    demands = demands_of(PLAN)
    one = virtual_s(PLAN, demands, 1)
    assert virtual_s(PLAN, demands, 4) == pytest.approx(one / 4)
    half = PLAN.model_copy(update={"runs": PLAN.runs[: len(PLAN.runs) // 2]})
    assert virtual_s(half, demands, 1) < one
    assert virtual_s(PLAN.model_copy(update={"runs": ()}), demands, 1) == 0


def test_the_quickstart_leaves_its_clock_to_airtoll() -> None:
    assert is_auto(QUICKSTART, None, None)
    assert not is_auto(QUICKSTART, None, "real")
    assert not is_auto(QUICKSTART, "sim", None)
    assert PLAN.clock == "real"


@pytest.mark.parametrize(("lab", "clock"), [("air", "real"), ("linux", "virtual"), ("sim", "real")])
def test_auto_is_the_usual_clock_until_a_calibration_selects_one(lab: str, clock: str) -> None:
    assert expand(QUICKSTART, lab=lab, clock="auto").clock == clock


@pytest.mark.parametrize(
    ("load", "obstacle"),
    [
        (OtherLoad(2, 0.4, 0.0), None),
        (OtherLoad(2, 0.6, 0.0), "other programs use 0.6 of 2 cores"),
        (OtherLoad(8, 4.0, 0.0), None),
        (OtherLoad(8, 6.0, 0.0), "other programs use 6.0 of 8 cores"),
        (OtherLoad(8, 0.0, 0.2), "other virtual machines take 0.20 of 8 cores"),
    ],
)
def test_a_disturbance_is_named(load: OtherLoad, obstacle: str | None) -> None:
    assert load.obstacle() == obstacle


def test_a_wait_ends_when_the_disturbance_is_over_and_after_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(other_load, "PAUSE_S", 0.0)
    busy, idle = OtherLoad(2, 2.0, 0.0), OtherLoad(2, 0.0, 0.0)
    loads = iter([busy, busy, idle])
    seen: list[str] = []
    assert other_load.wait_until_over(60.0, seen.append, lambda: next(loads)) is None
    assert seen == ["other programs use 2.0 of 2 cores"] * 2
    assert other_load.wait_until_over(0.0, seen.append, lambda: busy) == "other programs use 2.0 of 2 cores"


def test_the_load_of_this_machine_is_measured() -> None:
    load = other_load.measure()
    assert load.cores >= 1
    assert 0 <= load.busy_cores <= load.cores + 0.5
    assert 0 <= load.stolen_cores <= load.cores + 0.5


def test_virtual_time_has_no_other_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_load, "_STEPS_MOST", 3)
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    assert other_load.measure().obstacle() is None


@pytest.mark.parametrize(("clock", "retries"), [("real", 2), ("virtual", 0)])
def test_invalid_runs_are_repeated_in_real_time_only(clock: str, retries: int) -> None:
    assert expand(QUICKSTART, clock=clock).method.retries == retries  # type: ignore[arg-type]
    assert expand(QUICKSTART, lab="sim").method.retries == 0
