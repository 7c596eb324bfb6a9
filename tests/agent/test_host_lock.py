"""One airtoll at a time measures with a host."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from agent_processes import wait_until, worker_of

from airtoll.agent import binary
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot make a network namespace")

NOBODY = 65534
Connect = Callable[..., AgentHost]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects agents of an owner to a host of the test's own, a network namespace."""
    with ExitStack() as stack:
        argv = ["unshare", "--net", "sh", "-c", "echo; cat"]
        holder = stack.enter_context(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        stack.callback(holder.kill)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"\n"

        def connected(owner: str, *before: str) -> AgentHost:
            enter = ["nsenter", f"--net=/proc/{holder.pid}/ns/net", *before]
            words = f"{owner}@laptop with /home/{owner}/lab.toml since 2026-01-01 00:00:00 UTC"
            return AgentHost(
                stack.enter_context(Connection("ap", [*enter, str(binary.local()), "serve", owner, words]))
            )

        yield connected


REFUSED = (
    "host ap: airtoll-agent: another airtoll measures with this host: "
    "ann@laptop with /home/ann/lab.toml since 2026-01-01 00:00:00 UTC"
)


def test_another_owner_is_refused_with_the_name_of_the_first(connect: Connect) -> None:
    first, second = connect("ann"), connect("ann")  # two roles on one machine
    first.connection.close()
    with pytest.raises(LostError) as refused:
        connect("bob")
    assert str(refused.value) == REFUSED
    second.connection.close()
    connect("bob")


@pytest.mark.parametrize("victim", ["worker", "supervisor"])
def test_the_lock_lasts_until_the_host_has_been_restored(
    connect: Connect, victim: str, tmp_path: Path
) -> None:
    host = connect("ann")
    script = 'touch "$1/started"; while [ ! -e "$1/go" ]; do sleep 0.02; done; touch "$1/done"'
    host.at_end(["sh", "-c", script, "sh", str(tmp_path)])
    worker = worker_of(host)
    os.kill(worker if victim == "worker" else host.connection._transport.pid, signal.SIGKILL)
    assert wait_until((tmp_path / "started").exists)
    with pytest.raises(LostError) as refused:
        connect("bob")
    assert str(refused.value) == REFUSED
    assert not (tmp_path / "done").exists()
    (tmp_path / "go").touch()
    host.connection.close()

    def free() -> bool:
        try:
            return connect("bob") is not None
        except LostError:
            return False

    assert wait_until(free)
    assert (tmp_path / "done").exists()


def test_the_kernel_releases_the_lock_of_an_agent_that_was_killed(connect: Connect) -> None:
    host = connect("ann")
    worker, folder = worker_of(host), host.folder()
    os.kill(host.connection._transport.pid, signal.SIGSTOP)  # otherwise it would end with its worker
    os.kill(worker, signal.SIGKILL)
    os.kill(host.connection._transport.pid, signal.SIGKILL)
    host.connection.close()
    connect("bob")
    Path(folder).rmdir()  # nothing is left to remove it


def test_another_user_can_neither_take_nor_hold_the_lock_of_root(connect: Connect) -> None:
    connect("ann")
    (lock,) = [path for path in Path("/run/airtoll-agent").iterdir() if b"/home/ann/" in path.read_bytes()]
    attempts = 'flock -n "$1" true || cat "$1" || : > "$1" || ln -s / "$1.link" || mv "$1" "$1.old"'
    attacked = subprocess.run(
        ["sh", "-c", attempts, "sh", str(lock)],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        check=False,
    )
    assert attacked.returncode != 0
    # An agent of that user has a lock of its own, so its words do not reach root.
    with pytest.raises(LostError, match="ann@laptop"):
        connect("bob")
