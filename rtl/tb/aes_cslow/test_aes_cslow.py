"""aes_cslow compared with FIPS 197 and OpenSSL: blocks of both key lengths together, offers accepted or not."""

import os
from collections import deque
from itertools import pairwise
from random import Random
from typing import Any

import cocotb
from aes import ENCRYPTED, encrypt, number, round_keys, xor
from clocked import reset, run_clock
from cocotb.triggers import FallingEdge, ReadOnly

W = int(os.environ.get("W", "32"))
LEAD = int(os.environ.get("LEAD", "8"))  # cycles to the key, one cycle before the last word
WORDS = 128 // W
KEYS = 32
TAGS = 8
CYCLES_A_ROUND = 5


class Bench:
    """The core, its memory of round keys, and a user that lets no two blocks enter or leave at the same time."""

    def __init__(self, dut: Any, keys: list[bytes], share: float = 1.0, seed: int = 1) -> None:
        self.dut, self.share, self.rng = dut, share, Random(seed)
        self.keys = keys
        self.schedules = [round_keys(key) for key in keys]
        self.now = 0
        self._words: dict[int, dict[str, int]] = {}  # by the cycle in which they are due
        self._read: deque[int] = deque((0, 0))  # round keys on their way from memory
        self._leaving: deque[tuple[int, int, bytes]] = deque()  # earliest cycle, tag, result
        self._result = b""
        self._last_accept = -WORDS
        self.wanted: deque[tuple[int, bytes]] = deque()  # key, block
        self.left: list[int] = []  # cycle in which each result was complete

    async def start(self) -> "Bench":
        """Reset."""
        await reset(self.dut, accept=0, op_valid=0, op_word=0, op_key=0, op_long=0, op_tag=0, key_word=0)
        return self

    def send(self, key: int, block: bytes) -> None:
        """Queue a block; its result is compared when it leaves."""
        self.wanted.append((key, block))

    async def run(self, cycles: int = 20_000) -> None:
        """Run until all results have left."""
        end = self.now + cycles
        while self.wanted or self._leaving:
            assert self.now < end, f"{len(self._leaving)} blocks did not leave the core"
            await self.step()

    async def step(self) -> None:
        """One cycle."""
        rng = self.rng
        idle = {
            "op_valid": 0,
            "op_word": rng.getrandbits(W),
            "op_key": rng.randrange(KEYS),
            "op_long": rng.getrandbits(1),
            "op_tag": rng.randrange(TAGS),
        }
        inputs = idle | self._words.pop(self.now, {})
        await FallingEdge(self.dut.clk)
        accepts = bool(self.dut.offer.value) and self._may_accept() and rng.random() < self.share
        if accepts:
            self._accept()
        inputs |= {"accept": int(accepts), "key_word": self._read.popleft()}
        for name, value in inputs.items():
            getattr(self.dut, name).value = value
        await ReadOnly()
        self._take_result()
        address = self.dut.key_addr.value
        key, round_ = divmod(int(address), 16) if address.is_resolvable else (KEYS, 0)
        schedule = self.schedules[key] if key < len(self.keys) else []
        self._read.append(number(schedule[round_]) if round_ < len(schedule) else rng.getrandbits(128))
        self.now += 1

    def _may_accept(self) -> bool:
        if not self.wanted or self.now - self._last_accept < WORDS:
            return False
        ends = self._end_if_accepted()
        return all(abs(ends - other) >= WORDS for other, *_ in self._leaving)

    def _end_if_accepted(self) -> int:
        rounds = len(self.schedules[self.wanted[0][0]]) - 1
        return self.now + LEAD + 1 + CYCLES_A_ROUND * rounds

    def _accept(self) -> None:
        ends = self._end_if_accepted()
        key, block = self.wanted.popleft()
        tag = self.rng.randrange(TAGS)
        for word in range(WORDS):
            octets = block[word * W // 8 : (word + 1) * W // 8]
            self._owe(self.now + LEAD + 1 - (WORDS - 1 - word), op_valid=1, op_word=number(octets))
        self._owe(self.now + LEAD, op_key=key, op_long=int(len(self.keys[key]) == 32), op_tag=tag)
        wanted = xor(encrypt(self.keys[key], block), self.schedules[key][-1])
        self._leaving.append((ends, tag, wanted))
        self._leaving = deque(sorted(self._leaving))
        self._last_accept = self.now

    def _owe(self, cycle: int, **inputs: int) -> None:
        due = self._words.setdefault(cycle, {})
        assert not due.keys() & inputs.keys(), "two blocks at a time"
        due |= inputs

    def _take_result(self) -> None:
        if not self.dut.result_valid.value:
            assert not self._result, "a gap between the words of a result"
            return
        assert self._leaving, "unexpected result"
        ends, tag, wanted = self._leaving[0]
        assert self.now >= ends
        assert int(self.dut.result_tag.value) == tag
        self._result += int(self.dut.result_word.value).to_bytes(W // 8, "little")
        if len(self._result) == 16:
            assert self._result == wanted
            self._leaving.popleft()
            self.left.append(self.now)
            self._result = b""


def random_keys(rng: Random, lengths: tuple[int, ...] = (16, 32)) -> list[bytes]:
    return [rng.randbytes(rng.choice(lengths)) for _ in range(6)]


@cocotb.test()
async def the_printed_blocks_are_encrypted(dut: Any) -> None:
    run_clock(dut)
    bench = await Bench(dut, [bytes.fromhex(key) for key, *_ in ENCRYPTED]).start()
    for key, (_, block, encrypted) in enumerate(ENCRYPTED):
        assert encrypt(bench.keys[key], bytes.fromhex(block)).hex() == encrypted
        bench.send(key, bytes.fromhex(block))
    await bench.run()


@cocotb.test()
async def blocks_of_both_key_lengths_are_encrypted_at_once(dut: Any) -> None:
    run_clock(dut)
    rng = Random(2)
    for share in (1.0, 0.3, 0.02):
        bench = Bench(dut, random_keys(rng), share, seed=rng.getrandbits(32))
        await bench.start()
        for _ in range(60 if share > 0.1 else 8):
            bench.send(rng.randrange(len(bench.keys)), rng.randbytes(16))
        await bench.run()


@cocotb.test()
async def a_block_leaves_every_tenth_or_fourteenth_cycle(dut: Any) -> None:
    run_clock(dut)
    rng = Random(3)
    for length, cycles in ((16, 10), (32, 14)):
        bench = await Bench(dut, random_keys(rng, (length,)), seed=length).start()
        blocks = 40
        for _ in range(blocks):
            bench.send(rng.randrange(len(bench.keys)), rng.randbytes(16))
        await bench.run()
        slots = 5  # steady state begins when each slot has had a block
        assert bench.left[-1 - slots] - bench.left[slots - 1] == cycles * (blocks - 2 * slots)
        assert min(later - earlier for earlier, later in pairwise(bench.left)) >= WORDS


@cocotb.test()
async def a_reset_forgets_the_blocks_inside(dut: Any) -> None:
    run_clock(dut)
    rng = Random(4)
    for cycles in (20, 47, 61):
        bench = await Bench(dut, random_keys(rng), seed=cycles).start()
        for _ in range(20):
            bench.send(rng.randrange(len(bench.keys)), rng.randbytes(16))
        for _ in range(cycles):
            await bench.step()
    bench = await Bench(dut, random_keys(rng)).start()
    bench.send(0, rng.randbytes(16))
    await bench.run()
    assert len(bench.left) == 1
