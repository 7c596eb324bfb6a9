"""Hosts behind SSH that run no agent: commands in the way of macOS and of Windows, through an SSH server of Linux."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_processes import runs, wait_until

from airtoll.agent.agentless import AgentlessHost, AgentlessSystem
from airtoll.agent.connection import LostError
from airtoll.agent.ssh import Ssh
from airtoll.errors import AirtollError, UsageError

INTERRUPTIBLE = """
import os, signal
# Commands in the background start with SIGINT ignored. iperf3 and ping set a handler too.
signal.signal(signal.SIGINT, signal.default_int_handler)
print(os.getpid(), flush=True)
signal.pause()
"""


STUBBORN = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)"


@pytest.fixture(params=["macos", "windows"])
def host(request: pytest.FixtureRequest, ssh_config: Path) -> Iterator[AgentlessHost]:
    system: AgentlessSystem = request.param
    with Ssh("sta", "laptop", ["-F", str(ssh_config)]) as way:
        yield AgentlessHost(way, system)


@pytest.fixture
def mac(ssh_config: Path) -> Iterator[AgentlessHost]:
    with Ssh("sta", "laptop", ["-F", str(ssh_config)]) as way:
        yield AgentlessHost(way, "macos")


def test_a_command_has_its_status_and_both_streams(host: AgentlessHost) -> None:
    done = host.run(["printf", "a-b"], 20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a-b", b"")
    assert host.run(["nonexistent-tool"], 20).returncode == 127


def test_an_argument_stays_one_argument_on_a_mac(mac: AgentlessHost) -> None:
    assert mac.run(["printf", "%s", "a b;c"], 20).stdout == b"a b;c"


@pytest.mark.parametrize("word", ["fe80::1%x&calc", "a b", "|more", "^", ""])
def test_no_argument_of_a_command_of_windows_has_a_meaning_for_its_shell(word: str) -> None:
    with (
        Ssh("sta", "laptop", []) as way,
        pytest.raises(AirtollError, match="cannot be an argument of a command on Windows"),
    ):
        AgentlessHost(way, "windows").command(["ping", word])


def test_lines_arrive_while_the_command_runs(mac: AgentlessHost) -> None:
    with mac.popen(["sh", "-c", "echo one; echo two; exec sleep 60"]) as process:
        until_s = time.monotonic() + 20
        assert [process.next_line(until_s), process.next_line(until_s)] == [b"one", b"two"]
        with pytest.raises(TimeoutError):
            process.next_line(time.monotonic() + 0.01)
        process.kill()


@pytest.mark.parametrize("end", ["interrupted", "killed", "ssh killed", "late"])
@pytest.mark.parametrize("program", [INTERRUPTIBLE, STUBBORN])
def test_no_command_of_a_mac_outlives_its_end(mac: AgentlessHost, program: str, end: str) -> None:
    with mac.popen([sys.executable, "-c", program]) as process:
        command = int(process.next_line(time.monotonic() + 20) or 0)
        assert runs(command)
        match end:
            case "interrupted":
                process.send_signal(signal.SIGINT)
                assert process.wait(20) not in (0, None)
            case "killed":
                process.kill()
            case "ssh killed":
                process._ssh.kill()
            case "late":
                with pytest.raises(subprocess.TimeoutExpired):
                    process.communicate(0.1)
                process.kill()
        assert wait_until(lambda: not runs(command))


def test_a_host_that_cannot_be_reached(mac: AgentlessHost, tmp_path: Path) -> None:
    mac.reach()
    mac.close()
    (tmp_path / "authorized").write_text("")
    with pytest.raises(UsageError, match=r"^host sta \(laptop\): ssh requires a key or an agent"):
        mac.reach()
    (tmp_path / "sshd_config").unlink()
    with pytest.raises(LostError, match=r"^host sta: "):
        mac.texts()


def test_what_only_an_agent_has_is_refused_in_one_line(host: AgentlessHost) -> None:
    for call in (lambda: host.program("pingpong"), host.clock, host.dropped_datagrams):
        with pytest.raises(
            AirtollError, match=r"^host sta: .* requires an agent, which exists only for Linux$"
        ):
            call()
    with host.sampling(10.0) as sampled:
        assert list(sampled.readings) == []
