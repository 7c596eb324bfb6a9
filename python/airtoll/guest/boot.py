"""A guest as a process of this machine: its command line, its output, and its end.

The guest runs on one core: on two, each system call would wait for the other core. It ends with the thread that started
it, however that thread ends, and it leaves nothing behind: its memory is a file without a name.
"""

import compileall
import fcntl
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, FiniteFloat, TypeAdapter

from airtoll.clock import Clock
from airtoll.documents import read_json
from airtoll.errors import AirtollError, UsageError
from airtoll.guest import recipe
from airtoll.guest.job import EVENT, OUTCOME, TASK, TEMPORARY
from airtoll.host import SYSTEM_PATH

MEMORY_MIB: Final = 512

EPOCH_S: Final = 1_767_225_600
"""The guest's date when it boots in virtual time: 2026-01-01, so that the same run has the same times of day."""

STILL_S: Final = 60.0
"""Time without a sign of life after which a guest counts as hanging: real time, less the time in which the guest waited
for a core."""

_PYTHON: Final = Path(sys.prefix, "bin", "python3")
"""The interpreter of guests. It has one name, however this process was started: one symbolic link more takes time to
read, which changes the samples."""

_STOP_QUEUE: Final = 256
"""Frames of an access category that a radio holds before it stops the queue: four of the longest A-MPDUs."""

_MAX_QUEUE: Final = 100_000
"""Frames that a radio holds before it drops some. It stops its queues long before."""

_ASKED_S: Final = 2.0  # time for the kernel to name the running program, counted as STILL_S
_LAST_LINES: Final = 12


class _Outcome(BaseModel):
    virtual_s: FiniteFloat
    error: str | None = None
    exit_code: int = AirtollError.exit_code


_EVENT: Final[TypeAdapter[Mapping[str, Any]]] = TypeAdapter(dict[str, FiniteFloat | str])
_OUTCOME: Final = TypeAdapter(_Outcome)


class GuestError(AirtollError):
    """A guest ended before its job was done."""


@dataclass(frozen=True)
class Ended:
    """The end of a guest whose job succeeded."""

    started: datetime
    finished: datetime
    host_s: float  # real time from the start of the guest to its end
    virtual_s: float  # time that passed in the guest


@cache
def compile_modules() -> None:
    """Write the byte code of airtoll's modules, as far as it is missing or old.

    A guest cannot write it. Without it, each program in the guest compiles the modules, and the additional system calls
    take time, which changes the samples.
    """
    compileall.compile_dir(str(files("airtoll")), quiet=2)


def environment() -> dict[str, str]:
    """The environment of programs in a guest: constant, so that the same run gives the same samples."""
    return {
        "PATH": f"{_PYTHON.parent}:{SYSTEM_PATH}",
        "HOME": str(TEMPORARY),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


def command(kernel: int, clock: Clock, core: int | None, radios: int = 0) -> list[str]:
    """The command that boots a guest whose job is in the working directory.

    `kernel` is a descriptor that the command inherits: `recipe.Kernel.opened`. `radios` is as in `perform`.
    """
    virtual = ["time-travel=inf-cpu", f"time-travel-start={EPOCH_S * 10**9}"] if clock == "virtual" else []
    return [
        *("setpriv", "--pdeathsig", "KILL", "--"),
        *(("taskset", "--cpu-list", str(core)) if core is not None else ()),
        f"/proc/self/fd/{kernel}",
        *("rootfstype=hostfs", "rootflags=/", "ro", f"mem={MEMORY_MIB}M", "uml_dir=/proc/self/cwd/"),
        *("con=null", "con0=fd:0,fd:1", "quiet", "loglevel=3", "seccomp=on", "norandmaps", "panic=-1"),
        *virtual,
        *(f"mac80211_hwsim.radios={radios}", f"mac80211_hwsim.max_queue={_MAX_QUEUE}"),
        *(
            f"mac80211_hwsim.stop_queue={_STOP_QUEUE}",
            f"init={_PYTHON}",
            "--",
            "-I",
            "-m",
            "airtoll.guest.inside",
        ),
    ]


def perform(
    kernel: recipe.Kernel,
    job: Mapping[str, Any],
    directory: Path,
    *,
    clock: Clock = "virtual",
    radios: int = 0,
    on_event: Callable[[Mapping[str, Any]], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Ended:
    """Boot a guest that performs the job, and wait for its end. The job's files are in the directory.

    Raises GuestError with the guest's last words if it panics or hangs, UsageError or AirtollError with the job's own
    message if the job fails. Ends the guest with a GuestError once `stop` returns true.

    The guest has `radios` radios of mac80211_hwsim as a machine has cards: they hear each other without a medium.
    """
    compile_modules()
    written = {**job, "environment": environment() | job.get("environment", {})}
    (directory / TASK).write_text(json.dumps(written), encoding="utf-8")
    started, began_s = datetime.now(UTC), time.monotonic()
    console = _Console(on_event)
    with _own_core() as core, kernel.opened() as descriptor:
        process = subprocess.Popen(
            command(descriptor, clock, core, radios),
            pass_fds=[descriptor],
            cwd=directory,
            env=memory_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _watch(process, console, stop)
        finally:
            _end(process)
    outcome = _outcome(directory / OUTCOME, console)
    return Ended(started, datetime.now(UTC), time.monotonic() - began_s, outcome.virtual_s)


@contextmanager
def _own_core() -> Iterator[int]:
    """A core of this machine on which no other guest runs; if all have one, any core."""
    usable = sorted(os.sched_getaffinity(0))
    locks = recipe.directory()
    for core in usable:
        try:
            descriptor = os.open(locks / f"core-{core}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            break  # the cache is read-only: its owner shares the kernel
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        try:
            yield core
        finally:
            os.close(descriptor)
        return
    yield usable[os.getpid() % len(usable)]


def shell(kernel: recipe.Kernel, clock: Clock) -> None:
    """Boot a guest with an interactive shell on this terminal, and wait for its end."""
    with tempfile.TemporaryDirectory(prefix="airtoll-shell-") as directory:
        job = {"task": "shell", "environment": environment() | _terminal()}
        (Path(directory) / TASK).write_text(json.dumps(job), encoding="utf-8")
        with kernel.opened() as descriptor:
            process = subprocess.Popen(
                command(descriptor, clock, None),
                pass_fds=[descriptor],
                cwd=directory,
                env=memory_environment(),
            )
        try:
            process.wait()
        finally:
            process.kill()
            process.wait()


def _terminal() -> dict[str, str]:
    return {name: os.environ[name] for name in ("SHELL", "TERM") if name in os.environ}


def memory_environment() -> dict[str, str]:
    """The environment of the kernel itself, which names the directory of its memory: in memory if there is space."""
    shared = Path("/dev/shm")  # noqa: S108
    wanted = MEMORY_MIB * 2**20
    spacious = shared.is_dir() and shutil.disk_usage(shared).free > 2 * wanted
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "TMPDIR": str(shared if spacious else recipe.directory()),
    }


class _Console:
    """The lines of a guest's console: events, and the last of the other lines."""

    def __init__(self, on_event: Callable[[Mapping[str, Any]], None]) -> None:
        self._on_event = on_event
        self._rest = b""
        self.last: deque[str] = deque(maxlen=_LAST_LINES)

    def take(self, output: bytes) -> None:
        *lines, self._rest = (self._rest + output).split(b"\n")
        for raw in lines:
            line = raw.decode(errors="replace").rstrip()
            before, mark, event = line.partition(EVENT)
            if mark:
                with suppress(AirtollError):  # another program may print between the parts of a line
                    self._on_event(read_json(_EVENT, event, "an event of the guest"))
                line = before
            if line.strip():
                self.last.append(line)


class _Stillness:
    """Real time, less the time in which a guest's processes waited for a core: a starved guest is not still."""

    def __init__(self, guest: int) -> None:
        self._guest = guest
        self._since_s = time.monotonic()
        self._starved_s = 0.0
        self._waits_s: dict[str, float] = {}

    def seconds(self) -> float:
        """The time since this object was made. Waiting counts from the first call on, so call this repeatedly."""
        waits_s = _waits_for_cores_s(self._guest)
        self._starved_s += sum(wait_s - self._waits_s.get(one, wait_s) for one, wait_s in waits_s.items())
        self._waits_s = waits_s
        return time.monotonic() - self._since_s - self._starved_s


def _waits_for_cores_s(guest: int) -> dict[str, float]:
    """For each process of the guest, the time that it was ready to run and had no core.

    A kernel without CONFIG_SCHED_INFO does not tell the time: the answer is then empty.
    """
    waits_s = {}
    with suppress(OSError):
        children = Path(f"/proc/{guest}/task/{guest}/children").read_text(encoding="ascii")
        for process in (str(guest), *children.split()):
            with suppress(OSError):  # it has ended
                _, wait_ns, _ = Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()
                waits_s[process] = int(wait_ns) / 1e9
    return waits_s


def _watch(process: subprocess.Popen[bytes], console: _Console, stop: Callable[[], bool]) -> None:
    """Read the console until the guest ends. Raises GuestError if it hangs."""
    assert process.stdout is not None
    silence = _Stillness(process.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(timeout=0.5):
                output = os.read(process.stdout.fileno(), 65536)
                if not output:
                    return
                console.take(output)
                silence = _Stillness(process.pid)
            elif silence.seconds() > STILL_S:
                raise GuestError(_hangs(process, console))
            if stop():
                raise GuestError("stopped")


def _hangs(process: subprocess.Popen[bytes], console: _Console) -> str:
    """The error for a guest without a sign of life. The kernel names the running program when it gets SIGUSR1."""
    assert process.stdout is not None
    said = len(console.last)
    os.kill(process.pid, signal.SIGUSR1)  # `send_signal` could reap it, and `_end` signals its group
    silence = _Stillness(process.pid)
    while silence.seconds() < _ASKED_S and len(console.last) == said:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if selector.select(timeout=0.1):
                console.take(os.read(process.stdout.fileno(), 65536))
    words = console.last[-1] if console.last else "it says nothing"
    return f"the guest's time has not moved for {STILL_S:.0f} s: {words}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the guest with all its processes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _outcome(outcome_file: Path, console: _Console) -> _Outcome:
    """The outcome of the job. Raises the job's error, or GuestError if the guest ended without an outcome."""
    try:
        outcome = read_json(_OUTCOME, outcome_file.read_bytes(), OUTCOME)
    except (OSError, AirtollError):
        last = " | ".join(list(console.last)[-3:]) or "it printed nothing"
        raise GuestError(f"the guest ended before its job: {last}") from None
    if outcome.error is not None:
        kind = UsageError if outcome.exit_code == UsageError.exit_code else AirtollError
        raise kind(outcome.error)
    return outcome
