"""`airtoll hosts restore` reaches only the hosts that the journal names, and reports the changes that remain."""

import shutil
from pathlib import Path

import pytest
from cli_command import SMALL_STUDY, Airtoll, one_line

from airtoll.labs import journal
from airtoll.labs.journal import Restoring

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh (openssh-client) is missing")

INVENTORY = """
[hosts.sta]
address = "nowhere"
ssh_config = "ssh_config"
[hosts.ap]
address = "local"
[access_point]
kind = "fixed"
"""


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A station that cannot be reached, and this machine. An attempt to reach the station adds a line to `reached`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "proxy").write_text(f"#!/bin/sh\necho >> {tmp_path}/reached\n")
    (tmp_path / "proxy").chmod(0o755)
    (tmp_path / "ssh_config").write_text(f"Host *\n  ProxyCommand {tmp_path}/proxy\n")
    (tmp_path / "lab.toml").write_text(INVENTORY)
    return tmp_path / "lab.toml"


def left(inventory: Path, *hosts: str) -> None:
    """The journal that a killed airtoll has left. Each change is reverted by creating a file."""
    folder = journal.folder(inventory)
    folder.mkdir(mode=0o700, parents=True)
    for number, host in enumerate(hosts, start=1):
        argv = ("touch", f"{inventory.parent}/{host}-{number}")
        journal._write(folder / f"{number:06}.json", Restoring(f"change {number}", host, argv))


def test_hosts_without_a_change_are_not_reached(airtoll: Airtoll, inventory: Path, tmp_path: Path) -> None:
    left(inventory, "ap", "controller")
    done = airtoll("hosts", "restore", inventory)
    assert (done.returncode, done.stdout) == (0, "nothing remains to be restored\n"), done.stderr
    assert (tmp_path / "ap-1").exists()
    assert (tmp_path / "controller-2").exists()
    assert not (tmp_path / "reached").exists()
    assert journal.pending(inventory) == []


def test_a_host_that_is_down_keeps_no_other_from_being_restored(
    airtoll: Airtoll, inventory: Path, tmp_path: Path
) -> None:
    left(inventory, "ap", "sta", "router", "controller", "sta")
    done = airtoll("hosts", "restore", inventory)
    assert (done.returncode, one_line(done)) == (
        1,
        "3 changes remain: repeat airtoll hosts restore when the machines can be reached",
    )
    last, router, first = done.stdout.splitlines()
    assert last.startswith("remains: host sta: ")
    assert last.endswith(" (restoring change 5)")
    assert router == (
        f"remains: host router: {inventory} no longer has it: restore it with the earlier inventory "
        "(restoring change 3)"
    )
    assert first.endswith(" (restoring change 2)")
    assert (tmp_path / "reached").read_text() == "\n"  # once for both changes
    assert (tmp_path / "ap-1").exists()
    assert (tmp_path / "controller-4").exists()
    assert [each.what for each in journal.pending(inventory)] == ["change 5", "change 3", "change 2"]


def test_a_study_restores_the_reachable_hosts_first(
    airtoll: Airtoll, inventory: Path, tmp_path: Path
) -> None:
    left(inventory, "ap", "sta")
    (tmp_path / "small.toml").write_text(SMALL_STUDY)
    done = airtoll("run", "small.toml", "--lab", "hosts", "--inventory", inventory)
    assert done.returncode == 2
    assert one_line(done).startswith("lab hosts: an earlier airtoll was killed, and host sta: ")
    assert one_line(done).endswith(" (restoring change 2)")
    assert (tmp_path / "ap-1").exists()
