"""If a write ends at any point for any reason, stored runs are complete and earlier runs are unchanged."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from store_fakes import RAW, STUDY, content_of, make_plan, make_record, throughput_samples

from airtoll.errors import AirtollError, UsageError
from airtoll.store import Result

CHANGES = ("open", "write", "fsync", "rename", "mkdir", "chmod")
REMOVALS = ("unlink", "rmdir")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class SimulatedKill(BaseException):
    """A simulated SIGKILL: from here on, the process does not change the disk."""


class Fault:
    """Makes the system calls that change the disk fail from number `at` on, or only this call."""

    def __init__(self, at: int, failure: Callable[[], BaseException], lasting: bool) -> None:
        self.at, self.failure, self.lasting = at, failure, lasting
        self.calls = 0
        self.struck = False

    def around(self, name: str) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            reads = name == "open" and not arguments[1] & os.O_CREAT
            if reads and self.failure is not SimulatedKill:
                return original(*arguments, **options)
            if self.struck and self.lasting:
                raise self.failure()
            if not self.struck and name in CHANGES:
                self.calls += 1
                if self.calls == self.at:
                    self.struck = True
                    if name == "write":  # a full disk or a killed process leaves a partial write
                        descriptor, content = arguments
                        original(descriptor, content[: len(content) // 2])
                    raise self.failure()
            return original(*arguments, **options)

        return call


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, fault: Fault, names: tuple[str, ...]) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(os, name, fault.around(name))
        yield


def end_of(act: Callable[[], object]) -> str | None:
    """How the act ended: None for success, or its error line."""
    try:
        act()
    except SimulatedKill:
        return "killed"
    except AirtollError as error:
        return str(error)
    return None


def no_space() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


FAULTS: dict[str, tuple[Callable[[], BaseException], bool, tuple[str, ...]]] = {
    "killed": (SimulatedKill, True, (*CHANGES, *REMOVALS)),
    "full": (no_space, True, CHANGES),
    "full for a moment": (no_space, False, CHANGES),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_run_is_stored_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    failure, lasting, names = FAULTS[kind]
    outcomes = []
    for at in range(1, 200):
        directory = tmp_path / f"{at}"
        result = Result.create(directory, STUDY, make_plan(2), "fake", quick=False)
        first, second = result.plan.runs
        result.write(make_record(first), throughput_samples(), RAW)
        capture = tmp_path / "capture"
        capture.write_bytes(b"pcap")
        earlier = {
            name: content
            for name, content in content_of(directory).items()
            if name not in (".lock", "SHA256SUMS")
        }
        fault = Fault(at, failure, lasting)
        with failing(monkeypatch, fault, names):
            end = end_of(
                partial(result.write, make_record(second), throughput_samples(), {**RAW, "air.pcap": capture})
            )
        no_space_line = f"cannot store run {second.id} in {directory}: No space left on device"
        assert end in (None, "killed" if kind == "killed" else no_space_line)
        result.close()
        read = Result.open(directory)
        if end is not None:
            outcomes.append(second.id in read.finished())
        else:
            assert second.id in read.finished()
        if not fault.struck:
            break
        assert first.id in read.finished()
        assert read.verify() == []
        assert [record.run.id for record in read.records()] == sorted(read.finished())
        assert earlier.items() <= content_of(directory).items()
        if kind != "killed":
            assert not list(directory.rglob(".tmp-*"))
        with Result.resume(directory, STUDY, make_plan(2)) as again:
            for run in again.pending():
                again.write(make_record(run), throughput_samples(), RAW)
            assert again.verify() == []
            assert not list(directory.rglob(".tmp-*"))
    assert len(outcomes) > 15
    # Only a failure after the last rename leaves the run stored, and then the run is complete.
    assert outcomes == sorted(outcomes)
    assert outcomes[0] is False
    assert outcomes[-1] is True


@pytest.mark.parametrize("kind", FAULTS)
def test_a_result_is_created_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    failure, lasting, names = FAULTS[kind]
    points = 0
    for at in range(1, 200):
        directory = tmp_path / f"{at}" / "r"
        fault = Fault(at, failure, lasting)
        with failing(monkeypatch, fault, names):
            end = end_of(partial(Result.create, directory, STUDY, make_plan(2), "fake", quick=False))
        no_space_line = f"cannot create result directory {directory}: No space left on device"
        assert end in (None, "killed" if kind == "killed" else no_space_line)
        if not fault.struck:
            break
        points += 1
        if kind == "killed":
            # The directory is a result, or opening it reports that it is not.
            with suppress(UsageError):
                assert Result.open(directory).verify() == []
        else:
            assert not directory.exists()
            Result.create(directory, STUDY, make_plan(2), "fake", quick=False).close()
    assert points > 15


def test_a_run_is_flushed_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = Result.create(tmp_path / "r", STUDY, make_plan(2), "fake", quick=False)
    run = result.plan.runs[0]
    capture = tmp_path / "capture"
    capture.write_bytes(b"pcap")
    events: list[tuple[str, Path]] = []
    fsync, rename = os.fsync, os.rename

    def noting_fsync(descriptor: int) -> None:
        fsync(descriptor)
        events.append(("flushed", Path(f"/proc/self/fd/{descriptor}").readlink()))

    def noting_rename(source: Path, target: Path) -> None:
        if source != capture:
            events.extend(("inside", path) for path in [source, *source.rglob("*")])
        rename(source, target)
        events.append(("renamed", Path(target)))

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "rename", noting_rename)
    result.write(make_record(run), throughput_samples(), {**RAW, "air.pcap": capture})

    named = events.index(("renamed", result.run_directory(run.id)))
    flushed = [path for kind, path in events[:named] if kind == "flushed"]
    inside = [path for kind, path in events[:named] if kind == "inside"]
    assert len(inside) == 3 + 6
    assert set(inside) == set(flushed)
    # The entries of a directory are flushed after the files that they name.
    for path in inside:
        if path.is_dir():
            assert all(flushed.index(inner) < flushed.index(path) for inner in path.iterdir())
    assert events[named + 1] == ("flushed", result.directory / "runs")


RECORDING = """
import os, signal, sys
from pathlib import Path
from store_fakes import *
from airtoll.store import Result, record

directory, name, at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = 0

def kill_at(number):
    global calls
    calls += 1
    if calls == at:
        os.kill(os.getpid(), signal.SIGKILL)

result = Result.create(directory, STUDY, make_plan(4), "fake", quick=False)
if name == "measure":
    probe = FakeProbe(before=kill_at)
else:
    probe = FakeProbe()
    original = getattr(os, name)
    def call(*arguments, **options):
        kill_at(0)
        return original(*arguments, **options)
    setattr(os, name, call)
record(result, FakeLab(), [probe], ignore, pcap=True)
sys.exit("was not killed")
"""


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("measure", 1),
        ("measure", 3),
        ("write", 2),
        ("write", 13),
        ("fsync", 9),
        ("fsync", 26),
        ("rename", 2),
        ("rename", 4),
    ],
)
def test_a_recording_killed_with_sigkill_is_completed_by_resume(tmp_path: Path, name: str, at: int) -> None:
    from store_fakes import FakeLab, FakeProbe, ignore

    from airtoll.store import record

    directory = tmp_path / "r"
    command = [sys.executable, "-c", RECORDING, str(directory), name, str(at)]
    killed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    interrupted = Result.open(directory)
    assert interrupted.verify() == []
    kept = content_of(directory / "runs")
    finished = interrupted.finished()
    assert len(finished) < 4
    probe = FakeProbe()
    with Result.resume(directory, STUDY, make_plan(4)) as result:
        record(result, FakeLab(), [probe], ignore)
        assert [cell.security for cell in probe.measured] == [
            run.cell.security for run in result.plan.runs if run.id not in finished
        ]
        assert result.pending() == ()
        assert result.verify() == []
        assert not list(directory.rglob(".tmp-*"))
    whole = {name: content for name, content in kept.items() if not name.startswith(".tmp-")}
    assert whole.items() <= content_of(directory / "runs").items()


def namespace() -> list[str]:
    """A command prefix that runs another command in a new mount namespace."""
    for command in (["unshare", "-m"], ["unshare", "-Urm"]):
        probe = [*command, "mount", "-t", "tmpfs", "none", "/mnt"]
        with suppress(FileNotFoundError):
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return command
    pytest.skip("a mount namespace needs root or unprivileged user namespaces")


FULL_DISK = """
import json, os, subprocess, sys
from pathlib import Path
from store_fakes import *
from airtoll.errors import AirtollError
from airtoll.store import Result

mount, directory = Path(sys.argv[1]), Path(sys.argv[1]) / "r"
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", mount], check=True)
lines = []

def refused(act):
    try:
        act()
    except AirtollError as error:
        lines.append(str(error))

def write(result):
    for run in result.pending():
        result.write(make_record(run), throughput_samples(), {"noise": os.urandom(100_000)})

plan = make_plan(8)
result = Result.create(directory, STUDY, plan, "fake", quick=False)
refused(lambda: write(result))
result.close()
full = Result.open(directory)
kept, problems = len(full.finished()), full.verify()
names = [entry.name for entry in (directory / "runs").iterdir()]

filler = mount / "filler"
with filler.open("wb", buffering=0) as file:
    try:
        while file.write(bytes(4096)): pass
    except OSError: pass
refused(lambda: Result.create(mount / "other", STUDY, plan, "fake", quick=False))
filler.unlink()

subprocess.run(["mount", "-o", "remount,ro", "none", mount], check=True)
refused(lambda: Result.create(mount / "other", STUDY, plan, "fake", quick=False))
refused(lambda: Result.resume(directory, STUDY, plan))
read_only = (len(Result.open(directory).records()), Result.open(directory).verify())

subprocess.run(["mount", "-o", "remount,rw,size=4m", "none", mount], check=True)
with Result.resume(directory, STUDY, plan) as result:
    write(result)
completed = (len(Result.open(directory).finished()), Result.open(directory).verify())
other = (mount / "other").exists()
print(json.dumps(dict(lines=lines, kept=kept, problems=problems, names=names, read_only=read_only,
                      completed=completed, other=other)))
"""


def test_a_full_disk_and_a_read_only_disk(tmp_path: Path) -> None:
    command = [*namespace(), sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    runs = [run.id for run in make_plan(8).runs]
    kept = told["kept"]
    assert 0 < kept < 8
    assert told["problems"] == []
    assert sorted(told["names"]) == runs[:kept]
    directory, other = tmp_path / "r", tmp_path / "other"
    assert told["lines"] == [
        f"cannot store run {runs[kept]} in {directory}: No space left on device",
        f"cannot create result directory {other}: No space left on device",
        f"cannot create result directory {other}: Read-only file system",
        f"cannot resume {directory}: Read-only file system",
    ]
    assert told["read_only"] == [kept, []]
    assert told["completed"] == [8, []]
    assert told["other"] is False


FORBIDDEN = """
import json, os, sys
from pathlib import Path
from store_fakes import *
from airtoll.errors import AirtollError
from airtoll.store import Result

directory = Path(sys.argv[1])
acts = dict(
    create=lambda: Result.create(directory / "new", STUDY, make_plan(), "fake", quick=False),
    resume=lambda: Result.resume(directory / "r", STUDY, make_plan()),
    open=lambda: Result.open(directory / "secret"),
    verify=lambda: Result.open(directory / "r").verify(),
)
lines = {}
for name, act in acts.items():
    try:
        lines[name] = act()
    except AirtollError as error:
        lines[name] = str(error)
print(json.dumps(lines))
"""


def test_no_permission_is_one_line(tmp_path: Path) -> None:
    result = Result.create(tmp_path / "r", STUDY, make_plan(), "fake", quick=False)
    run = result.plan.runs[0]
    result.write(make_record(run), throughput_samples(), RAW)
    result.close()
    shutil.copytree(tmp_path / "r", tmp_path / "secret")
    locked = [tmp_path, tmp_path / "r", tmp_path / "secret" / "plan.json"]
    modes = [(path, path.stat().st_mode) for path in locked]
    (tmp_path / "secret" / "plan.json").chmod(0)
    (tmp_path / "r").chmod(0o555)
    tmp_path.chmod(0o555)
    command = [sys.executable, "-c", FORBIDDEN, str(tmp_path)]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root needs setpriv (util-linux) to do without its permissions")
        command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *command]
    try:
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    finally:
        for path, mode in modes:
            path.chmod(mode)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "create": f"cannot create result directory {tmp_path / 'new'}: Permission denied",
        "resume": f"cannot resume {tmp_path / 'r'}: Permission denied",
        "open": f"cannot read {tmp_path / 'secret' / 'plan.json'}: Permission denied",
        "verify": [],
    }
