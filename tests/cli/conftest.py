"""Fixtures that run the command like a user, on a study small enough for a test."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_command import AIRTOLL, SMALL_STUDY, Airtoll

from airtoll.labs import air


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL_STUDY)
    return path


@pytest.fixture
def airtoll(tmp_path: Path) -> Airtoll:
    """Run the command in an empty directory, after `prefix`; its output and exit status."""

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
