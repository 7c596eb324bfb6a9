"""aes_iter compared with FIPS 197 and OpenSSL."""

import os
from random import Random
from typing import Any

import clocked
import cocotb
from aes import ENCRYPTED, encrypt, number
from clocked import cycle
from cocotb.triggers import ReadOnly, RisingEdge

LANES = int(os.environ.get("LANES", "1"))
SEED = int(os.environ.get("SEED", "1"))
CYCLES = 11  # of a step: taking the block, ten rounds


async def start(dut: Any) -> None:
    """Clock and reset."""
    await clocked.start(dut, start=0, key=0, take=0, blocks=0)


async def step(dut: Any, key: bytes, blocks: list[bytes | None]) -> tuple[list[bytes], int]:
    """Let the lanes take blocks (None: no block); all results, and the cycles until they were available."""
    rng = Random(0)
    await cycle(
        dut,
        start=1,
        key=number(key),
        take=sum((block is not None) << lane for lane, block in enumerate(blocks)),
        blocks=number(b"".join(block or rng.randbytes(16) for block in blocks)),
    )
    # Only the inputs of the first cycle count.
    beside = {
        "key": rng.getrandbits(128), "take": rng.getrandbits(LANES), "blocks": rng.getrandbits(128 * LANES)
    }  # fmt: skip
    await cycle(dut, start=0, **beside)
    cycles = 1
    while dut.busy.value:
        await cycle(dut)
        cycles += 1
    results = int(dut.results.value).to_bytes(16 * LANES, "little")
    return [results[at : at + 16] for at in range(0, 16 * LANES, 16)], cycles


@cocotb.test()
async def published_blocks(dut: Any) -> None:
    await start(dut)
    for key, block, result in ENCRYPTED[:2]:  # of keys of 128 bits
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
        wanted = [kept[lane] if block is None else encrypt(key, block) for lane, block in enumerate(blocks)]
        assert results == wanted, f"step {at}"
        kept = results
        for _ in range(rng.choice((1, 1, 2, 13))):
            await cycle(dut)


@cocotb.test()
async def the_next_step_starts_in_the_cycle_of_the_results(dut: Any) -> None:
    rng = Random(SEED)
    await start(dut)
    key, wanted = rng.randbytes(16), rng.randbytes(16)
    result = number(wanted * LANES)
    for _ in range(20):
        # Chained, as in CBC-MAC.
        await cycle(dut, start=1, take=(1 << LANES) - 1, key=number(key), blocks=result)
        for _ in range(CYCLES - 1):
            await cycle(dut, start=0)
            assert dut.busy.value
        # The results are available before the inputs of this cycle.
        await RisingEdge(dut.clk)
        await ReadOnly()
        assert not dut.busy.value
        wanted = encrypt(key, wanted)
        result = int(dut.results.value)
        assert result == number(wanted * LANES)


@cocotb.test()
async def a_reset_ends_a_step(dut: Any) -> None:
    rng = Random(SEED)
    await start(dut)
    key, block = rng.randbytes(16), rng.randbytes(16)
    for cycles in range(1, CYCLES):
        for _ in range(cycles):
            await cycle(dut, start=1)
        await cycle(dut, start=0, reset=1)
        await cycle(dut, reset=0)
        assert not dut.busy.value
        results, _ = await step(dut, key, [block] * LANES)
        assert results == [encrypt(key, block)] * LANES
