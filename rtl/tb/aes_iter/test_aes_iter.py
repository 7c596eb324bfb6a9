"""aes_iter against FIPS 197 and the AES of `cryptography`."""

import os
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

LANES = int(os.environ.get("LANES", "1"))
SEED = int(os.environ.get("SEED", "1"))
CYCLES = 11  # of a step: the block is taken, ten rounds

# FIPS 197, appendix B and C.1.
PUBLISHED = (
    (
        "2b7e151628aed2a6abf7158809cf4f3c",
        "3243f6a8885a308d313198a2e0370734",
        "3925841d02dc09fbdc118597196a0b32",
    ),
    (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ),
)


def encrypted(key: bytes, block: bytes) -> bytes:
    """One block, by another implementation."""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
    return encryptor.update(block) + encryptor.finalize()


async def start(dut: Any) -> None:
    """Clock and reset."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.reset.value = 1
    dut.start.value = 0
    await ClockCycles(dut.clk, 2)
    dut.reset.value = 0
    await RisingEdge(dut.clk)


async def step(dut: Any, key: bytes, blocks: list[bytes | None]) -> tuple[list[bytes], int]:
    """Let the lanes take blocks, those with None keep theirs: all results, and the cycles until they were there."""
    rng = Random(0)
    dut.start.value = 1
    dut.key.value = int.from_bytes(key, "little")
    dut.take.value = sum((block is not None) << lane for lane, block in enumerate(blocks))
    dut.blocks.value = int.from_bytes(b"".join(block or rng.randbytes(16) for block in blocks), "little")
    await RisingEdge(dut.clk)
    dut.start.value = 0
    # Nothing but the first cycle counts.
    dut.key.value = rng.getrandbits(128)
    dut.take.value = rng.getrandbits(LANES)
    dut.blocks.value = rng.getrandbits(128 * LANES)
    cycles = 1
    while True:
        await ReadOnly()
        if not dut.busy.value:
            results = int(dut.results.value).to_bytes(16 * LANES, "little")
            break
        await RisingEdge(dut.clk)
        cycles += 1
    await RisingEdge(dut.clk)
    return [results[at : at + 16] for at in range(0, 16 * LANES, 16)], cycles


@cocotb.test()
async def published_blocks(dut: Any) -> None:
    await start(dut)
    for key, block, result in PUBLISHED:
        results, cycles = await step(dut, bytes.fromhex(key), [bytes.fromhex(block)] * LANES)
        assert results == [bytes.fromhex(result)] * LANES
        assert cycles == CYCLES


@cocotb.test()
async def each_lane_encrypts_its_own_block_and_those_without_keep_their_result(dut: Any) -> None:
    rng = Random(SEED)
    await start(dut)
    kept: list[bytes] = []
    for at in range(200):
        key = rng.choice((bytes(16), b"\xff" * 16, rng.randbytes(16)))
        blocks = [rng.randbytes(16) if at == 0 or rng.random() < 0.7 else None for _ in range(LANES)]
        results, _ = await step(dut, key, blocks)
        wanted = [kept[lane] if block is None else encrypted(key, block) for lane, block in enumerate(blocks)]
        assert results == wanted, f"step {at}"
        kept = results
        await ClockCycles(dut.clk, rng.choice((1, 1, 2, 13)))


@cocotb.test()
async def the_next_step_starts_in_the_cycle_of_the_results(dut: Any) -> None:
    rng = Random(SEED)
    await start(dut)
    key, block = rng.randbytes(16), rng.randbytes(16)
    wanted = block
    dut.take.value = (1 << LANES) - 1
    dut.key.value = int.from_bytes(key, "little")
    dut.blocks.value = int.from_bytes(block * LANES, "little")
    dut.start.value = 1
    for _ in range(20):
        await ClockCycles(dut.clk, 1)
        dut.start.value = 0
        await ClockCycles(dut.clk, CYCLES - 1)
        await ReadOnly()
        assert not dut.busy.value
        wanted = encrypted(key, wanted)
        result = int(dut.results.value)
        assert result.to_bytes(16 * LANES, "little") == wanted * LANES
        # Chained, as in CBC-MAC. Signals may be set again in the second half of the cycle.
        await FallingEdge(dut.clk)
        dut.start.value = 1
        dut.blocks.value = result


@cocotb.test()
async def a_reset_ends_a_step(dut: Any) -> None:
    rng = Random(SEED)
    await start(dut)
    key, block = rng.randbytes(16), rng.randbytes(16)
    for cycles in range(1, CYCLES):
        dut.start.value = 1
        await ClockCycles(dut.clk, cycles)
        dut.start.value = 0
        dut.reset.value = 1
        await ClockCycles(dut.clk, 1)
        dut.reset.value = 0
        await ReadOnly()
        assert not dut.busy.value
        await RisingEdge(dut.clk)
        results, _ = await step(dut, key, [block] * LANES)
        assert results == [encrypted(key, block)] * LANES
