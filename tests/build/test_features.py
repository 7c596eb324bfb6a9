"""No crate that carries or decrypts frames can reach the broken schemes of `wlan-ciphers`."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def features_of_ciphers(package: str) -> str:
    """The features of `wlan-ciphers` that cargo enables when a package is built alone."""
    command = ["cargo", "tree", "--offline", "--package", package, "--edges", "normal,features"]
    done = subprocess.run(
        [*command, "--invert", "wlan-ciphers"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    "package", ["wlan-link", "wlan-emulator", "wlan-decrypt", "wlan-scenario", "wlan-rsn"]
)
def test_a_crate_that_carries_frames_has_no_broken_scheme(package: str) -> None:
    assert 'wlan-ciphers feature "study"' not in features_of_ciphers(package)


def test_the_measurements_have_the_broken_schemes() -> None:
    assert 'wlan-ciphers feature "study"' in features_of_ciphers("wlan-speed")


@pytest.mark.parametrize("package", ["airtoll-agent", "airtoll-py"])
def test_the_build_has_no_comparison_with_other_libraries(package: str) -> None:
    """Only the program of `airtoll ciphers` has it. The program is built when the command first requires it."""
    command = [
        "cargo",
        "tree",
        "--offline",
        "--package",
        package,
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = {line.split()[0] for line in done.stdout.splitlines() if line}
    assert package in names
    assert "wlan-peers" not in names
