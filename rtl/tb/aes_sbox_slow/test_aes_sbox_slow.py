"""aes_sbox_slow compared with the table of FIPS 197, one octet per cycle."""

from random import Random
from typing import Any

import cocotb
from aes import SUBSTITUTES
from clocked import cycle, start

LATENCY = 3


@cocotb.test()
async def every_octet_has_the_printed_substitute_three_cycles_later(dut: Any) -> None:
    await start(dut, octet=0)
    octets = list(range(256))
    Random(1).shuffle(octets)
    for at in range(len(octets) + LATENCY):
        await cycle(dut, **({"octet": octets[at]} if at < len(octets) else {}))
        if at >= LATENCY:
            octet = octets[at - LATENCY]
            assert int(dut.substitute.value) == SUBSTITUTES[octet], f"{octet:#04x}"
