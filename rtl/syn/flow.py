"""Run one design point through the tools of one target, in a separate folder whose scripts can be rerun by hand.

1. core.ys, with yosys: map the core to the target and count its cells.
2. harness.ys, with yosys: the core in a harness of registers, as in a larger design.
3. nextpnr, for each seed: SEED.report.json has the clock rate. SEED.sdf has all delays; it is read and removed.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import harness
from netlist import Counts, count
from paths import slowest_paths
from recipe import RTL, TOP, Design, Recipe

from airtoll.errors import AirtollError, UsageError
from airtoll.rtl import PlacementRun

_YOSYS: Final = ("yosys", "apt-get install yosys")


@cache
def tool(name: str, package: str) -> str:
    """The path of a program, from PATH or the directory of this Python: YoWASP's, else the distribution's."""
    beside = str(Path(sys.executable).parent)
    for each in (f"yowasp-{name}", name):
        if path := shutil.which(each) or shutil.which(each, path=beside):
            return path
    raise UsageError(f"{name} is not installed: {package}")


@cache
def version(name: str, package: str) -> str:
    """The version that a program reports."""
    asked = subprocess.run(
        [tool(name, package), "-V"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    found = re.search(r"(?:Version |Yosys )([^\s)]+)", asked.stdout + asked.stderr)
    return found[1] if found else "unknown"


def yosys_version() -> str:
    """The version of yosys."""
    return version(*_YOSYS)


def package_versions(*names: str) -> dict[str, str]:
    """Versions of Python packages; UsageError if one is not installed."""
    try:
        return {name: metadata.version(name) for name in names}
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed: pip install {error.name}") from None


def digest(*parts: object, files: Sequence[Path] = ()) -> str:
    """SHA-256 of the parts and of names and contents of files. Comments and layout of Verilog do not count."""
    sum_ = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    for file in files:
        text = file.read_text()
        if file.suffix in (".v", ".vh"):
            text = " ".join(re.sub("//.*", "", text).split())
        sum_.update(f"\0{file.name}\0{text}".encode())
    return sum_.hexdigest()


@cache
def _modules(top: str, parameters: tuple[tuple[str, int], ...]) -> frozenset[str]:
    """The library's modules in the core `top` with these parameters."""
    sources = sorted((RTL / "rtl").glob("*.v"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        run_yosys(
            folder,
            "modules",
            [*elaborate(folder, sources, dict(parameters), top=top), "write_json modules.json"],
        )
        modules = json.loads((folder / "modules.json").read_text())["modules"]
    return frozenset(Path(module["attributes"]["src"].partition(":")[0]).name for module in modules.values())


def used_sources(design: Design, sources: Sequence[Path]) -> list[Path]:
    """The files of `sources` that a design point uses, and the headers that they include."""
    modules = _modules(design.top, tuple(sorted(design.parameters.items())))
    library = {file.name for file in (RTL / "rtl").glob("*.v")}
    headers = sorted((RTL / "rtl").glob("*.vh"))
    return [*(file for file in sources if file.name in modules or file.name not in library), *headers]


@dataclass(frozen=True)
class Build:
    """A design point for a target."""

    point: str
    design: Design
    recipe: Recipe
    work: Path  # parent of the folders of builds

    @property
    def folder(self) -> Path:
        """The folder of this build."""
        return self.work / self.point / self.recipe.name

    @property
    def placeable(self) -> bool:
        """Whether the design point can be placed and routed."""
        return bool(self.recipe.place) and self.recipe.name not in self.design.counts_only

    @cached_property
    def sha256(self) -> str:
        """Digest of all inputs of the results except the tools."""
        sources = [*used_sources(self.design, self.recipe.sources), *self._constraints]
        read = self.read(self.recipe.folder)
        synth = synthesis(self.recipe.synth, harness.CORE)
        return digest(read[1:], synth, self.recipe.model_dump(), harness.VERILOG, files=sources)

    def tools(self, *, place: bool) -> dict[str, str]:
        """Versions of the tools; UsageError if one is not installed."""
        found = {"yosys": yosys_version()}
        if place:
            name = self.recipe.place[0]
            found[name] = version(name, self.recipe.package)
        return found

    def read(self, folder: Path) -> list[str]:
        """Commands for yosys, run in a folder, that read the core."""
        return elaborate(folder, self.recipe.sources, self.design.parameters, top=self.design.top)

    def map(self) -> Counts:
        """Map the core and count its cells."""
        synth = synthesis(self.recipe.synth, harness.CORE)
        run_yosys(self.folder, "core", [*self.read(self.folder), *synth, "write_json core.json"])
        core = harness.top_module(self.folder / "core.json")
        (self.folder / "harness.v").write_text(harness.harness(core))
        self._stamp.write_text(self.sha256)
        return count(core, self.recipe.cells)

    def surround(self) -> None:
        """Map the core in its harness. The harness depends on core.json, which is rebuilt if it is out of date."""
        if not self._stamp.is_file() or self._stamp.read_text() != self.sha256:
            self.map()
        read = [*self.read(self.folder), "read_verilog harness.v"]
        synth = synthesis(self.recipe.synth, harness.HARNESS)
        pads = [self.recipe.pads] if self.recipe.pads else []
        run_yosys(self.folder, "harness", [*read, *synth, *pads, "write_json harness.json"])
        for file in self._constraints:
            shutil.copy(file, self.folder)

    def place(self, seed: int) -> PlacementRun:
        """Place and route with this seed."""
        report, sdf = f"{seed}.report.json", f"{seed}.sdf"
        name, *options = self.recipe.place
        # Names without a folder: YoWASP's tools can access only the working directory.
        outputs = ("--report", report, "--sdf", sdf)
        command = [
            tool(name, self.recipe.package), *options, "--json", "harness.json", "--timing-allow-fail",
            "--seed", str(seed), *outputs,
        ]  # fmt: skip
        _run(self.folder, f"{seed}.place", command)
        (fmax,) = json.loads((self.folder / report).read_text())["fmax"].values()
        slowest = slowest_paths(self.folder / sdf, harness.registers(self.folder / "harness.json"))
        (self.folder / sdf).unlink()  # tens of megabytes
        if abs(slowest.of_all_ns * fmax["achieved"] / 1000 - 1) > 0.01:
            raise AirtollError(
                f"{name}: {fmax['achieved']:.1f} MHz reported, but its delays give {1000 / slowest.of_all_ns:.1f} MHz"
            )
        return PlacementRun(
            seed=seed,
            fmax_mhz=round(fmax["achieved"], 2),
            clk_to_clk_ns=slowest.clk_to_clk_ns or slowest.of_all_ns,
            tsu_ns=slowest.tsu_ns if self.recipe.registers_apart else None,
            tco_ns=slowest.tco_ns if self.recipe.registers_apart else None,
        )

    @property
    def _stamp(self) -> Path:
        """File with the digest of the inputs of core.json."""
        return self.folder / "core.sha256"

    @property
    def _constraints(self) -> list[Path]:
        return sorted(self.recipe.folder.glob("harness.*"))


def elaborate(
    folder: Path,
    sources: Sequence[Path],
    parameters: Mapping[str, int],
    black_boxes: Sequence[Path] = (),
    top: str = TOP,
) -> list[str]:
    """Commands for yosys, run in a folder, that read the core. Tables in case statements become logic, not ROM."""

    def names(files: Sequence[Path]) -> str:
        return " ".join(os.path.relpath(file, folder) for file in files)

    set_ = " ".join(f"-chparam {name} {value}" for name, value in parameters.items())
    return [
        f"read_verilog -I{names([RTL / 'rtl'])} {names(sources)}",
        *([f"read_verilog -lib {names(black_boxes)}"] if black_boxes else []),
        f"hierarchy -top {top} {set_}",
        "proc -norom",
        f"rename -top {harness.CORE}",
    ]


def synthesis(synth: str, top: str) -> list[str]:
    """Commands for yosys that map the design and flatten it after mapping."""
    return [f"{synth} -top {top}", "setattr -unset keep_hierarchy t:*", "flatten", "opt_clean"]


def run_yosys(folder: Path, name: str, commands: Sequence[str]) -> None:
    """Run commands, and leave NAME.ys and NAME.log in the folder; AirtollError if yosys fails."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ys").write_text("\n".join(commands) + "\n")
    _run(folder, name, [tool(*_YOSYS), "-q", f"{name}.ys"])


def _run(folder: Path, name: str, command: Sequence[str]) -> None:
    """Run a tool; AirtollError with its last error message."""
    log = folder / f"{name}.log"
    with log.open("w") as out:
        done = subprocess.run(
            command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
        )
    if done.returncode:
        errors = re.findall(r"ERROR: *(.+)", log.read_text(errors="replace"))
        what = errors[-1] if errors else f"exit status {done.returncode}"
        raise AirtollError(f"{Path(command[0]).name}: {what} ({os.path.relpath(log)})")
