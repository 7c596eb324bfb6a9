"""The first program of a guest. It mounts file systems, performs the job in the job's directory, and powers off.

The guest's root is the machine's, read-only. The job's directory is `job.JOB`, the only place whose files remain.
Progress goes to the guest's console as lines of JSON after `job.EVENT`.
"""

import ctypes
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from airtoll.guest.job import EVENT, JOB, OUTCOME, TASK, TEMPORARY

LIFE_S: Final = 0.25
"""Time in the guest between two signs of life."""

_SETTLE_S = 0.05
"""Time in the guest until its timers are exact: in the first ticks of its clock (100 Hz), sleeps end at a tick."""

_RECEIVE_BUFFERS = ("4096 4194304 6291456", Path("/proc/sys/net/ipv4/tcp_rmem"))
"""Sizes of TCP's receive buffers in bytes: least, default, most. The default is large because the kernel lets a buffer
grow by the speed at which a program reads. In virtual time reading takes no time, which misleads this estimate: the
window then remains at 64 KiB and limits the throughput."""

_RB_POWER_OFF = 0x4321FEDC  # reboot(2)

_MOUNTS: Final = (
    ("proc", "/proc", "proc", ""),
    ("sysfs", "/sys", "sysfs", ""),
    ("debugfs", "/sys/kernel/debug", "debugfs", ""),
    ("tmpfs", "/run", "tmpfs", "mode=755"),
)


def main() -> None:
    """Perform the job of a new guest in a child process. This process inherits orphans, and ends the guest."""
    if (child := os.fork()) == 0:
        _perform_job()
        os._exit(0)
    while os.wait()[0] != child:
        pass
    power_off()


def _perform_job() -> None:
    try:
        _mount_all()
        sizes, setting = _RECEIVE_BUFFERS
        setting.write_text(sizes, encoding="ascii")
        time.sleep(_SETTLE_S)
        job = json.loads((JOB / TASK).read_text(encoding="utf-8"))
        os.environ.clear()
        os.environ.update(job["environment"], TMPDIR=str(TEMPORARY))
        threading.Thread(target=_show_life, daemon=True).start()
        outcome: dict[str, Any] = _perform(job)
    except BaseException:  # the guest has nobody else to tell
        traceback.print_exc()
        outcome = {"error": traceback.format_exc(limit=-1).strip().splitlines()[-1], "exit_code": 1}
    outcome["virtual_s"] = time.monotonic()  # since the guest booted
    _write_outcome(outcome)
    sys.stdout.flush()


def _show_life() -> None:
    """Report the time again and again: the program that booted the guest then knows that time moves."""
    while True:
        time.sleep(LIFE_S)
        report({"virtual_s": time.monotonic()})


def _write_outcome(outcome: Mapping[str, Any]) -> None:
    try:
        (JOB / OUTCOME).write_text(json.dumps(outcome), encoding="utf-8")
    except OSError as error:
        print(f"cannot write {OUTCOME}: {error}", flush=True)


def _perform(job: Mapping[str, Any]) -> dict[str, Any]:
    from airtoll.errors import AirtollError

    try:
        TASKS[job["task"]](job)
    except AirtollError as error:
        return {"error": str(error), "exit_code": error.exit_code}
    return {}


def report(event: Mapping[str, Any]) -> None:
    """Report progress to the program that booted the guest."""
    print(f"{EVENT}{json.dumps(event)}", flush=True)


def power_off() -> None:
    """End the guest."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sync()
    libc.reboot(_RB_POWER_OFF)


def _mount_all() -> None:
    for source, target, kind, options in _MOUNTS:
        _mount(source, target, kind, options)
    for name in ("pts", "shm"):
        Path(f"/dev/{name}").mkdir(exist_ok=True)
    _mount("devpts", "/dev/pts", "devpts", "ptmxmode=666")
    _mount("tmpfs", "/dev/shm", "tmpfs", "mode=1777")  # noqa: S108
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        Path(f"/dev/{name}").symlink_to(f"/proc/self/fd{target}")
    TEMPORARY.mkdir()
    JOB.mkdir()
    # The guest's kernel runs in the job's directory. A constant name keeps the kernel's random numbers the same.
    _mount("none", str(JOB), "hostfs", "/proc/self/cwd")


def _mount(source: str, target: str, kind: str, options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), 0, options.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {kind} at {target}: {os.strerror(number)}")


def _shell(_job: Mapping[str, Any]) -> None:
    """Run an interactive shell on the console."""
    import subprocess

    subprocess.run([os.environ.get("SHELL", "/bin/sh")], check=False)


def _run(job: Mapping[str, Any]) -> None:
    from airtoll.guest.runs import perform_inside

    perform_inside(job, report)


TASKS: Final[Mapping[str, Callable[[Mapping[str, Any]], None]]] = {"run": _run, "shell": _shell}
"""The tasks that a guest can perform, by name."""


if __name__ == "__main__":
    main()
