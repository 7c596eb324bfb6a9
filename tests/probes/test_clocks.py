"""Differences of clocks: hosts in time namespaces, whose clocks differ by a known time, and comparisons that drift."""

from collections.abc import Callable
from typing import Any

import pytest
from probe_hosts import PlainHost, make_link

from airtoll.host import ClockOffset, machine_lacks
from airtoll.labs.base import Link
from airtoll.probes import Measurement, clocks
from airtoll.probes.base import Sample
from airtoll.probes.irtt import Irtt
from airtoll.probes.video import Video
from airtoll.study.cell import Cell, Method

MakeCell = Callable[..., Cell]

AHEAD_S = {"ap": 2000, "sta": 500}
"""The hosts' monotonic clocks minus this machine's."""


class Elsewhere(PlainHost):
    """A host that claims to be a machine of its own, and has its own monotonic clock."""

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "boot_id": f"that of {self.name}"}


@pytest.fixture
def apart(veth_prefixes: dict[str, list[str]]) -> Link:
    """The link of the other tests, between hosts whose clocks differ by 1500 s."""
    hosts: dict[str, PlainHost] = {}
    for role, prefix in veth_prefixes.items():
        own_time = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(AHEAD_S[role])]
        if "--user" in prefix:
            pytest.skip("time namespaces require root")
        hosts[role] = Elsewhere(role, [*prefix, *own_time])
    return make_link(hosts)


def values(measurement: Measurement, metric: str, direction: str | None = None) -> list[float]:
    return [
        sample.value
        for sample in measurement.samples
        if sample.metric == metric and sample.phase == "measure" and sample.value is not None
        if direction in (None, sample.direction)
    ]


def test_the_offset_of_a_clock_is_within_its_uncertainty(apart: Link) -> None:
    pair = clocks.ClockPair(apart.hosts["sta"], apart.hosts["ap"])
    pair.close()
    found = pair.at(pair.receiver.before.at_ns)
    assert abs(found.offset_ns - 1500e9) <= found.uncertainty_ns < 1e6
    wall = pair.wall_at(pair.receiver.before.at_ns)
    assert wall is not None
    assert abs(wall.offset_ns) <= wall.uncertainty_ns < 1e6  # the time of day has no namespaces
    assert pair.facts()["clocks"] == "apart"


def test_video_between_other_clocks_plays_at_the_same_time_and_has_delays(
    apart: Link, cell: MakeCell, method: Method
) -> None:
    measured = Video().measure(apart, cell(offered=8.0), method)
    assert [fault for fault in measured.faults if "its host, not the link" not in fault] == []
    assert values(measured, "loss") == [0]
    assert measured.facts["clock_difference_us"] == pytest.approx(1500e6, abs=1000)
    # A smoothly paced frame takes the time of a frame, so that the uncertainty of the clocks is small beside it.
    assert len(values(measured, "throughput")) == 5
    uncertainty_ms = measured.facts["clock_uncertainty_us"] / 1000
    delays_ms = values(measured, "delay")
    # A packet takes some 50 us between the namespaces: it depends on the machine whether the clocks are good enough.
    if delays_ms:
        assert uncertainty_ms <= clocks.SHARE_MOST * delays_ms[0] + 1e-6
        assert values(measured, "clock_uncertainty") == [pytest.approx(uncertainty_ms, rel=0.5)]
        assert all(25 < delay_ms < 45 for delay_ms in values(measured, "frame_delay"))
    else:
        assert values(measured, "frame_delay") == values(measured, "late_frames") == []


@pytest.mark.skipif(Irtt().missing(machine_lacks) is not None, reason="not installed: irtt")
def test_irtt_compares_the_time_of_day(apart: Link, cell: MakeCell, method: Method) -> None:
    measured = Irtt().measure(apart, cell(), method)
    assert list(measured.faults) == []
    assert len(values(measured, "rtt")) > 25
    for way in ("up", "down"):
        uncertainties_ms = values(measured, "clock_uncertainty", way)
        delays_ms = values(measured, "delay_idle", way)
        assert bool(uncertainties_ms) == bool(delays_ms)
        assert all(-uncertainties_ms[0] < delay_ms < 10 for delay_ms in delays_ms)


class Drifting:
    """A host whose clock runs fast by 10 ppm, compared to 5 us; its time of day may be set."""

    def __init__(self, set_by_ns: int = 0) -> None:
        self.name = "drifting"
        self._offsets = [
            ClockOffset(1_000_000, 5_000, 0, wall_ahead_ns=7),
            ClockOffset(1_100_000, 5_000, 10_000_000_000, wall_ahead_ns=7 + set_by_ns),
        ]

    def facts(self) -> dict[str, Any]:
        return {"boot_id": "another"}

    def clock(self) -> ClockOffset:
        return self._offsets.pop(0)


def drifting(set_by_ns: int = 0) -> clocks.HostClock:
    host: Any = Drifting(set_by_ns)
    clock = clocks.HostClock(host)
    clock.close()
    return clock


def test_a_clock_is_interpolated_between_both_comparisons() -> None:
    clock = drifting()
    found = [clock.at(second * 1e9) for second in (-1, 0, 5, 10, 11)]
    assert [one.offset_ns for one in found] == [1_000_000, 1_000_000, 1_050_000, 1_100_000, 1_100_000]
    # The rate may have varied by 1 ppm around the middle.
    assert [one.uncertainty_ns for one in found] == pytest.approx([5_000, 5_000, 10_000, 5_000, 5_000])


def test_a_time_of_day_that_was_set_is_unknown() -> None:
    assert drifting().wall_at(5e9) == clocks.ClockDifference(1_050_007, pytest.approx(10_000))
    assert drifting(set_by_ns=2_000_000).wall_at(5e9) is None


def test_a_delay_is_absent_if_its_clocks_are_too_uncertain() -> None:
    delays = [Sample("irtt", "delay_idle", "ms", "ap", "up", t_ns, 2, 1.0) for t_ns in (10, 20, 30)]
    assert clocks.known(delays, 0.0) == delays
    *same, uncertainty = clocks.known(delays, 0.05e6)
    assert same == delays
    assert uncertainty == Sample("irtt", "clock_uncertainty", "ms", "ap", "up", 10, 22, 0.05)
    assert clocks.known(delays, 0.11e6) == clocks.known([], 5.0) == []
