"""Clock cycles of a module, with inputs and outputs away from the rising edge.

Signals are driven at the falling edge and read before the rising edge, so that in every simulator a test reads the
values that the module's registers will take.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

RESET_CYCLES = 3


async def cycle(dut: Any, **inputs: int) -> None:
    """Go to the next cycle with these inputs; then the outputs can be read."""
    await FallingEdge(dut.clk)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    await ReadOnly()


def run_clock(dut: Any) -> None:
    """Run the clock until the end of the simulation."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())


async def reset(dut: Any, **inputs: int) -> None:
    """Set these inputs and reset the module."""
    for _ in range(RESET_CYCLES):
        await cycle(dut, **inputs, reset=1)
    await cycle(dut, reset=0)


async def start(dut: Any, **inputs: int) -> None:
    """Start the clock, set these inputs, and reset the module if it has a reset."""
    run_clock(dut)
    if hasattr(dut, "reset"):
        await reset(dut, **inputs)
    else:
        await cycle(dut, **inputs)
