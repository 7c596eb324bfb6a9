"""aes_key_expand compared with FIPS 197, Appendix A, and with a schedule in Python."""

from itertools import pairwise
from random import Random
from typing import Any

import cocotb
from aes import EXPANDED, round_keys
from clocked import cycle, start

CYCLES_AN_OCTET = 8


async def expand(dut: Any, key: bytes, rng: Random, busy: float = 1.0) -> bytes:
    """The schedule of a key from the module; `busy` is the share of cycles in which the offer of an octet begins."""
    await cycle(dut, start=1, long=int(len(key) == 32), octet_valid=0)
    schedule = b""
    at, offered, now = 0, False, 0
    made: list[int] = []  # cycles
    while len(made) < 16 * (len(key) // 4 + 7):
        offered = offered or (at < len(key) and rng.random() < busy)
        octet = key[at] if offered else rng.getrandbits(8)
        await cycle(dut, start=0, long=rng.getrandbits(1), octet_valid=int(offered), octet=octet)
        if dut.octet_ready.value:
            assert offered
            at, offered = at + 1, False
        if dut.made.value:
            assert int(dut.made_at.value) == len(made)
            made.append(now)
            if len(made) % 16 == 0:
                schedule += int(dut.row.value).to_bytes(16, "little")
        now += 1
        assert now < 10_000, "the schedule does not end"
    assert not dut.busy.value
    if busy == 1.0:
        assert {later - earlier for earlier, later in pairwise(made)} == {CYCLES_AN_OCTET}
    return schedule


async def started(dut: Any) -> Random:
    await start(dut, start=0, long=0, octet_valid=0, octet=0)
    assert not dut.busy.value
    return Random(1)


@cocotb.test()
async def the_printed_keys_are_expanded(dut: Any) -> None:
    rng = await started(dut)
    for key, words in EXPANDED:
        schedule = await expand(dut, bytes.fromhex(key), rng)
        for at, word in words.items():
            assert schedule[4 * at : 4 * at + 4].hex() == word, f"w[{at}]"


@cocotb.test()
async def random_keys_are_expanded_at_any_pace(dut: Any) -> None:
    rng = await started(dut)
    for length in (16, 32, 32, 16, 16):
        key = rng.randbytes(length)
        assert await expand(dut, key, rng, rng.choice((0.1, 0.3))) == b"".join(round_keys(key))


@cocotb.test()
async def a_start_ends_what_was_begun(dut: Any) -> None:
    rng = await started(dut)
    # In each cycle of an octet, both for the key's octets and for computed octets.
    for begun in (*range(20, 20 + CYCLES_AN_OCTET), *range(400, 400 + CYCLES_AN_OCTET)):
        await cycle(dut, start=1, long=1)
        for _ in range(begun):
            await cycle(dut, start=0, octet_valid=1, octet=rng.getrandbits(8))
        key = rng.randbytes(16)
        assert await expand(dut, key, rng, 0.3) == b"".join(round_keys(key))


@cocotb.test()
async def a_reset_ends_what_was_begun(dut: Any) -> None:
    rng = await started(dut)
    await cycle(dut, start=1, long=0)
    for _ in range(100):
        await cycle(dut, start=0, octet_valid=1, octet=rng.getrandbits(8))
    assert dut.busy.value
    await cycle(dut, reset=1)
    await cycle(dut, reset=0)
    assert not dut.busy.value
    for _ in range(20):
        await cycle(dut)
        assert not dut.made.value
