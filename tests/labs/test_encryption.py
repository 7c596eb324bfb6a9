"""An independent observer, tshark, decides whether the link is really encrypted."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from observer import tshark

from airtoll.labs.air import Air
from airtoll.labs.base import Link
from airtoll.study.cell import Cell, Ip, Security

PORT = 4242
DATAGRAMS = [f"datagram {number:03d} ".encode() * 20 for number in range(40)]

SEND = f"""
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as sender:
    sender.connect((sys.argv[1], {PORT}))
    for number in range({len(DATAGRAMS)}):
        sender.send(f"datagram {{number:03d}} ".encode() * 20)
"""
RECEIVE = f"""
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as receiver:
    receiver.settimeout(10)
    receiver.bind((sys.argv[1], {PORT}))
    print("bound", flush=True)
    for _ in range({len(DATAGRAMS)}):
        print(receiver.recv(2048).hex())
"""


def send_datagrams(link: Link, ip: Ip) -> list[bytes]:
    """Sends DATAGRAMS from the station to the access point; what arrived there."""
    address = link.addresses["ap", ip]
    with link.hosts["ap"].popen([sys.executable, "-c", RECEIVE, address]) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"bound\n"
        sent = link.hosts["sta"].run([sys.executable, "-c", SEND, address], timeout_s=20)
        assert sent.returncode == 0, sent.stderr
        received, stderr = receiver.communicate(timeout=20)
        assert receiver.returncode == 0, stderr
    return [bytes.fromhex(line) for line in received.decode().split()]


@pytest.mark.parametrize("phy_rate", [("ofdm", "54 Mbit/s"), ("ht", "mcs7")])
@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
@pytest.mark.parametrize("security", ["open", "ccmp"])
def test_what_an_observer_of_the_air_can_read(
    lab: Air, cell: Callable[..., Cell], tmp_path: Path, security: str, ip: Ip, phy_rate: tuple[str, str]
) -> None:
    capture = tmp_path / "air.pcap"
    phy, rate = phy_rate
    with lab.open(cell(security=security, ip=ip, phy=phy, rate=rate), seed=7, pcap=capture) as link:
        assert send_datagrams(link, ip) == DATAGRAMS
        key = link.facts["temporal_key"]

    fields = ["wlan.fc.type", "wlan.fc.protected", "wlan.fcs.status", "wlan.fc.type_subtype"]
    frames = tshark(
        capture, *(word for field in fields for word in ("-e", field)), "-o", "wlan.check_checksum:TRUE"
    )
    data = [frame for frame in frames if frame[0] == "2"]
    assert len(data) >= len(DATAGRAMS)
    assert {frame[2] for frame in frames} == {"1"}, "every frame has a right FCS"
    assert {frame[1] for frame in data} == {"0" if security == "open" else "1"}
    assert {frame[0] for frame in frames} == {"1", "2"}, (
        "data frames, and the Ack or BlockAck of each transmission"
    )
    assert tshark(capture, "-Y", "_ws.malformed", "-e", "frame.number") == []

    payloads = ("-Y", f"udp.dstport == {PORT}", "-e", "udp.payload")
    in_the_clear = [bytes.fromhex(frame[0]) for frame in tshark(capture, *payloads)]
    if security == "open":
        assert in_the_clear == DATAGRAMS
        return
    assert in_the_clear == []
    assert b"datagram" not in capture.read_bytes()
    assert [bytes.fromhex(frame[0]) for frame in tshark(capture, *payloads, key=key)] == DATAGRAMS
    wrong_key = f"{int(key[0], 16) ^ 1:x}{key[1:]}"
    assert tshark(capture, *payloads, key=wrong_key) == []


def test_every_run_has_a_key_of_its_own(lab: Air, cell: Callable[..., Cell]) -> None:
    keys = set()
    for seed in (1, 2):
        with lab.open(cell(security="ccmp"), seed=seed) as link:
            keys.add(link.facts["temporal_key"])
    assert len(keys) == 2


@pytest.mark.parametrize("security", get_args(Security))
def test_frames_of_every_suite_arrive_and_tshark_opens_those_that_it_knows(
    lab: Air, cell: Callable[..., Cell], tmp_path: Path, security: str
) -> None:
    capture = tmp_path / "air.pcap"
    of_suite = cell().model_copy(update={"security": security})
    with lab.open(of_suite, seed=3, pcap=capture) as link:
        assert send_datagrams(link, "ipv4") == DATAGRAMS
        assert link.counters()["open_errors"] == 0
        assert link.facts["cipher"] == security
        key = link.facts["temporal_key"]
    payloads = ("-Y", f"udp.dstport == {PORT}", "-e", "udp.payload")
    opened = [bytes.fromhex(frame[0]) for frame in tshark(capture, *payloads, key=key)]
    # tshark takes no temporal key of TKIP, only what the handshake gives; Enhanced CCMP is airtoll's own.
    unknown = security == "tkip" or security.startswith("enhanced")
    assert opened == ([] if unknown else DATAGRAMS)
    headers = {"tkip": "wlan.tkip.extiv", "wep40": "wlan.wep.iv", "wep104": "wlan.wep.iv", "open": "llc"}
    header = headers.get(security, "wlan.ccmp.extiv")
    assert len(tshark(capture, "-Y", header, "-e", "frame.number")) >= len(DATAGRAMS)
    assert (b"datagram" in capture.read_bytes()) == (security == "open")
