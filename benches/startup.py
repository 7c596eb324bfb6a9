"""Measure how long commands take to start, and the size of an installation.

Commands run in turns, so that a change of the machine's speed affects all of them. The size is that of a fresh virtual
environment with the wheel of this checkout and its dependencies, without pip and setuptools.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from page import publish

REPEATS = 11
ROOT = Path(__file__).parent.parent
CAPTURE = ROOT / "crates/wlan-decrypt/tests/captures/tkip.pcap"
COMMANDS = (
    ("--version",),
    ("--help",),
    ("studies",),
    ("plan", "quickstart"),
    ("doctor",),
    ("decrypt", str(CAPTURE), "--psk", "correct-horse", "--out", "plain.pcap"),
)
AIRTOLL = Path(sys.executable).parent / "airtoll"
TOOLS = ("pip", "setuptools", "wheel", "_distutils_hack")
LARGEST = 8


def commands() -> str:
    """Wall time of each command."""
    taken: dict[tuple[str, ...], list[float]] = {command: [] for command in COMMANDS}
    for _ in range(REPEATS):
        for command, times in taken.items():
            with TemporaryDirectory() as directory:
                began = time.perf_counter()
                subprocess.run([AIRTOLL, *command], cwd=directory, check=False, capture_output=True)
                times.append(time.perf_counter() - began)
    rows = [
        f"| `airtoll {' '.join(Path(word).name for word in command)}` | {median(times):.2f} |"
        for command, times in taken.items()
    ]
    return "\n".join(["## Start-up", "", "| command | wall s |", "| --- | ---: |", *rows])


def size() -> str:
    """The size of an installation, in total and by package."""
    with TemporaryDirectory() as directory:
        wheel = _build(Path(directory))
        sizes = {extras: _sizes(wheel, extras) for extras in ("", "[figures]", "[all]")}
    totals = [f"| `airtoll{extras}` | {sum(found.values()):.0f} |" for extras, found in sizes.items()]
    largest = sorted(sizes[""].items(), key=lambda each: -each[1])[:LARGEST]
    return "\n".join(
        [
            "## Installed size",
            "",
            "| installed | MB |",
            "| --- | ---: |",
            *totals,
            "",
            "The largest packages without extras:",
            "",
            "| package | MB |",
            "| --- | ---: |",
            *(f"| {name} | {megabytes:.0f} |" for name, megabytes in largest),
        ]
    )


def _build(directory: Path) -> Path:
    """The wheel of this checkout. The build backend starts the maturin beside this Python."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([*pip, "--wheel-dir", directory, ROOT], check=True, env=os.environ | {"PATH": path})
    (wheel,) = directory.glob("airtoll-*.whl")
    return wheel


def _sizes(wheel: Path, extras: str) -> dict[str, float]:
    with TemporaryDirectory() as directory:
        return {path.name: _megabytes(path) for path in _install(wheel, extras, Path(directory))}


def _install(wheel: Path, extras: str, directory: Path) -> list[Path]:
    """The installed packages: the directories and files in site-packages, except pip and setuptools."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    command = [directory / "bin/pip", "install", "--quiet", f"airtoll{extras} @ {wheel.as_uri()}"]
    subprocess.run(command, check=True)
    (site,) = directory.glob("lib/python*/site-packages")
    return [path for path in site.iterdir() if not path.name.startswith(TOOLS)]


def _megabytes(path: Path) -> float:
    """Size on disk, as `du` counts it."""
    done = subprocess.run(["du", "-s", "--block-size=1", path], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[0]) / 1e6


if __name__ == "__main__":
    publish(
        "How long commands take to start, and how large an installation is.",
        "# Start-up and size\n\n"
        "Commands that measure nothing start within half a second, and an installation takes 0.3 to 0.5 GB.\n\n"
        "Made by `make bench-startup WRITE=docs/measurements/startup.md`. Times are medians of "
        f"{REPEATS} runs. Sizes are MB (10^6 bytes) on disk, with compiled Python files, without pip and setuptools.",
        [commands, size],
    )
