"""aes_sbox_ram compared with the table of FIPS 197, two octets per cycle."""

from random import Random
from typing import Any

import cocotb
from aes import SUBSTITUTES
from clocked import cycle, start

LATENCY = 3


@cocotb.test()
async def both_octets_have_the_printed_substitutes_three_cycles_later(dut: Any) -> None:
    await start(dut, octets=0)
    rng = Random(1)
    pairs = list(zip(rng.sample(range(256), 256), rng.sample(range(256), 256), strict=True))
    for at in range(len(pairs) + LATENCY):
        if at < len(pairs):
            low, high = pairs[at]
            await cycle(dut, octets=high << 8 | low)
        else:
            await cycle(dut)
        if at >= LATENCY:
            low, high = pairs[at - LATENCY]
            wanted = SUBSTITUTES[high] << 8 | SUBSTITUTES[low]
            assert int(dut.substitutes.value) == wanted, f"{low:#04x} {high:#04x}"
