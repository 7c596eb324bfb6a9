"""Lab air with more than two hosts: several stations, a server behind the access point, modelled cards."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from observer import tshark
from virtual_time import clock

from airtoll.labs.air import Air
from airtoll.labs.base import Link
from airtoll.labs.emulated import pairs
from airtoll.labs.sim import Sim
from airtoll.probes import Measurement
from airtoll.probes.iperf3 import Throughput
from airtoll.probes.rtt import Rtt
from airtoll.probes.simulated import SimulatedThroughput
from airtoll.stats import per_run
from airtoll.store import Samples
from airtoll.study import LinkSettings
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Ip

pytestmark = pytest.mark.virtual_time

MakeCell = Callable[..., Cell]
PORT = 4242

SERVE = f"""
import socket, sys
address, datagrams = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as udp, socket.create_server((address, {PORT}), family=family) as tcp:
    udp.settimeout(10)
    udp.bind((address, {PORT}))
    print("ready", flush=True)
    for _ in range(datagrams):
        data, peer = udp.recvfrom(2048)
        udp.sendto(data[::-1], peer)
    stream, _ = tcp.accept()
    data = b""
    while chunk := stream.recv(65536):
        data += chunk
    stream.sendall(data[::-1])
"""
ASK = f"""
import socket, sys
address, datagrams = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as udp:
    udp.settimeout(10)
    udp.connect((address, {PORT}))
    for number in range(datagrams):
        sent = f"datagram {{number:03d}} ".encode() * 20
        udp.send(sent)
        assert udp.recv(2048) == sent[::-1]
sent = bytes(range(256)) * 128
with socket.create_connection((address, {PORT}), timeout=10) as tcp:
    tcp.sendall(sent)
    tcp.shutdown(socket.SHUT_WR)
    data = b""
    while chunk := tcp.recv(65536):
        data += chunk
assert data == sent[::-1]
"""
# Pauses, so that the queue of the host's own device never overflows.
BURST = f"""
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    for _ in range(25):
        for _ in range(100):
            udp.sendto(bytes(1400), (sys.argv[1], {PORT}))
        time.sleep(0.001)
"""


def exchange(link: Link, client: str, server: str, ip: Ip, datagrams: int = 5) -> None:
    """Exchange datagrams, then a stream, between the client's host and the server's."""
    words = [link.addresses[server, ip], str(datagrams)]
    with link.hosts[server].popen([sys.executable, "-c", SERVE, *words]) as serving:
        assert serving.next_line(time.monotonic() + 10) == b"ready"
        asked = link.hosts[client].run([sys.executable, "-c", ASK, *words], timeout_s=20)
        assert asked.returncode == 0, asked.stderr.decode()


@pytest.mark.parametrize(
    "levels",
    [
        {"topology": "stations", "stations": 3},
        {"topology": "wired-ap", "stations": 2},
        {"topology": "through-ap", "stations": 2},
        {"topology": "wired-ap", "crypto_at": "card"},
        {"topology": "through-ap", "crypto_at": "card"},
        {"topology": "stations", "stations": 3, "security": "enhanced4"},
        {"topology": "wired-ap", "stations": 2, "security": "enhanced4"},
        {"topology": "through-ap", "security": "enhanced4"},
        {"topology": "wired-ap", "security": "enhanced4", "crypto_at": "card"},
    ],
)
def test_every_pair_of_a_topology_reaches_each_other(
    lab: Air, cell: MakeCell, levels: dict[str, Any]
) -> None:
    of = cell(**{"security": "ccmp", **levels})
    with lab.open(of, seed=1) as link:
        assert link.pairs == pairs(of)
        # Both versions of IP, and every pair.
        ips: Iterator[Ip] = cycle(("ipv4", "ipv6"))
        for (station, other), ip in zip(link.pairs * (2 if len(link.pairs) == 1 else 1), ips, strict=False):
            exchange(link, station, other, ip)
        counters = link.counters()
    assert counters["open_errors"] == 0
    assert counters["drops_wired"] == (0 if of.topology == "wired-ap" else None)
    stations = {name for pair in link.pairs for name in pair if name.startswith("sta")}
    for name in ("ap", *stations):
        assert counters[name]["mpdus"] > 20
        assert counters[name]["drops_queue"] == 0
        assert (counters[name]["processor_busy_s"] or 0) > 0 or of.crypto_at == "host"


def test_a_station_reaches_any_other(lab: Air, cell: MakeCell) -> None:
    with lab.open(cell(topology="wired-ap", stations=2), seed=1) as link:
        exchange(link, "sta2", "sta1", "ipv4")
        exchange(link, "ap", "sta2", "ipv6")
        exchange(link, "server", "ap", "ipv4")


def test_each_hop_through_the_access_point_is_sealed_with_its_own_stations_key(
    lab: Air, cell: MakeCell, tmp_path: Path
) -> None:
    capture = tmp_path / "air.pcap"
    with lab.open(cell(topology="through-ap", security="ccmp"), seed=3, pcap=capture) as link:
        exchange(link, "sta1", "sta2", "ipv4", datagrams=20)
        keys = link.facts["temporal_keys"]
    ap, sta1, sta2 = (f"02:00:00:00:00:0{number}" for number in (1, 2, 3))
    names = ("wlan.ra", "wlan.ta", "wlan.da", "wlan.sa", "udp.srcport", "udp.dstport", "wlan.ccmp.extiv")
    fields = [word for name in names for word in ("-e", name)]
    assert tshark(capture, "-Y", "udp", *fields) == []
    hops = {
        "sta1": [ap, sta1, sta2, sta1],  # to the access point, with the destination in address 3
        "sta2": [sta2, ap, sta2, sta1],  # forwarded, with the source in address 3
    }
    assert len(set(keys.values())) == 2
    for station, addresses in hops.items():
        rows = tshark(capture, *fields, key=keys[station])
        assert [row[:4] for row in rows if row[5] == str(PORT)] == [addresses] * 20
        answered = [row for row in rows if row[4] == str(PORT)]
        assert len(answered) == 20
        assert {tuple(sorted(row[:2])) for row in answered} == {tuple(sorted(addresses[:2]))}
        # Each association counts packet numbers separately for each direction.
        numbers = [int(row[6], 16) for row in rows if row[6] and row[:2] == addresses[:2]]
        assert numbers == list(range(1, len(numbers) + 1))


def test_frames_to_the_server_have_its_address_as_da(lab: Air, cell: MakeCell, tmp_path: Path) -> None:
    capture = tmp_path / "air.pcap"
    with lab.open(cell(topology="wired-ap"), seed=3, pcap=capture) as link:
        exchange(link, "sta", "server", "ipv6")
    names = ("wlan.ra", "wlan.da", "wlan.sa", "udp.srcport", "udp.dstport")
    ap, sta, server = (f"02:00:00:00:00:0{number}" for number in (1, 2, 3))
    rows = tshark(capture, "-Y", "udp", *(word for name in names for word in ("-e", name)))
    assert [row[:3] for row in rows if row[4] == str(PORT)] == [[ap, server, sta]] * 5
    assert [row[:3] for row in rows if row[3] == str(PORT)] == [[sta, sta, server]] * 5


def least_rtt_ms(lab: Air, cell: Cell) -> float:
    """The shortest of many round trips, which other load of the machine does not prolong."""
    method = Method(repeats=1, discard_first=0, duration=0.6, warmup=0.2, seed=1)
    with lab.open(cell, seed=1) as link:
        measured = Rtt().measure(link, cell, method)
    return min(s.value for s in measured.samples if s.metric == "rtt" and s.value is not None)


def with_link(lab: Air, **settings: Any) -> Air:  # noqa: ARG001  (skips if there is no lab)
    """The lab with settings of a study's [link]."""
    return Air(LinkSettings(**settings), clock=clock())


def test_a_wire_delays_both_ways(lab: Air, cell: MakeCell) -> None:
    wired = cell(topology="wired-ap", security="ccmp")
    near, far = (least_rtt_ms(with_link(lab, wired_delay=us), wired) for us in (0.0, 5000.0))
    assert 10.0 - 0.2 < far - near < 10.0 + 0.3


def test_a_card_takes_its_time_four_times_a_round_trip(lab: Air, cell: MakeCell) -> None:
    slow = with_link(lab, processor_frame=1000.0, processor_byte=0.0)
    host = least_rtt_ms(lab, cell(security="ccmp"))
    card = least_rtt_ms(slow, cell(security="ccmp", crypto_at="card"))
    assert 4.0 - 0.2 < card - host < 4.0 + 0.3
    # Open frames need no processing in the card.
    assert least_rtt_ms(lab, cell(crypto_at="card")) < host + 0.3


def test_drops_at_full_wire_and_processor_queues_are_counted(lab: Air, cell: MakeCell) -> None:
    slow_wire = with_link(lab, wired_rate=1.0)
    with slow_wire.open(cell(topology="wired-ap"), seed=1) as link:
        burst = [sys.executable, "-c", BURST, link.addresses["sta", "ipv4"]]
        assert link.hosts["server"].run(burst, timeout_s=10).returncode == 0
        assert link.counters()["drops_wired"] > 0
        assert link.facts["wired"] == {"rate_bit_per_s": 1_000_000, "delay_us": 0.0, "queue_limit": 1000}
    slow_card = with_link(lab, processor_frame=1000.0)
    with slow_card.open(cell(crypto_at="card", security="ccmp"), seed=1) as link:
        burst = [sys.executable, "-c", BURST, link.addresses["ap", "ipv4"]]
        assert link.hosts["sta"].run(burst, timeout_s=10).returncode == 0
        counters = link.counters()
        assert counters["sta"]["drops_processor"] > 0
        assert counters["ap"]["drops_processor"] == 0
        assert 0 < counters["sta"]["processor_busy_s"] <= counters["elapsed_s"]
        assert link.facts["processor"] == {
            "frame_us": 1000.0,
            "byte_ns": 225.0,
            "latency_us": 0.0,
            "latency_byte_ns": 0.0,
            "receive_limit": 512,
        }


def throughput_bit_per_s(measurement: Measurement) -> float:
    """The number of a run in a report."""
    found = per_run([Samples.of("r", measurement.samples)])
    (value,) = (value for _, metric, value in found if metric == "throughput")
    return value


needs_iperf3 = pytest.mark.skipif(which("iperf3") is None, reason="not installed: iperf3")


@needs_iperf3
def test_through_the_access_point_as_much_gets_as_in_virtual_time(lab: Air, cell: MakeCell) -> None:
    method = Method(repeats=1, discard_first=0, duration=4.0, warmup=0.5, seed=1)
    relayed = cell(topology="through-ap", security="ccmp")
    with lab.open(relayed, seed=1) as link:
        measured = Throughput().measure(link, relayed, method)
    with Sim().open(relayed, seed=1) as link:
        expected = SimulatedThroughput().measure(link, relayed, method)
    assert measured.faults == []
    assert throughput_bit_per_s(measured) == pytest.approx(throughput_bit_per_s(expected), rel=0.03)


@needs_iperf3
def test_stations_are_measured_at_the_same_time_and_summed(lab: Air, cell: MakeCell) -> None:
    method = Method(repeats=1, discard_first=0, duration=1.0, warmup=0.3, seed=1)
    of = cell(topology="stations", stations=3, direction="both", security="ccmp")
    with lab.open(of, seed=1) as link:
        measured = Throughput().measure(link, of, method)
    assert measured.faults == []
    assert len(measured.raw) == 2 * 6
    assert {json.loads(raw)["start"]["version"].split()[0] for raw in measured.raw.values()} == {"iperf"}
    each: dict[tuple[str, str], list[float]] = {}
    for sample in measured.samples:
        if sample.metric == "throughput_station" and sample.phase == "measure" and sample.value is not None:
            each.setdefault((sample.endpoint, sample.direction), []).append(sample.value)
    stations = ("sta1", "sta2", "sta3")
    received = [("ap", "up"), ("sta", "down")]
    arrived = [each[f"{end}/{station}", way] for end, way in received for station in stations]
    total = sum(sum(values) / len(values) for values in arrived)
    assert total == pytest.approx(throughput_bit_per_s(measured), rel=0.05)
    # Four contenders, including the access point, share the throughput of one station: about 29 Mbit/s.
    assert 25e6 < total < 31e6


@pytest.mark.parametrize("levels", [{"direction": "both"}, {"topology": "through-ap"}])
def test_more_udp_streams_than_iperf3_starts_are_refused(cell: MakeCell, levels: dict[str, Any]) -> None:
    many = {"topology": "stations", "stations": 5, **levels}
    assert "iperf3 cannot start a stream" in str(Air().check(cell(**many)))
    assert Air().check(cell(**many, transport="tcp")) is None


@needs_iperf3
def test_payload_is_sent_down_if_requested(lab: Air, cell: MakeCell) -> None:
    method = Method(repeats=1, discard_first=0, duration=0.5, warmup=0.2, seed=1)
    down = cell(topology="wired-ap", direction="down", transport="tcp")
    with lab.open(down, seed=1) as link:
        measured = Throughput().measure(link, down, method)
        counters = link.counters()
    assert measured.faults == []
    assert {(s.endpoint, s.direction) for s in measured.samples if s.metric == "throughput"} == {
        ("sta", "down"),
        ("ap", "down"),
    }
    assert throughput_bit_per_s(measured) > 15e6
    assert counters["ap"]["octets"] > 10 * counters["sta"]["octets"]
