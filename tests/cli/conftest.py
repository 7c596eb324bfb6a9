"""The command as a user calls it, on a study small enough for a test."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from airtoll.labs import air

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))

SMALL_STUDY = """
title = "Small"
description = "Two runs of one block, twice."
lab = "air"

[factors]
security = ["open", "ccmp"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["256 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]

[method]
repeats = 2
duration = "1 s"
warmup = "0 s"
seed = 1
"""

Airtoll = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL_STUDY)
    return path


@pytest.fixture
def airtoll(tmp_path: Path) -> Airtoll:
    """Calls the command in an empty directory, behind `prefix`; what it printed and its exit status."""

    def call(
        *arguments: object, prefix: Sequence[str] = (), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, AIRTOLL, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "200", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def needs_air() -> None:
    if reason := air.missing():
        pytest.skip(reason)
