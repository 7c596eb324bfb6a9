"""Measure what `make run` and `make test` cost from nothing: the CPU time of each stage, crate and test.

Both commands run in a fresh clone of HEAD in the folder of temporary files (TMPDIR), stage by stage. CPU time includes
all processes that a stage started, so other load on the machine changes it little. Downloads and the installation of
Debian packages count, too.
"""

import os
import re
import resource
import stat
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from page import publish

ROOT: Final = Path(__file__).parent.parent
RUN: Final = {
    "Debian packages": "make system-build system-run",
    "Python packages": "make .venv/.packages",
    "extension and agent": "make build",
    "quickstart study": ".venv/bin/airtoll run studies/quickstart.toml --out quickstart",
    "a second `make run`, until it measures": (
        "make system-run build && .venv/bin/airtoll plan studies/quickstart.toml"
    ),
}
"""The stages of `make run`, in order."""
AGAIN: Final = {
    "`make build` after a change of `wlan-rsn`": "touch crates/wlan-rsn/src/lib.rs && make build",
}
TEST: Final = {
    "Debian packages": "make system-test system-guest system-peers system-rtl",
    "Python packages": "make .venv/.dev .venv/.docs .venv/.rtl",
    "Rust tests": "make test-rust",
    "linters": "make lint",
    "documentation": "make docs",
    "Miri": "make test-miri",
    "guest's kernel": "make guest",
    "hardware": "make test-rtl",
    "static agent": "make agent",
    "program of `airtoll ciphers`": "tools/peers.sh",
    "Python tests": "make test-python",
}
"""The stages of `make test` after those of `make run`, in order."""
LARGEST: Final = 12
WRAPPER: Final = """#!/bin/sh
for word; do [ "$previous" = --crate-name ] && crate=$word; previous=$word; done
exec /usr/bin/time --quiet --append --output "$CRATES" --format "%U %S ${crate:--}" "$@"
"""
"""Notes the CPU time of each call of rustc."""
DURATION: Final = re.compile(r"^([\d.]+)s (?:call|setup) +(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Stage:
    """The cost of a stage."""

    name: str
    cpu_s: float
    wall_s: float
    output: str


class Clone:
    """A fresh clone of HEAD, in which the stages run in order."""

    def __init__(self, folder: Path) -> None:
        """Clone into a folder."""
        self.folder = folder / "airtoll"
        self._cache = folder / "cache"
        self._crates = folder / "crates"
        self._wrapper = folder / "rustc"
        self._wrapper.write_text(WRAPPER)
        self._wrapper.chmod(stat.S_IRWXU)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.folder)], check=True)

    def stages(self, commands: dict[str, str]) -> list[Stage]:
        """Perform stages and return their costs. Ends the program if a stage fails."""
        return [self._stage(name, command) for name, command in commands.items()]

    def _stage(self, name: str, command: str) -> Stage:
        environment = {
            key: value for key, value in os.environ.items() if key not in ("AIRTOLL_LOCKED", "MAKEFLAGS")
        }
        environment |= {
            "CARGO_PROFILE_DEV_INCREMENTAL": "false",  # as in CI; `make build` uses the release profile
            "CRATES": str(self._crates),
            "PYTEST_ADDOPTS": f"--durations={4 * LARGEST}",
            "RUSTC_WRAPPER": str(self._wrapper),
            "XDG_CACHE_HOME": str(self._cache),  # without the guest of this user
        }
        before, began = _children_s(), time.perf_counter()
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        wall_s = time.perf_counter() - began
        if done.returncode not in (0, 1 if "airtoll run" in command else 0):  # 1: invalid runs
            sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
        stage = Stage(name, _children_s() - before, wall_s, done.stdout)
        print(f"{name}: {stage.cpu_s:.0f} s of CPU time, {stage.wall_s:.0f} s", file=sys.stderr)
        return stage

    def crates(self) -> dict[str, float]:
        """CPU seconds of rustc by crate, since the last call."""
        found: defaultdict[str, float] = defaultdict(float)
        for line in self._crates.read_text(encoding="utf-8").splitlines():
            user, system, crate = line.split()
            found[crate] += float(user) + float(system)
        self._crates.unlink()
        return found


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _table(stages: list[Stage]) -> str:
    rows = [f"| {stage.name} | {stage.cpu_s:.0f} | {stage.wall_s:.0f} |" for stage in stages]
    total = f"| **total** | {sum(each.cpu_s for each in stages):.0f} | {sum(each.wall_s for each in stages):.0f} |"
    return "\n".join(["| stage | CPU s | wall s |", "| --- | ---: | ---: |", *rows, total])


def _largest(name: str, unit: str, found: dict[str, float]) -> str:
    rows = [
        f"| `{each}` | {value:.0f} |"
        for each, value in sorted(found.items(), key=lambda item: -item[1])[:LARGEST]
    ]
    return "\n".join([f"| {name} | {unit} |", "| --- | ---: |", *rows])


@contextmanager
def _clone() -> Iterator[Clone]:
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # some tests run as another user  # noqa: S103
        yield Clone(Path(folder))


def both_commands() -> str:
    """Both commands, in one clone: `make test` uses what `make run` built."""
    with _clone() as clone:
        run = clone.stages(RUN)
        crates = clone.crates()
        again = clone.stages(AGAIN)
        size = subprocess.run(
            ["du", "-sm", ".venv"], cwd=clone.folder, check=True, capture_output=True, text=True
        )
        clone.crates()
        test = clone.stages(TEST)
        crates_of_tests = clone.crates()
    durations = {test: float(seconds) for stage in test for seconds, test in DURATION.findall(stage.output)}
    return "\n\n".join(
        [
            "## `make run`",
            _table(run),
            f"The environment `.venv` has {size.stdout.split()[0]} MB.",
            _table(again),
            "The crates that take longest to compile:",
            _largest("crate", "CPU s", crates),
            "## `make test`, after `make run`",
            _table(test),
            "The crates that take longest to compile, in all profiles, with their tests and linters:",
            _largest("crate", "CPU s", crates_of_tests),
            "The Python and hardware tests that take longest:",
            _largest("test", "wall s", durations),
        ]
    )


if __name__ == "__main__":
    publish(
        "What `make run` and `make test` cost from nothing.",
        "# Building and testing\n\nMade by `make bench-build`, in a fresh clone without"
        " incremental compilation. Each stage reports the CPU time of all its processes.",
        [both_commands],
        rise=0.1,
    )
