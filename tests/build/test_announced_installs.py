"""Make names the packages that it is about to install, and nothing if none is missing."""

import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"


def stub(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def install(folder: Path) -> list[str]:
    """The output of the script for benchmarks on a machine whose only commands are those in the folder."""
    done = subprocess.run(
        ["/bin/sh", str(TOOLS / "system-packages.sh"), "bench"],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_system_packages_are_named_before_they_are_installed(tmp_path: Path) -> None:
    stub(tmp_path, "id", "echo 1000")
    stub(tmp_path, "sudo", '"$@"')
    stub(tmp_path, "env", "echo installed >&2")
    stub(tmp_path, "apt-get", 'echo "apt-get $*"')
    assert install(tmp_path) == [
        "installing Debian packages with sudo apt-get: iputils-ping iperf wireguard-tools",
        "apt-get -qq update",
    ]
    for program in ("ping", "iperf", "wg"):
        stub(tmp_path, program, "")
    assert install(tmp_path) == []


def test_python_packages_are_named_before_they_are_installed() -> None:
    command = [sys.executable, "-I", "-S", str(TOOLS / "dependencies.py"), "dist"]
    line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert line.startswith("installing 2 Python packages and their dependencies into ")
    assert line.endswith(": build ziglang\n")
