"""Round trips over an idle link of lab air."""

import statistics
import sys

from airtoll.host import Host
from airtoll.labs.air import Air
from airtoll.probes.process import serving
from airtoll.study.cell import Cell

PORT = 5000
ANSWER = f"""
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind((sys.argv[1], {PORT}))
    print("bound", flush=True)
    while True:
        message, peer = server.recvfrom(2048)
        server.sendto(message, peer)
"""
ASK = f"""
import socket, sys, time
message = bytes(int(sys.argv[2]))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(1)
    client.connect((sys.argv[1], {PORT}))
    for _ in range(1000):
        time.sleep(0.002)
        start = time.perf_counter_ns()
        client.send(message)
        client.recv(2048)
        print(time.perf_counter_ns() - start)
"""


def median_round_trip_us(cell: Cell, seed: int) -> float:
    """Median round trip of datagrams of the cell's packet size from the station, one every 2 ms, answered at once."""
    with Air().open(cell, seed) as link:
        return _median_us(link.hosts["sta"], link.hosts["ap"], link.addresses["ap", "ipv4"], cell.packet_size)


def median_without_air_us(cell: Cell) -> float:
    """The same on one host, without the air: the share of the programs and of the machine."""
    with Air().open(cell, seed=1) as link:
        return _median_us(link.hosts["ap"], link.hosts["ap"], "127.0.0.1", cell.packet_size)


def _median_us(client: Host, server: Host, address: str, size: int) -> float:
    with serving(server, [sys.executable, "-c", ANSWER, address], "udp", PORT, "answering program"):
        asked = client.run([sys.executable, "-c", ASK, address, str(size)], timeout_s=60)
    return statistics.median(map(int, asked.stdout.split())) / 1000
