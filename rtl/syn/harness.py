"""A top module with few pins around a core with many pins, so that every path of the core is between two registers.

`ir` shifts in the values of the core's inputs, `o1` captures its outputs, and `o2` shifts them out.
"""

import json
from pathlib import Path
from typing import Any, Final

CORE: Final = "core"  # module and instance
HARNESS: Final = "harness"

VERILOG: Final = """\
module {harness} (input wire clk, input wire si, input wire ld, output wire so);
  reg [{inputs}-1:0] ir;
  reg [{outputs}-1:0] o1, o2;
  wire [{outputs}-1:0] o;
  always @(posedge clk) begin
    ir <= {{ir, si}};
    o1 <= o;
    o2 <= ld ? o1 : {{o2, 1'b0}};
  end
  assign so = o2[{outputs}-1];
  {core} {core} (
    .clk(clk),
    {connections}
  );
endmodule
"""


def top_module(netlist: Path) -> dict[str, Any]:
    """The top module of a netlist in the JSON of yosys (write_json)."""
    modules = json.loads(netlist.read_text())["modules"]
    found: dict[str, Any] = next(m for m in modules.values() if int(m["attributes"].get("top", "0"), 2))
    return found


def registers(netlist: Path) -> frozenset[str]:
    """The registers of the harness itself, which yosys may have named after a port of the core."""
    module = top_module(netlist)
    nets = {bit for name in ("ir", "o1", "o2") for bit in module["netnames"][name]["bits"]}
    return frozenset(
        name
        for name, cell in module["cells"].items()
        for port, way in cell["port_directions"].items()
        if way == "output" and not nets.isdisjoint(cell["connections"][port])
    )


def harness(core: dict[str, Any]) -> str:
    """Verilog of the harness around a core."""
    connections = []
    widths = {"input": 0, "output": 0}
    for name, port in core["ports"].items():
        if name == "clk":
            continue
        way, width = port["direction"], len(port["bits"])
        at = widths[way]
        connections.append(f".{name}({'ir' if way == 'input' else 'o'}[{at}+:{width}])")
        widths[way] += width
    return VERILOG.format(
        harness=HARNESS,
        core=CORE,
        inputs=widths["input"],
        outputs=widths["output"],
        connections=",\n    ".join(connections),
    )
