"""The CPU load of runs in real time."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_command import SMALL_STUDY, Airtoll, assert_performed

from airtoll.store import Result

RUNS = 12


@pytest.mark.usefixtures("needs_air")
def test_beside_load_the_parts_of_the_cpu_add_up(airtoll: Airtoll, tmp_path: Path) -> None:
    study, result = tmp_path / "many.toml", tmp_path / "result"
    short = SMALL_STUDY.replace("repeats = 2", f"repeats = {RUNS // 2}").replace("0.5 s", "0.25 s")
    short = short.replace('offered = ["2 Mbit/s"]', 'offered = ["max"]')
    study.write_text(f'{short}probes = ["throughput"]\n')
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            done = airtoll("run", study, "--out", result)
        finally:
            busy.kill()
    assert_performed(done, result)
    assert len(Result.open(result).records()) == RUNS
