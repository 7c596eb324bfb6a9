"""Studies on machines behind SSH, which emulated air joins, with an access point that a hook switches."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path

import pytest
from cli_command import AIRTOLL, SMALL_STUDY, Airtoll, one_line
from machines_on_air import machines
from made_cell import make_cell
from ssh_server import SSHD

from airtoll.labs.hosts import Hosts
from airtoll.store import Result

pytestmark = [
    pytest.mark.usefixtures("needs_air"),
    pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot enter the namespaces of other processes"),
    pytest.mark.skipif(not Path(SSHD).exists(), reason="sshd (openssh-server) is missing"),
]


@pytest.fixture
def inventory(tmp_path: Path) -> Iterator[Path]:
    """Two machines: a station and the access point's host."""
    folder = tmp_path / "lab"
    folder.mkdir()
    with machines(folder, make_cell(phy="ofdm", rate="54 Mbit/s")) as file:
        yield file


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL_STUDY.replace("retries = 0", "retries = 2"))
    return path


def switched(inventory: Path) -> list[str]:
    """The actions of the hook so far, with the level."""
    return (inventory.parent / "actions").read_text().split("\n")[:-1]


def test_a_study_runs_on_the_machines_of_an_inventory(
    airtoll: Airtoll, inventory: Path, study: Path, tmp_path: Path
) -> None:
    checked = airtoll("hosts", "check", inventory, "--study", study, "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert json.loads(checked.stdout)["ready"]
    out = tmp_path / "result"
    done = airtoll("run", study, "--lab", "hosts", "--inventory", inventory, "--out", out)
    assert done.returncode in (0, 1), done.stderr
    records = sorted(Result.open(out).records(), key=lambda record: record.started)
    assert len({record.run.order for record in records}) == 4  # on a busy machine, runs may be repeated
    for record in records:
        assert set(record.hosts) == {"ap", "sta"}
        assert record.link["access_point"]["kind"] == "hook"
        assert record.link["management"] == {"ap": None, "sta": None}  # this SSH server has no network
        assert "throughput" in record.probes
    # The access point is switched only where the level changes, and restored at the end.
    levels = [level for level, _ in groupby(record.run.cell.security for record in records)]
    assert switched(inventory) == [*(f"apply {level}" for level in levels), "restore"]
    secret = (inventory.parent / "passphrase").read_text().strip().encode()
    assert not [file for file in out.rglob("*") if file.is_file() and secret in file.read_bytes()]


def test_each_session_sets_up_the_access_point_anew(
    airtoll: Airtoll, inventory: Path, study: Path, tmp_path: Path
) -> None:
    study.write_text(
        study.read_text().replace("repeats = 2", 'repeats = 2\nswitching = "session"\nsessions = 2')
    )
    done = airtoll("run", study, "--lab", "hosts", "--inventory", inventory, "--out", tmp_path / "result")
    assert done.returncode in (0, 1), done.stderr
    first, second, third, fourth, end = switched(inventory)
    assert (second, end) == (third, "restore")  # ABBA
    assert first == fourth != second


def test_a_machine_that_vanishes_costs_its_run_and_not_the_study(
    inventory: Path, study: Path, tmp_path: Path
) -> None:
    out = tmp_path / "result"
    argv = [AIRTOLL, "run", study, "--lab", "hosts", "--inventory", inventory, "--out", out]
    with subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        agent = _agent_of_a_measuring_station(running, inventory)
        os.kill(agent, signal.SIGKILL)
        _, stderr = running.communicate(timeout=120)
    records = list(Result.open(out).records())
    lost = [record for record in records if not record.verdict.valid]
    assert any(reason.startswith("host lost: host sta: ") for r in lost for reason in r.verdict.reasons)
    # The lost run was repeated.
    assert len({record.run.order for record in records}) == 4, stderr
    assert len(records) > 4
    assert switched(inventory)[-1] == "restore"


def _agent_of_a_measuring_station(running: subprocess.Popen[bytes], inventory: Path) -> int:
    """The agent under which a ping-pong client runs on a machine of the inventory."""
    cache = f"{inventory.parent}/cache/".encode()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert running.poll() is None, running.communicate()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0")
                if argv[0].startswith(cache) and b"pingpong" in argv and b"ping" in argv:
                    return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended
        time.sleep(0.01)
    raise AssertionError("no ping-pong")


def test_a_killed_airtoll_leaves_the_access_point_as_it_was(
    inventory: Path, study: Path, tmp_path: Path
) -> None:
    argv = [AIRTOLL, "run", study, "--lab", "hosts", "--inventory", inventory, "--out", tmp_path / "result"]
    with subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        _agent_of_a_measuring_station(running, inventory)
        running.kill()
    deadline = time.monotonic() + 20
    while switched(inventory)[-1] != "restore" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert switched(inventory)[-1] == "restore"


def test_a_machine_that_cannot_be_reached_is_one_line(airtoll: Airtoll, inventory: Path, study: Path) -> None:
    (inventory.parent / "enter").write_text("#!/bin/sh\necho 'no route to host' >&2\nexit 1\n")
    done = airtoll("run", study, "--lab", "hosts", "--inventory", inventory)
    assert done.returncode == 2
    assert one_line(done).startswith("lab hosts: host sta: ")
    checked = airtoll("hosts", "check", inventory, "--study", study)
    assert checked.returncode == 1
    assert checked.stdout.startswith("These machines cannot measure small yet: see host sta, host ap.")


def test_lab_hosts_requires_an_inventory(airtoll: Airtoll, study: Path) -> None:
    done = airtoll("run", study, "--lab", "hosts")
    assert (done.returncode, one_line(done)) == (2, "lab hosts requires an inventory: --inventory FILE")
    done = airtoll("run", study, "--inventory", "lab.toml")
    assert (done.returncode, one_line(done)) == (2, "--inventory: lab air has no machines; lab hosts has")


def test_two_studies_cannot_use_the_same_machines_at_once(
    airtoll: Airtoll, inventory: Path, study: Path, tmp_path: Path
) -> None:
    argv = [AIRTOLL, "run", study, "--lab", "hosts", "--inventory", inventory, "--out", tmp_path / "result"]
    with subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        _agent_of_a_measuring_station(running, inventory)
        done = airtoll("run", study, "--lab", "hosts", "--inventory", inventory)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert done.returncode == 2
    assert one_line(done) == f"{inventory}: another airtoll measures with these hosts"
    assert switched(inventory)[-1] == "restore"


def test_a_second_inventory_with_the_same_machines_is_refused(inventory: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(inventory.read_text())
    with closing(Hosts(inventory)) as first, closing(Hosts(other)) as second:
        assert first.missing() is None
        assert re.fullmatch(
            r"lab hosts: host (sta|ap): airtoll-agent: another airtoll measures with this host: "
            rf"\S+@\S+ with {inventory} since [-\d]+ [:\d]+ UTC",
            second.missing() or "",
        )
        # An agent of this inventory may still run, because its connection was lost.
        first.machines.host("sta").connection._lose("lost")
        assert first.machines.host("sta").connection.lost is None
    with closing(Hosts(other)) as second:
        assert second.missing() is None
