"""Commands, files, ports and clocks of a host that an agent serves."""

import gc
import json
import os
import platform
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from agent_processes import runs, wait_until, worker_of
from hypothesis import given, settings
from hypothesis import strategies as st

from airtoll import _rust
from airtoll.agent import binary
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.host import CommandTimeoutError


def test_the_program_is_small_enough_to_copy() -> None:
    assert binary.program(platform.machine()).stat().st_size < 3_000_000


def test_a_command_has_its_status_and_both_streams(host: AgentHost) -> None:
    done = host.run(["sh", "-c", "echo out; echo err >&2; exit 3"], 5)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


def test_a_command_that_cannot_start_says_why(host: AgentHost) -> None:
    done = host.run(["/nonexistent/tool"], 5)
    assert done.returncode == 127
    assert b"/nonexistent/tool: No such file or directory" in done.stderr


@settings(max_examples=20)
@given(octets=st.binary(max_size=300_000))
def test_output_arrives_octet_for_octet(octets: bytes) -> None:
    agent = str(binary.local())
    with (
        Connection("here", [agent, "serve"]) as connection,
        AgentHost(connection).popen(["cat"], stdin=True) as cat,
    ):
        cat.write(octets, end=True)
        assert cat.communicate(timeout=10) == (octets, b"")


def test_lines_arrive_while_the_command_runs(host: AgentHost) -> None:
    with host.popen(["sh", "-c", "echo one; echo two; exec sleep 60"]) as process:
        until_s = time.monotonic() + 5
        assert [process.next_line(until_s), process.next_line(until_s)] == [b"one", b"two"]
        with pytest.raises(TimeoutError):
            process.next_line(time.monotonic() + 0.01)
        process.kill()
        assert process.next_line(until_s) is None


def test_a_signal_goes_to_the_command_and_a_kill_to_its_children_too(host: AgentHost) -> None:
    script = "trap 'echo interrupted; exit 7' INT; sleep 60 & echo $!; wait"
    with host.popen(["sh", "-c", script]) as process:
        child = int(process.next_line(time.monotonic() + 5) or 0)
        process.send_signal(signal.SIGINT)
        assert process.next_line(time.monotonic() + 5) == b"interrupted"
        assert process.wait(5) == 7
        assert runs(child)
        process.kill()
        assert wait_until(lambda: not runs(child))


def test_a_command_that_hangs_is_killed_with_its_output_kept(host: AgentHost) -> None:
    with pytest.raises(CommandTimeoutError, match=r"^host here: 'sh' did not end within 0.5 s$") as caught:
        host.run(["sh", "-c", "echo thinking; exec sleep 60"], 0.5)
    assert caught.value.stdout == b"thinking\n"
    assert isinstance(caught.value, AirtollError)  # one line on the terminal


@pytest.mark.parametrize("end", ["closed", "worker killed", "supervisor killed"])
def test_nothing_outlives_the_connection(end: str, tmp_path: Path) -> None:
    agent = str(binary.local())
    with Connection("here", [agent, "serve"]) as connection:
        host = AgentHost(connection)
        folder = Path(host.folder())
        host.put(str(folder / "secret"), b"x")
        assert (folder / "secret").stat().st_mode & 0o777 == 0o600
        host.at_end(["sh", "-c", f"echo first >> {tmp_path}/restored"])
        host.at_end(["sh", "-c", f"echo last >> {tmp_path}/restored"])
        host.at_end(["sh", "-c", f"grep SigBlk /proc/self/status > {tmp_path}/blocked"])
        host.forget_at_end(host.at_end(["sh", "-c", f"echo never >> {tmp_path}/restored"]))
        # A daemon leaves its session and its parent.
        script = "setsid sh -c 'echo $$; exec sleep 600' & sleep 0.2; echo $$; exec sleep 600"
        process = host.popen(["sh", "-c", script])
        until_s = time.monotonic() + 5
        started = [int(process.next_line(until_s) or 0) for _ in range(2)]
        assert all(map(runs, started))
        if end == "worker killed":
            os.kill(worker_of(host), signal.SIGKILL)
        elif end == "supervisor killed":
            os.kill(connection._transport.pid, signal.SIGKILL)
        else:
            connection.close()
        assert wait_until(lambda: not any(map(runs, started)))
        assert wait_until(lambda: not folder.exists())
        assert (tmp_path / "restored").read_text() == "last\nfirst\n"
        assert int((tmp_path / "blocked").read_text().split()[1], 16) == 0


_HOLD = """
import ctypes, sys, time
seize = 0x4206
print(ctypes.CDLL(None).ptrace(seize, int(sys.argv[1]), None, None), flush=True)
time.sleep(600)
"""


def test_a_process_that_does_not_end_does_not_prevent_the_restoration(tmp_path: Path) -> None:
    """A killed process whose debugger does not notice it is there like one in an uninterruptible sleep."""
    with Connection("here", [str(binary.local()), "serve"]) as connection:
        host = AgentHost(connection)
        host.at_end(["touch", f"{tmp_path}/restored"])
        sleeping = host.popen(["sleep", "600"])
        debugger = [sys.executable, "-c", _HOLD, str(sleeping.pid)]
        with subprocess.Popen(debugger, stdout=subprocess.PIPE, text=True) as holding:
            try:
                assert holding.stdout is not None
                if holding.stdout.readline() != "0\n":
                    pytest.skip("this user cannot trace processes (kernel.yama.ptrace_scope)")
                connection.close()
                assert not runs(sleeping.pid)
                assert (tmp_path / "restored").exists()
            finally:
                holding.kill()


def test_an_agent_that_restores_its_host_is_not_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("airtoll.agent.connection._END_S", 1.0)
    with Connection("here", [str(binary.local()), "serve"]) as connection:
        host = AgentHost(connection)
        folder = Path(host.folder())
        host.at_end(["touch", f"{tmp_path}/last"])
        host.at_end(["sh", "-c", f"sleep 2; cat > {tmp_path}/first"], b"a passphrase")
    assert (tmp_path / "first").read_bytes() == b"a passphrase"
    assert (tmp_path / "last").exists()
    assert not folder.exists()


def test_no_process_gets_the_number_of_a_command_before_it_is_forgotten(host: AgentHost) -> None:
    with host.popen(["true"]) as process:
        assert process.wait(5) == 0
        # A zombie keeps its number, which `kill` uses for the group.
        assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        process.kill()
        assert (process.returncode, process.cpu_s()) == (0, 0.0)
    assert not Path(f"/proc/{process.pid}").exists()


# No connection is left to wait for the end of the process.
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot become another one")
def test_a_command_that_belongs_to_root_does_not_hide_the_error(tmp_path: Path) -> None:
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    folder.chmod(0o755)
    sudo = folder / "sudo"  # like sudo(8), it becomes root completely, so its caller may not kill it
    shutil.copy(shutil.which("setpriv") or "", sudo)
    sudo.chmod(0o4755)
    os.setresuid(65534, 65534, 0)
    try:
        sleeping = [str(sudo), "--reuid", "0", "--regid", "0", "--clear-groups", "sh", "-c"]
        with pytest.raises(LostError, match=r"^host here: the agent did not report within 1 s$"):
            # It ends with its input, as an agent does.
            Connection(
                "here", [*sleeping, f"echo $$ > {tmp_path}/pid; cat >&2; exec sleep 60"], timeout_s=0.6
            )
    finally:
        os.setresuid(0, 0, 0)
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        shutil.rmtree(folder)
    assert wait_until(lambda: "agent here" not in {thread.name for thread in threading.enumerate()})
    gc.collect()


HOSTILE = {
    "a list": b"[1]",
    "deep": b"[" * 100_000,
    "an answer without a value": b'{"id": 1}',
    "a number that is a list": b'{"id": [], "ok": 1}',
    "a process that is a table": b'{"process": {}}',
    "no text": b"\xff",
}


@pytest.mark.parametrize("head", HOSTILE.values(), ids=HOSTILE)
def test_a_host_can_send_anything(head: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hello = json.dumps({"agent": _rust.AGENT_VERSION, "pid": 1, "program": "x"}).encode()
    frames = (struct.pack(">II", len(octets), 0) + octets for octets in (hello, head))
    (tmp_path / "frames").write_bytes(b"".join(frames))
    # The second frame follows the first request.
    file, first_b = tmp_path / "frames", 8 + len(hello)
    script = f"head -c {first_b} {file}; head -c 8 >&2; tail -c +{first_b + 1} {file}; cat"
    with (
        Connection("board", ["sh", "-c", script]) as connection,
        pytest.raises(LostError, match=r"^host board: the agent's answer is not readable: "),
    ):
        connection.ask("facts")
    assert "Traceback" not in capfd.readouterr().err


def test_the_words_of_a_host_cannot_control_the_terminal() -> None:
    with pytest.raises(LostError) as raised:
        Connection("board", ["printf", "\\033]0;title\\007\\033[2J\\rgone\\n"])
    assert str(raised.value).isprintable()
    with pytest.raises(LostError) as raised:
        Connection("board", ["sh", "-c", "printf '\\033]0;title\\007\\n' >&2"])
    assert str(raised.value) == "host board: \\x1b]0;title\\x07"


def test_a_lost_host_is_named_in_every_call(host: AgentHost) -> None:
    process = host.popen(["sleep", "60"])
    os.kill(worker_of(host), signal.SIGKILL)
    for call in (process.wait, process.poll, host.dropped_datagrams, lambda: host.run(["true"], 1)):
        with pytest.raises(LostError, match=r"^host here: the connection has ended$"):
            wait_until(lambda call=call: call() is None and False, 5)


def test_a_transport_that_fails_is_reported_in_its_own_words() -> None:
    with pytest.raises(LostError, match=r"^host board: ssh: no route to board$"):
        Connection("board", ["sh", "-c", "echo 'ssh: no route to board' >&2; exit 255"])


def test_a_shell_that_greets_is_no_agent() -> None:
    with pytest.raises(LostError, match=r"^host board: the agent's answer is not readable: .*Welcome"):
        Connection("board", ["echo", "Welcome to board. Have a lot of fun"])


def test_an_agent_of_another_version_is_refused() -> None:
    hello = json.dumps({"agent": "airtoll-agent 0.0.1", "pid": 1})
    frame = struct.pack(">II", len(hello), 0) + hello.encode()
    told = "".join(f"\\{octet:03o}" for octet in frame)
    with pytest.raises(
        LostError, match=r"^host board: the agent is airtoll-agent 0\.0\.1, and airtoll requires "
    ):
        Connection("board", ["sh", "-c", f"printf '{told}'; exec sleep 60"])


def test_an_agent_that_does_not_report_is_given_up() -> None:
    with pytest.raises(LostError, match=r"did not report within 0 s$"):
        Connection("board", ["sleep", "60"], timeout_s=0.1)


def test_files_move_whole(host: AgentHost, tmp_path: Path) -> None:
    octets = os.urandom(9_000_000)
    (tmp_path / "capture").write_bytes(octets)
    assert host.get(str(tmp_path / "capture")) == octets
    with pytest.raises(AirtollError, match=r"^host here: No such file or directory"):
        host.get(str(tmp_path / "missing"))
    with pytest.raises(AirtollError, match=r"^host here: "):
        host.put(str(tmp_path / "missing/file"), b"x")
    assert host.texts(str(tmp_path / "missing"), "/proc/sys/kernel/ostype") == [None, "Linux\n"]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_server_is_seen_when_it_listens(host: AgentHost, family: socket.AddressFamily) -> None:
    with socket.create_server(("", 0), family=family) as server:
        port = server.getsockname()[1]
        assert host.listens("tcp", port)
        assert not host.listens("udp", port)
    assert not host.listens("tcp", port)


def test_waiting_for_a_server_ends_with_its_process(host: AgentHost) -> None:
    with host.popen(["true"]) as process:
        began_s = time.monotonic()
        assert not host.listens("tcp", 1, 30.0, process)
        assert time.monotonic() - began_s < 10


def test_the_facts_are_those_of_the_machine(host: AgentHost) -> None:
    facts = host.facts()
    assert facts["cores"] == len(os.sched_getaffinity(0))
    assert facts["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert facts["kernel"] == os.uname().release


def test_the_clock_of_this_machine_has_no_offset(host: AgentHost) -> None:
    offset = host.clock()
    assert abs(offset.offset_ns) <= offset.uncertainty_ns


def test_cpu_time_of_a_command_is_its_own(host: AgentHost) -> None:
    spin = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ntime.sleep(60)"
    with host.popen([sys.executable, "-c", spin]) as process:
        process.next_line(time.monotonic() + 30)
        assert process.cpu_s() == pytest.approx(0.5, abs=0.2)
        process.kill()
    assert process.returncode == -signal.SIGKILL


def test_the_threads_of_a_command_and_of_its_children_tell_how_long_they_ran(host: AgentHost) -> None:
    spin = (
        "import subprocess, sys, threading\n"
        "spin = 'import time\\nwhile time.process_time() < 0.3: pass\\nprint(flush=True)\\ntime.sleep(60)'\n"
        "child = subprocess.Popen([sys.executable, '-c', spin], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print(flush=True)\nchild.wait()"
    )
    with host.popen([sys.executable, "-c", spin]) as process:
        process.next_line(time.monotonic() + 30)
        threads = process.threads()
        assert len(threads) == 3
        assert 0.29 < max(times.run_s for times in threads.values()) < 0.6
        assert all(times.wait_s >= 0 for times in threads.values())
        process.kill()
        process.wait(10)
        assert process.threads() == {}
