"""aes_shift_rows compared with FIPS 197."""

from random import Random
from typing import Any

import cocotb
from aes import number
from cocotb.triggers import Timer

# Appendix B, round 1: after SubBytes, after ShiftRows.
PRINTED = ("d42711aee0bf98f1b8b45de51e415230", "d4bf5d30e0b452aeb84111f11e2798e5")


async def shifted(dut: Any, block: bytes) -> bytes:
    dut.block.value = number(block)
    await Timer(1, "ns")
    return int(dut.shifted.value).to_bytes(16, "little")


@cocotb.test()
async def the_printed_state_is_shifted(dut: Any) -> None:
    before, after = (bytes.fromhex(state) for state in PRINTED)
    assert await shifted(dut, before) == after


@cocotb.test()
async def row_r_moves_r_columns_to_the_left(dut: Any) -> None:
    rng = Random(1)
    for _ in range(50):
        block = rng.randbytes(16)
        wanted = bytes(block[at % 4 + 4 * ((at // 4 + at % 4) % 4)] for at in range(16))
        assert await shifted(dut, block) == wanted
