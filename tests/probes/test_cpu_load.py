"""CPU load over a window, once per machine."""

import os
import subprocess
import time
from collections.abc import Mapping
from typing import Any

import pytest

from airtoll.labs.base import CpuTimes, Host, Link
from airtoll.probes import cpu
from airtoll.probes.cpu import Snapshot
from airtoll.probes.machines import machines, share_clocks

SECOND_NS = 1_000_000_000


class Machine:
    """A host that reports this machine, or no machine; it is busy half of the time."""

    def __init__(self, boot_id: str | None, name: str = "host") -> None:
        self.name = name
        self._facts = {} if boot_id is None else {"boot_id": boot_id}
        self._readings = 0

    def popen(self, argv: Any) -> Any:
        raise NotImplementedError

    def run(self, argv: Any, timeout_s: float) -> Any:
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        return dict(self._facts)

    def cpu(self) -> CpuTimes:
        self._readings += 1
        return CpuTimes(busy_s=self._readings, idle_s=self._readings)


def link(**boot_ids: str | None) -> Link:
    hosts = {role: Machine(boot_id, role) for role, boot_id in boot_ids.items()}
    return Link(hosts=hosts, addresses={}, facts={}, counters=lambda: {"elapsed_s": 1.0})


def snapshot(second: float, load: Mapping[str, tuple[float, float]], **counters: Any) -> Snapshot:
    times = {role: CpuTimes(busy_s, idle_s) for role, (busy_s, idle_s) in load.items()}
    return Snapshot(round(second * SECOND_NS), times, counters)


def test_load_is_cpu_time_over_the_time_of_the_window_alone() -> None:
    opening = snapshot(7, {"machine": (100.0, 900.0)}, elapsed_s=5.0, emulator_cpu_s=1.0, crypto_s=0.5)
    closing = snapshot(9, {"machine": (101.0, 903.0)}, elapsed_s=7.0, emulator_cpu_s=1.5, crypto_s=0.6)
    loads = {(s.metric, s.endpoint): s for s in cpu.samples([opening, closing], t_ns=200_000_000)}
    assert loads["cpu_system", "machine"].value == pytest.approx(25)  # of both cores
    assert loads["cpu_emulator", "link"].value == pytest.approx(25)  # of one core
    assert loads["cpu_hosts", "machine"].value == pytest.approx(12.5)  # the rest, of both cores
    assert loads["cpu_crypto", "link"].value == pytest.approx(5)
    assert {(s.t_ns, s.dur_ns, s.unit) for s in loads.values()} == {(200_000_000, 2 * SECOND_NS, "%")}


def test_system_load_has_one_sample_per_interval() -> None:
    shots = [
        snapshot(0, {"machine": (0.0, 0.0)}, elapsed_s=0.0, crypto_s=0.0),
        snapshot(0.25, {"machine": (0.1, 0.4)}),
        snapshot(0.5, {"machine": (0.5, 0.5)}, elapsed_s=0.5, crypto_s=0.1),
    ]
    found = cpu.samples(shots, t_ns=SECOND_NS)
    system = [(s.t_ns, s.dur_ns, s.value) for s in found if s.metric == "cpu_system"]
    quarter_ns = SECOND_NS // 4
    assert system == [
        (SECOND_NS, quarter_ns, pytest.approx(20)),
        (SECOND_NS + quarter_ns, quarter_ns, pytest.approx(80)),
    ]
    (crypto,) = (s for s in found if s.metric == "cpu_crypto")  # the emulator is not queried in between
    assert (crypto.dur_ns, crypto.value) == (2 * quarter_ns, pytest.approx(20))


def test_frames_that_hosts_seal_are_work_of_the_hosts() -> None:
    opening = snapshot(0, {"machine": (0.0, 0.0)}, elapsed_s=0.0, emulator_cpu_s=0.0, host_crypto_s=0.0)
    closing = snapshot(1, {"machine": (1.0, 1.0)}, elapsed_s=1.0, emulator_cpu_s=0.6, host_crypto_s=0.2)
    loads = {s.metric: s.value for s in cpu.samples([opening, closing], t_ns=0)}
    assert loads["cpu_hosts"] == pytest.approx(30)  # 1 s - (0.6 s - 0.2 s) of 2 s


def test_without_an_emulator_the_hosts_do_all_the_work() -> None:
    opening = snapshot(0, {"ap": (0.0, 0.0), "sta": (0.0, 0.0)})
    closing = snapshot(1, {"ap": (0.5, 1.5), "sta": (1.0, 1.0)})
    found = {s.endpoint: s.value for s in cpu.samples([opening, closing], t_ns=0) if s.metric == "cpu_hosts"}
    assert found == {"ap": pytest.approx(25), "sta": pytest.approx(50)}


def test_work_that_a_timer_starts_counts_as_busy(here: Host) -> None:
    began, began_s, own_s = here.cpu(), time.monotonic(), time.process_time()
    while time.monotonic() < began_s + 1:
        burst_s = time.monotonic() + 0.0003
        while time.monotonic() < burst_s:
            pass
        time.sleep(0.0007)
    ended, own_s = here.cpu(), time.process_time() - own_s
    resolution_s = 0.01 * (os.cpu_count() or 1)
    assert ended.busy_s - began.busy_s >= own_s - resolution_s


def test_a_link_without_counters_has_the_load_of_machines_alone() -> None:
    shots = [snapshot(0, {"machine": (1.0, 1.0)}), snapshot(1, {"machine": (2.0, 2.0)})]
    assert {sample.metric for sample in cpu.samples(shots, t_ns=0)} == {"cpu_system", "cpu_hosts"}


def test_an_interval_without_a_tick_of_the_kernels_clock_has_no_value() -> None:
    loads = cpu.samples([snapshot(0, {"machine": (1.0, 1.0)})] * 2, t_ns=0)
    assert [load.value for load in loads] == [None, None]


def test_intervals_cover_the_window_and_end_with_the_process() -> None:
    with subprocess.Popen(["sleep", "60"]) as running:
        until = time.monotonic() + 0.6
        shots = cpu.over(link(ap="one", sta="one"), running, until)
        assert len(shots) == 3
        assert shots[-1].monotonic_ns >= until * SECOND_NS
        assert [shot.counters for shot in shots] == [{"elapsed_s": 1.0}, {}, {"elapsed_s": 1.0}]
        running.kill()
        running.wait()
        ended = cpu.over(link(ap="one"), running, time.monotonic() + 60)
        assert ended[-1].monotonic_ns - ended[0].monotonic_ns < 10 * SECOND_NS


def test_hosts_of_one_kernel_are_one_machine() -> None:
    assert list(machines(link(ap="one", sta="one", server="one"))) == ["machine"]
    assert list(machines(link(ap="one", sta1="two", sta2="two", server="one"))) == ["ap", "sta1"]
    assert list(machines(link(ap=None, sta=None))) == ["ap", "sta"]


def test_clocks_are_shared_only_where_that_is_known() -> None:
    one, same, other, unknown = Machine("one"), Machine("one"), Machine("two"), Machine(None)
    assert share_clocks(one, same)
    assert not share_clocks(one, other)
    assert not share_clocks(unknown, Machine(None))
