"""ring: a value leaves DEPTH turns after it entered, tested for all depths together."""

from collections import deque
from random import Random
from typing import Any

import cocotb
from clocked import cycle, reset, run_clock

DEPTHS = 40
WIDTH = 8


class Rings:
    """Rings of all depths, and their expected content."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, Random(seed)

    async def reset(self) -> "Rings":
        """Reset: all values become zero."""
        await reset(self.dut, turn=0)
        self._held = [deque([0] * depth, depth) for depth in range(1, DEPTHS + 1)]
        return self

    async def step(self, turn: bool) -> None:
        """One cycle."""
        value = self.rng.getrandbits(WIDTH)
        await cycle(self.dut, turn=int(turn), **{"in": value})
        out = int(self.dut.out.value).to_bytes(DEPTHS, "little")
        assert [held[0] for held in self._held] == list(out)
        for held in self._held if turn else ():
            held.append(value)


@cocotb.test()
async def values_come_out_in_order_after_as_many_turns_as_the_ring_is_deep(dut: Any) -> None:
    run_clock(dut)
    rings = await Rings(dut, 1).reset()
    for share in (1.0, 0.5):
        for _ in range(3 * DEPTHS):
            await rings.step(rings.rng.random() < share)


@cocotb.test()
async def after_a_reset_all_values_are_zero(dut: Any) -> None:
    run_clock(dut)
    rings = Rings(dut, 2)
    for turns in (DEPTHS + 5, 13):
        await rings.reset()
        for _ in range(turns):
            await rings.step(True)
    await rings.reset()
    for _ in range(DEPTHS + 1):
        await rings.step(True)
