"""Count the activity of cbc_lanes and ctr_lanes: as `activity`, for messages of `activity.PAYLOAD_B` octets."""

from pathlib import Path
from typing import Final

import activity
import gates
import numpy as np
import runner
import simulate
from flow import elaborate, run_yosys, synthesis
from harness import CORE
from recipe import Design, recipe

_MESSAGES: Final = 3
"""The number of messages: the first one is not counted."""


def commands(design: Design, folder: Path) -> list[str]:
    """Commands for yosys, run in a folder."""
    target = recipe("ecp5")
    read = elaborate(folder, target.sources, design.parameters, top=design.top)
    return [*read, *synthesis(target.synth, CORE), "write_json netlist.json"]


def observe(design: Design, folder: Path) -> activity.Activity:
    """Map the design, simulate messages without gaps, and count the changes of all nets."""
    folder.mkdir(parents=True, exist_ok=True)
    run_yosys(folder, "netlist", commands(design, folder))
    netlist = gates.load(folder / "netlist.json")
    file = folder / "messages.npz"
    environment = {
        "RECORD_FILE": str(file),
        "RECORD_MESSAGES": str(_MESSAGES),
        "RECORD_MESSAGE_B": str(activity.PAYLOAD_B),
        "RECORD_PORTS": " ".join([*netlist.inputs, *netlist.outputs]),
    } | {name: str(value) for name, value in design.parameters.items()}
    with runner.failures_told():
        runner.simulate(design.top, "message_stimulus", design.parameters, environment=environment)
    with np.load(file) as saved:
        ports = dict(saved)
    last = ports["m_valid"] & ports.get("m_last", ports["m_valid"])
    ends = np.flatnonzero(last[:, 0])
    start, stop = int(ends[0]), int(ends[-1]) + 1
    history, accesses = activity.replay(netlist, activity.Recording(ports, file), start, stop)
    counted = _MESSAGES - 1
    bits = 8 * activity.PAYLOAD_B * counted
    return activity.Activity(netlist, simulate.count_toggles(netlist, history), accesses, counted, bits)
