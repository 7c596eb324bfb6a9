"""The real tools over emulated air: their measurements compared with the air's capture and timing."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shutil import which
from statistics import median

import pytest

from airtoll.host import machine_lacks
from airtoll.labs import air
from airtoll.labs.air import Air
from airtoll.probes import Measurement, Probe
from airtoll.probes.ftp import Ftp
from airtoll.probes.iperf3 import Throughput
from airtoll.probes.irtt import Irtt
from airtoll.probes.rtt import Rtt
from airtoll.probes.sockperf import Sockperf
from airtoll.study.cell import Cell, Method
from airtoll.study.link import LinkSettings

MakeCell = Callable[..., Cell]

pytestmark = [
    pytest.mark.air,
    pytest.mark.skipif(air.missing() is not None, reason=str(air.missing())),
]


def measured(
    probe: Probe, cell: Cell, method: Method, pcap: Path | None = None, link: LinkSettings | None = None
) -> Measurement:
    if (missing := probe.missing(machine_lacks)) is not None:
        pytest.skip(missing)
    with Air(link).open(cell, 1, pcap) as opened:
        return probe.measure(opened, cell, method)


def values(measurement: Measurement, metric: str, direction: str) -> list[float]:
    return [
        sample.value
        for sample in measurement.samples
        if (sample.metric, sample.direction, sample.phase) == (metric, direction, "measure")
        and sample.value is not None
    ]


@pytest.mark.skipif(which("tshark") is None, reason="not installed: tshark")
@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
@pytest.mark.parametrize("payload_b", [76, 512])
def test_segments_on_air_have_the_requested_payload(
    cell: MakeCell, method: Method, tmp_path: Path, payload_b: int, ip: str
) -> None:
    pcap = tmp_path / "air.pcap"
    asked = cell(transport="tcp", ip=ip, packet_size=payload_b, tcp_size="mss")
    measurement = measured(Throughput(), asked, method, pcap)
    assert measurement.faults == []
    assert measurement.facts["tcp_segment_bytes"] == payload_b
    data = "tcp.dstport == 5201 and tcp.len > 0 and tcp.stream == 1"  # stream 0 is the control connection
    command = ["tshark", "-r", str(pcap), "-Y", data, "-T", "fields", "-e", "tcp.len"]
    lengths = Counter(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    (most, count), *_ = lengths.most_common(1)
    assert most == str(payload_b)
    assert lengths.total() - count <= 2  # the cookie with which the connection begins


def test_a_delay_is_at_least_the_airtime_of_its_frame(cell: MakeCell, method: Method) -> None:
    # 802.11a at 6 Mbit/s: 1408 octets of payload, 28 of UDP and IPv4, 8 of LLC/SNAP, 28 of MAC header and FCS, 16 of
    # CCMP; 16 + 6 bits of SERVICE and tail; 24 bits per symbol of 4 us; 20 us of preamble (IEEE Std 802.11-2020,
    # 17.4.3).
    measurement = measured(Irtt(), cell(rate="6 Mbit/s", security="ccmp"), method)
    assert measurement.faults == []
    symbols = -(-(8 * (1408 + 28 + 8 + 28 + 16) + 22) // 24)
    least_ms = (20 + 4 * symbols) / 1000
    assert measurement.facts["interval_ms"] > 2 * least_ms / 0.3
    for way in ("up", "down"):
        delays_ms = values(measurement, "delay_idle", way)
        assert len(delays_ms) >= 20
        assert least_ms < min(delays_ms) < least_ms + 1
    assert values(measurement, "datagrams_lost", "both") == [0]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_both_tools_of_round_trips_agree_on_one_link(cell: MakeCell, method: Method, transport: str) -> None:
    # A round trip of 1408 B at 6 Mbit/s takes more than 4 ms, so that wake-ups of a busy machine are a small part.
    asked = cell(transport=transport, ip="ipv4", rate="6 Mbit/s")
    probes = (Rtt(), Sockperf())
    if (missing := probes[1].missing(machine_lacks)) is not None:
        pytest.skip(missing)
    with Air().open(asked, 1) as link:
        medians_ms = [
            median(values(probe.measure(link, asked, method), metric, "both"))
            for probe, metric in zip(probes, ("rtt", "rtt_sockperf"), strict=True)
        ]
    assert medians_ms[0] == pytest.approx(medians_ms[1], rel=0.05)


def test_datagrams_lost_on_air_are_counted_by_direction(cell: MakeCell, method: Method) -> None:
    lossy = LinkSettings(retry_limit=1)
    measurement = measured(Irtt(), cell(snr=22.5), method.model_copy(update={"duration": 1.0}), link=lossy)
    sent, up, down = (
        values(measurement, *what)[0]
        for what in (("datagrams_sent", "both"), ("datagrams_lost", "up"), ("datagrams_lost", "down"))
    )
    assert 0 < up < sent
    assert 0 < down < sent
    assert len(values(measurement, "rtt", "both")) == sent - up - down


@pytest.mark.parametrize(("direction", "ip"), [("up", "ipv4"), ("down", "ipv6")])
def test_a_file_comes_as_fast_as_tcp_does(cell: MakeCell, method: Method, direction: str, ip: str) -> None:
    levels = {"transport": "tcp", "direction": direction, "ip": ip, "security": "ccmp"}
    measurement = measured(Ftp(), cell(**levels), method)
    assert measurement.faults == []
    (whole,) = values(measurement, "ftp_rate", direction)
    steady = values(measurement, "ftp_rate_steady", direction)
    # TCP over 802.11a at 54 Mbit/s carries 24 to 27 Mbit/s; slow start and other transfers' logins reduce it
    assert 2.2e6 < sum(steady) / len(steady) < 3.4e6
    assert 1.5e6 < whole < 3.4e6


def test_radio_metrics_cover_the_window(cell: MakeCell, method: Method) -> None:
    measurement = measured(Throughput(), cell(snr=24.0, security="ccmp"), method)
    samples = [sample for sample in measurement.samples if sample.probe == "radio"]
    radio = {sample.metric: sample.value for sample in samples if sample.endpoint == "link"}
    assert set(radio) == {"snr", "snr_p5", "snr_p95", "noise", "phy_rate", "retries", "airtime"}
    assert radio["snr"] == radio["snr_p5"] == radio["snr_p95"] == 24.0
    powers = {sample.endpoint: sample.value for sample in samples if sample.metric == "rssi"}
    assert powers.pop("ap") == -69.99
    assert set(powers.values()) <= {-69.99}
    assert radio["noise"] == pytest.approx(-93.99, abs=0.01)
    assert radio["phy_rate"] == 54e6
    assert radio["retries"] is not None
    assert 0 < radio["retries"] < 50
    assert radio["airtime"] is not None
    assert 50 < radio["airtime"] < 100
