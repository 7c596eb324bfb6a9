"""Fixtures that run the command, on a study small enough for a test."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_command import AIRTOLL, SMALL_STUDY, Airtoll
from command_here import exit_status

from airtoll.labs import air


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL_STUDY)
    return path


@pytest.fixture
def airtoll(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Airtoll:
    """Run the command in an empty directory; its output and exit status.

    A call with `prefix` or environment variables starts the installed command, after `prefix`. Any other call runs in
    this process.
    """

    def call(
        *arguments: object, prefix: Sequence[str] = (), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        if prefix or environment:
            return subprocess.run(
                [*prefix, AIRTOLL, *words],
                cwd=tmp_path,
                env={**os.environ, "COLUMNS": "200", **environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        capfd.readouterr()
        status = exit_status(*words, folder=tmp_path, COLUMNS="200")
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(words, status, out, err)

    return call


@pytest.fixture
def needs_air() -> None:
    if reason := air.missing():
        pytest.skip(reason)
