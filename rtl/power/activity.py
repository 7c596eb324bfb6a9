"""Count the activity of a design point's gates while it protects frames.

1. yosys maps the RTL to cells of the ECP5 as for the LUT counts, but keeps `ram_sdp` as a memory (gates).
2. cocotb keeps the same RTL busy with frames and records its ports, cycle by cycle (stimulus).
3. The netlist gets the same inputs and must have the same outputs in every cycle (simulate.Machine).
4. All changes of all nets, including glitches, are counted in a window in which a known number of frames left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import gates
import numpy as np
import runner
import simulate
from flow import elaborate, run_yosys, synthesis
from harness import CORE
from recipe import RTL, TOP, recipe

from airtoll.errors import AirtollError

PAYLOAD_B: Final = 1500
"""An Ethernet MSDU."""

_SEED: Final = 1
_RESET_CYCLES: Final = 8  # until reset and the clearing after it are complete
_LEAST_FRAMES: Final = 4  # frames to count

RAM: Final = RTL / "rtl" / "ram_sdp.v"


@dataclass(frozen=True)
class Recording:
    """The ports of the RTL: one row of octets per cycle, lowest octet first."""

    ports: Mapping[str, simulate.Bits]
    mpdus: Path  # file of the MPDUs that left

    def ends_of_frames(self) -> gates.Integers:
        """The cycles in which the last word of a frame left."""
        valid, ready, last = (self.ports[f"m_{name}"][:, 0] for name in ("valid", "ready", "last"))
        return np.flatnonzero(valid & ready & last)


@dataclass(frozen=True)
class Activity:
    """The activity of one design point."""

    netlist: gates.Netlist
    changes: simulate.Changes
    accesses: simulate.Accesses
    frames: int
    payload_bits: int


def commands(parameters: Mapping[str, int], folder: Path) -> list[str]:
    """Commands for yosys, run in a folder."""
    sources = [file for file in recipe("ecp5").sources if file.name != RAM.name]
    read = elaborate(folder, sources, parameters, black_boxes=[RAM])
    return [*read, *synthesis(recipe("ecp5").synth, CORE), "write_json netlist.json"]


def map_to_ecp5(parameters: Mapping[str, int], folder: Path) -> gates.Netlist:
    """Synthesise the core."""
    run_yosys(folder, "netlist", commands(parameters, folder))
    return gates.load(folder / "netlist.json")


def record(
    parameters: Mapping[str, int],
    folder: Path,
    netlist: gates.Netlist,
    frames: int,
    *,
    mpdus: Path | None = None,
) -> Recording:
    """Simulate the RTL until this number of frames have left: opened frames if `mpdus` is given, else sealed."""
    file = folder / ("opened.npz" if mpdus else "sealed.npz")
    environment = {
        "RECORD_FILE": str(file),
        "RECORD_FRAMES": str(frames),
        "RECORD_PAYLOAD_B": str(PAYLOAD_B),
        "RECORD_SEED": str(_SEED),
        "RECORD_PORTS": " ".join([*netlist.inputs, *netlist.outputs]),
        "RECORD_MPDUS": str(mpdus or ""),
    }
    with runner.failures_told():
        runner.simulate(TOP, "stimulus", parameters, environment=environment)
    with np.load(file) as ports:
        return Recording(dict(ports), file.with_suffix(".json"))


def replay(
    netlist: gates.Netlist, recording: Recording, start: int, stop: int
) -> tuple[simulate.Bits, simulate.Accesses]:
    """Drive the netlist with the inputs of the RTL.

    Returns the values of the sources of its gates in the cycles from `start` to before `stop`, and the accesses to
    memories in these cycles. AirtollError if an output differs from the RTL's.
    """

    def bits(ports: Mapping[str, gates.Integers]) -> simulate.Bits:
        """The ports' values, one column per net."""
        return np.concatenate(
            [
                np.unpackbits(recording.ports[name], axis=1, count=len(nets), bitorder="little")
                for name, nets in ports.items()
            ],
            axis=1,
        )

    machine = simulate.Machine(netlist)
    given, wanted = bits(netlist.inputs), bits(netlist.outputs)
    inputs, outputs = (np.concatenate(list(ports.values())) for ports in (netlist.inputs, netlist.outputs))
    port_of = [name for name, nets in netlist.outputs.items() for _ in nets]
    history = np.empty((stop - start, len(machine.sources)), np.uint8)
    accesses = simulate.Accesses()
    for cycle in range(stop):
        machine.values[inputs] = given[cycle]
        machine.settle()
        names = {port_of[at] for at in np.flatnonzero(machine.values[outputs] != wanted[cycle])}
        # Without valid, a stream's signals are meaningless: registers without reset have arbitrary initial values.
        names -= {
            name for name in names if not machine.values[netlist.outputs.get(_valid_of(name), gates.HIGH)]
        }
        if names and cycle >= _RESET_CYCLES:
            raise AirtollError(
                f"cycle {cycle}: {', '.join(sorted(names))} of the netlist is not what the RTL has"
            )
        if cycle >= start:
            history[cycle - start] = machine.values[machine.sources]
        machine.clock(accesses if start <= cycle < stop - 1 else None)
    return history, accesses


def _valid_of(port: str) -> str:
    return f"{port.partition('_')[0]}_valid"


def observe(parameters: Mapping[str, int], folder: Path, *, open_them: bool = False) -> Activity:
    """Run all four steps for one design point."""
    folder.mkdir(parents=True, exist_ok=True)
    netlist = map_to_ecp5(parameters, folder)
    # The core reaches steady state after twice the frames that are in progress at a time; as many again are counted.
    frames = max(parameters.get("FRAMES", _LEAST_FRAMES), _LEAST_FRAMES)
    recording = record(parameters, folder, netlist, 3 * frames)
    if open_them:
        recording = record(parameters, folder, netlist, 3 * frames, mpdus=recording.mpdus)
    ends = recording.ends_of_frames()
    start, stop = int(ends[2 * frames - 1]), int(ends[3 * frames - 1]) + 1
    history, accesses = replay(netlist, recording, start, stop)
    return Activity(
        netlist, simulate.count_toggles(netlist, history), accesses, frames, 8 * PAYLOAD_B * frames
    )
