"""Delay and responsiveness while TCP loads the air, compared with iperf3 and with the idle link."""

from collections.abc import Callable
from statistics import fmean, median

import pytest
from virtual_time import clock

from airtoll.labs.air import Air
from airtoll.probes import Measurement
from airtoll.probes.iperf3 import Throughput
from airtoll.probes.responsiveness import Responsiveness
from airtoll.probes.rtt import Rtt
from airtoll.study.cell import Cell, Method

MakeCell = Callable[..., Cell]

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.virtual_time]


def values(measurement: Measurement, metric: str, direction: str) -> list[float]:
    return [
        sample.value
        for sample in measurement.samples
        if (sample.metric, sample.direction, sample.phase) == (metric, direction, "measure")
        and sample.value is not None
    ]


def test_a_loaded_link_is_as_fast_as_tcp_and_as_slow_as_its_queue(cell: MakeCell) -> None:
    asked = cell(transport="tcp", security="ccmp")
    method = Method(repeats=1, discard_first=0, duration=2.0, warmup=0.5, seed=1)
    with Air(clock=clock()).open(asked, 1) as link:
        idle_ms = median(values(Rtt().measure(link, asked, method), "rtt", "both"))
        tcp_bit_per_s = fmean(
            sample.value or 0.0
            for sample in Throughput().measure(link, asked, method).samples
            if (sample.metric, sample.endpoint, sample.phase) == ("throughput", "ap", "measure")
        )
        loaded = Responsiveness(interval_s=0.25).measure(link, asked, method)
    assert list(loaded.faults) == []
    for way in ("up", "down"):
        assert fmean(values(loaded, "load_throughput", way)) == pytest.approx(tcp_bit_per_s, rel=0.15)
        rtts_ms, (rpm,) = values(loaded, "rtt_loaded", way), values(loaded, "responsiveness", way)
        (response_ms,) = values(loaded, "response_time", way)
        assert rpm * response_ms == pytest.approx(60_000)
        # The queue of the device fills: datagrams and requests wait in it.
        assert median(rtts_ms) > 10 * idle_ms
        assert response_ms > median(rtts_ms)
        # The other direction is free.
        delay_ms = median(values(loaded, "delay_loaded", way))
        assert 0.8 * median(rtts_ms) < delay_ms < median(rtts_ms)
        # Datagrams leave on time, whether or not earlier ones have been answered.
        assert values(loaded, "datagrams_sent", way) == [200]
        assert loaded.facts[way]["confidence"] in {"medium", "high"}
