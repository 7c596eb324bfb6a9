"""The CPU load of a run in real time."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_command import Airtoll, assert_performed


@pytest.mark.usefixtures("needs_air")
def test_beside_load_the_parts_of_the_cpu_add_up(airtoll: Airtoll, study: Path, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            done = airtoll("run", study, "--out", tmp_path / "result")
        finally:
            busy.kill()
    assert_performed(done, tmp_path / "result")
