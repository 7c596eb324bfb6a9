"""aes_pipe compared with FIPS 197 and OpenSSL: one block per cycle, each under its own key."""

import os
from collections import deque
from random import Random
from typing import Any

import cocotb
from aes import ENCRYPTED, encrypt, number, round_keys, xor
from clocked import cycle, reset, run_clock

ROUNDS = int(os.environ.get("ROUNDS", "10"))
KEY_W = 5
KEY_OCTETS = 16 if ROUNDS == 10 else 32
LATENCY = 5 * ROUNDS + 2  # from key and tag to the result; the block comes one cycle after them
TAGS = 64

Block = tuple[int, bytes, int] | None  # key, block, tag; None: no block in this cycle


async def encrypt_all(dut: Any, keys: list[bytes], blocks: list[Block], rng: Random) -> None:
    """Send a block or none in each cycle, and compare the results and their cycles."""
    schedules = [round_keys(key) for key in keys]
    read: deque[int] = deque((0, 0))
    for now in range(len(blocks) + LATENCY):
        key, _, tag = (blocks[now] if now < len(blocks) else None) or (0, None, rng.randrange(TAGS))
        told = blocks[now - 1] if 0 < now <= len(blocks) else None
        word = number(told[1]) if told else rng.getrandbits(128)
        await cycle(
            dut,
            op_valid=int(told is not None),
            op_word=word,
            op_key=key,
            op_tag=tag,
            key_word=read.popleft(),
        )
        assert dut.offer.value
        read.append(read_keys(dut, schedules))
        due = blocks[now - LATENCY] if now >= LATENCY else None
        assert bool(dut.result_valid.value) == (due is not None), f"cycle {now}"
        if due:
            key, block, tag = due
            assert int(dut.result_tag.value) == tag
            result = int(dut.result_word.value).to_bytes(16, "little")
            assert xor(result, schedules[key][-1]) == encrypt(keys[key], block)


def read_keys(dut: Any, schedules: list[list[bytes]]) -> int:
    """The round keys that the pipeline requests in this cycle, for all rounds except the last."""
    address = str(dut.key_addr.value)
    word = 0
    for round_ in range(ROUNDS):
        bits = address[len(address) - KEY_W * (round_ + 1) : len(address) - KEY_W * round_]
        key = int(bits, 2) if set(bits) <= {"0", "1"} else 0
        word |= number(schedules[key % len(schedules)][round_]) << 128 * round_
    return word


async def begin(dut: Any) -> None:
    run_clock(dut)
    await reset(dut, op_valid=0, op_word=0, op_key=0, op_tag=0, key_word=0)


@cocotb.test()
async def the_printed_blocks_are_encrypted(dut: Any) -> None:
    await begin(dut)
    printed = [
        (bytes.fromhex(key), bytes.fromhex(block))
        for key, block, _ in ENCRYPTED
        if len(key) == 2 * KEY_OCTETS
    ]
    blocks: list[Block] = [(at, block, at) for at, (_, block) in enumerate(printed)]
    await encrypt_all(dut, [key for key, _ in printed], blocks, Random(1))


@cocotb.test()
async def a_block_a_cycle_is_encrypted_each_under_its_own_key(dut: Any) -> None:
    await begin(dut)
    rng = Random(2)
    keys = [rng.randbytes(KEY_OCTETS) for _ in range(32)]
    full: list[Block] = [(rng.randrange(32), rng.randbytes(16), rng.randrange(TAGS)) for _ in range(60)]
    await encrypt_all(dut, keys, full + [block if rng.random() < 0.5 else None for block in full], rng)


@cocotb.test()
async def a_reset_forgets_the_blocks_inside(dut: Any) -> None:
    await begin(dut)
    rng = Random(3)
    for _ in range(20):
        await cycle(dut, op_valid=1, op_word=rng.getrandbits(128), op_key=0, op_tag=1)
    await reset(dut, op_valid=0)
    for _ in range(LATENCY + 1):
        assert not dut.result_valid.value
        await cycle(dut)
