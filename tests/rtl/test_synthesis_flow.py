"""The flow around yosys and nextpnr: parsing of their files, and messages if it cannot continue."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from flow import Build, digest
from harness import harness, registers
from netlist import count
from paths import slowest_paths
from recipe import SYN, Cells, designs, recipe

from airtoll.errors import AirtollError, UsageError
from airtoll.rtl import Made, Target, amend

CELLS = Cells(
    lut={"LUT[1-4]": 1, "RAM*": 6},
    carry={"CARRY": 2},
    ram_blocks={"BRAM": 1},
    logic_output={"LUT[1-4]": ("Z",), "CARRY": ("S0", "S1")},
    ff_input={"FF*": "D"},
)


def cell(kind: str, **connections: int) -> dict[str, object]:
    out = ("Z", "Q", "S0", "S1")
    return {
        "type": kind,
        "connections": {port: [bit] for port, bit in connections.items()},
        "port_directions": {port: "output" if port in out else "input" for port in connections},
    }


def test_cells_are_counted_by_resource() -> None:
    cells = [cell("LUT4", A=2, Z=3), cell("LUT2", A=2, Z=4), cell("CARRY"), cell("RAM16"), cell("BRAM")]
    counts = count({"ports": {}, "cells": dict(enumerate(cells))}, CELLS)
    assert (counts.lut, counts.carry_lut, counts.ff, counts.ram_blocks) == (2 + 2 + 6, 2, 0, 1)


def test_a_register_shares_the_logic_element_of_the_lut_that_it_alone_takes_from() -> None:
    alone = {"lut": cell("LUT4", A=2, Z=3), "ff": cell("FFR", D=3, Q=4)}
    assert count({"ports": {}, "cells": alone}, CELLS).logic_elements == 1
    also_used = {**alone, "other": cell("LUT1", A=3, Z=5)}
    assert count({"ports": {}, "cells": also_used}, CELLS).logic_elements == 3
    also_out = {"o": {"direction": "output", "bits": [3]}}
    assert count({"ports": also_out, "cells": alone}, CELLS).logic_elements == 2
    sum_ = {"sum": cell("CARRY", A=2, S0=3, S1=5), "ff": cell("FF", D=5, Q=4)}
    assert count({"ports": {}, "cells": sum_}, CELLS).logic_elements == 2
    after_register = {"ff": cell("FF", D=2, Q=3), "next": cell("FF", D=3, Q=4)}
    assert count({"ports": {}, "cells": after_register}, CELLS).logic_elements == 2


def test_every_port_but_the_clock_has_a_register_in_the_harness() -> None:
    ports = {
        "clk": {"direction": "input", "bits": [2]},
        "a": {"direction": "input", "bits": [3, 4, 5]},
        "y": {"direction": "output", "bits": [6, 7]},
        "b": {"direction": "input", "bits": [8]},
    }
    verilog = harness({"ports": ports})
    for part in ("reg [4-1:0] ir", "reg [2-1:0] o1, o2", ".a(ir[0+:3])", ".b(ir[3+:1])", ".y(o[0+:2])"):
        assert part in verilog
    assert verilog.count(".clk(") == 1


def test_registers_of_the_harness_are_known_by_their_nets_whatever_their_names(tmp_path: Path) -> None:
    cells = {
        "core.a_FF": cell("FF", D=2, Q=3),
        "core.lut": cell("LUT4", A=3, Z=4),
        "core.b_FF": cell("FF", D=4, Q=5),
        "core.y_FF": cell("FF", D=5, Q=6),
        "o2_FF": cell("FF", D=6, Q=7),
    }
    nets = {"ir": [3], "core.a": [3], "core.b": [5], "o1": [6, "x"], "o2": [7]}
    module = {
        "attributes": {"top": "1"},
        "cells": cells,
        "netnames": {name: {"bits": bits} for name, bits in nets.items()},
    }
    netlist = tmp_path / "harness.json"
    netlist.write_text(json.dumps({"modules": {"harness": module}}))
    assert registers(netlist) == {"core.a_FF", "core.y_FF", "o2_FF"}


AROUND = {"core.a[0]_FF", "o1_FF"}


def sdf(*wires: tuple[str, str, int]) -> str:
    """Registers of the harness, with two LUTs and two registers of the core between them."""
    lines = ["(DELAYFILE", '(CELL (CELLTYPE "top")', "(INSTANCE )"]
    lines += [f"(INTERCONNECT {a} {b} (0:0:{ps}) (0:0:{ps - 1}))" for a, b, ps in wires]
    for name in (r"core.a\[0\]_FF", "core.first", "core.second", "o1_FF"):
        lines += ['(CELLTYPE "FF")', f"(INSTANCE {name})", "(IOPATH CLK Q (1:2:500) (1:2:400))"]
        lines += [
            f"(SETUPHOLD ({edge} D) (posedge CLK) (0:0:100) (0:0:9))" for edge in ("posedge", "negedge")
        ]
    for name in ("core.lut1", "core.lut2"):
        lines += ['(CELLTYPE "LUT")', f"(INSTANCE {name})", "(IOPATH A Z (0:0:200) (0:0:250))"]
    return "\n".join([*lines, ")"])


WIRES = (
    (r"core.a\[0\]_FF/Q", "core.lut1/A", 1000),
    ("core.lut1/Z", "core.first/D", 10),
    ("core.first/Q", "core.lut2/A", 2000),
    ("core.lut2/Z", "core.second/D", 20),
    ("core.lut2/Z", "o1_FF/D", 40),
    ("core.second/Q", "o1_FF/D", 30),
)


def test_paths_into_out_of_and_within_the_core(tmp_path: Path) -> None:
    file = tmp_path / "routed.sdf"
    file.write_text(sdf(*WIRES))
    slowest = slowest_paths(file, AROUND)
    assert slowest.tsu_ns == pytest.approx(1.000 + 0.250 + 0.010 + 0.100)
    assert slowest.tco_ns == pytest.approx(0.500 + 2.000 + 0.250 + 0.040)
    assert slowest.clk_to_clk_ns == pytest.approx(0.500 + 2.000 + 0.250 + 0.020 + 0.100)
    assert slowest.of_all_ns == pytest.approx(0.500 + 2.000 + 0.250 + 0.040 + 0.100)


def test_paths_that_are_not_there_are_none(tmp_path: Path) -> None:
    file = tmp_path / "routed.sdf"
    file.write_text(sdf(*WIRES[2:4]))
    slowest = slowest_paths(file, AROUND)
    assert slowest.clk_to_clk_ns is not None
    assert slowest.tsu_ns is None
    assert slowest.tco_ns is None


def test_a_combinational_loop_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "routed.sdf"
    file.write_text(sdf(*WIRES, ("core.lut1/Z", "core.lut2/A", 1), ("core.lut2/Z", "core.lut1/A", 1)))
    with pytest.raises(AirtollError, match="loop"):
        slowest_paths(file, AROUND)


def test_design_points_and_targets_can_be_read() -> None:
    found = designs()
    assert [name for name, design in found.items() if design.group == "standard"] == ["standard"]
    for name, design in found.items():
        assert set(design.counts_only) <= set(design.targets), name
        for target in design.targets:
            assert recipe(target).name == target


def test_an_unknown_parameter_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "points.toml"
    file.write_text('[bird]\ntitle = ""\ngroup = "turns"\ntargets = []\nparameters = { W = 32, WINGS = 2 }\n')
    with pytest.raises(UsageError, match=r"points\.toml: bird: ccmp_core has no parameter WINGS$"):
        designs(file)


@pytest.mark.parametrize("target", ["ecp5", "cycloneive"])
def test_a_target_s_own_modules_stand_in_for_the_library_s(target: str) -> None:
    sources = {file.name: file for file in recipe(target).sources}
    assert sources["ram_sdp.v"].parent.name == target
    assert sources["ccmp_core.v"].parent.name == "rtl"


def test_the_digest_depends_on_parameters_and_sources(tmp_path: Path) -> None:
    file = tmp_path / "a.v"
    file.write_text("module a; endmodule")
    first = digest({"W": 32}, files=[file])
    assert digest({"W": 64}, files=[file]) != first
    file.write_text("module a; wire b; endmodule")
    assert digest({"W": 32}, files=[file]) != first


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def synthesise(tmp_path: Path) -> Run:
    """Run the flow without any tool on PATH, with results in an empty folder."""

    def call(*arguments: str, path: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, SYN / "synthesise.py", *arguments, *_into(tmp_path)],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return call


def _into(folder: Path) -> tuple[str, ...]:
    return "--out", str(folder / "results.json"), "--work", str(folder / "work")


def test_unknown_points_and_targets_are_one_line(synthesise: Run) -> None:
    for arguments, named in ((("nothing",), "nothing"), (("--target", "virtex"), "virtex")):
        done = synthesise(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert named in done.stderr


def test_a_missing_tool_is_one_line_with_its_package(synthesise: Run) -> None:
    done = synthesise("x1", "x2", "--target", "ecp5", "--counts-only")
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if "apt-get install yosys" in line]
    assert "Traceback" not in done.stdout + done.stderr


def fake_yosys(folder: Path) -> None:
    """A fake yosys that prints a version and a hierarchy with only the core."""
    tool = folder / "yosys"
    tool.write_text(
        "#!/bin/sh\n"
        'case "$1" in -V) echo "Yosys 9.9"; exit;; esac\n'
        'test "$2" = modules.ys || { echo "ERROR: no such luck"; exit 1; }\n'
        'echo \'{"modules": {"m": {"attributes": {"src": "ccmp_core.v:1"}}}}\' > modules.json\n'
    )
    tool.chmod(0o755)


def test_existing_results_are_not_measured_again(
    synthesise: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_yosys(tmp_path)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    arguments = ("x1", "--target", "ecp5", "--counts-only")
    failed = synthesise(*arguments, path=path)
    assert failed.returncode == 1
    assert "no such luck" in failed.stdout

    design = designs()["x1"]
    monkeypatch.setenv("PATH", path)
    sha256 = Build("x1", design, recipe("ecp5"), tmp_path).sha256
    made = Made(sha256=sha256, tools={"yosys": "9.9"})
    target = Target(made=made, lut=1, carry_lut=0, ff=1, ram_blocks=0, logic_elements=1)
    point = {"title": "old", "group": "turns", "parameters": design.parameters, "targets": {"ecp5": target}}
    file = tmp_path / "results.json"
    amend(file, lambda before: before.model_validate({"points": {"x1": point}}))
    assert synthesise(*arguments, path=path).returncode == 0
