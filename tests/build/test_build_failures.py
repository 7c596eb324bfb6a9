"""A build that cannot succeed ends with one line that says what to do, and two makes in a checkout take turns."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools"


def stub(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run(folder: Path, *command: str) -> tuple[int, str]:
    """Exit status and standard error of a command that finds the stubs of the folder first."""
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def prerequisites(folder: Path) -> tuple[int, str]:
    return run(folder, str(TOOLS / "prerequisites.sh"), "python3")


def test_this_machine_meets_the_requirements(tmp_path: Path) -> None:
    assert prerequisites(tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("name", "script", "line"),
    [
        (
            "python3",
            '[ "$1" = --version ] && echo Python 3.9.2; exit 1',
            "Python 3.9.2 is too old: install Python 3.11 or later, and name it: make PYTHON=python3.11",
        ),
        (
            "rustc",
            "echo 'rustc 1.63.0 (4b91a6ea7 2022-08-08)'",
            "Rust 1.63.0 is too old: 1.89 or later is required: rustup update stable",
        ),
        (
            "df",
            "echo Filesystem; echo /dev/vda 250000000 249500000 512000 99% /",
            f"the disk of {ROOT} has 500 MB left, and the build requires 1500 MB: free some space",
        ),
    ],
    ids=["old Python", "old Rust", "full disk"],
)
def test_a_missing_requirement_gives_one_line(tmp_path: Path, name: str, script: str, line: str) -> None:
    stub(tmp_path, name, script)
    assert prerequisites(tmp_path) == (2, f"airtoll: {line}\n")


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "warning: spurious network error (1 try remaining): [6] Could not resolve hostname",
            "cargo could not download what it requires: connect this machine to the network",
        ),
        ("error: failed to write: No space left on device (os error 28)", "the disk of "),
        ("error: linker `cc` not found", "the C compiler is missing: apt-get install gcc libc6-dev"),
    ],
)
def test_a_failure_with_a_known_cause_gives_one_line(tmp_path: Path, said: str, line: str) -> None:
    stub(tmp_path, "cargo", f"echo '   Compiling syn'; echo '{said}'; echo more; exit 101")
    status, error = run(tmp_path, sys.executable, str(TOOLS / "explained.py"), "cargo", "build")
    assert status == 2
    progress, message = error.splitlines()
    assert progress == "   Compiling syn"
    assert message.startswith(f"airtoll: {line}")


def test_a_failure_without_a_known_cause_gives_the_output_of_the_command(tmp_path: Path) -> None:
    stub(tmp_path, "cargo", "echo 'error[E0425]: cannot find value'; exit 101")
    done = run(tmp_path, sys.executable, str(TOOLS / "explained.py"), "cargo", "build")
    assert done == (101, "error[E0425]: cannot find value\n")


def test_the_second_make_in_a_checkout_waits_for_the_first(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    script = shutil.copy(TOOLS / "locked.sh", tmp_path / "tools")
    log = tmp_path / "log"
    first = subprocess.Popen(
        [script, "sh", "-c", f"echo first begins >>{log}; read line; echo first ends >>{log}"],
        stdin=subprocess.PIPE,
    )
    while not log.exists():
        assert first.poll() is None
    second = subprocess.Popen([script, "sh", "-c", f"echo second >>{log}"], stderr=subprocess.PIPE, text=True)
    assert second.stderr is not None
    pid = (tmp_path / ".make.lock").read_text().strip()
    assert second.stderr.readline() == (
        f"waiting for another make in this checkout (process {pid}); Ctrl-C stops waiting\n"
    )
    first.communicate(b"\n")
    second.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert log.read_text().split("\n") == ["first begins", "first ends", "second", ""]
