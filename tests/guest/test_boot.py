"""A guest does its job in virtual time, says what went wrong, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airtoll.errors import AirtollError, UsageError
from airtoll.guest import boot, recipe

Run = Callable[[str], boot.Ended]


def stand_in(folder: Path, script: str) -> recipe.Kernel:
    """A program in place of a guest's kernel."""
    program = folder / "kernel"
    program.write_text(f"#!{sys.executable} -IS\n{script}")
    program.chmod(0o755)
    return recipe.Kernel(program, "", "", "", 0)


def test_sleep_takes_virtual_time_and_no_real_time(in_guest: Run, tmp_path: Path) -> None:
    ended = in_guest(f"sleep 100; date +%s > /run/job/date; test -w {tmp_path} || touch /run/job/read-only")
    assert ended.virtual_s > 100
    assert ended.host_s < 30
    assert int((tmp_path / "job" / "date").read_text()) == pytest.approx(boot.EPOCH_S + 100, abs=5)
    assert (tmp_path / "job" / "read-only").exists(), "the machine's files can be changed in the guest"


def test_a_program_that_waits_for_the_clock_in_a_loop_ends(in_guest: Run) -> None:
    wait = "import time; until = time.monotonic() + 0.02\nwhile time.monotonic() < until: pass"
    assert in_guest(f"{sys.executable} -c '{wait}'").virtual_s < 5


def test_clocks_agree_and_never_run_backwards(in_guest: Run, tmp_path: Path) -> None:
    # time.clock_gettime reads the vDSO; a timer file is set and expires by the kernel's own clock.
    program = tmp_path / "clocks.py"
    program.write_text(
        "import select, time\n"
        "last = 0\n"
        "for step in range(200):\n"
        "    before = time.monotonic_ns()\n"
        "    time.sleep(0.000_001 * (step + 1))\n"
        "    after = time.monotonic_ns()\n"
        "    assert before >= last and after - before >= 1000 * (step + 1), (step, last, before, after)\n"
        "    last = after\n"
        "offsets = {round(time.time() - time.monotonic(), 3) for _ in range(100) if time.sleep(0.01) is None}\n"
        "assert len(offsets) == 1, offsets\n"
        "open('/run/job/passed', 'w').close()\n"
    )
    in_guest(f"{sys.executable} {program}")
    assert (tmp_path / "job" / "passed").exists()


def test_a_program_that_never_ends_is_named(in_guest: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "STILL_S", 3.0)
    began_s = time.monotonic()
    with pytest.raises(
        boot.GuestError, match=r"time has not moved for 3 s: 'spinner' \(process \d+\) runs without end"
    ):
        in_guest(
            f"exec {sys.executable} -c \"open('/proc/self/comm', 'w').write('spinner')\nwhile True: pass\""
        )
    assert time.monotonic() - began_s < 30


def test_a_failed_job_raises_its_own_error(kernel: recipe.Kernel, tmp_path: Path) -> None:
    with pytest.raises(AirtollError, match="KeyError: 'no such task'") as raised:
        boot.perform(kernel, {"task": "no such task"}, tmp_path)
    assert not isinstance(raised.value, UsageError)


def test_a_kernel_that_does_not_boot_shows_its_last_lines(tmp_path: Path) -> None:
    broken = stand_in(tmp_path, "print('Kernel panic: out of luck')\n")
    with pytest.raises(boot.GuestError, match="the guest ended before its job: Kernel panic: out of luck"):
        boot.perform(broken, {"task": "shell"}, tmp_path)


@contextmanager
def starved(busy: int) -> Iterator[None]:
    """Let this process and its children share one core with `busy` programs that never sleep."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    # Each has a session of its own, as the guest has: the kernel may divide the core between sessions.
    programs = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        for _ in range(busy)
    ]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()
        os.sched_setaffinity(0, cores)


def test_a_guest_that_waits_for_a_core_is_not_still(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boot, "STILL_S", 1.2)
    works = "import time\nwhile time.process_time() < 0.6: pass\nprint('worked')\n"
    kernel = stand_in(tmp_path, works)
    began_s = time.monotonic()
    with starved(busy=5), pytest.raises(boot.GuestError, match="ended before its job: worked"):
        boot.perform(kernel, {"task": "shell"}, tmp_path)
    assert time.monotonic() - began_s > 2 * boot.STILL_S


def test_a_guest_that_sleeps_is_still(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boot, "STILL_S", 0.5)
    kernel = stand_in(tmp_path, "import time\ntime.sleep(60)\n")
    with pytest.raises(boot.GuestError, match="it says nothing"):
        boot.perform(kernel, {"task": "shell"}, tmp_path)


def test_a_stopped_guest_ends_at_once(kernel: recipe.Kernel, tmp_path: Path) -> None:
    spin = tmp_path / "spin"
    spin.write_text("#!/bin/sh\nwhile :; do :; done\n")
    spin.chmod(0o755)
    job = {"task": "shell", "environment": {"SHELL": str(spin)}}
    began_s = time.monotonic()
    with pytest.raises(boot.GuestError, match="stopped"):
        boot.perform(kernel, job, tmp_path, stop=lambda: time.monotonic() > began_s + 1)
    assert time.monotonic() - began_s < 10


def guest_processes() -> set[int]:
    """The processes of guests."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"rootfstype=hostfs" in argv or argv[0].endswith(b"uml-userspace"):
                found.add(int(entry.name))
    return found


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_guest_ends_with_the_process_that_booted_it(tmp_path: Path, sent: signal.Signals) -> None:
    spin = tmp_path / "spin"
    spin.write_text("#!/bin/sh\necho started > /run/job/started\nwhile :; do :; done\n")
    spin.chmod(0o755)
    program = (
        "from pathlib import Path\n"
        "from airtoll.guest import boot, recipe\n"
        f"job = {{'task': 'shell', 'environment': {{'SHELL': {str(spin)!r}}}}}\n"
        f"boot.perform(recipe.built(), job, Path({str(tmp_path)!r}))\n"
    )
    before = guest_processes()
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        deadline_s = time.monotonic() + 60
        while not (tmp_path / "started").exists():
            assert parent.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        own = guest_processes() - before
        assert own
        os.kill(parent.pid, sent)
        parent.wait()
        while own & guest_processes():
            assert time.monotonic() < deadline_s, "processes of the guest remain"
            time.sleep(0.05)
