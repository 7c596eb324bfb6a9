"""Make names the packages that it is about to install, and nothing if none is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def stub(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def machine(folder: Path, apt_get: str) -> None:
    """Stubs of a machine without the programs for benchmarks, where apt-get is this script."""
    for name in ("env", "grep", "mktemp", "rm", "tail"):
        stub(folder, name, f'exec /usr/bin/{name} "$@"')
    stub(folder, "id", "echo 1000")
    stub(folder, "sudo", '"$@"')
    stub(folder, "apt-get", f'echo "apt-get $*" >>"{folder}/calls"; {apt_get}')


def install(folder: Path, purpose: str = "bench") -> subprocess.CompletedProcess[str]:
    """The script for a purpose on a machine whose only commands are those in the folder."""
    return subprocess.run(
        ["/bin/sh", str(TOOLS / "system-packages.sh"), purpose],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_system_packages_are_named_before_they_are_installed(tmp_path: Path) -> None:
    machine(tmp_path, "true")
    done = install(tmp_path)
    assert done.returncode == 0
    assert (
        done.stdout
        == "installing Debian packages with sudo apt-get: iputils-ping iperf time wireguard-tools\n"
    )
    calls = [line.split()[-3:] for line in (tmp_path / "calls").read_text().splitlines()]
    assert [call[-1] for call in calls] == ["update", "time", "wireguard-tools"]
    for program in ("ping", "iperf", "time", "wg"):
        stub(tmp_path, program, "")
    assert install(tmp_path).stdout == ""


def systemctl(folder: Path, state: str) -> None:
    """A stub of systemctl where systemd is in this state."""
    stub(
        folder,
        "systemctl",
        f'[ "$1" = is-system-running ] && echo {state} || echo "systemctl $*" >>"{folder}/calls"',
    )


def calls_after_the_update(folder: Path) -> list[str]:
    return [line for line in (folder / "calls").read_text().splitlines() if " update" not in line]


@pytest.mark.parametrize("state", ["running", "degraded"])
def test_no_server_of_a_package_begins_to_listen(tmp_path: Path, state: str) -> None:
    machine(tmp_path, "true")
    systemctl(tmp_path, state)
    install(tmp_path, "run")
    before, installation, *after = calls_after_the_update(tmp_path)
    assert before == "systemctl mask --runtime irtt.service"
    assert "install" in installation
    assert after == ["systemctl unmask --runtime irtt.service", "systemctl disable irtt.service"]


@pytest.mark.parametrize("state", ["offline", "''"])
def test_nothing_is_masked_where_systemd_does_not_run(tmp_path: Path, state: str) -> None:
    """A mask creates /run/systemd/system, and the scripts of packages then expect a running systemd and fail."""
    machine(tmp_path, "true")
    systemctl(tmp_path, state)
    install(tmp_path, "run")
    installation, *after = calls_after_the_update(tmp_path)
    assert "install" in installation
    assert after == ["systemctl disable irtt.service"]


@pytest.mark.parametrize("installed", ["irtt", "dpkg-query"])
def test_the_server_of_a_package_that_is_installed_does_not_change(tmp_path: Path, installed: str) -> None:
    """Its program may be outside the search path, as /usr/sbin/sshd is for users of Debian."""
    machine(tmp_path, "true")
    systemctl(tmp_path, "running")
    stub(tmp_path, installed, "printf installed")
    install(tmp_path, "run")
    assert "systemctl" not in (tmp_path / "calls").read_text()


def test_a_failed_installation_gives_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    machine(tmp_path, "echo 'Get:1 list'; echo 'E: Unable to fetch some archives'; exit 100")
    done = install(tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "airtoll: apt-get update failed (Unable to fetch some archives); remove the cause, or install by hand: "
        "apt-get install iputils-ping iperf time wireguard-tools\n",
    )


def test_python_packages_are_named_before_they_are_installed() -> None:
    command = [sys.executable, "-I", "-S", str(TOOLS / "requirements.py"), "dist", "--missing"]
    line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert line.startswith("installing 2 Python packages and their dependencies into ")
    assert line.endswith(": build ziglang\n")
