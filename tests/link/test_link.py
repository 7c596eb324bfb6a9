"""`airtoll link` in real namespaces: all five phases and their faults."""

import json
import os
import pwd
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from link_hosts import DEVICE, End, Host, Network, Program

AP = "10.77.0.1"
GUIDE = Path(__file__).parents[2] / "docs/how-to/protect-an-open-network.md"


def echo_replies(host: Host) -> int:
    """The number of echo replies that the host has received."""
    counts = host.run("nstat", "-asz", "IcmpInEchoReps", "Icmp6InEchoReplies")
    return sum(int(line.split()[1]) for line in counts.splitlines() if line.startswith("Icmp"))


def ping(host: Host, to: str = AP, count: int = 3, interval_s: float = 0.01) -> int:
    """The number of requests that were answered within one second after the last."""
    # If ping is interrupted just before it waits for its last answer, it waits forever.
    at_most = ["timeout", "--signal=INT", f"{5 + count * max(4 * interval_s, 0.02):.0f}"]
    before = echo_replies(host)
    out = host.run(*at_most, "ping", "-c", str(count), "-i", str(interval_s), "-W", "1", to, check=False)
    assert " received" in out, out
    # -W applies until the first answer. For others, ping waits at most one interval, or twice the longest round trip.
    give_up = time.monotonic() + 1
    while 0 < (answered := echo_replies(host) - before) < count and time.monotonic() < give_up:
        time.sleep(0.01)
    return answered


def connect(sta: End, times: int = 1) -> str:
    """Wait for a session and its addresses; the line about the session."""
    line = sta.wait("connected with", times)
    sta.wait("addresses 10.77.0.", times)
    return line


def forging(host: Host, kind: str, frames: int | None = None) -> list[str]:
    """A command that sends forged frames from a host's interface; with `frames` None, without end.

    `start`: a new station begins SAE with each frame. `deauth`: Deauthentications in the names of host 1 and host 2.
    `sealed`: data that fails to open, in the names of host 2 and of others.
    """
    script = f"""
import itertools, socket, struct
ap, sta = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
def frame(n):
    other = b"\\x06\\x00" + struct.pack(">I", n)
    if "{kind}" == "start":
        body = b"\\xb0\\x00\\x00\\x00" + ap + other + ap + b"\\x10\\x00"
        return ap + other + b"\\x88\\xb5" + body + struct.pack("<HHHH", 3, 1, 126, 19) + bytes([5]) * 96
    if "{kind}" == "deauth":
        to, by = (ap, sta) if n % 2 else (sta, ap)
        body = b"\\xc0\\x00\\x00\\x00" + to + by + ap + b"\\x10\\x00\\x07\\x00"
        return to + by + b"\\x88\\xb5" + body.ljust(46, b"\\0")
    by = sta if n % 2 else other
    header = b"\\x88\\x41\\x00\\x00" + ap + by + ap + bytes(4) + struct.pack("<HBBI", n % 65536, 0, 0x20, 1)
    return ap + by + b"\\x88\\xb5" + header.ljust(90, b"\\x5a")
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
    out.bind(("eth0", 0))
    for n in itertools.islice(itertools.count(), {frames}):
        out.send(frame(n % 2**32))
"""
    return host.command(sys.executable, "-c", script)


def inject(host: Host, frames: int, kind: str) -> None:
    """Send this number of forged frames."""
    subprocess.run(forging(host, kind, frames), check=True, timeout=60)


def resident_kib(end: End) -> int:
    """Resident memory of an end in KiB."""
    status = Path(f"/proc/{end.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    assert found
    return int(found[1])


def is_up(host: Host) -> bool:
    return "UP" in host.ip(f"link show {DEVICE}").split(">")[0]


def until(what: str, is_so: Callable[[], bool], timeout_s: float = 20) -> float:
    """Wait until a condition holds; the time waited in seconds."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() < began + timeout_s, what
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("transport", "akm", "workers"),
    [
        ("ethernet", "sae", 1),
        ("udp", "wpa-psk-sha256", 2),
        ("ethernet", "owe", 3),
        pytest.param("udp", "sae", 1, marks=pytest.mark.long),
        pytest.param("ethernet", "wpa-psk-sha256", 2, marks=pytest.mark.long),
        pytest.param("udp", "owe", 3, marks=pytest.mark.long),
    ],
)
def test_ends_connect_carry_packets_and_clean_up(
    network: Network, transport: str, akm: str, workers: int
) -> None:
    keys = {"akm": f'"{akm}"', "workers": str(workers), **({"passphrase_file": ""} if akm == "owe" else {})}
    ap = network.start("ap", 1, transport, **keys)
    ap.wait("is up")
    sta = network.start("sta", 2, transport, **keys)
    line = connect(sta)
    all_of_it = re.search(r"([0-9.]+) ms after discovery", line)
    handshake = re.search(r"([0-9.]+) ms after its association", ap.wait("connected with"))
    assert all_of_it
    assert handshake
    print(f"{akm} over {transport}: handshake {handshake[1]} ms, with SAE or OWE {all_of_it[1]} ms")
    assert ping(sta.host) == 3
    assert ping(sta.host, "fd77::1") == 3
    shown = ap.status()
    (member,) = shown["link"]["members"]
    assert (member["address"], member["akm"], member["cipher"]) == ("02:00:00:00:00:02", akm, "enhanced4")
    assert sta.status()["link"]["connected"] is True
    assert sta.stop() == 0
    ap.wait("the station leaves (reason code 3)")
    assert ap.stop(signal.SIGINT) == 0
    assert not sta.host.has_device()
    assert not ap.host.has_device()
    assert not list(network.folder.rglob("*.sock"))


@pytest.mark.parametrize("akm", ["sae", "wpa-psk-sha256"])
def test_a_wrong_passphrase_is_reported_by_both_ends(network: Network, akm: str) -> None:
    (network.folder / "wrong").write_text("battery staple\n")
    (network.folder / "wrong").chmod(0o600)
    wrong = {"passphrase_file": '"wrong"'}
    ap = network.start("ap", 1, akm=f'"{akm}"')
    sta = network.start("sta", 2, akm=f'"{akm}"', **wrong)
    ap.wait("wrong passphrase")
    # A single failure may be the effect of a forged or damaged frame.
    assert "next try in 30.0 s" in sta.wait("wrong passphrase", 3)
    assert ping(ap.host, "10.77.0.2", count=1) == 0
    assert sta.said("wrong passphrase") == 3


@pytest.mark.parametrize("transport", ["ethernet", pytest.param("udp", marks=pytest.mark.long)])
def test_killed_ends_reconnect(network: Network, transport: str) -> None:
    keys = {"keep_alive_s": "1"}
    ap = network.start("ap", 1, transport, **keys)
    sta = network.start("sta", 2, transport, **keys)
    connect(sta)
    assert sta.stop(signal.SIGKILL) != 0
    sta = network.start("sta", 2, transport, **keys)
    connect(sta)
    assert ping(sta.host) == 3
    ap.stop(signal.SIGKILL)
    ap = network.start("ap", 1, transport, **keys)
    connect(sta, 2)
    assert ping(sta.host) == 3


@pytest.mark.parametrize("transport", ["udp", pytest.param("ethernet", marks=pytest.mark.long)])
def test_stations_return_seconds_after_an_access_point_was_killed(network: Network, transport: str) -> None:
    # A long keep-alive interval, so that silence is not the cause.
    keys = {"keep_alive_s": "600"}
    ap = network.start("ap", 1, transport, **keys)
    sta = network.start("sta", 2, transport, **keys)
    connect(sta)
    ap.stop(signal.SIGKILL)
    ap = network.start("ap", 1, transport, **keys)
    ap.wait("is up")
    # Without beacons, the station's first packet tells the restarted access point of the station.
    took_s = until("the link is back", lambda: ping(sta.host, count=1) == 1)
    assert took_s < 10, sta.lines
    assert sta.said("connected with") == 2
    assert sta.said("no longer answers") == 1


def test_the_handshake_is_quick(network: Network) -> None:
    ap = network.start("ap", 1, akm='"wpa-psk-sha256"')
    took_ms = []
    for times in range(1, 6):
        sta = network.start("sta", 2, akm='"wpa-psk-sha256"')
        connect(sta)
        line = ap.wait("connected with", times)
        found = re.search(r"([0-9.]+) ms after its association", line)
        assert found
        took_ms.append(float(found[1]))
        assert sta.stop() == 0
    assert median(took_ms) < 10, took_ms


def test_a_link_of_ethernet_frames_is_a_switch(network: Network) -> None:
    tap = {"kind": '"tap"'}
    ends = [network.start("ap", 1, addresses="", **tap)]
    for number in (2, 3):
        ends.append(network.start("sta", number, **tap))
        ends[-1].wait("connected with")
    for number, end in enumerate(ends, 1):
        shown = end.host.ip(f"link show {DEVICE}")
        assert f"link/ether 02:00:00:00:00:{number:02x}" in shown
        assert "mtu 1436" in shown
        # Addresses that the link does not assign: ARP must find them through the access point.
        end.host.ip(f"address add 192.0.2.{number}/24 dev {DEVICE}")
    two = ends[1].host
    assert ping(two, "192.0.2.1") == 3
    assert ping(two, "192.0.2.3") == 3
    two.run("ping", "-c", "1", "-W", "2", "-M", "do", "-s", "1408", "192.0.2.3")
    # The access point's broadcasts reach the remaining stations after another station has left.
    leaving = network.start("sta", 4, **tap)
    leaving.wait("connected with")
    assert leaving.stop() == 0
    ends[0].wait("renewing the group key")
    for end in ends:
        end.host.ip(f"neigh flush dev {DEVICE}")
    assert ping(ends[0].host, "192.0.2.3") == 3
    assert ping(two, "192.0.2.3") == 3
    counted = ends[2].status()["counters"]["inbound"]
    assert (counted["replayed"], counted["no_key"], counted["forged"]) == (0, 0, 0)
    # A station has one address: hosts behind it are blocked.
    two.ip(f"link add link {DEVICE} name other0 type macvlan")
    two.ip("link set other0 up")
    two.ip("address add 192.0.2.99/24 dev other0")
    two.run("ping", "-c", "1", "-W", "1", "-I", "other0", "192.0.2.3", check=False)
    assert ends[0].status()["counters"]["inbound"]["spoofed"] >= 1
    # An end of the other kind reports the mismatch.
    network.start("sta", 5).wait("IP packets or Ethernet frames")


def test_the_device_is_down_without_a_session_if_configured(network: Network) -> None:
    keys = {"keep_alive_s": "1"}
    sta = network.start("sta", 2, device_down_when_lost="true", **keys)
    sta.wait("is up as")
    assert not is_up(sta.host)
    ap = network.start("ap", 1, **keys)
    connect(sta)
    assert is_up(sta.host)
    ap.stop(signal.SIGKILL)
    sta.wait("no longer answers")
    until("the device is down", lambda: not is_up(sta.host))
    network.start("ap", 1, **keys)
    connect(sta, 2)
    assert is_up(sta.host)
    # The kernel removes IPv6 addresses from a device that goes down.
    assert ping(sta.host) == ping(sta.host, "fd77::1") == 3


def test_a_link_recovers_from_five_seconds_without_carrier(network: Network) -> None:
    network.start("ap", 1)
    sta = network.start("sta", 2)
    connect(sta)
    network.cable(2, "down")
    time.sleep(5)  # the silence under test
    network.cable(2, "up")
    deadline = time.monotonic() + 20
    while not ping(sta.host, count=1):
        assert time.monotonic() < deadline, sta.lines


def test_a_rekey_under_traffic_loses_no_packet(network: Network) -> None:
    ap = network.start("ap", 1, rekey_packets="1000")
    sta = network.start("sta", 2)
    connect(sta)
    assert ping(sta.host, count=3000, interval_s=0.002) == 3000
    until("the second new pairwise key", lambda: ap.said("has a new pairwise key") >= 2)


def test_forged_frames_and_ten_thousand_starts_disturb_no_session(network: Network) -> None:
    ap = network.start("ap", 1)
    sta = network.start("sta", 2)
    connect(sta)
    attacker = network.forger(9)
    inject(attacker, 2000, "deauth")
    before_kib = resident_kib(ap)
    inject(attacker, 10_000, "start")
    assert ping(sta.host) == 3
    assert resident_kib(ap) < before_kib + 4096
    assert ap.said("connected with") == sta.said("connected with") == 1
    assert len(ap.lines) < 60
    second = network.start("sta", 3)
    connect(second)
    assert ping(second.host) == 3


@pytest.mark.parametrize("kind", ["start", "deauth", "sealed"])
def test_a_station_joins_and_stays_during_a_flood(network: Network, kind: str) -> None:
    ap = network.start("ap", 1)
    sta = network.start("sta", 2)
    connect(sta)
    with subprocess.Popen(forging(network.forger(9), kind)) as flood:
        try:
            until("the flood is there", lambda: ap.status()["counters"]["inbound"]["frames"] > 10_000)
            second = network.start("sta", 3)
            connect(second)
            until("packets pass", lambda: ping(second.host, count=1) == 1)
            before_kib = resident_kib(ap)
            frames = ap.status()["counters"]["inbound"]["frames"]
            until("more", lambda: ap.status()["counters"]["inbound"]["frames"] > frames + 20_000, 60)
            assert resident_kib(ap) < before_kib + 4096
        finally:
            flood.kill()
    assert ping(sta.host) == 3
    assert ap.said("connected with") == 2
    assert sta.said("connected with") == 1
    assert len(ap.lines) < 100


RIVAL = """
import itertools, select, socket
ap, victim = bytes.fromhex("020000000001"), bytes.fromhex("020000000003")
def frame(kind, body):
    return (bytes([kind, 0, 0, 0]) + ap + victim + ap + bytes(2) + body).ljust(320, b"\\0")
def elements(octets):
    while len(octets) >= 2:
        yield octets[0], octets[: 2 + octets[1]]
        octets = octets[2 + octets[1] :]
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(40)]
for one in sockets:
    one.connect(("198.51.100.1", 7700))
request = b""
joined = 0
for n in itertools.count():
    one = sockets[n % len(sockets)]
    # A Probe Request, or open system authentication.
    one.send(frame(0xb0, bytes([0, 0, 1, 0, 0, 0])) if request else frame(0x40, bytes([0, 0])))
    while select.select([one], [], [], 0.001)[0]:
        answer = one.recv(2048)
        kind, body = answer[0], answer[24:]
        if kind == 0x50:
            request = bytes([0x10, 0, 1, 0]) + b"".join(e for i, e in elements(body[12:]) if i in (0, 48, 244))
        elif kind == 0xb0:
            one.send(frame(0x00, request + b"".join(e for i, e in elements(body[6:]) if i == 221)))
        elif kind == 0x10 and body[2:4] == bytes(2):
            joined += 1
            if joined == 200:
                print("200 joins", flush=True)
"""
"""Joins again and again in the name of host 3, from ports of the host on which it runs, and answers no message 1."""


def test_a_host_that_joins_in_the_name_of_a_station_does_not_keep_the_station_out(network: Network) -> None:
    keys = {"akm": '"wpa-psk-sha256"', "ciphers": '["ccmp"]'}
    ap = network.start("ap", 1, "udp", **keys)
    ap.wait("is up")
    rival = Program(network.host(9), sys.executable, "-c", RIVAL)
    try:
        rival.wait("200 joins")
        sta = network.start("sta", 3, "udp", **keys)
        connect(sta)
        assert ping(sta.host) == 3
        assert sta.said("next try") == 0
        assert ap.said("connected with") == 1
    finally:
        rival.stop(signal.SIGKILL)


def test_two_stations_reach_each_other_and_cannot_take_each_others_address(network: Network) -> None:
    listed = "\n".join(
        f'[[station]]\naddress = "02:00:00:00:00:{n:02x}"\naddresses = ["10.77.0.{n}"]' for n in (2, 3)
    )
    ap = network.start("ap", 1, extra=listed, pool="false")
    two, three = network.start("sta", 2), network.start("sta", 3)
    connect(two)
    connect(three)
    assert ping(two.host, "10.77.0.3") == 3
    two.host.ip(f"address add 10.77.0.3/32 dev {DEVICE}")
    two.host.run("ping", "-c", "1", "-W", "1", "-I", "10.77.0.3", AP, check=False)
    assert ap.status()["counters"]["inbound"]["spoofed"] >= 1
    stranger = network.start("sta", 4)
    stranger.wait("status code 37")


def device_addresses(host: Host) -> list[str]:
    """The addresses of a host's link device, without link-local ones."""
    (shown,) = json.loads(host.ip(f"-json address show dev {DEVICE}"))
    found = [one for one in shown["addr_info"] if one["scope"] == "global"]
    return [f"{one['local']}/{one['prefixlen']}" for one in found]


def test_the_guide_routes_all_traffic_of_a_laptop_through_the_link(network: Network) -> None:
    section = GUIDE.read_text(encoding="utf-8").split("\n### All traffic of a laptop through the link\n")[1]
    of_ap, of_laptop = re.findall(r"```sh\n(.*?)```", section.split("\n### ")[0], re.DOTALL)
    ap = network.start("ap", 1)
    ap.wait("is up")
    laptop = network.start("sta", 2)
    connect(laptop)
    internet = network.host(9)
    internet.ip("address flush dev eth0")
    ap.host.ip(f"link add eth1 type veth peer name eth1 netns {internet.pid}")
    for host, address in ((ap.host, "203.0.113.1"), (internet, "203.0.113.9")):
        host.ip(f"address add {address}/24 dev eth1")
        host.ip("link set eth1 up")
    # In place of the masquerade, for which a machine requires nftables.
    internet.ip("route add 10.77.0.0/24 via 203.0.113.1")
    forwarding = [line for line in of_ap.splitlines() if not line.startswith("nft ")]
    ap.host.run("sh", "-ec", "\n".join(forwarding))
    laptop.host.ip("route add default via 198.51.100.9")
    assert ping(laptop.host, "203.0.113.9", count=1) == 0
    laptop.host.run("sh", "-ec", of_laptop)
    assert ping(laptop.host, "203.0.113.9") == 3
    ap.stop(signal.SIGKILL)
    for address in ("203.0.113.9", "192.0.2.77", "2001:db8::9"):
        assert f" dev {DEVICE} " in laptop.host.ip(f"route get {address}")
    assert laptop.stop() == 0
    assert " dev eth0 " in laptop.host.ip("route get 203.0.113.9")


def test_a_second_end_on_one_machine_is_told_about_its_status_socket(network: Network) -> None:
    network.start("ap", 1).wait("is up")
    again = network.start("sta", 2, status_socket=f'"{network.folder}/run/1.sock"')
    assert again.process.wait(timeout=30) == 1
    again.wait("a link of this name is running on this machine; set `status_socket` for the second one")


@pytest.mark.parametrize(
    ("assigns", "has", "keys", "refusal"),
    [
        ("1.0.0.1/1", "", {}, "is not the address of a host in a network"),
        ("8.8.8.1/24", "", {}, "is outside the private networks that a station accepts without `assigned`"),
        ("10.0.0.1/8", "", {}, "(prefixes of at least 16 bits)"),
        ("192.168.7.1/24", "address add 192.168.7.9/28 dev eth0", {}, "overlaps 192.168.7.9/28"),
        ("fd99::1/64", "address add fd99::9/128 dev lo nodad", {}, "overlaps fd99::9/128"),
        ("10.9.1.1/24", "route add 10.9.0.0/16 via 198.51.100.9", {}, "overlaps 10.9.0.0/16"),
        ("10.9.1.1/24", "", {"assigned": '["10.77.0.0/16"]'}, "is outside the networks of `assigned`"),
        ("10.9.1.1/24", "route add 0.0.0.0/1 via 198.51.100.9", {}, ""),
        ("192.168.7.1/24", "address add 192.168.7.9/28 dev eth0", {"assigned": '["192.168.0.0/16"]'}, ""),
    ],
)
def test_an_access_point_cannot_take_over_networks_of_a_station(
    network: Network, assigns: str, has: str, keys: dict[str, str], refusal: str
) -> None:
    host = network.host(2)
    if has:
        host.ip(has)
    routes = host.ip("route show")
    # A good address does not make the other one acceptable.
    ap = network.start("ap", 1, addresses=f'["{assigns}", "10.77.0.1/24"]' if not keys else f'["{assigns}"]')
    ap.wait("is up")
    sta = network.start("sta", 2, **keys)
    line = sta.wait("assigned addresses")
    if refusal:
        assert "refused the assigned addresses: " in line
        assert refusal in line
        assert device_addresses(host) == []
        assert sta.status()["link"]["addresses"] == []
        now = host.ip("route show")
        assert [one for one in now.splitlines() if DEVICE not in one] == routes.splitlines()
    else:
        assert "refused" not in line
        assert device_addresses(host)
    assert sta.said("assigned addresses") == 1
    assert sta.stop() == 0


def test_a_station_gives_up_addresses_when_its_host_gets_an_overlapping_network(network: Network) -> None:
    network.start("ap", 1)
    sta = network.start("sta", 2)
    connect(sta)
    assert len(device_addresses(sta.host)) == 2
    sta.host.ip("address add 10.77.0.9/28 dev eth0")
    line = sta.wait("removed the assigned addresses")
    assert "overlaps 10.77.0.9/28" in line
    assert device_addresses(sta.host) == []
    until("the status shows it", lambda: sta.status()["link"]["addresses"] == [])
    assert sta.said("removed the assigned addresses") == 1


def test_an_access_point_cannot_become_the_router_of_a_station(network: Network) -> None:
    ap = network.start("ap", 1)
    sta = network.start("sta", 2)
    connect(sta)
    # RFC 4861 4.2: hop limit 64, lifetime 1800 s.
    advertise = f"""
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as out:
    out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    out.sendto(bytes([134, 0, 0, 0, 64, 0, 7, 8]) + bytes(8), ("ff02::1", 0, 0, socket.if_nametoindex("{DEVICE}")))
"""
    received = "nstat -asz Icmp6InRouterAdvertisements"
    ap.host.run(sys.executable, "-c", advertise)
    until(
        "it arrives",
        lambda: " 0 " not in " ".join(sta.host.run(*received.split()).split("InRouter")[1].split()),
    )
    assert sta.host.ip("-6 route show default") == ""
    assert ping(sta.host, "fd77::1") == 3


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_station_removes_the_addresses_that_it_has_added(network: Network, how: signal.Signals) -> None:
    host = network.host(2)
    ap = network.start("ap", 1)
    sta = network.start("sta", 2)
    connect(sta)
    host.ip(f"address add 10.88.0.1/24 dev {DEVICE}")
    assert len(device_addresses(host)) == 3
    # A later access point assigns another address, which the station refuses.
    ap.stop(signal.SIGKILL)
    network.start("ap", 1, addresses='["8.8.8.1/24"]')
    sta.wait("refused the assigned addresses")
    assert device_addresses(host) == ["10.88.0.1/24"]
    # The device exists as long as the process, so that none of its addresses outlasts it.
    sta.stop(how)
    until("the device is gone", lambda: not host.has_device())


def test_a_persistent_device_is_refused(network: Network) -> None:
    network.host(2).ip(f"tuntap add dev {DEVICE} mode tun multi_queue vnet_hdr")
    sta = network.start("sta", 2)
    assert sta.process.wait(timeout=20) == 1
    sta.stop()
    assert sta.lines[-1].startswith(f"airtoll: device {DEVICE}: "), sta.lines


def test_prometheus_can_scrape_the_statistics(network: Network) -> None:
    ap = network.start("ap", 1, metrics='"127.0.0.1:9777"')
    sta = network.start("sta", 2)
    connect(sta)
    script = """
import urllib.request
with urllib.request.urlopen("http://127.0.0.1:9777/metrics") as answer:
    print(answer.headers["Content-Type"], answer.read().decode())
"""
    text = ap.host.run(sys.executable, "-c", script)
    assert text.startswith("application/openmetrics-text")
    assert 'airtoll_link_connected{link="office"} 1' in text
    assert text.rstrip().endswith("# EOF")


CAP_NET_ADMIN = 1 << 12
"""capabilities(7)"""
NOBODY = pwd.getpwnam("nobody")


def privileges(end: End) -> dict[str, str]:
    """The status of an end's process in /proc, equal for all its threads (proc_pid_status(5))."""
    fields = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")
    found = [
        {
            field: " ".join(value.split())
            for field, value in (line.split(":", 1) for line in path.read_text().splitlines())
            if field in fields
        }
        for path in Path(f"/proc/{end.process.pid}/task").glob("*/status")
    ]
    assert len(found) > 1
    assert all(one == found[0] for one in found), found
    return found[0]


def is_dumpable(end: End) -> bool:
    """Whether processes of the same user can inspect an end; otherwise root owns its files in /proc (proc_pid(5))."""
    return Path(f"/proc/{end.process.pid}/environ").stat().st_uid == int(privileges(end)["Uid"].split()[0])


def assert_unprivileged(end: End, uid: int, gid: int, *, admin: bool, began_as_root: bool = True) -> None:
    capabilities = f"{CAP_NET_ADMIN if admin else 0:016x}"
    found = privileges(end)
    # Only a process with CAP_SETPCAP can narrow its bounding set.
    assert not began_as_root or found["CapBnd"] == capabilities
    del found["CapBnd"]
    assert found == {
        "Uid": " ".join([str(uid)] * 4),
        "Gid": " ".join([str(gid)] * 4),
        "Groups": "",
        "CapInh": f"{0:016x}",
        "CapPrm": capabilities,
        "CapEff": capabilities,
        "CapAmb": f"{0:016x}",
        "NoNewPrivs": "1",
    }


@pytest.mark.parametrize("user", ["nobody", "daemon"])
def test_a_link_started_by_root_drops_to_another_user_and_works(network: Network, user: str) -> None:
    entry = pwd.getpwnam(user)
    keys = {"user": f'"{user}"', "rekey_packets": "1000"} if user != "nobody" else {"rekey_packets": "1000"}
    ap = network.start("ap", 1, **keys)
    sta = network.start("sta", 2, device_down_when_lost="true", **keys)
    connect(sta)
    assert_unprivileged(ap, entry.pw_uid, entry.pw_gid, admin=False)
    assert_unprivileged(sta, entry.pw_uid, entry.pw_gid, admin=True)
    assert not is_dumpable(ap)
    assert not is_dumpable(sta)
    assert sta.said("the process runs as nobody") == (user == "nobody")
    assert ping(sta.host, count=1500, interval_s=0.002) == 1500
    assert ap.said("has a new pairwise key") >= 1
    ap.stop(signal.SIGKILL)
    sta.wait("no longer answers")
    until("the device is down", lambda: not is_up(sta.host))
    # The previous socket is replaced.
    ap = network.start("ap", 1, **keys)
    connect(sta, 2)
    assert ping(sta.host) == 3
    assert (sta.stop(), ap.stop()) == (0, 0)
    assert not list(network.folder.rglob("*.sock")), [*ap.lines, *sta.lines]


def test_a_link_of_another_user_requires_only_network_capabilities(network: Network) -> None:
    # The test also requires a capability to read Python and the configuration in root's folders.
    wanted = "+net_admin,+net_raw,+dac_read_search"
    # In a mount namespace: a /dev/net/tun for everyone, as with udev.
    script = f"""
mount -t tmpfs -o mode=755 none /dev/net
mknod -m 666 /dev/net/tun c 10 200
exec setpriv --reuid={NOBODY.pw_uid} --regid={NOBODY.pw_gid} --clear-groups \
    --inh-caps={wanted} --ambient-caps={wanted} "$0" "$@"
"""
    prefix = ("unshare", "--mount", "sh", "-ec", script)
    (network.folder / "run").mkdir()
    os.chown(network.folder / "run", NOBODY.pw_uid, NOBODY.pw_gid)
    ap = network.start("ap", 1, prefix=prefix)
    sta = network.start("sta", 2, prefix=prefix)
    connect(sta)
    assert_unprivileged(ap, NOBODY.pw_uid, NOBODY.pw_gid, admin=False, began_as_root=False)
    assert_unprivileged(sta, NOBODY.pw_uid, NOBODY.pw_gid, admin=True, began_as_root=False)
    assert not is_dumpable(ap)
    assert ping(sta.host) == 3
    assert (sta.stop(), ap.stop()) == (0, 0)
    assert not list(network.folder.rglob("*.sock"))


def test_a_link_without_another_user_reports_that_it_remains_root(network: Network) -> None:
    for number in (1, 2):
        network.host(number, user_namespace=True)
    ap = network.start("ap", 1)
    sta = network.start("sta", 2)
    connect(sta)
    for end, admin in ((ap, False), (sta, True)):
        assert "user 65534" in end.wait("the process remains root")
        found = privileges(end)
        assert (found["CapEff"], found["NoNewPrivs"]) == (f"{CAP_NET_ADMIN if admin else 0:016x}", "1")
    assert ping(sta.host) == 3
    assert (sta.stop(), ap.stop()) == (0, 0)
    assert not list(network.folder.rglob("*.sock"))
    # A user named in the configuration is mandatory.
    refused = network.start("ap", 1, user='"daemon"')
    assert refused.process.wait(timeout=20) == 1
    assert refused.said("cannot change to user 1, group 1: ") == 1
    assert not list(network.folder.rglob("*.sock"))


def test_an_unprivileged_link_reports_the_loss_of_its_device(network: Network) -> None:
    ap = network.start("ap", 1)
    ap.wait("is up")
    ap.host.ip(f"link delete {DEVICE}")
    assert ap.process.wait(timeout=20) == 1
    ap.stop()
    assert ap.lines[-1].startswith(f"airtoll: device {DEVICE}: "), ap.lines


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ciphers": '["wep40"]'}, ':3: ciphers: unsupported cipher "wep40"'),
        ({"akm": '"wpa-eap-suite-b-192"'}, 'akm: unsupported key management "wpa-eap-suite-b-192"'),
        ({"colour": "1"}, "unknown field `colour`"),
        ({"name": '""'}, ":1: name: an SSID has 1 to 32 octets"),
        ({"metrics": '"0.0.0.0:1"'}, "metrics: metrics have no access control"),
        (
            {"name": '"../a"', "status_socket": ""},
            ":1: name: `status_socket` is required",
        ),
        ({"user": '"no one"'}, "user: unknown user"),
        ({"bssid": '"02:00:00:00:00:01"'}, "bssid: only a station has this key"),
        ({"addresses": '["10.77.0.1"]'}, 'addresses: "10.77.0.1" is not an address with a prefix length'),
        ({"assigned": '["10.0.0.0/8"]'}, "assigned: only a station has this key"),
        ({"addresses": str([f"10.0.{n}.1/24" for n in range(9)])}, "addresses: expected at most 8 addresses"),
        (
            {"akm": '"owe"', "passphrase_file": "", "pool": "false"},
            "pool: akm owe does not authenticate stations",
        ),
        ({"addresses": ""}, "an access point requires `addresses`"),
        ({"passphrase_file": '"open"'}, "group or others can access this passphrase file (mode 0644)"),
        ({"passphrase_file": '"none"'}, "none: No such file"),
        ({"rekey_s": '"often"'}, "rekey_s: invalid type"),
        ({"workers": "9"}, "workers: a link has 1 to 8 workers"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_line(
    network: Network, change: dict[str, str], words: str
) -> None:
    (network.folder / "open").write_text("correct horse\n")
    (network.folder / "open").chmod(0o644)
    ap = network.start("ap", 1, **change)
    assert ap.process.wait(timeout=20) == 2
    assert ap.stop() == 2
    (line,) = ap.lines
    assert words in line
    assert str(network.folder) in line


def test_status_of_no_link_is_one_line(tmp_path: Path) -> None:
    airtoll = Path(sys.executable).with_name("airtoll")
    argv = [str(airtoll), "link", "status", "--socket", str(tmp_path / "none.sock")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"airtoll: {tmp_path}/none.sock: No such file or directory\n"
