"""Hosts behind SSH, with the system's client and server."""

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_processes import runs, wait_until
from ssh_server import trust

from airtoll.agent import binary
from airtoll.agent.connection import LostError
from airtoll.agent.ssh import Ssh
from airtoll.errors import AirtollError, UsageError


@pytest.fixture
def way(ssh_config: Path) -> Iterator[Ssh]:
    """The way to the host `board`."""
    with Ssh("sta", "board", ["-F", str(ssh_config)]) as ssh:
        yield ssh


def copies(folder: Path) -> list[Path]:
    return sorted((folder / "cache/airtoll").iterdir())


def test_the_agent_is_copied_once_and_serves(way: Ssh, tmp_path: Path) -> None:
    written_ns = set()
    for _ in range(2):
        host = way.connect()
        assert host.run(["uname"], 5).stdout == b"Linux\n"
        host.connection.close()
        (copy,) = copies(tmp_path)
        assert copy.name == f"airtoll-agent-{binary.checksum(binary.program(platform.machine()))}"
        assert copy.stat().st_mode & 0o777 == 0o700
        written_ns.add(copy.stat().st_mtime_ns)
    assert len(written_ns) == 1


def test_nothing_remains_on_the_host_when_ssh_is_killed(way: Ssh, tmp_path: Path) -> None:
    host = way.connect()
    host.at_end(["touch", str(tmp_path / "restored")])
    process = host.popen(["sh", "-c", "setsid sleep 600 & echo $!; exec sleep 600"])
    daemon = int(process.next_line(time.monotonic() + 10) or 0)
    host.connection._transport.kill()
    assert wait_until(lambda: not runs(daemon))
    assert wait_until((tmp_path / "restored").exists)
    host.connection.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot give files to another one")
@pytest.mark.parametrize("given", ["", "/airtoll-agent-*"])
def test_no_program_runs_that_another_user_could_replace(way: Ssh, tmp_path: Path, given: str) -> None:
    way.connect().connection.close()
    for path in tmp_path.glob(f"cache/airtoll{given}"):
        os.chown(path, 65534, 65534)
    if given:  # the program becomes this user's own
        way.connect().connection.close()
        (copy,) = copies(tmp_path)
        assert copy.stat().st_uid == 0
    else:
        with pytest.raises(LostError, match=rf"^host sta: {tmp_path}/cache/airtoll belongs to another user$"):
            way.connect()


@pytest.mark.parametrize("given", ["", "/airtoll-agent-*"])
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_program_that_others_may_write_is_replaced(way: Ssh, tmp_path: Path, given: str, mode: int) -> None:
    way.connect().connection.close()
    (copy,) = copies(tmp_path)
    first = copy.stat().st_ino
    for path in tmp_path.glob(f"cache/airtoll{given}"):
        path.chmod(mode)
    way.connect().connection.close()
    assert copy.stat().st_ino != first
    assert not (copy.stat().st_mode | copy.parent.stat().st_mode) & 0o022


def test_a_damaged_copy_is_replaced(way: Ssh, tmp_path: Path) -> None:
    way.connect().connection.close()
    (copy,) = copies(tmp_path)
    copy.write_bytes(copy.read_bytes()[:1000])
    host = way.connect()
    assert host.run(["uname"], 5).returncode == 0
    host.connection.close()
    assert copies(tmp_path) == [copy]
    assert copy.read_bytes() == binary.program(platform.machine()).read_bytes()


def test_a_changed_host_key_is_one_line_with_its_remedy(way: Ssh, tmp_path: Path) -> None:
    other = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")]
    subprocess.run(other, check=True, stdin=subprocess.DEVNULL)
    trust(tmp_path, tmp_path / "other.pub")
    with pytest.raises(UsageError, match=r"^host sta \(board\): the key of the host has changed"):
        way.connect()


def test_a_refused_key_is_one_line_with_its_remedy(way: Ssh, tmp_path: Path) -> None:
    (tmp_path / "authorized").write_text("")
    with pytest.raises(UsageError, match=r"^host sta \(board\): ssh requires a key or an agent"):
        way.connect()


HOLD = """
import sys
from airtoll.agent.ssh import Ssh
way = Ssh("sta", "board")
print(way._folder.name, flush=True)
sys.stdin.read()
"""


def test_the_folder_of_a_killed_process_is_removed_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        for _ in range(2)
    ]
    folders = [Path(holder.stdout.readline().decode().strip()) for holder in holders if holder.stdout]
    holders[0].kill()
    holders[0].communicate()
    assert all(folder.is_dir() for folder in folders)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Ssh("sta", "board") as way:
        own = Path(way._folder.name)
        assert set(tmp_path.iterdir()) == {folders[1], own}
    holders[1].communicate()
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_cannot_be_reached_is_lost() -> None:
    # RFC 6761: the name never exists.
    with (
        Ssh("sta", "nowhere.invalid", ["-F", "/dev/null"]) as nowhere,
        pytest.raises(LostError, match=r"^host sta: .*nowhere\.invalid"),
    ):
        nowhere.connect()


def test_an_architecture_without_an_agent_is_named(
    way: Ssh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "programs").mkdir()
    monkeypatch.setattr(binary, "FOLDER", tmp_path / "programs")
    monkeypatch.setattr(binary, "checkout", lambda: None)
    with pytest.raises(AirtollError, match=r"^no airtoll-agent for x86_64: this installation has none$"):
        way.connect()
