"""Hosts leave segmentation and checksums to their device, but packets on the air are complete and valid."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from observer import tshark

from airtoll import _rust
from airtoll.host import Host
from airtoll.labs.air import Air
from airtoll.labs.base import Link
from airtoll.labs.emulated import MTU_B
from airtoll.study.cell import Cell
from airtoll.study.factors import Ip
from airtoll.study.link import LinkSettings

pytestmark = pytest.mark.usefixtures("lab")

PORT = 4243
DATAGRAM_B = 1000

COMMON = f"""
import socket, sys
where = (sys.argv[1], {PORT})
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
data = bytes(number * 7919 % 251 for number in range(400_000))
UDP_SEGMENT = 103  # linux/udp.h; Python names it from 3.13 on
"""
TCP_SERVER = """
with socket.create_server(where, family=family) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    received = b""
    while chunk := peer.recv(65536):
        received += chunk
    assert received == data, (len(received), len(data))
"""
TCP_CLIENT = """
with socket.create_connection(where, timeout=10) as peer:
    peer.sendall(data)
"""
UDP_SERVER = f"""
with socket.socket(family, socket.SOCK_DGRAM) as receiver:
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    receiver.settimeout(10)
    receiver.bind(where)
    print("ready", flush=True)
    for at in range(0, 40_500, {DATAGRAM_B}):
        assert receiver.recv(4096) == data[at:at + {DATAGRAM_B}][:40_500 - at], at
"""
UDP_CLIENT = f"""
with socket.socket(family, socket.SOCK_DGRAM) as sender:
    sender.connect(where)
    sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, {DATAGRAM_B})
    sender.send(data[:40_500])  # one call, which the device splits into 41 datagrams
"""
PROGRAMS = {"tcp": (TCP_SERVER, TCP_CLIENT), "udp": (UDP_SERVER, UDP_CLIENT)}


def exchange(link: Link, server: str, client: str, address: str) -> None:
    """Run the client on the station once the server on the access point is ready; both must succeed."""
    with link.hosts["ap"].popen([sys.executable, "-c", server, address]) as receiver:
        assert receiver.next_line(time.monotonic() + 10) == b"ready"
        sent = link.hosts["sta"].run([sys.executable, "-c", client, address], timeout_s=20)
        assert sent.returncode == 0, sent.stderr.decode()
        _, stderr = receiver.communicate(timeout=20)
        assert receiver.returncode == 0, stderr.decode()


def transfer(link: Link, transport: str, ip: Ip) -> None:
    """Send from the station to the access point, which compares the received octets with the sent octets."""
    server, client = (COMMON + program for program in PROGRAMS[transport])
    exchange(link, server, client, link.addresses["ap", ip])


def totals(link: Link) -> tuple[int, ...]:
    """Totals of the station's traffic: MPDUs that arrived, packets into its device, packets out of the AP's, faults.

    The totals are read when no packet is in flight, so that all of them count the same packets.
    """
    found = counted(link)
    while (later := counted(link)) != found:
        found = later
    return found


def counted(link: Link) -> tuple[int, ...]:
    counters = link.counters()
    wrong = [counters[name] for name in ("open_errors", "refused", "unclassified", "unsplittable")]
    devices = device_packets(link.hosts["sta"], "tx"), device_packets(link.hosts["ap"], "rx")
    return (counters["sta"]["mpdus"], *devices, *wrong)


def device_packets(host: Host, direction: str) -> int:
    """Packets between a host's stack and its device; a super-packet counts as one."""
    shown = host.run(["ip", "-json", "-stats", "link", "show", _rust.DEVICE_NAME], timeout_s=10)
    packets: int = json.loads(shown.stdout)[0]["stats64"][direction]["packets"]
    return packets


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_super_packets_cross_the_air_as_valid_packets(
    cell: Callable[..., Cell],
    tmp_path: Path,
    transport: Any,
    ip: Ip,
    coalesce: bool,
) -> None:
    lab = Air(LinkSettings(coalesce=coalesce))
    capture = tmp_path / "air.pcap"
    link_cell = cell(phy="ht", rate="mcs15", bandwidth=40, gi="short", ip=ip, security="ccmp")
    with lab.open(link_cell, seed=1, pcap=capture) as link:
        assert link.facts["coalesce"] is coalesce
        if not link.facts["offloads"][transport]:
            pytest.skip(f"this kernel has TUN devices that do not segment {transport}")
        before = totals(link)
        transfer(link, transport, ip)
        on_air, sent, received, *wrong = (
            end - start for start, end in zip(before, totals(link), strict=True)
        )
        key = link.facts["temporal_keys"].get("sta")
    assert sent < on_air / 4, "the sending stack left the splitting to its device"
    assert received < on_air / 2 if coalesce else received == on_air
    assert wrong == [0, 0, 0, 0]

    of_flow = ["-Y", f"{transport}.port == {PORT}"]
    network = "ip.len" if ip == "ipv4" else "ipv6.plen"
    fields = [network, "ip.checksum.status", f"{transport}.checksum.status", "_ws.expert.message"]
    verify = [f"{name}.check_checksum:TRUE" for name in ("ip", "tcp", "udp")]
    frames = tshark(
        capture,
        *of_flow,
        *(word for field in fields for word in ("-e", field)),
        *(word for option in verify for word in ("-o", option)),
        key=key,
    )
    assert len(frames) >= on_air
    lengths, ip_checksums, checksums, _ = zip(*frames, strict=True)
    assert max(int(length) for length in lengths) <= MTU_B
    assert set(ip_checksums) == ({"1"} if ip == "ipv4" else {""}), "1 is good"
    assert set(checksums) == {"1"}


def test_hosts_send_only_packets_of_the_test(lab: Air, cell: Callable[..., Cell], tmp_path: Path) -> None:
    capture = tmp_path / "air.pcap"
    # 400 kB at 6 Mbit/s take longer than the kernel's delay before its Router Solicitation.
    with lab.open(cell(phy="ofdm", rate="6 Mbit/s", ip="ipv6", security="open"), 1, capture) as link:
        transfer(link, "tcp", "ipv6")
    packets = tshark(capture, "-Y", "ip || ipv6", "-e", "_ws.col.Protocol", "-e", "tcp.port")
    assert len(packets) > 300
    assert [packet for packet in packets if str(PORT) not in packet[1]] == []


def test_many_flows_at_once_keep_their_order(lab: Air, cell: Callable[..., Cell]) -> None:
    many = """
import concurrent.futures, socket, sys
def send(number):
    with socket.create_connection((sys.argv[1], 4244), timeout=10) as peer:
        for step in range(200):
            peer.sendall(bytes([number]) + step.to_bytes(2, "big") + bytes(1000))
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(send, range(8)))
"""
    serve = """
import selectors, socket, sys
streams, done = {}, 0
with socket.create_server((sys.argv[1], 4244)) as server, selectors.DefaultSelector() as selector:
    selector.register(server, selectors.EVENT_READ)
    print("ready", flush=True)
    while done < 8:
        for key, _ in selector.select(10):
            if key.fileobj is server:
                peer, _ = server.accept()
                selector.register(peer, selectors.EVENT_READ)
                streams[peer] = b""
            elif chunk := key.fileobj.recv(65536):
                streams[key.fileobj] += chunk
            else:
                selector.unregister(key.fileobj)
                done += 1
for data in streams.values():
    number = data[0]
    assert data == b"".join(bytes([number]) + step.to_bytes(2, "big") + bytes(1000) for step in range(200))
"""
    with lab.open(cell(phy="ht", rate="mcs15"), seed=1) as link:
        address = link.addresses["ap", "ipv4"]
        with link.hosts["ap"].popen([sys.executable, "-W", "ignore", "-c", serve, address]) as server:
            assert server.next_line(time.monotonic() + 10) == b"ready"
            sent = link.hosts["sta"].run([sys.executable, "-c", many, address], timeout_s=20)
            assert sent.returncode == 0, sent.stderr.decode()
            _, stderr = server.communicate(timeout=20)
            assert server.returncode == 0, stderr.decode()
