#!/usr/bin/env python3
"""Measure the design points of points.toml: logic, timing, clock cycles.

Each measurement is stored in results.json as soon as it is complete. A measurement is skipped if its sources,
parameters, recipe and tools are unchanged. An interrupted run can therefore be continued, and only changed designs are
measured again.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import cast, get_args

import click
import cycles
from flow import Build
from recipe import RTL, Design, among, designs, recipe
from record import RESULTS, keep, known, still
from rich.console import Console
from steps import Step, script, take

from airtoll.cli.base import FILE
from airtoll.errors import UsageError
from airtoll.rtl import DesignPoint, Made, PlacementRun, Target
from airtoll.rtl.results import TargetName


@dataclass(frozen=True)
class _Asked:
    """The requested measurements, and where to store them."""

    seeds: tuple[int, ...]
    place: bool
    cycles: bool
    jobs: int
    file: Path
    work: Path


@click.command
@click.argument("points", metavar="POINT...", nargs=-1, help="Design points of points.toml. Default: all.")
@click.option(
    "--target", "only", metavar="TARGET", multiple=True, help="Only for this target; may be repeated."
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    default=5,
    show_default=True,
    help="Placements of each point.",
)
@click.option("--counts-only", is_flag=True, help="Only count logic; do not place or simulate.")
@click.option("--cycles-only", is_flag=True, help="Only simulate; do not map or place.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Placements at a time.",
)
@click.option(
    "--out", type=FILE, metavar="FILE", default=RESULTS, show_default="rtl/syn/results.json", help="Results."
)
@click.option(
    "--work",
    type=FILE,
    metavar="DIR",
    default=RTL / "build" / "syn",
    show_default="rtl/build/syn",
    help="Build directory.",
)
def main(
    points: tuple[str, ...],
    only: tuple[str, ...],
    seeds: int,
    counts_only: bool,
    cycles_only: bool,
    jobs: int,
    out: Path,
    work: Path,
) -> None:
    """Measure design points of ccmp_core: logic and timing by synthesis, cycles of frames by simulation."""
    if counts_only and cycles_only:
        raise UsageError("--counts-only and --cycles-only cannot be combined")
    chosen = among(designs(), points, "design point")
    targets = () if cycles_only else tuple(among(dict.fromkeys(get_args(TargetName)), only, "target"))
    asked = _Asked(tuple(range(1, seeds + 1)), not counts_only, not counts_only, jobs, out, work.absolute())
    console = Console(highlight=False, soft_wrap=True)
    steps = (
        _steps(name, design, cast("Sequence[TargetName]", targets), asked, console)
        for name, design in chosen.items()
    )
    take([*chain.from_iterable(steps)], console)


def _steps(
    name: str, design: Design, targets: Sequence[TargetName], asked: _Asked, console: Console
) -> Iterator[Step]:
    if asked.cycles:
        yield Step(f"{name} cycles", lambda: _simulate(name, design, asked, console))
    for target in targets:
        if target in design.targets:
            build = Build(name, design, recipe(target), asked.work)
            yield Step(f"{name} {target}", partial(_synthesise, build, asked, console))


def _simulate(name: str, design: Design, asked: _Asked, console: Console) -> None:
    before = known(asked.file, name, design).cycles
    if before is None or not still(before.made, cycles.made(design)):
        found = cycles.measure(design)
        keep(asked.file, name, design, lambda point: point.model_copy(update={"cycles": found}))
        for frame in found.frames:
            console.print(
                f"{name} cycles: {frame.payload_b} octets: {frame.seal.cycles_a_frame:.1f} cycles per frame sealed, "
                f"{frame.open.cycles_a_frame:.1f} opened"
            )


def _synthesise(build: Build, asked: _Asked, console: Console) -> None:
    name, target = build.point, build.recipe.name
    place = asked.place and build.placeable
    made = Made(sha256=build.sha256, tools=build.tools(place=place))
    before = known(asked.file, name, build.design).targets.get(target)
    if before is not None and still(before.made, made):
        found = before
    else:
        found = Target(made=made, **vars(build.map()))
        _keep_target(build, asked, found)
        carry = f" ({found.carry_lut} of carry chains)" if found.carry_lut else ""
        console.print(
            f"{name} {target}: {found.lut} LUT{carry}, {found.ff} FF, {found.logic_elements} LE, "
            f"{found.ram_blocks} RAM blocks"
        )
    left = [seed for seed in asked.seeds if seed not in {run.seed for run in found.runs}] if place else []
    if not left:
        return
    build.surround()
    for run in _place(build, left, asked.jobs):
        runs = tuple(sorted((*found.runs, run), key=lambda each: each.seed))
        found = found.model_copy(update={"made": made, "runs": runs})
        _keep_target(build, asked, found)
        times = {"Tsu": run.tsu_ns, "Tco": run.tco_ns, "Clk-to-Clk": run.clk_to_clk_ns}
        told = "".join(f", {what} {time_ns} ns" for what, time_ns in times.items() if time_ns is not None)
        console.print(f"{name} {target} seed {run.seed}: {run.fmax_mhz:.1f} MHz{told}")


def _keep_target(build: Build, asked: _Asked, found: Target) -> None:
    def change(point: DesignPoint) -> DesignPoint:
        return point.model_copy(update={"targets": {**point.targets, build.recipe.name: found}})

    keep(asked.file, build.point, build.design, change)


def _place(build: Build, seeds: Sequence[int], jobs: int) -> Iterator[PlacementRun]:
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(build.place, seed) for seed in seeds]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


if __name__ == "__main__":
    script(main, "synthesise.py")
