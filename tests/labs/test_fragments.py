"""MSDUs above the fragmentation threshold are sent in fragments, and tshark reassembles them like the receiver."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from observer import since_joining, tshark
from test_offload import PORT, exchange, transfer
from virtual_time import clock

from airtoll.ciphers import Secrets, decrypt_capture
from airtoll.labs.air import Air
from airtoll.study.cell import Cell
from airtoll.study.link import LinkSettings

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.virtual_time]

THRESHOLD_B = 500
HEADER_AND_FCS_B = 28
PART_B = THRESHOLD_B - HEADER_AND_FCS_B
DATA = "0x0020"
STATION = "02:00:00:00:00:02"

MICHAEL_MIC_B = 8
SECURITY_B = {"open": 0, "wep104": 4 + 4, "tkip": 8 + 4, "ccmp": 8 + 8, "gcmp": 8 + 16}
"""Octets that each suite adds to a fragment. The MIC of TKIP is part of the MSDU (IEEE 802.11-2020 12.5.2.1.2)."""

FIELDS = (
    *("wlan.fc.type_subtype", "wlan.ta", "wlan.seq", "wlan.frag", "wlan.fc.frag", "wlan.fc.retry"),
    *("wlan.duration", "frame.len", "radiotap.length", "wlan.fcs.status", "_ws.malformed"),
    *("wlan.fragment.count", "wlan.fragment.error", "tcp.len"),
)


def observed(capture: Path, facts: Mapping[str, Any]) -> list[dict[str, str]]:
    """The frames of the link. tshark gets the WEP key as an option and other keys from the handshake."""
    rows = tshark(
        capture,
        *since_joining(facts),
        *(word for field in FIELDS for word in ("-e", field)),
        *("-o", "wlan.check_checksum:TRUE", "-o", "wlan.defragment:TRUE"),
        key=None if facts["wpa_passphrase"] else facts["temporal_keys"].get("sta"),
        passphrase=facts["wpa_passphrase"],
    )
    return [dict(zip(FIELDS, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    "security", ["open", "wep104", "tkip", "ccmp", pytest.param("gcmp", marks=pytest.mark.long)]
)
def test_every_suite_crosses_the_air_in_fragments(
    cell: Callable[..., Cell], tmp_path: Path, security: str
) -> None:
    air = Air(LinkSettings(fragmentation_threshold=THRESHOLD_B), clock=clock())
    link_cell = cell(phy="ofdm", rate="54 Mbit/s", security=security)
    assert air.check(link_cell) is None
    capture = tmp_path / "air.pcap"
    with air.open(link_cell, seed=3, pcap=capture) as link:
        transfer(link, "tcp", "ipv4")  # compares every octet
        counters, facts = link.counters(), link.facts
    assert (counters["open_errors"], counters["capture_lost"]) == (0, 0)
    frames = observed(capture, facts)
    assert {frame["wlan.fcs.status"] for frame in frames} == {"1"}
    assert {frame["_ws.malformed"] for frame in frames} == {""}
    assert {frame["wlan.fragment.error"] for frame in frames} == {""}

    bursts: dict[str, dict[int, dict[str, str]]] = defaultdict(dict)
    for frame in frames:
        if frame["wlan.fc.type_subtype"] == DATA and frame["wlan.ta"] == STATION:
            bursts[frame["wlan.seq"]].setdefault(int(frame["wlan.frag"]), frame)
    long = [burst for burst in bursts.values() if len(burst) > 1]
    assert len(long) > 50
    for burst in long:
        *first, last = (burst[number] for number in range(len(burst)))
        assert [frame["wlan.fc.frag"] for frame in (*first, last)] == ["1"] * len(first) + ["0"]
        lengths = [int(frame["frame.len"]) - int(frame["radiotap.length"]) for frame in first]
        assert set(lengths) == {THRESHOLD_B + SECURITY_B[security]}
        # A fragment's Duration also covers the next fragment (9.2.5.2).
        assert min(int(frame["wlan.duration"]) for frame in first) > int(last["wlan.duration"])
        last_b = (
            int(last["frame.len"]) - int(last["radiotap.length"]) - HEADER_AND_FCS_B - SECURITY_B[security]
        )
        # tshark removes a Michael MIC from every fragment, not from the MSDU, and rejects fragments that are too short.
        if security != "tkip" or last_b > MICHAEL_MIC_B:
            assert int(last["wlan.fragment.count"]) == len(burst)
    if security in ("tkip", "ccmp"):
        assert_decrypted(capture, tmp_path / "decrypted.pcap", facts)
    if security == "tkip":
        return
    segments = {int(burst[len(burst) - 1]["tcp.len"] or 0) for burst in long}
    assert max(segments) == 1448, "tshark read the TCP segment in the reassembled MSDU"


def assert_decrypted(capture: Path, decrypted: Path, facts: Mapping[str, Any]) -> None:
    """Assert that a decrypted capture has every MSDU."""
    found = decrypt_capture(capture, decrypted, Secrets(passphrase=facts["wpa_passphrase"].encode()))
    assert found.not_decrypted["fragment"] > 150
    assert not found.not_decrypted.keys() & {"wrong_key", "forged", "no_msdu", "damaged"}
    lengths = [int(length) for (length,) in tshark(decrypted, "-Y", "tcp", "-e", "tcp.len")]
    assert max(lengths) == 1448


def test_a_michael_mic_may_span_two_fragments(cell: Callable[..., Cell], tmp_path: Path) -> None:
    capture, decrypted = tmp_path / "air.pcap", tmp_path / "decrypted.pcap"
    msdu_b = [PART_B + MICHAEL_MIC_B - in_first for in_first in range(2 * MICHAEL_MIC_B)]
    payloads = [
        bytes([number]) * (length - 8 - 20 - 8) for number, length in enumerate(msdu_b)
    ]  # LLC, IPv4, UDP
    receive = f"""
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
    receiver.bind((sys.argv[1], {PORT}))
    receiver.settimeout(10)
    print("ready", flush=True)
    for payload in {payloads}:
        assert receiver.recv(2000) == payload
"""
    send = f"""
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for payload in {payloads}:
        sender.sendto(payload, (sys.argv[1], {PORT}))
"""
    settings = LinkSettings(fragmentation_threshold=THRESHOLD_B)
    with Air(settings, clock=clock()).open(
        cell(phy="ofdm", rate="54 Mbit/s", security="tkip"), 3, capture
    ) as link:
        exchange(link, receive, send, link.addresses["ap", "ipv4"])
        secrets = Secrets(passphrase=link.facts["wpa_passphrase"].encode())
    decrypt_capture(capture, decrypted, secrets)
    read = tshark(decrypted, "-Y", f"udp.dstport == {PORT}", "-e", "udp.payload")
    assert [bytes.fromhex(payload) for (payload,) in read] == payloads


@pytest.mark.parametrize("security", ["ccmp", pytest.param("tkip", marks=pytest.mark.long)])
def test_a_lost_fragment_is_retransmitted_alone(
    cell: Callable[..., Cell], tmp_path: Path, security: str
) -> None:
    settings = LinkSettings(fragmentation_threshold=THRESHOLD_B, error_model="nist")
    capture = tmp_path / "air.pcap"
    link_cell = cell(phy="ofdm", rate="54 Mbit/s", security=security, snr=22.0)
    with Air(settings, clock=clock()).open(link_cell, seed=3, pcap=capture) as link:
        transfer(link, "tcp", "ipv4")
        counters, facts = link.counters(), link.facts
    assert counters["open_errors"] == 0
    frames = observed(capture, facts)
    again = [
        frame
        for frame in frames
        if frame["wlan.fc.type_subtype"] == DATA and frame["wlan.fc.retry"] == "1" and frame["wlan.frag"]
    ]
    assert {"1", "2"} <= {frame["wlan.frag"] for frame in again}, "not the first alone"


def test_mpdus_in_an_ampdu_are_not_fragmented(cell: Callable[..., Cell], tmp_path: Path) -> None:
    capture = tmp_path / "air.pcap"
    link_cell = cell(phy="ht", rate="mcs7", security="ccmp")
    with Air(LinkSettings(fragmentation_threshold=THRESHOLD_B), clock=clock()).open(
        link_cell, 3, capture
    ) as link:
        transfer(link, "tcp", "ipv4")
        facts = link.facts
    frames = observed(capture, facts)
    assert {frame["wlan.frag"] for frame in frames} <= {"", "0"}
    assert {frame["wlan.fc.frag"] for frame in frames} == {"0"}
