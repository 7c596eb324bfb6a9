"""The journal of changes that must be reverted."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from access_point_hosts import inventory, reach

from airtoll.errors import AirtollError, UsageError
from airtoll.labs import journal
from airtoll.labs.journal import HostJournal, pending

HOLDER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from access_point_hosts import inventory, reach
from airtoll.labs.journal import HostJournal
state = Path(sys.argv[2])
with HostJournal(inventory(state)) as journal:
    host = reach(state, "ap")
    journal.before(host, "the first file", ["sh", "-c", f"cat > {state}/first"], b"a secret")
    journal.before(host, "the second file", ["sh", "-c", f"test ! -e {state}/first && echo x > {state}/second"])
    print("kept", flush=True)
    sys.stdin.read()
"""


def holder(state: Path) -> subprocess.Popen[bytes]:
    """A controller that has made two changes and waits."""
    argv = [sys.executable, "-c", HOLDER, str(Path(__file__).parent), str(state)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"kept\n"
    return process


def test_a_killed_controller_leaves_what_is_to_be_restored(state: Path) -> None:
    with holder(state) as process:
        with pytest.raises(UsageError, match="another airtoll measures with these hosts"):
            HostJournal(inventory(state))
        process.send_signal(signal.SIGKILL)
    assert [(one.what, one.host) for one in pending(inventory(state))] == [
        ("the second file", "ap"),
        ("the first file", "ap"),
    ]
    until_s = time.monotonic() + 30
    first = state / "first"
    while (
        not (first.exists() and first.stat().st_size) and time.monotonic() < until_s
    ):  # the agent restores its host
        time.sleep(0.02)
    assert first.read_text() == "a secret"
    assert (state / "second").exists()
    (state / "first").unlink()
    (state / "second").unlink()
    host = reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        assert opened.replay(lambda _: host) == []
        assert opened.pending() == []
    host.connection.close()
    assert (state / "first").read_text() == "a secret"
    assert (state / "second").exists()


def test_a_host_that_cannot_be_reached_stays_in_the_journal(state: Path) -> None:
    with holder(state) as process:
        process.send_signal(signal.SIGKILL)

    def reach_none(name: str) -> None:
        raise AirtollError(f"host {name}: no route")

    with HostJournal(inventory(state)) as opened:
        assert opened.replay(reach_none) == [  # type: ignore[arg-type]
            "host ap: no route (restoring the second file)",
            "host ap: no route (restoring the first file)",
        ]
        assert len(opened.pending()) == 2


def test_a_command_that_fails_stays_in_the_journal(state: Path) -> None:
    host = reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        change = opened.before(host, "the moon", ["sh", "-c", "echo out of reach >&2; exit 1"])
        with pytest.raises(AirtollError, match="restoring the moon: out of reach"):
            change.revert()
        new = reach(state, "ap")
        assert opened.replay(lambda _: new) == ["host ap: restoring the moon: out of reach"]
        with pytest.raises(AirtollError, match="restoring the moon: out of reach"):
            opened.recover(new)
        assert len(opened.pending()) == 1
        new.connection.close()
    host.connection.close()


def test_changes_of_a_live_connection_and_of_other_hosts_are_not_reverted(state: Path) -> None:
    hosts = {name: reach(state, name) for name in ("ap", "sta")}
    lost = reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        for host, file in ((hosts["ap"], "live"), (hosts["sta"], "other"), (lost, "lost")):
            opened.before(host, file, ["touch", str(state / file)])
        opened.recover(hosts["ap"])
        assert [one.what for one in opened.pending()] == ["other", "live"]
        assert opened.replay(hosts.__getitem__) == []
        assert [one.what for one in opened.pending()] == ["other", "live"]
    assert (state / "lost").exists()
    assert not (state / "live").exists()
    for host in (*hosts.values(), lost):
        host.connection.close()


def test_a_command_that_an_earlier_agent_runs_has_ended_before_it_runs_again(state: Path) -> None:
    script = 'cd "$0"; [ ! -e now ] || echo >> overlap; : > now; sleep 0.2; rm now; echo >> ran'
    lost, new = reach(state, "ap"), reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        opened.before(lost, "a file", ["sh", "-c", script, str(state)])
        os.kill(lost.connection._transport.pid, signal.SIGKILL)
        until_s = time.monotonic() + 30
        while not (state / "now").exists() and time.monotonic() < until_s:
            time.sleep(0.001)
        opened.recover(new)
        assert opened.pending() == []
    for host in (lost, new):
        host.connection.close()
    assert (state / "ran").read_text() == "\n\n"
    assert not (state / "overlap").exists()


def test_an_earlier_agent_does_not_restore_the_host_after_it_was_restored(state: Path) -> None:
    lost, new = reach(state, "ap"), reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        opened.before(lost, "a file", ["sh", "-c", f"echo >> {state}/ran"])
        opened.recover(new)
    lost.connection.close()  # until now, the earlier agent had not noticed that it was lost
    new.connection.close()
    assert (state / "ran").read_text() == "\n"


def test_only_the_user_can_read_the_journal(state: Path) -> None:
    host = reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        opened.before(host, "a file", ["true"], b"a secret")
        folder = journal.folder(inventory(state))
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
        assert "a secret" not in repr(opened.pending())
    host.connection.close()


def test_a_change_that_the_host_refuses_to_keep_is_not_in_the_journal(state: Path) -> None:
    host = reach(state, "ap")
    host.connection.close()
    with HostJournal(inventory(state)) as opened:
        with pytest.raises(AirtollError):
            opened.before(host, "a file", ["true"])
        assert opened.pending() == []


def test_inventories_have_journals_of_their_own(state: Path) -> None:
    with HostJournal(inventory(state)), HostJournal(state / "other" / "lab.toml"):
        pass


def test_a_journal_that_cannot_be_used_is_one_line(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        opened.before(host, "a file", ["true"])
        (file,) = journal.folder(inventory(state)).glob("*.json")
        file.write_text("[]")
        (line,) = opened.replay(lambda _: host)
        assert line.startswith(f"{file}: is damaged: ")
        assert line.endswith(": restore the host by hand, then delete the file")
    host.connection.close()
    (state / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(state / "file"))
    with pytest.raises(AirtollError, match="Not a directory"):
        HostJournal(inventory(state))


@pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot give files to another one")
def test_a_journal_that_another_user_can_access_is_refused(state: Path) -> None:
    HostJournal(inventory(state)).close()
    place = journal.folder(inventory(state))
    planted = {"what": "x", "host": "ap", "argv": ["touch", f"{state}/planted"], "stdin": "", "kept": ""}
    (place / "000001.json").write_text(json.dumps(planted))
    os.chown(place, 65534, 65534)
    with pytest.raises(UsageError, match=rf"^{place}: another user can access the journal: "):
        HostJournal(inventory(state))
    os.chown(place, 0, 0)
    place.rename(place.with_name("own"))
    place.symlink_to(place.with_name("own"))
    with pytest.raises(UsageError, match="another user can access the journal"):
        HostJournal(inventory(state))


def test_a_journal_is_the_same_owner_of_its_hosts_after_airtoll_was_killed(state: Path) -> None:
    with HostJournal(inventory(state)) as first:
        owner, words = first.owner
    assert re.fullmatch(rf"\S+@\S+ with {inventory(state)} since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC", words)
    with HostJournal(inventory(state)) as second, HostJournal(state / "other.toml") as other:
        assert second.owner[0] == owner
        assert other.owner[0] != owner
