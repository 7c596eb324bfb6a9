#!/usr/bin/env python3
"""Measure a CCM around secworks/aes with the flow and the part of ccmp_core.

git clone https://github.com/secworks/aes FOLDER
rtl/compare/secworks.py FOLDER
"""

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Final

import click

HERE: Final = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "syn"), str(HERE.parent / "tb"), str(HERE)]

from flow import Build, digest  # noqa: E402
from harness import CORE  # noqa: E402
from recipe import Design, recipe  # noqa: E402
from rich.console import Console  # noqa: E402
from runner import BUILD, failures_told, simulate  # noqa: E402
from steps import Step, script, take  # noqa: E402

from airtoll.cli.base import FILE  # noqa: E402
from airtoll.errors import UsageError  # noqa: E402

TOP: Final = "ccm_secworks"
PAYLOAD_B: Final = 1500
_MODULES: Final = (
    "aes_core",
    "aes_encipher_block",
    "aes_decipher_block",
    "aes_key_mem",
    "aes_sbox",
    "aes_inv_sbox",
)


@dataclass(frozen=True)
class _Core(Build):
    """A build of files outside the library."""

    files: tuple[Path, ...]

    def read(self, folder: Path) -> list[str]:
        """Commands for yosys, run in a folder, that read the core."""
        names = " ".join(os.path.relpath(file, folder) for file in self.files)
        return [f"read_verilog {names}", f"hierarchy -top {TOP}", "proc -norom", f"rename -top {CORE}"]

    @cached_property
    def sha256(self) -> str:
        """Digest of all inputs of the results except the tools."""
        return digest(self.recipe.model_dump(), files=self.files)


@click.command
@click.argument("folder", type=FILE, metavar="FOLDER", help="A clone of secworks/aes.")
@click.option(
    "--seeds", type=click.IntRange(min=1), metavar="N", default=5, show_default=True, help="Placements."
)
def main(folder: Path, seeds: int) -> None:
    """Print logic, clock rate, cycles, and throughput per LUT."""
    files = (*(folder.resolve() / "src" / "rtl" / f"{name}.v" for name in _MODULES), HERE / f"{TOP}.v")
    for file in files:
        if not file.is_file():
            raise UsageError(f"{file} not found: FOLDER must be a clone of secworks/aes")
    console = Console(highlight=False, soft_wrap=True)

    def measure() -> None:
        with failures_told():
            run = simulate(TOP, f"{TOP}_bench", files=files)
        cycles = int((run / "cycles.txt").read_text())
        design = Design(title=TOP, group="standard", parameters={}, targets=("ecp5",))
        build = _Core("secworks", design, recipe("ecp5"), BUILD / "syn", files)
        counts = build.map()
        build.surround()
        mhz = median(build.place(seed).fmax_mhz for seed in range(1, seeds + 1))
        mbit_s = 8 * PAYLOAD_B * mhz / cycles
        console.print(
            f"{counts.lut} LUT, {counts.ff} FF; {mhz:.1f} MHz; {cycles} cycles for {PAYLOAD_B} octets; "
            f"{mbit_s:.1f} Mbit/s, {mbit_s / counts.lut:.4f} per LUT"
        )

    take([Step(TOP, measure)], console)


if __name__ == "__main__":
    script(main, "secworks.py")
