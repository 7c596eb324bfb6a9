"""Verilator with all warnings reports nothing for any module in any simulated configuration."""

import os
import subprocess
from pathlib import Path

import pytest
from configurations import SIMULATIONS
from runner import RTL, VERILATOR, environment_of_verilator, sources

LINT = Path(__file__).parent
# Every module alone with its default parameters, then all simulated configurations.
DEFAULTS = [(file.stem, file, "") for file in sources()]
CONFIGURED = [
    (
        each.name,
        RTL / "rtl" / f"{each.top}.v",
        " ".join(f"-G{name}={value}" for name, value in each.parameters.items()),
    )
    for each in SIMULATIONS
    if each.parameters
]
RINGS = [(f"ring-DEPTH={depth}", RTL / "rtl" / "ring.v", f"-GDEPTH={depth}") for depth in (0, 1, 2, 8, 9, 40)]


CASES = [*DEFAULTS, *CONFIGURED, *RINGS]


@pytest.mark.parametrize(
    ("file", "parameters"), [case[1:] for case in CASES], ids=[name for name, *_ in CASES]
)
def test_verilator_reports_no_warning(file: Path, parameters: str) -> None:
    environment_of_verilator()
    command = [str(VERILATOR), "--lint-only", "-Wall", f"-I{RTL / 'rtl'}", "-y", str(RTL / "rtl")]
    command += [str(LINT / "verilator.vlt"), *parameters.split(), "--top-module", file.stem, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert not done.stderr
