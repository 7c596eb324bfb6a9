"""The gate simulator compared with Icarus, net by net, and its memories compared with their specification."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random

import numpy as np
import pytest

POWER = Path(__file__).resolve().parent
RTL = POWER.parent
sys.path[:0] = [str(POWER), str(RTL / "tb")]

import gates  # noqa: E402
import simulate  # noqa: E402
from aes import SUBSTITUTES  # noqa: E402

CYCLES = 300
PERIOD = 1000  # units, longer than any gate takes to settle

needs_tools = pytest.mark.skipif(
    not (shutil.which("yosys") and shutil.which("iverilog")), reason="needs yosys and iverilog"
)


def mapped(
    top: str, parameters: Mapping[str, int], folder: Path, source: Path | None = None
) -> gates.Netlist:
    """Map a module to cells of the ECP5, in folder/netlist.json and folder/netlist.v."""
    files = " ".join(str(file) for file in ([source] if source else sorted((RTL / "rtl").glob("*.v"))))
    chosen = " ".join(f"-chparam {name} {value}" for name, value in parameters.items())
    script = (
        f"read_verilog -I{RTL / 'rtl'} {files}; hierarchy -top {top} {chosen}; proc -norom; rename -top dut; "
        f"synth_ecp5 -nowidelut -top dut; splitnets -ports; write_json netlist.json; write_verilog -noattr netlist.v"
    )
    subprocess.run(["yosys", "-q", "-p", script], cwd=folder, check=True)
    return gates.load(folder / "netlist.json")


def changes_by_icarus(netlist: gates.Netlist, stimulus: list[dict[str, int]], folder: Path) -> dict[str, int]:
    """The number of changes of each wire of the netlist after the end of the first cycle."""
    ports = list(netlist.inputs)
    clock = f".{netlist.clock}(clk), " if netlist.clock else ""
    connections = ", ".join(f".{quoted(name)}(given[{at}])" for at, name in enumerate(ports))
    (folder / "stimulus.txt").write_text(
        "".join("".join(str(cycle[name]) for name in reversed(ports)) + "\n" for cycle in stimulus)
    )
    (folder / "bench.v").write_text(
        f"""`timescale 1ns / 1ns
        module bench;
          reg clk = 0;
          reg [{len(ports) - 1}:0] given, stimulus[0:{len(stimulus) - 1}];
          dut dut ({clock}{connections});
          integer cycle;
          initial begin
            $readmemb("stimulus.txt", stimulus);
            given = stimulus[0];
            #{PERIOD - 1} $dumpfile("netlist.vcd");
            $dumpvars(1, dut);
            for (cycle = 1; cycle < {len(stimulus)}; cycle = cycle + 1) begin
              #1 clk = 1;
              given <= stimulus[cycle];
              #{PERIOD // 2} clk = 0;
              #{PERIOD // 2 - 1};
            end
            $finish;
          end
        endmodule
        """
    )
    files = ["bench.v", "netlist.v", str(POWER / "unit_delay_cells.v")]
    subprocess.run(["iverilog", "-o", "bench.vvp", *files], cwd=folder, check=True)
    subprocess.run(["vvp", "-n", "bench.vvp"], cwd=folder, check=True, capture_output=True)
    return changes_in(folder / "netlist.vcd")


def changes_in(file: Path) -> dict[str, int]:
    """Changes of each wire of a VCD from one time to the next; changes back within one time do not count."""
    head, _, body = file.read_text().partition("$enddefinitions $end")
    names: dict[str, list[str]] = {}
    for code, name in re.findall(r"\$var \w+ +1 (\S+) (\S+) ", head):
        names.setdefault(code, []).append(name.removeprefix("\\"))
    first, *times = re.split(r"^#\d+$", body.partition("$dumpvars")[2], flags=re.MULTILINE)
    now = {code: value for value, code in re.findall(r"^([01xz])(\S+)$", first, re.MULTILINE)}
    total = dict.fromkeys(names, 0)
    for time in times:
        for code, value in {
            code: value for value, code in re.findall(r"^([01xz])(\S+)$", time, re.MULTILINE)
        }.items():
            total[code] += value != now[code]
            now[code] = value
    return {name: total[code] for code, all_ in names.items() for name in all_}


def quoted(name: str) -> str:
    """A name as an escaped identifier of Verilog."""
    return f"\\{name} "


MODULES = [
    ("aes_sbox", {}),
    ("aes_mix_columns", {}),
    ("octet_packer", {"W": 64}),
    ("verdict_adder", {}),
]

ADDER = """
module verdict_adder (input wire clk, input wire reset, input wire [19:0] a, input wire [19:0] b, output reg [19:0] sum,
                      output reg greater);
  always @(posedge clk) begin
    if (!a[3]) sum <= sum + (a ^ b);
    greater <= a > b;
    if (reset) sum <= 20'd77;
  end
endmodule
"""


@needs_tools
@pytest.mark.parametrize(("top", "parameters"), MODULES)
def test_every_net_changes_as_often_as_in_an_event_driven_simulator(
    top: str, parameters: Mapping[str, int], tmp_path: Path
) -> None:
    source = None
    if top == "verdict_adder":  # carry chains, set, active-low enable
        source = tmp_path / "adder.v"
        source.write_text(ADDER)
    netlist = mapped(top, parameters, tmp_path, source)
    rng = Random(1)
    stimulus = [
        {name: int(cycle < 2) if name == "reset" else rng.getrandbits(1) for name in netlist.inputs}
        for cycle in range(CYCLES)
    ]
    wanted = changes_by_icarus(netlist, stimulus, tmp_path)
    wanted.pop(netlist.clock or "", None)
    machine = simulate.Machine(netlist)
    history = []
    for cycle in stimulus:
        for name, value in cycle.items():
            machine.put(name, value)
        machine.settle()
        history.append(machine.values[machine.sources].copy())
        machine.clock()
    changes = simulate.count_toggles(netlist, np.array(history))
    counted = [(name, int(changes.all[net])) for name, net in netlist.names.items() if name in wanted]
    assert len(counted) > len(netlist.inputs) + len(netlist.outputs)
    assert sum(total for _, total in counted) > CYCLES
    assert [(name, total) for name, total in counted if total != wanted[name]] == []


MEMORIES = """
module memories (input wire clk, input wire write, input wire [3:0] write_at, input wire [3:0] read_at,
                 input wire [4:0] given, output wire [4:0] held);
  reg [4:0] memory[0:15];
  assign held = memory[read_at];
  always @(posedge clk) if (write) memory[write_at] <= given;
endmodule
"""


@needs_tools
def test_a_memory_in_luts_is_one(tmp_path: Path) -> None:
    (tmp_path / "memories.v").write_text(MEMORIES)
    netlist = mapped("memories", {}, tmp_path, tmp_path / "memories.v")
    assert netlist.cells["TRELLIS_DPR16X4"] >= 2
    machine = simulate.Machine(netlist)
    rng = Random(2)
    held = [0] * 16
    history = []
    for _ in range(CYCLES):
        write, write_at, read_at, given = (rng.getrandbits(bits) for bits in (1, 4, 4, 5))
        for name, value, width in (("write_at", write_at, 4), ("read_at", read_at, 4), ("given", given, 5)):
            for bit in range(width):
                machine.put(f"{name}[{bit}]", value >> bit & 1)
        machine.put("write", write)
        machine.settle()
        assert sum(machine.get(f"held[{bit}]") << bit for bit in range(5)) == held[read_at]
        history.append(machine.values[machine.sources].copy())
        machine.clock()
        if write:
            held[write_at] = given
    assert simulate.count_toggles(netlist, np.array(history)).all.sum() > CYCLES


@needs_tools
def test_reads_and_writes_of_a_library_memory_are_counted_separately(tmp_path: Path) -> None:
    (tmp_path / "holds.v").write_text(
        "module holds (input clk, input w, input [2:0] wa, input [5:0] wd, input e, input [2:0] ra, output [5:0] rd);"
        "ram_sdp #(.WIDTH(6), .DEPTH(8)) ram (.clk(clk), .write(w), .write_addr(wa), .write_data(wd), .enable(e),"
        ".read_addr(ra), .read_data(rd)); endmodule"
    )
    script = (
        f"read_verilog holds.v; read_verilog -lib {RTL / 'rtl' / 'ram_sdp.v'}; synth_ecp5 -top holds; "
        "write_json netlist.json"
    )
    subprocess.run(["yosys", "-q", "-p", script], cwd=tmp_path, check=True)
    machine = simulate.Machine(gates.load(tmp_path / "netlist.json"))
    accesses = simulate.Accesses()
    rng = Random(3)
    words, word, out = [0] * 8, 0, 0
    reads = writes = 0
    for _ in range(CYCLES):
        w, wa, wd, e, ra = (rng.getrandbits(bits) for bits in (1, 3, 6, 1, 3))
        for name, value in (("w", w), ("wa", wa), ("wd", wd), ("e", e), ("ra", ra)):
            machine.put(name, value)
        machine.settle()
        assert machine.get("rd") == out
        machine.clock(accesses)
        if e:
            word, out = words[ra], word
        if w:
            words[wa] = wd
        reads, writes = reads + e, writes + w
    assert (accesses.read, accesses.written) == (6 * reads, 6 * writes)


@needs_tools
def test_a_table_in_block_ram_is_the_sbox(tmp_path: Path) -> None:
    source = RTL / "syn" / "ecp5" / "aes_sbox_ram.v"
    netlist = mapped("aes_sbox_ram", {}, tmp_path, source)
    assert netlist.cells["DP16KD"] == 1
    machine = simulate.Machine(netlist)
    rng = Random(4)
    given = [rng.randbytes(2) for _ in range(CYCLES)]
    found = []
    for octets in given:
        for bit in range(16):
            machine.put(f"octets[{bit}]", octets[bit // 8] >> bit % 8 & 1)
        machine.settle()
        found.append(
            bytes(sum(machine.get(f"substitutes[{at + bit}]") << bit for bit in range(8)) for at in (0, 8))
        )
        machine.clock()
    assert found[3:] == [bytes(SUBSTITUTES[octet] for octet in octets) for octets in given[:-3]]
