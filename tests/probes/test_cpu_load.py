"""CPU load between two moments."""

from typing import Any

import pytest

from airtoll.labs.base import CpuTimes
from airtoll.probes.cpu import Snapshot, between

SECOND_NS = 1_000_000_000


def snapshot(second: int, busy_s: float, idle_s: float, **counters: Any) -> Snapshot:
    return Snapshot(second * SECOND_NS, CpuTimes(busy_s, idle_s), counters)


def test_load_is_cpu_time_over_the_time_of_the_window_alone() -> None:
    opening = snapshot(7, 100.0, 900.0, elapsed_s=5.0, emulator_cpu_s=1.0, crypto_s=0.5)
    closing = snapshot(9, 101.0, 903.0, elapsed_s=7.0, emulator_cpu_s=1.5, crypto_s=0.6)
    loads = {(s.metric, s.endpoint): s for s in between(opening, closing, t_ns=200_000_000)}
    assert loads["cpu_system", "machine"].value == pytest.approx(25)  # of both cores
    assert loads["cpu_emulator", "link"].value == pytest.approx(25)  # of one core
    assert loads["cpu_crypto", "link"].value == pytest.approx(5)
    assert {(s.t_ns, s.dur_ns, s.unit) for s in loads.values()} == {(200_000_000, 2 * SECOND_NS, "%")}


def test_a_link_that_does_not_count_has_no_load_rather_than_one_of_zero() -> None:
    found = between(snapshot(0, 1.0, 1.0), snapshot(1, 2.0, 2.0), t_ns=0)
    assert [sample.metric for sample in found] == ["cpu_system"]


def test_a_window_without_a_tick_of_the_kernels_clock_has_no_value() -> None:
    (load,) = between(snapshot(0, 1.0, 1.0), snapshot(0, 1.0, 1.0), t_ns=0)
    assert load.value is None
