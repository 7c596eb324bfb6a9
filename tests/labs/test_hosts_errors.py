"""A host on which airtoll lacks a permission or a program is one line, which says what to do."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from agent_processes import wait_until, worker_of
from made_cell import make_cell
from ssh_server import SSHD, write_ssh

from airtoll.agent import binary
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost
from airtoll.agent.ssh import SUDO, Ssh
from airtoll.errors import AirtollError, UsageError
from airtoll.labs import joining, journal, machines
from airtoll.labs.access_points.station import report
from airtoll.labs.emulated import IPS
from airtoll.labs.hosts import Hosts
from airtoll.labs.journal import HostJournal

INVENTORY = """
[hosts.ap]
address = "local"
wireless = "wlan0"
{become}
[hosts.sta]
address = "laptop"
wireless = "wlan0"
[access_point]
kind = "hostapd"
passphrase_file = "passphrase"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Hosts]:
    lab = _lab(tmp_path)
    yield lab
    lab.close()


def _lab(folder: Path, become: str = "") -> Hosts:
    (folder / "passphrase").touch(mode=0o600)
    (folder / "passphrase").write_text("a toll on the air\n")
    (folder / "lab.toml").write_text(INVENTORY.format(become=become))
    return Hosts(folder / "lab.toml")


def _program(folder: Path, name: str, script: str) -> Path:
    """A folder with a program that replaces another one."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / name).write_text(f"#!/bin/sh\n{script}\n")
    (programs / name).chmod(0o755)
    return programs


SUDO_SAYS = [
    (
        "exit 127",
        "sudo: not found",
        "the host lacks sudo: install it, or connect as root without the key become",
    ),
    (
        "exit 1",
        "sudo: a password is required",
        "sudo asks for a password: allow the user to run the agent with NOPASSWD",
    ),
    (
        "exit 1",
        "pat is not in the sudoers file.",
        "the user may not use sudo: add a rule with NOPASSWD, or connect as root",
    ),
]


@pytest.mark.parametrize(("end", "says", "remedy"), SUDO_SAYS)
def test_sudo_that_does_not_help(tmp_path: Path, end: str, says: str, remedy: str) -> None:
    if not Path(SSHD).exists():
        pytest.skip("sshd (openssh-server) is missing")
    programs = _program(tmp_path, "sudo", f"echo '{says}' >&2; {end}")
    config = write_ssh(tmp_path, programs=programs)
    with Ssh("sta", "laptop", ["-F", str(config)]) as plain:
        plain.connect().connection.close()  # copies the agent
    with Ssh("sta", "laptop", ["-F", str(config)], SUDO) as way, pytest.raises(UsageError) as raised:
        way.connect()
    assert str(raised.value) == f"host sta (laptop): {remedy}"


def test_sudo_that_this_machine_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = _program(tmp_path, "none", "")
    for name in ("sh", "id"):
        (programs / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(UsageError) as raised:
        _lab(tmp_path, 'become = "sudo"').machines.host("ap")
    assert str(raised.value) == f"host ap (local): {SUDO_SAYS[0][2]}"


def test_a_radio_that_only_root_may_change(
    lab: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = _program(tmp_path, "id", "echo 1000")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert lab.missing() == (
        f'lab hosts: host ap: changing its radio requires root: set hosts.ap.become = "sudo" in {lab.file}'
    )
    assert lab.machines.lacks_root("sta") is None  # it joins by hand


@pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot become another one")
def test_a_wpa_supplicant_that_does_not_answer(tmp_path: Path) -> None:
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    agent = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    agent.chmod(0o755)
    copy = agent / "agent"
    copy.write_bytes(binary.local().read_bytes())
    copy.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with Connection("sta", [*as_nobody, str(copy), "serve"]) as connection:
        host = AgentHost(connection)
        for control, words, remedy in (
            (
                closed,
                "Permission denied",
                "add the user to the group netdev and connect anew, or set become = 'sudo'",
            ),
            (
                "/nonexistent",
                "No such file or directory",
                "start wpa_supplicant with -O /run/wpa_supplicant, or set join = 'airtoll'",
            ),
        ):
            with pytest.raises(AirtollError) as raised:
                report(host, "lo", str(control))
            assert str(raised.value) == (
                f"host sta: wpa_cli on lo: Failed to connect to non-global ctrl_ifname: lo  error: {words}: {remedy}"
            )
    copy.unlink()
    agent.rmdir()


def test_a_run_says_why_it_waits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(machines, "_POLL_S", 0.0)
    failures = [LostError("host sta: no route")] * 5

    def attempt() -> str:
        if failures:
            raise failures.pop()
        return "back"

    assert machines.retried(attempt, LostError, time.monotonic() + 60) == "back"
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"waiting up to (59|60) s: host sta: no route", line)
    failures.append(LostError("host sta: no route"))
    with pytest.raises(LostError, match=r"^host sta: no route$"):
        machines.retried(attempt, LostError, time.monotonic() - 1)


def test_what_a_host_says_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    joining.say_that_it_waits(5, "host sta: the agent is \x1b]52;c;eA==\x07")
    assert capsys.readouterr().err == "waiting up to 5 s: host sta: the agent is \\x1b]52;c;eA==\\x07\n"


@pytest.mark.parametrize("words", ["fe80::1%x&calc", "192.0.2.1&calc", "fe80::1%eth0", "x"])
def test_a_host_reports_addresses_and_nothing_else(
    lab: Hosts, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    said = [{"addr_info": [{"local": "192.0.2.1"}, {"local": "2001:db8::1"}]}]
    answer = SimpleNamespace(returncode=0, stdout=json.dumps(said).encode())
    monkeypatch.setattr(lab.machines, "host", lambda _: SimpleNamespace(run=lambda *_: answer))
    monkeypatch.setattr(
        lab.machines, "inventory", SimpleNamespace(hosts={"sta": SimpleNamespace(interface="eth0")})
    )
    assert [lab.machines.own_address("sta", ip) for ip in IPS] == ["192.0.2.1", "2001:db8::1"]
    answer.stdout = answer.stdout.replace(b"192.0.2.1", words.encode())
    with pytest.raises(LostError, match=r"^host sta: the output of `ip addr show`: 0\.addr_info\.0\.local"):
        lab.machines.own_address("sta", "ipv6")


HOOK = """
[hosts.ap]
address = "local"
[hosts.sta]
address = "local"
[access_point]
kind = "hook"
command = ["./hook"]
passphrase_file = "passphrase"
"""


def test_a_controller_whose_agent_was_lost_gets_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "passphrase").touch(mode=0o600)
    (tmp_path / "passphrase").write_text("a toll on the air\n")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\necho $AIRTOLL_ACTION $AIRTOLL_LEVEL >> {tmp_path}/actions\n")
    hook.chmod(0o755)
    (tmp_path / "lab.toml").write_text(HOOK)
    lab = Hosts(tmp_path / "lab.toml")
    lab.machines.journal = HostJournal(lab.file)
    cell = make_cell(security="ccmp")
    network = lab._network_of(cell)
    lab.switching.switch(network)
    assert lab.switching.is_set_up()
    controller = lab.machines.controller()
    os.kill(worker_of(controller), signal.SIGKILL)
    assert wait_until(lambda: controller.connection.lost is not None)
    assert not lab.switching.is_set_up()
    lab.switching.switch(network)
    assert lab.switching.is_set_up()
    assert lab.machines.controller() is not controller
    lab.close()
    # The lost agent restored the access point. The journal does so too before `apply`: the agent may have failed.
    actions = (tmp_path / "actions").read_text().split("\n")[:-1]
    assert actions == ["apply ccmp", "restore", "restore", "apply ccmp", "restore"]
    assert journal.pending(lab.file) == []


def test_the_access_point_is_restored_before_a_station_that_hangs(tmp_path: Path) -> None:
    lab, restored = _lab(tmp_path), []

    def lost() -> None:
        assert restored == ["ap"]
        raise LostError("host sta: the agent did not answer within 20 s")

    lab.switching._access_point = SimpleNamespace(restore=lambda: restored.append("ap"))  # type: ignore[assignment]
    lab.switching._stations = {"sta": SimpleNamespace(restore=lost)}  # type: ignore[dict-item]
    with pytest.raises(LostError, match="host sta"):
        lab.close()
