"""octet_packer: all octets leave in order, in words without gaps."""

import os
from random import Random
from typing import Any

import cocotb
from clocked import cycle, reset, run_clock

W = int(os.environ.get("W", "32"))
BYTES = W // 8
LATENCY = 3


class Bench:
    """Packets of words into the packer, packets of octets out of it."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, Random(seed)
        self.packets: list[bytes] = []
        self._packet = b""

    async def start(self) -> "Bench":
        """Clock and reset."""
        run_clock(self.dut)
        await reset(self.dut, enable=1, in_word=0, in_octets=0, in_final=0)
        return self

    async def send(self, words: list[bytes], busy: float = 1.0, enabled: float = 1.0) -> None:
        """Send a packet; each word has the given octets, and random octets after them."""
        for at, word in enumerate(words):
            while self.rng.random() >= busy:
                await self.step(None, enabled=enabled)
            await self.step(word, final=at == len(words) - 1, enabled=enabled)
        await self.step(None, enabled=enabled)  # no word may come here

    async def step(self, word: bytes | None, *, final: bool = False, enabled: float = 1.0) -> None:
        """Run one enabled cycle, and random disabled cycles before it."""
        octets = (word or b"") + self.rng.randbytes(BYTES - len(word or b""))
        inputs = {
            "in_word": int.from_bytes(octets, "little"),
            "in_octets": len(word or b""),
            "in_final": int(final),
        }
        while self.rng.random() >= enabled:
            await cycle(self.dut, enable=0, **inputs)
        await cycle(self.dut, enable=1, **inputs)
        self._look()

    async def drain(self) -> None:
        """Wait until the last packet has left."""
        for _ in range(LATENCY):
            await self.step(None)

    def _look(self) -> None:
        if not self.dut.out_valid.value:
            return
        keep = int(self.dut.out_keep.value)
        count = keep.bit_length()
        assert keep in {(1 << octets) - 1 for octets in range(1, BYTES + 1)}, f"out_keep {keep:b}"
        word = int(self.dut.out_word.value).to_bytes(BYTES, "little")
        assert not any(word[count:]), "octets without keep are not zero"
        self._packet += word[:count]
        if self.dut.out_last.value:
            self.packets.append(self._packet)
            self._packet = b""
        else:
            assert count == BYTES, "a gap"

    def split(self, octets: int) -> list[bytes]:
        """Split octets into words with random numbers of octets."""
        words = []
        while octets > 0:
            words.append(self.rng.randbytes(min(octets, self.rng.randrange(1, BYTES + 1))))
            octets -= len(words[-1])
        return words


@cocotb.test()
async def every_pair_of_lengths_is_joined(dut: Any) -> None:
    bench = await Bench(dut, 1).start()
    wanted = []
    for first in range(1, BYTES + 1):
        for second in range(1, BYTES + 1):
            words = [bench.rng.randbytes(first), bench.rng.randbytes(second)]
            await bench.send(words)
            wanted.append(b"".join(words))
    await bench.drain()
    assert bench.packets == wanted


@cocotb.test()
async def packets_of_any_words_leave_without_gaps_however_they_stall(dut: Any) -> None:
    bench = await Bench(dut, 2).start()
    wanted = []
    for _ in range(150):
        words = bench.split(bench.rng.randrange(1, 6 * BYTES))
        await bench.send(words, busy=bench.rng.choice((0.3, 1.0)), enabled=bench.rng.choice((0.3, 1.0)))
        wanted.append(b"".join(words))
    await bench.drain()
    assert bench.packets == wanted


@cocotb.test()
async def a_reset_forgets_what_waits(dut: Any) -> None:
    bench = await Bench(dut, 3).start()
    await bench.step(b"\xff")
    await reset(dut, in_octets=0)
    await bench.send([b"\x01"])
    await bench.drain()
    assert bench.packets == [b"\x01"]
