"""The counterparts of irtt, FTP and the radio in virtual time, compared with the medium's timing."""

from collections.abc import Callable

import pytest

from airtoll.labs.sim import Sim
from airtoll.probes import Measurement, probes_of
from airtoll.study.cell import Cell, Method

MakeCell = Callable[..., Cell]

METHOD = Method(repeats=1, discard_first=0, duration=1.0, warmup=0.2, seed=1)
Values = dict[tuple[str, str, str], float | None]


def measured(name: str, cell: Cell) -> Measurement:
    (probe,) = probes_of([name], "sim")
    with Sim().open(cell, seed=3) as link:
        return probe.measure(link, cell, METHOD)


def values(measurement: Measurement) -> Values:
    return {(s.metric, s.endpoint, s.direction): s.value for s in measurement.samples}


def test_idle_delays_are_the_airtime_of_a_datagram_each_way(cell: MakeCell) -> None:
    # 802.11a at 6 Mbit/s: DIFS of 34 us, preamble of 20 us, and 496 symbols of 4 us for 8 * (1408 + 28 + 8 + 28) + 22
    # bits at 24 per symbol (IEEE Std 802.11-2020, 17.4.3 and table 17-21); on an idle medium there is no backoff.
    measurement = measured("irtt", cell(lab="sim", rate="6 Mbit/s"))
    symbols = -(-(8 * (1408 + 28 + 8 + 28) + 22) // 24)
    airtime_ms = (34 + 20 + 4 * symbols) / 1000
    found = values(measurement)
    assert found["delay_idle", "ap", "up"] == pytest.approx(airtime_ms, rel=0.02)
    assert found["delay_idle", "sta", "down"] == pytest.approx(airtime_ms, rel=0.02)
    assert found["loss_idle", "ap", "up"] == found["loss_idle", "sta", "down"] == 0
    rtt_ms = found["rtt", "sta", "both"]
    assert rtt_ms is not None
    assert rtt_ms > 2 * airtime_ms
    assert measurement.facts["interval_ms"] > 4 * rtt_ms - 1  # only one datagram is on its way at a time
    assert set(measurement.raw) == {
        f"{what}{call}.json" for what in ("scenario", "answer") for call in ("", "-2", "-3")
    }


def test_a_file_comes_as_fast_as_tcp_with_full_segments(cell: MakeCell) -> None:
    small = cell(lab="sim", transport="tcp", packet_size=128)
    found = values(measured("ftp", small))
    full = values(measured("throughput", small.model_copy(update={"packet_size": 1448})))
    bit_per_s = full["throughput", "ap", "up"]
    assert bit_per_s is not None
    assert found["ftp_rate", "ap", "up"] == found["ftp_rate_steady", "ap", "up"]
    assert found["ftp_rate", "ap", "up"] == pytest.approx(bit_per_s / 8, rel=0.02)


def test_radio_metrics_accompany_throughput(cell: MakeCell) -> None:
    found = values(measured("throughput", cell(lab="sim", snr=24.0)))
    radio = {metric: value for (metric, endpoint, _), value in found.items() if endpoint == "link"}
    assert radio["snr"] == radio["snr_p5"] == radio["snr_p95"] == 24.0
    assert found["rssi", "ap", ""] == radio["noise"] + 24.0 == -69.99
    assert radio["phy_rate"] == 54e6
    busy = sum(value or 0 for metric, value in radio.items() if metric.startswith("airtime_"))
    assert radio["airtime"] == pytest.approx(100 * (busy - (radio["airtime_ifs_backoff_idle"] or 0)))
    clean = values(measured("throughput", cell(lab="sim")))
    assert ("snr", "link", "") not in clean
    assert ("noise", "link", "") not in clean
    assert clean["retries", "link", ""] == 0
    assert (radio["retries"] or 0) > 0
