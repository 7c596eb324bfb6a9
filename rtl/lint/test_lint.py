"""Verilator with all warnings reports nothing for any module in any simulated configuration."""

import os
import subprocess
from pathlib import Path

import pytest
from configurations import SIMULATIONS
from runner import RTL, VERILATOR, environment_of_verilator, sources

LINT = Path(__file__).parent
# `make test` omits the cores with more than two lanes, which take as long as all other cores together.
CONFIGURED = [
    pytest.param(
        RTL / "rtl" / f"{each.top}.v",
        " ".join(f"-G{name}={value}" for name, value in each.parameters.items()),
        id=each.name,
        marks=[pytest.mark.long] if each.long else [],
    )
    for each in SIMULATIONS
    if each.parameters
]
DEFAULTS = [pytest.param(file, "", id=file.stem) for file in sources()]
RINGS = [
    pytest.param(RTL / "rtl" / "ring.v", f"-GDEPTH={depth}", id=f"ring-DEPTH={depth}")
    for depth in (0, 1, 2, 8, 9, 40)
]


@pytest.mark.parametrize(("file", "parameters"), [*DEFAULTS, *CONFIGURED, *RINGS])
def test_verilator_reports_no_warning(file: Path, parameters: str) -> None:
    environment_of_verilator()
    command = [str(VERILATOR), "--lint-only", "-Wall", f"-I{RTL / 'rtl'}", "-y", str(RTL / "rtl")]
    command += [str(LINT / "verilator.vlt"), *parameters.split(), "--top-module", file.stem, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert not done.stderr
