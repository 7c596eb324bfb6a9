"""`make bench-link` reports missing programs, and continues without unavailable tunnels."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with only the programs that every turn requires."""
    for name in ("ip", "iperf3", "nsenter", "ping", "unshare"):
        (tmp_path / name).symlink_to("/bin/false")
    return tmp_path


def python(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=BENCHES,
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_required_program_is_named(path: Path) -> None:
    (path / "ping").unlink()
    done = python(path, "link.py")
    assert done.returncode == 1
    assert done.stderr.startswith("bench-link: ping missing: apt-get install ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("tools", [[], ["wg"]])
def test_unavailable_tunnels_are_omitted_with_one_line_each(path: Path, tools: list[str]) -> None:
    for tool in tools:
        (path / tool).symlink_to("/bin/false")
    done = python(path, "-c", "import link; print(*link.contestants(), sep='\\n')")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "no tunnel",
        *(f"airtoll link, {way}, {suite}" for way in ("udp", "ethernet") for suite in ("ccmp", "enhanced4")),
    ]
    names = ("wireguard-go", "boringtun", "WireGuard of the kernel")
    said = done.stderr.splitlines()
    assert [line.split(": ")[1] for line in said] == [f"skipping {name}" for name in names]
    assert ("go is missing" if tools else "wg is missing") in said[0]
