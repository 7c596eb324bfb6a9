"""CPU load over a window, once per machine."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

import pytest

from airtoll.host import Host, HostEvent, HostReading
from airtoll.labs.base import Link
from airtoll.probes import cpu, watch
from airtoll.probes.machines import MachineTimes, machines, share_clocks
from airtoll.probes.watch import Totals, Watched

SECOND_NS = 1_000_000_000


class Sampled:
    """Two readings of an idle machine with a radio, and one in which its link ended."""

    def __init__(self, interfaces: Sequence[str]) -> None:
        left = HostEvent(event="disconnected", t_ns=2 * SECOND_NS)
        self.readings = [
            HostReading(at_ns=SECOND_NS, idle_s=(1.0,), steal_s=(0.0,)),
            HostReading(
                at_ns=2 * SECOND_NS, idle_s=(2.0,), steal_s=(0.0,), events=(left,) if interfaces else ()
            ),
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Machine:
    """A host that reports this machine, or no machine."""

    os = "linux"

    def __init__(self, boot_id: str | None, name: str = "host") -> None:
        self.name = name
        self._facts = {} if boot_id is None else {"boot_id": boot_id}
        self.sampled: list[tuple[float, tuple[str, ...], bool]] = []

    def facts(self) -> dict[str, Any]:
        return dict(self._facts)

    def texts(self, *_: str) -> list[str | None]:
        return ["cpu  1 0 0 97 0 0 1 1\n"]

    def sampling(self, rate_hz: float, interfaces: Sequence[str] = (), *, machine: bool = True) -> Sampled:
        self.sampled.append((rate_hz, tuple(interfaces), machine))
        return Sampled(interfaces)


def link(**boot_ids: str | None) -> Link:
    hosts: Any = {role: Machine(boot_id, role) for role, boot_id in boot_ids.items()}
    interfaces = {"sta": "wlan0"} if "sta" in hosts else {}
    return Link(
        hosts=hosts, addresses={}, facts={}, counters=lambda: {"elapsed_s": 1.0}, interfaces=interfaces
    )


def reading(second: float, *idle_s: float, steal_s: float = 0.0, **values: Any) -> HostReading:
    steals = (steal_s,) * len(idle_s)
    return HostReading(at_ns=round(second * SECOND_NS), idle_s=idle_s, steal_s=steals, **values)


def watched(
    machines: Mapping[str, Sequence[HostReading]], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Watched:
    of_first = next(iter(machines.values()))
    opening, closing = (
        Totals(one.at_ns, counters)
        for one, counters in zip((of_first[0], of_first[-1]), (before, after), strict=True)
    )
    return Watched(opening, closing, machines)


def test_load_is_cpu_time_over_the_time_of_the_window_alone() -> None:
    before = {"elapsed_s": 5.0, "emulator_cpu_s": 1.0, "crypto_s": 0.5}
    after = {"elapsed_s": 7.0, "emulator_cpu_s": 1.5, "crypto_s": 0.6}
    window = watched({"machine": [reading(7, 900, 900), reading(9, 901, 902)]}, before, after)
    loads = {(s.metric, s.endpoint): s for s in cpu.samples(window, t_ns=200_000_000)}
    assert loads["cpu_system", "machine"].value == pytest.approx(25)  # of both cores
    assert loads["cpu_core", "machine/0"].value == pytest.approx(50)
    assert loads["cpu_core", "machine/1"].value == pytest.approx(0)
    assert loads["cpu_emulator", "link"].value == pytest.approx(25)  # of one core
    assert loads["cpu_hosts", "machine"].value == pytest.approx(12.5)  # the rest, of both cores
    assert loads["cpu_crypto", "link"].value == pytest.approx(5)
    assert {(s.t_ns, s.dur_ns, s.unit) for s in loads.values()} == {(200_000_000, 2 * SECOND_NS, "%")}


def test_system_load_has_one_sample_per_interval() -> None:
    shots = [reading(0, 0.0, 0.0), reading(0.25, 0.2, 0.2), reading(0.5, 0.25, 0.25)]
    before, after = {"elapsed_s": 0.0, "crypto_s": 0.0}, {"elapsed_s": 0.5, "crypto_s": 0.1}
    found = cpu.samples(watched({"machine": shots}, before, after), t_ns=SECOND_NS)
    system = [(s.t_ns, s.dur_ns, s.value) for s in found if s.metric == "cpu_system"]
    quarter_ns = SECOND_NS // 4
    assert system == [
        (SECOND_NS, quarter_ns, pytest.approx(20)),
        (SECOND_NS + quarter_ns, quarter_ns, pytest.approx(80)),
    ]
    (crypto,) = (s for s in found if s.metric == "cpu_crypto")  # the emulator is not queried in between
    assert (crypto.dur_ns, crypto.value) == (2 * quarter_ns, pytest.approx(20))


def test_frames_that_hosts_seal_are_work_of_the_hosts() -> None:
    before = {"elapsed_s": 0.0, "emulator_cpu_s": 0.0, "host_crypto_s": 0.0}
    after = {"elapsed_s": 1.0, "emulator_cpu_s": 0.6, "host_crypto_s": 0.2}
    window = watched({"machine": [reading(0, 0, 0), reading(1, 0, 1)]}, before, after)
    loads = {s.metric: s.value for s in cpu.samples(window, t_ns=0)}
    assert loads["cpu_hosts"] == pytest.approx(30)  # 1 s - (0.6 s - 0.2 s) of 2 s


def test_without_an_emulator_the_hosts_do_all_the_work() -> None:
    machines = {"ap": [reading(0, 0, 0), reading(1, 1, 0.5)], "sta": [reading(7, 0, 0), reading(8, 0.5, 0.5)]}
    found = {
        s.endpoint: s.value for s in cpu.samples(watched(machines, {}, {}), t_ns=0) if s.metric == "cpu_hosts"
    }
    assert found == {"ap": pytest.approx(25), "sta": pytest.approx(50)}


def test_time_of_the_hypervisor_is_no_time_of_the_machine() -> None:
    window = watched({"machine": [reading(0, 0), reading(2, 0.5, steal_s=1.0)]}, {}, {})
    assert {s.value for s in cpu.samples(window, t_ns=0)} == {50}


def test_work_that_a_timer_starts_counts_as_busy(here: Host) -> None:
    own_s = time.process_time()
    with here.sampling(4) as sampled:
        began_s = time.monotonic()
        while time.monotonic() < began_s + 1:
            burst_s = time.monotonic() + 0.0003
            while time.monotonic() < burst_s:
                pass
            time.sleep(0.0007)
        own_s = time.process_time() - own_s
    readings = sampled.readings
    window = watched({"machine": readings}, {}, {})
    loads = {s.metric: s.value or 0.0 for s in cpu.samples(window, t_ns=0)}
    cores = len(readings[0].idle_s)
    resolution_s = 0.01 * cores
    assert loads["cpu_hosts"] / 100 * cores * window.dur_ns / SECOND_NS >= own_s - resolution_s
    assert len(readings) in {5, 6}
    assert readings[0].available_b is not None


def test_a_link_without_counters_has_the_load_of_machines_alone() -> None:
    window = watched({"machine": [reading(0, 1.0), reading(1, 1.5)]}, {}, {})
    assert {sample.metric for sample in cpu.samples(window, t_ns=0)} == {
        "cpu_system",
        "cpu_core",
        "cpu_hosts",
    }


def test_an_interval_of_no_time_or_of_other_cores_has_no_value() -> None:
    for readings in ([reading(0, 1.0)] * 2, [reading(0, 1.0, 1.0), reading(1, 1.5)]):
        assert {load.value for load in cpu.samples(watched({"machine": readings}, {}, {}), t_ns=0)} == {None}


def test_energy_is_that_of_all_packages_and_is_absent_without_counters() -> None:
    def energy(*readings: tuple[float, ...]) -> list[tuple[str, str, float | None]]:
        both = [reading(second, 1.0, energy_j=joules) for second, joules in enumerate(readings)]
        found = cpu.samples(watched({"machine": both}, {}, {}), t_ns=0)
        return [(s.unit, s.endpoint, s.value) for s in found if s.metric == "energy"]

    assert energy((0.5, 1.0), (3.0, 4.0)) == [("J", "machine", 5.5)]
    assert energy((), ()) == []
    assert energy((0.5, 1.0), (3.0,)) == []


def test_machines_and_radios_are_sampled_over_the_window_until_the_process_ends() -> None:
    with subprocess.Popen(["sleep", "60"]) as running:
        until, observed = time.monotonic() + 0.6, link(ap="one", sta="one")
        window = watch.over(observed, running, until)
        assert window.after.monotonic_ns >= until * SECOND_NS
        assert [dict(totals.counters) for totals in (window.before, window.after)] == [{"elapsed_s": 1.0}] * 2
        assert (list(window.machines), list(window.radios)) == (["machine"], ["sta"])
        assert window.after.machines == {"machine": MachineTimes(steal_s=0.01, softirq_s=0.01, all_s=1.0)}
        hosts: Any = observed.hosts
        assert hosts["ap"].sampled == [(watch.MACHINE_HZ, (), True)]
        assert hosts["sta"].sampled == [(watch.RADIO_HZ, ("wlan0",), False)]
        running.kill()
        running.wait()
        assert watch.over(link(ap="one"), running, time.monotonic() + 60).dur_ns < 10 * SECOND_NS


def test_events_of_interfaces_are_kept_until_they_are_asked_for() -> None:
    with watch.InterfaceEvents(link(ap="one", sta="one")) as events:
        assert events.end() == [{"at_s": 1.0, "host": "sta", "event": "disconnected"}]
    with watch.InterfaceEvents(link(ap="one")) as events:
        assert events.end() == []


def test_hosts_of_one_kernel_are_one_machine() -> None:
    assert list(machines(link(ap="one", sta="one", server="one"))) == ["machine"]
    assert list(machines(link(ap="one", sta1="two", sta2="two", server="one"))) == ["ap", "sta1"]
    assert list(machines(link(ap=None, sta=None))) == ["ap", "sta"]


def hosts_of(*boot_ids: str | None) -> list[Any]:
    return [Machine(boot_id) for boot_id in boot_ids]


def test_clocks_are_shared_only_where_that_is_known() -> None:
    one, same, other, unknown, again = hosts_of("one", "one", "two", None, None)
    assert share_clocks(one, same)
    assert not share_clocks(one, other)
    assert not share_clocks(unknown, again)
