"""The counterparts of irtt, FTP and the radio in virtual time, compared with the medium's timing."""

import json
from collections.abc import Callable

import pytest

from airtoll.labs.sim import Sim
from airtoll.prediction.predictions import paced_as_measured
from airtoll.probes import PROBES, Measurement, probes_of
from airtoll.stats import METRICS, per_run
from airtoll.store import Samples
from airtoll.study.cell import Cell, Method
from airtoll.study.link import LinkSettings
from airtoll.study.plan import measures
from airtoll.study.probes import lacks

MakeCell = Callable[..., Cell]

METHOD = Method(repeats=1, discard_first=0, duration=1.0, warmup=0.2, seed=1)
Values = dict[tuple[str, str, str], float | None]


def measured(
    name: str, cell: Cell, settings: LinkSettings | None = None, method: Method = METHOD
) -> Measurement:
    (probe,) = probes_of([name], "sim")
    with Sim(settings).open(cell, seed=3) as link:
        return probe.measure(link, cell, method)


def jitter_ms(measurement: Measurement) -> float:
    value = values(measurement)["jitter", "ap", "up"]
    assert value is not None
    return value


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


def test_datagrams_leave_as_iperf3_sends_them_in_lab_air(cell: MakeCell) -> None:
    # A datagram of 1440 octets every millisecond: lab air lets iperf3 check four times per datagram.
    asked = cell(lab="sim", packet_size=1440, offered=11.52)
    usual = measured("throughput", asked)
    assert json.loads(usual.raw["scenario.json"])["pacing_timer_us"] == 250
    assert jitter_ms(usual) < 0.001
    # Four datagrams at once, 0.39 ms apart on the air: three differences of 0.39 ms, then one of 3 * 0.39 ms.
    bursts = measured("throughput", asked, LinkSettings(pacing_timer=4000))
    assert jitter_ms(bursts) == pytest.approx(1.5 * 0.39, rel=0.1)


def test_a_load_beyond_the_link_has_the_default_timer_of_iperf3(cell: MakeCell) -> None:
    asked = cell(lab="sim", packet_size=128)
    set_by_study = METHOD.model_copy(update={"udp_load": "tcp"})
    assert paced_as_measured(LinkSettings(), asked, METHOD).pacing_timer == 1000
    assert paced_as_measured(LinkSettings(), asked, set_by_study).pacing_timer is None
    assert paced_as_measured(LinkSettings(pacing_timer=200), asked, METHOD).pacing_timer == 200


def test_the_cpu_of_a_slow_host_limits_small_packets_but_not_files(cell: MakeCell) -> None:
    slow = LinkSettings(write_time=100)  # 10.24 Mbit/s of 128 octets
    for transport in ("tcp", "udp"):
        asked = cell(lab="sim", transport=transport, packet_size=128, rate="54 Mbit/s")
        limit = min(10.24e6, values(measured("throughput", asked))["throughput", "ap", "up"] or 0)
        found = values(measured("throughput", asked, slow))["throughput", "ap", "up"]
        assert found == pytest.approx(limit, rel=0.02)
    file = cell(lab="sim", transport="tcp", packet_size=128, rate="54 Mbit/s")
    assert values(measured("ftp", file, slow)) == values(measured("ftp", file))


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


@pytest.mark.parametrize("name", [name for name, entry in PROBES.items() if entry.in_sim])
def test_lab_sim_lacks_only_the_metrics_that_no_model_gives(cell: MakeCell, name: str) -> None:
    """A study may have a claim about exactly those metrics that a run has."""
    of_run = (
        cell(lab="sim", snr=24.0, transport=transport, offered=10.0 if PROBES[name].paced else "max")
        for transport in ("udp", "tcp")
    )
    samples = [each for of in of_run if measures(name, of) for each in measured(name, of).samples]
    found = {number.metric for number in per_run([Samples.of("r1", samples)])}
    assert found == {metric for metric in METRICS if lacks(metric, [name], "sim", "real") is None}
