"""Lab air: the link carries traffic with the air's timing, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from agent_processes import wait_until

from airtoll.ciphers import Protection
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.air import Air
from airtoll.labs.sim import Sim
from airtoll.study.cell import Cell
from airtoll.study.link import LinkSettings
from airtoll.study.security import CIPHERS, READY_MADE, SecurityProfile

OPEN_AND_HANG = """
import json, os, sys, time
from airtoll.labs.air import Air
from airtoll.study.cell import Cell
with Air().open(Cell.model_validate_json(sys.argv[1]), seed=1) as link:
    say_pid = "import os, time; print(os.readlink('/proc/self'), flush=True); time.sleep(600)"
    hang = [sys.executable, "-c", say_pid]
    commands = [host.popen(hang) for host in link.hosts.values()]
    print(json.dumps([int(command.next_line(time.monotonic() + 10)) for command in commands]), flush=True)
    time.sleep(600)
"""


def network_namespace(pid: int) -> int:
    return os.stat(f"/proc/{pid}/ns/net").st_ino


def processes_in(namespaces: set[int]) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if network_namespace(int(entry.name)) in namespaces:
                    found.append(int(entry.name))
            except OSError:
                continue  # the process has ended, or belongs to another user
    return found


def init_process_of(pid_namespace: int) -> int:
    """Process 1 of a PID namespace: the emulator."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
            pids = next(line for line in lines if line.startswith("NSpid:")).split()[1:]
            if pids[1:] == ["1"] and os.stat(status.with_name("ns") / "pid").st_ino == pid_namespace:
                return int(pids[0])
        except OSError:
            continue  # the process has ended
    raise AssertionError("no such PID namespace")


@pytest.fixture
def hanging_link(lab: Air, cell: Callable[..., Cell]) -> Iterator[tuple[subprocess.Popen[bytes], set[int]]]:
    """A process that holds a link open with a command on each host, and the namespaces of the commands."""
    assert lab.check(cell()) is None
    with subprocess.Popen(
        [sys.executable, "-c", OPEN_AND_HANG, cell().model_dump_json()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as owner:
        try:
            assert owner.stdout is not None
            pids = json.loads(owner.stdout.readline())
            yield owner, {network_namespace(pid) for pid in pids}
        finally:
            owner.kill()


def test_the_hosts_have_the_settings_of_their_tcp_ip_stack(cell: Callable[..., Cell]) -> None:
    settings = LinkSettings(timestamps=False, sack=False, receive_buffer=100_000)
    with Air(settings).open(cell(), seed=1) as link:
        assert link.facts["tcp_receive_buffer_bytes"] == 100_000
        for host in link.hosts.values():
            names = ("tcp_timestamps", "tcp_sack", "tcp_rmem")
            read = host.run(["cat", *(f"/proc/sys/net/ipv4/{name}" for name in names)], timeout_s=10)
            timestamps, sack, least, default, most = map(int, read.stdout.split())
            assert (timestamps, sack, default) == (0, 0, 100_000)
            assert least < default < most


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_airtoll_leaves_no_processes_or_namespaces(
    hanging_link: tuple[subprocess.Popen[bytes], set[int]], how: signal.Signals
) -> None:
    owner, namespaces = hanging_link
    assert len(namespaces) == 2
    assert len(processes_in(namespaces)) >= 2
    owner.send_signal(how)
    assert owner.wait(timeout=20) != 0
    assert wait_until(lambda: not processes_in(namespaces)), "a process outlived airtoll"


def test_the_lab_cleans_up_after_success_and_failure(lab: Air, cell: Callable[..., Cell]) -> None:
    hang = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
    for fail in (False, True):
        namespaces: set[int] = set()
        try:
            with ExitStack() as cleanup, lab.open(cell(), seed=1) as link:
                for host in link.hosts.values():
                    process = cleanup.enter_context(host.popen(hang))
                    process.next_line(time.monotonic() + 10)
                    inside = host.run(["stat", "-L", "-c", "%i", "/proc/self/ns/net"], timeout_s=10)
                    namespaces.add(int(inside.stdout))
                if fail:
                    raise RuntimeError("the test's own")
        except RuntimeError:
            assert fail
        assert len(namespaces) == 2
        assert processes_in(namespaces) == []


def test_a_killed_emulator_is_named_as_the_cause(lab: Air, cell: Callable[..., Cell]) -> None:
    def kill_the_emulator() -> None:
        with lab.open(cell(), seed=1) as link:
            inside = link.hosts["ap"].run(["stat", "-L", "-c", "%i", "/proc/self/ns/pid"], timeout_s=10)
            os.kill(init_process_of(int(inside.stdout)), signal.SIGKILL)
            link.counters()

    with pytest.raises(AirtollError, match=r"^lab air: the emulator was killed$"):
        kill_the_emulator()


@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
@pytest.mark.parametrize("phy_rate", [("ofdm", "6 Mbit/s"), ("ofdm", "54 Mbit/s"), ("ht", "mcs15")])
def test_hosts_reach_each_other(
    lab: Air, cell: Callable[..., Cell], ip: Any, phy_rate: tuple[str, str]
) -> None:
    phy, rate = phy_rate
    with lab.open(cell(phy=phy, rate=rate, ip=ip, security="ccmp"), seed=1) as link:
        listen = (
            "import socket, sys\n"
            "with socket.create_server((sys.argv[1], 5000), family="
            + ("socket.AF_INET6" if ip == "ipv6" else "socket.AF_INET")
            + ") as server:\n"
            "    print('up', flush=True)\n"
            "    peer, _ = server.accept()\n"
            "    data = b''\n"
            "    while chunk := peer.recv(65536):\n"
            "        data += chunk\n"
            "    peer.sendall(data[::-1])\n"
        )
        talk = (
            "import socket, sys\n"
            "with socket.create_connection((sys.argv[1], 5000), timeout=10) as peer:\n"
            "    peer.sendall(bytes(range(256)) * 256)\n"
            "    peer.shutdown(socket.SHUT_WR)\n"
            "    data = b''\n"
            "    while chunk := peer.recv(65536):\n"
            "        data += chunk\n"
            "    assert data == (bytes(range(256)) * 256)[::-1]\n"
        )
        address = link.addresses["ap", ip]
        with link.hosts["ap"].popen([sys.executable, "-c", listen, address]) as server:
            server.next_line(time.monotonic() + 10)
            client = link.hosts["sta"].run([sys.executable, "-c", talk, address], timeout_s=20)
            assert client.returncode == 0, client.stderr.decode()
        counters = link.counters()
    assert counters["open_errors"] == 0
    assert counters["sta"]["mpdus"] >= 65536 // 1500
    assert counters["crypto_s"] > 0
    assert counters["lateness_us"]["p50"] >= 0


def test_an_unwritable_capture_is_one_line(lab: Air, cell: Callable[..., Cell]) -> None:
    with (
        pytest.raises(AirtollError, match=r"^lab air: capture of the air: No such file"),
        lab.open(cell(), seed=1, pcap=Path("/nonexistent/air.pcap")),
    ):
        pass


def test_a_level_that_the_lab_lacks_is_named(lab: Air, cell: Callable[..., Cell]) -> None:
    for security in ("open", *CIPHERS):
        assert lab.check(cell(security=security)) is None
    with pytest.raises(UsageError, match=r"^security: 'rot13' is not allowed; use open, wep40, "):
        lab.check(cell(security="rot13"))


@pytest.mark.parametrize(
    ("profile", "says"),
    [
        (
            {"wpa_key_mgmt": "wpa-eap"},
            "lab air does not support 802.1X (wpa_key_mgmt wpa-eap); lab linux does",
        ),
        (
            {"wpa_key_mgmt": ("sae", "sae-ext-key")},
            "lab air does not support wpa_key_mgmt sae-ext-key; lab linux does",
        ),
        ({"pairwise": ("tkip", "ccmp")}, "lab air supports a single pairwise cipher"),
        (
            {"pairwise": "gcmp256", "group": "ccmp"},
            "lab air supports a group cipher only if it is the pairwise cipher",
        ),
        ({"pairwise": "ccmp", "wpa": 1}, "lab air supports wpa 1 only for tkip, and wpa 2 for other ciphers"),
        (
            {"wpa_key_mgmt": "sae", "sae_pwe": 0},
            "lab air supports sae_pwe 1 and 2 (hash-to-element), not 0",
        ),
        ({"wpa_key_mgmt": "sae", "sae_groups": (20,)}, "lab air supports only group 19 of SAE and OWE"),
        ({"wpa_key_mgmt": "owe", "owe_group": 21}, "lab air supports only group 19 of SAE and OWE"),
    ],
)
def test_a_profile_that_the_lab_lacks_is_one_line(
    cell: Callable[..., Cell], profile: dict[str, Any], says: str
) -> None:
    profiles = {"mine": SecurityProfile.model_validate(profile)}
    of = cell(security="mine")
    assert Air(profiles=profiles).check(of) == f"security 'mine': {says}"
    assert Sim(profiles=profiles).check(of) is None


def test_enhanced_frames_of_hosts_have_no_transition_mode(cell: Callable[..., Cell]) -> None:
    mine = SecurityProfile(wpa_key_mgmt=("wpa-psk", "sae"), pairwise="enhanced4")
    reason = Air(profiles={"mine": mine}).check(cell(security="mine"))
    assert reason == (
        "wpa_key_mgmt 'wpa-psk and sae': Enhanced CCMP on the host requires sae or wpa-psk-sha256"
    )


def test_the_ready_made_profiles_of_each_lab(cell: Callable[..., Cell]) -> None:
    refused = [name for name in READY_MADE if Air().check(cell(security=name)) is not None]
    assert refused == ["wpa2-eap", "wpa3-eap", "wpa3-192"]
    assert [name for name in READY_MADE if Sim().check(cell(security=name)) is not None] == []


@pytest.mark.parametrize("security", ["wep40", "wep104", "tkip"])
def test_security_that_ht_forbids_is_refused_with_the_clause(
    lab: Air, cell: Callable[..., Cell], security: str
) -> None:
    impossible = cell(phy="ht", rate="mcs7", security=security)
    reason = lab.check(impossible)
    assert reason is not None
    assert reason.startswith(f"security {security} with phy ht is impossible: ")
    assert "IEEE Std 802.11-2020" in reason
    with pytest.raises(AirtollError, match="is impossible"), lab.open(impossible, seed=1):
        pass


def test_keys_are_as_long_as_the_ciphers_have_them() -> None:
    for suite in CIPHERS.values():
        Protection(suite.word, bytes(suite.key_b))
        with pytest.raises(ValueError, match="octets"):
            Protection(suite.word, bytes(suite.key_b + 1))
