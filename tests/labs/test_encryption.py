"""An independent observer, tshark, shows that the link is encrypted."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import which

import pytest
from observer import tshark

from airtoll.errors import AirtollError
from airtoll.labs.air import Air
from airtoll.labs.base import Link
from airtoll.study.cell import Cell
from airtoll.study.factors import Ip
from airtoll.study.link import LinkSettings
from airtoll.study.security import CIPHERS, SecurityProfile

pytestmark = pytest.mark.usefixtures("lab")

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
import contextlib, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as receiver:
    receiver.settimeout(60)
    receiver.bind((sys.argv[1], {PORT}))
    print("bound", flush=True)
    with contextlib.suppress(TimeoutError):
        for _ in range({len(DATAGRAMS)}):
            print(receiver.recv(2048).hex())
"""


def send_datagrams(link: Link, ip: Ip) -> list[bytes]:
    """Send DATAGRAMS from the station to the access point; the datagrams that arrived."""
    address = link.addresses["ap", ip]
    with link.hosts["ap"].popen([sys.executable, "-c", RECEIVE, address]) as receiver:
        assert receiver.next_line(time.monotonic() + 10) == b"bound"
        sent = link.hosts["sta"].run([sys.executable, "-c", SEND, address], timeout_s=20)
        assert sent.returncode == 0, sent.stderr
        received, stderr = receiver.communicate(timeout=90)
        assert receiver.returncode == 0, stderr
    arrived = [bytes.fromhex(line) for line in received.decode().split()]
    if arrived != DATAGRAMS:
        print(ip, link.counters())  # pytest shows it if the test fails
    return arrived


@pytest.mark.parametrize(
    ("ip", "phy", "rate"),
    [
        ("ipv4", "ofdm", "54 Mbit/s"),
        ("ipv6", "ht", "mcs7"),
        pytest.param("ipv4", "ht", "mcs7", marks=pytest.mark.long),
        pytest.param("ipv6", "ofdm", "54 Mbit/s", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("security", ["open", "ccmp"])
def test_an_observer_reads_only_frames_of_open_networks(
    lab: Air, cell: Callable[..., Cell], tmp_path: Path, security: str, ip: Ip, phy: str, rate: str
) -> None:
    capture = tmp_path / "air.pcap"
    with lab.open(cell(security=security, ip=ip, phy=phy, rate=rate), seed=7, pcap=capture) as link:
        assert send_datagrams(link, ip) == DATAGRAMS
        facts = link.facts
        key = facts["temporal_keys"].get("sta")

    fields = ("wlan.fc.type", "wlan.fc.protected", "wlan.fcs.status", "radiotap.mactime", "_ws.malformed")
    of_payload = ("udp.dstport", "udp.payload")
    rows = tshark(
        capture,
        *(word for field in (*fields, *of_payload) for word in ("-e", field)),
        *("-o", "wlan.check_checksum:TRUE"),
    )
    assert {row[4] for row in rows} == {""}
    frames = [row for row in rows if int(row[3]) >= int(facts["joining_ms"] * 1000)]
    data = [frame for frame in frames if frame[0] == "2"]
    assert len(data) >= len(DATAGRAMS)
    assert {frame[2] for frame in frames} == {"1"}, "every frame has a right FCS"
    assert {frame[1] for frame in data} == {"0" if security == "open" else "1"}
    assert {frame[0] for frame in frames} == {"1", "2"}, (
        "data frames, and the Ack or BlockAck of each transmission"
    )

    in_the_clear = [bytes.fromhex(row[6]) for row in rows if row[5] == str(PORT)]
    if security == "open":
        assert in_the_clear == DATAGRAMS
        return
    assert in_the_clear == []
    assert b"datagram" not in capture.read_bytes()
    payloads = ("-Y", f"udp.dstport == {PORT}", "-e", "udp.payload")
    assert [bytes.fromhex(frame[0]) for frame in tshark(capture, *payloads, key=key)] == DATAGRAMS
    wrong_key = f"{int(key[0], 16) ^ 1:x}{key[1:]}"
    assert tshark(capture, *payloads, key=wrong_key) == []


SOME_LANES = ("enhanced2", "enhanced4")
"""The other numbers of lanes are tested always."""


def test_every_run_has_a_key_of_its_own(lab: Air, cell: Callable[..., Cell]) -> None:
    keys = set()
    for seed in (1, 2):
        with lab.open(cell(security="ccmp"), seed=seed) as link:
            keys.add(link.facts["temporal_keys"]["sta"])
    assert len(keys) == 2


@pytest.mark.parametrize(
    "security",
    [
        "open",
        *(pytest.param(name, marks=[pytest.mark.long] * (name in SOME_LANES)) for name in CIPHERS),
    ],
)
def test_frames_of_every_suite_arrive_and_tshark_decrypts_known_suites(
    lab: Air, cell: Callable[..., Cell], tmp_path: Path, security: str
) -> None:
    capture = tmp_path / "air.pcap"
    # If hosts seal them, enhanced frames are payload of an open air.
    of_suite = cell(security=security, crypto_at="card" if security.startswith("enhanced") else "host")
    with lab.open(of_suite, seed=3, pcap=capture) as link:
        assert send_datagrams(link, "ipv4") == DATAGRAMS
        assert link.counters()["open_errors"] == 0
        assert link.facts["cipher"] == security
        key = link.facts["temporal_keys"].get("sta")
    headers = {"tkip": "wlan.tkip.extiv", "wep40": "wlan.wep.iv", "wep104": "wlan.wep.iv", "open": "llc"}
    fields = ("udp.dstport", "udp.payload", headers.get(security, "wlan.ccmp.extiv"))
    rows = tshark(capture, *(word for field in fields for word in ("-e", field)), key=key)
    opened = [bytes.fromhex(row[1]) for row in rows if row[0] == str(PORT)]
    # tshark accepts no temporal key for TKIP, only keys from the handshake, and does not know Enhanced CCMP.
    unknown = security == "tkip" or security.startswith("enhanced")
    assert opened == ([] if unknown else DATAGRAMS)
    assert sum(row[2] != "" for row in rows) >= len(DATAGRAMS)
    assert (b"datagram" in capture.read_bytes()) == (security == "open")


WITH_PASSPHRASE = ("tkip", "ccmp", "ccmp256", "gcmp", "gcmp256")


@pytest.mark.parametrize(
    ("security", "wpa_key_mgmt"),
    [
        *((security, "wpa-psk") for security in WITH_PASSPHRASE),
        *((security, "wpa-psk-sha256") for security in ("tkip", "ccmp")),
        *(
            pytest.param(security, "wpa-psk-sha256", marks=pytest.mark.long)
            for security in ("ccmp256", "gcmp", "gcmp256")
        ),
    ],
)
def test_a_capture_is_decrypted_with_only_the_passphrase(
    cell: Callable[..., Cell], tmp_path: Path, security: str, wpa_key_mgmt: str
) -> None:
    lab = Air(LinkSettings(wpa_key_mgmt=wpa_key_mgmt, beacon_interval=100))
    of = cell(security=security)
    if security == "tkip" and wpa_key_mgmt != "wpa-psk":
        assert lab.check(of) == "security tkip uses WPA, which supports only wpa_key_mgmt wpa-psk and wpa-eap"
        return
    capture = tmp_path / "air.pcap"
    with lab.open(of, seed=3, pcap=capture) as link:
        assert send_datagrams(link, "ipv4") == DATAGRAMS
        assert link.facts["wpa_key_mgmt"] == wpa_key_mgmt
        passphrase = link.facts["wpa_passphrase"]
    payloads = ("-Y", f"udp.dstport == {PORT}", "-e", "udp.payload")
    opened = tshark(capture, *payloads, passphrase=passphrase)
    assert [bytes.fromhex(frame[0]) for frame in opened] == DATAGRAMS
    if security == "ccmp":
        assert tshark(capture, *payloads, passphrase=passphrase[::-1]) == []

    # Decrypted Ethernet frames of airtoll equal those of airdecap-ng, for suites that airdecap-ng supports.
    if which("airdecap-ng") is None:
        pytest.skip("airdecap-ng is not installed: apt-get install aircrack-ng")
    in_microseconds, ours = tmp_path / "us.pcap", tmp_path / "ours.pcap"
    subprocess.run(["editcap", "-F", "pcap", capture, in_microseconds], check=True, timeout=60)
    decrypt = [Path(sys.executable).with_name("airtoll"), "decrypt", in_microseconds, "--out", ours]
    done = subprocess.run([*decrypt, "--psk", passphrase], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [bytes.fromhex(row[0]) for row in tshark(ours, *payloads)] == DATAGRAMS
    if security in ("tkip", "ccmp") and wpa_key_mgmt == "wpa-psk":
        airdecap = ["airdecap-ng", "-e", "airtoll", "-p", passphrase, in_microseconds]
        subprocess.run(airdecap, stdout=subprocess.DEVNULL, check=True, timeout=60)
        frames = [
            subprocess.run(["tshark", "-r", path, "-x"], capture_output=True, check=True).stdout
            for path in (ours, tmp_path / "us-dec.pcap")
        ]
        assert frames[0] == frames[1]


def test_frames_of_an_sae_session_are_not_decrypted_with_the_passphrase(
    cell: Callable[..., Cell], tmp_path: Path
) -> None:
    capture = tmp_path / "air.pcap"
    with Air(LinkSettings(wpa_key_mgmt="sae")).open(cell(security="ccmp"), seed=3, pcap=capture) as link:
        assert send_datagrams(link, "ipv4") == DATAGRAMS
        facts = link.facts
    payloads = ("-Y", f"udp.dstport == {PORT}", "-e", "udp.payload")
    assert tshark(capture, *payloads, passphrase=facts["wpa_passphrase"]) == []
    opened = tshark(capture, *payloads, key=facts["temporal_keys"]["sta"])
    assert [bytes.fromhex(frame[0]) for frame in opened] == DATAGRAMS


@pytest.mark.parametrize(("security", "akm"), [("owe", "18"), ("wpa3-transition", "8"), ("mine", "8")])
def test_stations_join_by_the_strongest_key_management_of_a_profile(
    cell: Callable[..., Cell], tmp_path: Path, security: str, akm: str
) -> None:
    capture = tmp_path / "air.pcap"
    mine = SecurityProfile(wpa_key_mgmt="sae", pairwise="gcmp256")
    with Air(profiles={"mine": mine}).open(cell(security=security), seed=3, pcap=capture) as link:
        assert send_datagrams(link, "ipv4") == DATAGRAMS
        facts = link.facts
    assert facts["cipher"] == link.known.cipher == ("gcmp256" if security == "mine" else "ccmp")
    assert facts["wpa_key_mgmt"] == ("owe" if security == "owe" else "sae")
    assert tshark(capture, "-Y", "wlan.fc.type_subtype == 0x0000", "-e", "wlan.rsn.akms.type") == [[akm]]
    offered = tshark(capture, "-Y", "wlan.fc.type_subtype == 0x0005", "-e", "wlan.rsn.akms.type")
    assert offered == [["2,8" if security == "wpa3-transition" else akm]]
    assert tshark(capture, "-Y", "_ws.malformed", "-e", "frame.number") == []
    payloads = ("-Y", f"udp.dstport == {PORT}", "-e", "udp.payload")
    assert tshark(capture, *payloads, passphrase=facts["wpa_passphrase"]) == []
    opened = tshark(capture, *payloads, key=facts["temporal_keys"]["sta"])
    assert [bytes.fromhex(frame[0]) for frame in opened] == DATAGRAMS


def test_a_station_joins_the_link_by_frames_of_the_standard(
    cell: Callable[..., Cell], tmp_path: Path
) -> None:
    capture = tmp_path / "air.pcap"
    with Air().open(cell(security="ccmp"), seed=3, pcap=capture):
        pass
    rows = tshark(capture, *("-e", "wlan.fc.type_subtype"), *("-e", "wlan_rsna_eapol.keydes.msgnr"))
    steps = [(subtype, message) for subtype, message in rows if subtype != "0x001d"]
    assert steps[:10] == [
        *(("0x0004", ""), ("0x0005", "")),  # Probe Request, Probe Response
        *(("0x000b", ""), ("0x000b", "")),  # Authentication
        *(("0x0000", ""), ("0x0001", "")),  # Association Request, Association Response
        *(("0x0020", str(message)) for message in range(1, 5)),  # the 4-way handshake
    ]
    assert tshark(capture, "-Y", "_ws.malformed", "-e", "frame.number") == []


@pytest.mark.parametrize("wpa_key_mgmt", [None, "wpa-psk-sha256"])
def test_enhanced_frames_are_sealed_by_the_hosts_over_open_air(
    cell: Callable[..., Cell], tmp_path: Path, wpa_key_mgmt: str | None
) -> None:
    capture = tmp_path / "air.pcap"
    lab = Air(LinkSettings(wpa_key_mgmt=wpa_key_mgmt))
    with lab.open(cell(security="enhanced4"), seed=3, pcap=capture) as link:
        assert send_datagrams(link, "ipv4") == DATAGRAMS
        assert send_datagrams(link, "ipv6") == DATAGRAMS
        assert (link.facts["cipher"], link.facts["wpa_key_mgmt"]) == ("enhanced4", wpa_key_mgmt or "sae")
        overhead_b = link.facts["link_overhead_bytes"]
        counters = link.counters()
    assert (counters["open_errors"], counters["link_dropped"]) == (0, 0)
    assert b"datagram" not in capture.read_bytes()
    # Unprotected Data frames carry only frames of the link.
    rows = tshark(capture, "-Y", "llc", "-e", "wlan.fc.protected", "-e", "llc.type", "-e", "data.len")
    assert {(protected, ethertype) for protected, ethertype, _ in rows} <= {("0", "0x88b5"), ("0", "0x888e")}
    datagram_b = 20 + 8 + len(DATAGRAMS[0])
    sealed = [row for row in rows if row[2] == str(datagram_b + overhead_b)]
    assert len(sealed) >= len(DATAGRAMS)


def test_an_end_of_the_link_that_dies_is_named(
    lab: Air, cell: Callable[..., Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with lab.open(cell(security="enhanced1"), seed=3) as link:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                program, *words = path.read_text().split("\0")
                if "nsenter" not in program and f"{tmp_path}/" in " ".join(words) and "sta" in words:
                    os.kill(int(path.parent.name), signal.SIGKILL)
        with pytest.raises(AirtollError, match="the link's end on sta ended"):
            link.counters()


def test_a_link_has_no_key_management_of_wpa2(cell: Callable[..., Cell]) -> None:
    reason = Air(LinkSettings(wpa_key_mgmt="wpa-psk")).check(cell(security="enhanced4"))
    assert reason == "wpa_key_mgmt 'wpa-psk': Enhanced CCMP on the host requires sae or wpa-psk-sha256"
