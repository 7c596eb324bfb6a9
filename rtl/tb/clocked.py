"""Cycles of a module with a clock, seen from where no edge is near.

Signals are driven at the falling edge and looked at before the rising one, so that what a test sees is what the
module's registers are going to see, in every simulator.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

RESET_CYCLES = 3


async def cycle(dut: Any, **inputs: int) -> None:
    """The next cycle, with these inputs; the outputs can be read."""
    await FallingEdge(dut.clk)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    await ReadOnly()


def run_clock(dut: Any) -> None:
    """For ever."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())


async def reset(dut: Any, **inputs: int) -> None:
    """These inputs, and a reset."""
    for _ in range(RESET_CYCLES):
        await cycle(dut, **inputs, reset=1)
    await cycle(dut, reset=0)


async def start(dut: Any, **inputs: int) -> None:
    """The clock, these inputs, and a reset if there is one."""
    run_clock(dut)
    if hasattr(dut, "reset"):
        await reset(dut, **inputs)
    else:
        await cycle(dut, **inputs)
