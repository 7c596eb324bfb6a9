"""aes_mix_columns compared with FIPS 197."""

from random import Random
from typing import Any

import cocotb
from aes import number
from cocotb.triggers import Timer

# Appendix B, round 1: after ShiftRows, after MixColumns.
PRINTED = ("d4bf5d30e0b452aeb84111f11e2798e5", "046681e5e0cb199a48f8d37a2806264c")
MATRIX = ((2, 3, 1, 1), (1, 2, 3, 1), (1, 1, 2, 3), (3, 1, 1, 2))  # 5.1.3


def product(first: int, second: int) -> int:
    """The product in GF(2^8), bit by bit (4.2)."""
    result = 0
    for bit in range(8):
        result ^= first << bit if second >> bit & 1 else 0
    for bit in range(15, 7, -1):
        result ^= 0x11B << bit - 8 if result >> bit & 1 else 0
    return result


def by_matrix(column: bytes) -> bytes:
    """MATRIX times the column."""
    result = bytes(4)
    for at, octet in enumerate(column):
        result = bytes(sum_ ^ product(octet, MATRIX[row][at]) for row, sum_ in enumerate(result))
    return result


async def mixed(dut: Any, block: bytes) -> bytes:
    dut.block.value = number(block)
    await Timer(1, "ns")
    return int(dut.mixed.value).to_bytes(16, "little")


@cocotb.test()
async def the_printed_state_is_mixed(dut: Any) -> None:
    before, after = (bytes.fromhex(state) for state in PRINTED)
    assert await mixed(dut, before) == after


@cocotb.test()
async def columns_are_multiplied_by_the_matrix(dut: Any) -> None:
    rng = Random(1)
    # Single bits define a linear map; random blocks show that the module is linear.
    bits = [(1 << bit).to_bytes(16, "little") for bit in range(128)]
    for block in bits + [rng.randbytes(16) for _ in range(200)]:
        wanted = b"".join(by_matrix(block[at : at + 4]) for at in range(0, 16, 4))
        assert await mixed(dut, block) == wanted, block.hex()
