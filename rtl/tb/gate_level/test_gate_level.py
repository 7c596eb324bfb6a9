"""Netlists for the ECP5 pass tests of their modules, and the targets' block RAM behaves like the library's memory."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RTL = HERE.parents[1]
sys.path[:0] = [str(RTL / "tb"), str(RTL / "tb" / "ccmp_core"), str(RTL / "syn")]

import runner  # noqa: E402
from flow import TOP as CCMP_CORE  # noqa: E402
from flow import elaborate, run_yosys, synthesis  # noqa: E402
from harness import CORE, top_module  # noqa: E402
from recipe import designs, recipe  # noqa: E402

PARAMETERS = designs()["x1"].parameters
TESTS = (
    "every_kind_and_size_is_sealed",
    "every_kind_and_size_is_opened",
    "what_was_changed_on_the_way_does_not_leave",
    "packet_numbers_must_rise_within_a_priority",
    "keys_are_known_by_number_and_identifier",
    "a_reset_in_the_middle_of_a_frame_forgets_it",
)
"""Tests of test_ccmp_core: sealing and opening, both key lengths, the protecting verdicts, and reset."""

LOGIC_CELLS = ("LUT4", "LUT2", "CCU2C", "PFUMX", "L6MUX21", "TRELLIS_FF", "TRELLIS_DPR16X4")
BLOCK_RAMS = [HERE / "DP16KD.v", HERE / "PDPW16KD.v"]
ECP5_RAM = RTL / "syn" / "ecp5" / "ram_sdp.v"
ICE40_RAM = RTL / "syn" / "ice40" / "ram_sdp.v"

needs_yosys = pytest.mark.skipif(shutil.which("yosys") is None, reason="needs yosys")
needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs iverilog")


def yosys_models(target: str, cells: Sequence[str]) -> str:
    """Yosys's models of a target's cells, without delays."""
    yosys = shutil.which("yosys")
    assert yosys
    text = (Path(yosys).resolve().parents[1] / f"share/yosys/{target}/cells_sim.v").read_text()
    modules = re.findall(r"^module (\w+) ?\(.*?^endmodule$", text, flags=re.MULTILINE | re.DOTALL)
    assert set(cells) <= set(modules)
    wanted = rf"^module (?:{'|'.join(cells)}) ?\(.*?^endmodule$"
    found = "\n\n".join(re.findall(wanted, text, flags=re.MULTILINE | re.DOTALL))
    return re.sub(r"^\s*specify$.*?^\s*endspecify$", "", found, flags=re.MULTILINE | re.DOTALL) + "\n"


def models_of_cells(folder: Path) -> Path:
    """Yosys's models of the ECP5's logic cells; it has no models of the block RAM."""
    file = folder / "cells.v"
    file.write_text(yosys_models("ecp5", LOGIC_CELLS))
    return file


def netlist(folder: Path, top: str, parameters: Mapping[str, int]) -> list[Path]:
    """A module as cells of the ECP5, in a module `gate_level` with the same ports.

    The wrapper is required because Verilator keeps all nets of the module that tests access. Without splitnets it would
    report a loop for a vector that feeds its own upper bits.
    """
    read = elaborate(folder, recipe("ecp5").sources, parameters, top=top)
    write = ["splitnets", "write_verilog -noattr netlist.v", "write_json netlist.json"]
    run_yosys(folder, "netlist", [*read, *synthesis(recipe("ecp5").synth, CORE), *write])
    wrap(folder)
    return [folder / "gate_level.v", folder / "netlist.v", models_of_cells(folder), *BLOCK_RAMS]


def wrap(folder: Path) -> None:
    """Write the wrapper module."""
    ports = top_module(folder / "netlist.json")["ports"]
    ranges = {
        name: f"[{len(port['bits']) - 1}:0] " if len(port["bits"]) > 1 else "" for name, port in ports.items()
    }
    head = ", ".join(f"{port['direction']} wire {ranges[name]}{name}" for name, port in ports.items())
    body = ", ".join(f".{name}({name})" for name in ports)
    (folder / "gate_level.v").write_text(f"module gate_level ({head});\n{CORE} {CORE} ({body});\nendmodule\n")


@needs_yosys
def test_the_netlist_of_a_chain_passes_its_tests(tmp_path: Path) -> None:
    parameters = {"LANES": 1}
    runner.simulate(
        "gate_level",
        "test_cbc_lanes",
        files=netlist(tmp_path, "cbc_lanes", parameters),
        environment={key: str(value) for key, value in parameters.items()},
    )


@pytest.mark.long
@needs_yosys
def test_the_netlist_passes_tests_of_the_core(tmp_path: Path) -> None:
    runner.simulate(
        "gate_level",
        "test_ccmp_core",
        files=netlist(tmp_path, CCMP_CORE, PARAMETERS),
        environment={
            "MAX_OCTETS": str(PARAMETERS["MAX_OCTETS"]),
            "COCOTB_TEST_FILTER": f"({'|'.join(TESTS)})$",
        },
    )
    log = (runner.BUILD / "gate_level" / "test.log").read_text()
    assert [name for name in TESTS if not re.search(rf"{name}\s+PASS", log)] == []


@needs_icarus
@pytest.mark.parametrize(
    ("width", "depth"),
    [
        (32, 16),
        (36, 512),
        (37, 300),
        (64, 64),
        (128, 512),
        (18, 1024),
        (48, 1024),
        (32, 2048),
        (10, 4096),
        (5, 8192),
    ],
)
def test_block_ram_of_the_ecp5_is_the_memory_of_the_library(width: int, depth: int, tmp_path: Path) -> None:
    assert compared(tmp_path, [ECP5_RAM, *BLOCK_RAMS], WIDTH=width, DEPTH=depth) == "equal"


@needs_yosys
@needs_icarus
@pytest.mark.parametrize(
    ("width", "depth"),
    [(52, 4), (9, 8), (32, 16), (37, 256), (128, 64), (32, 512), (48, 1024), (10, 2048)],
)
def test_block_ram_of_the_ice40_is_the_memory_of_the_library(width: int, depth: int, tmp_path: Path) -> None:
    model = tmp_path / "SB_RAM40_4K.v"
    model.write_text(f"`define ICE40_DEFAULT_ASSIGNMENT_V(value)\n{yosys_models('ice40', ['SB_RAM40_4K'])}")
    assert compared(tmp_path, [ICE40_RAM, model], WIDTH=width, DEPTH=depth, LATE=1) == "equal"


def compared(folder: Path, files: list[Path], **parameters: int) -> str:
    """The output of ram_sdp_bench for a target's memory in these files."""
    library = folder / "library.v"
    library.write_text(
        (RTL / "rtl" / "ram_sdp.v").read_text().replace("module ram_sdp ", "module ram_sdp_library ")
    )
    chosen = [f"-Pram_sdp_bench.{name}={value}" for name, value in parameters.items()]
    bench = folder / "bench.vvp"
    all_files = map(str, (HERE / "ram_sdp_bench.v", library, *files))
    # Yosys's models have default values of ports, which Verilog-2005 does not support.
    subprocess.run(
        ["iverilog", "-g2012", "-s", "ram_sdp_bench", *chosen, "-o", str(bench), *all_files], check=True
    )
    result = subprocess.run(["vvp", "-n", str(bench)], capture_output=True, text=True, check=True)
    return result.stdout.split("\n")[0]


@needs_icarus
def test_the_s_box_in_block_ram_of_the_ecp5_is_the_table() -> None:
    runner.simulate(
        "aes_sbox_ram",
        "test_aes_sbox_ram",
        files=[RTL / "syn" / "ecp5" / "aes_sbox_ram.v", HERE / "DP16KD.v"],
        simulator="icarus",
    )


@needs_yosys
def test_the_s_box_of_the_ecp5_is_in_its_block_ram_as_yosys_would_put_it(tmp_path: Path) -> None:
    target, library = (
        contents_of_block_ram(tmp_path, folder / "aes_sbox_ram.v")
        for folder in (RTL / "syn" / "ecp5", RTL / "rtl")
    )
    used = [f"INITVAL_{line:02X}" for line in range(8)]  # 32 words each
    assert [target[line] for line in used] == [library[line] for line in used]


def contents_of_block_ram(folder: Path, file: Path) -> dict[str, int]:
    """The INITVALs of the only block RAM of aes_sbox_ram."""
    script = f"read_verilog -I{RTL / 'rtl'} {file}; synth_ecp5 -top aes_sbox_ram; write_json cells.json"
    subprocess.run(["yosys", "-q", "-p", script], cwd=folder, check=True)
    cells = json.loads((folder / "cells.json").read_text())["modules"]["aes_sbox_ram"]["cells"]
    (ram,) = (cell["parameters"] for cell in cells.values() if cell["type"] == "DP16KD")
    return {name: int(bits.replace("x", "0"), 2) for name, bits in ram.items() if name.startswith("INITVAL_")}
