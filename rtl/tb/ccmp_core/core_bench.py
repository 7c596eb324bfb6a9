"""A bench of ccmp_core: its streams, the expected results of each frame, and the count of functional coverage."""

import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout
from frames import frame, header_octets
from reference import SEALED_OR_OPENED, Key, Reference, header_kind
from streams import Packet, Receiver, Sender, run_streams

SEED = int(os.environ.get("SEED", "1"))
MAX_OCTETS = int(os.environ.get("MAX_OCTETS", "8064"))
LONG_KEYS = os.environ.get("LONG_KEYS", "1") == "1"
TAG_W = int(os.environ.get("TAG_W", "8"))
MOST_CYCLES = float(os.environ.get("MOST_CYCLES", "inf"))  # of a frame of 1500 octets
VERDICTS = 10
CLOCK_NS = 10
FUNCTIONAL_COVERAGE = Path(os.environ["FUNCTIONAL_COVERAGE"]) if "FUNCTIONAL_COVERAGE" in os.environ else None


SIZE_CLASSES = (
    (2305, "A-MSDU"),
    (257, "to 2304"),
    (17, "to 256"),
    (16, "16"),
    (1, "to 15"),
    (0, "0"),
    (-99, "cut"),
)
"""Size classes by their smallest payload in octets."""


def covered(mpdu: bytes, verdict: int, key: Key | None, *, open_it: bool) -> str:
    """The functional coverage point of a frame: verdict, direction, key, header, size class."""
    header = header_octets(mpdu) or 0 if len(mpdu) >= 2 else 0
    payload = len(mpdu) - header - ((8 + key.mic_octets) if open_it and key else 0)
    size = next(name for least, name in SIZE_CLASSES if payload >= least)
    length = f"{8 * len(key.octets)} bit" if key else "no key"
    return f"{verdict}/{'open' if open_it else 'seal'}/{length}/{header_kind(mpdu)}/{size}"


class Bench:
    """The core, the drivers of its streams, and its model."""

    def __init__(self, dut: Any, seed: int = SEED) -> None:
        self.dut = dut
        self.rng = Random(seed)
        self.reference = Reference(MAX_OCTETS)
        self.peer = Reference(MAX_OCTETS)  # the other end: seals what the core opens
        self.s = Sender(dut, "s", ("open", "key", "tag"), self.rng)
        self.k = Sender(dut, "k", (), self.rng)
        self.v = Receiver(dut, "v", ("verdict", "open", "key", "tag"), self.rng)
        self.m = Receiver(dut, "m", ("open", "key", "tag"), self.rng)
        self._wanted: list[tuple[int, bytes | None, int, int, int]] = []
        self._sent = 0
        self._covered: Counter[str] = Counter()

    async def start(self) -> "Bench":
        """Clock and reset."""
        cocotb.start_soon(Clock(self.dut.clk, CLOCK_NS, "ns").start())
        self.dut.count_addr.value = 0
        self.dut.reset.value = 1
        cocotb.start_soon(run_streams(self.dut, self.s, self.k, self.v, self.m))
        await ClockCycles(self.dut.clk, 3)
        self.dut.reset.value = 0
        return self

    async def reset(self) -> None:
        """Reset during operation: all state is dropped, including keys."""
        for stream in (self.s, self.k):
            stream.forget()
        self.dut.reset.value = 1
        await ClockCycles(self.dut.clk, self.rng.choice((1, 3)))
        self.dut.reset.value = 0
        for stream in (self.v, self.m):
            stream.forget()
        self._wanted.clear()
        self._covered.clear()
        self.reference.keys.clear()
        self.peer.keys.clear()

    def random_key(self) -> bytes:
        """A key of a random length that the core supports."""
        return self.rng.randbytes(self.rng.choice((16, 32)) if LONG_KEYS else 16)

    async def install(self, number: int, key: Key) -> None:
        """Install a key, and wait until it is taken."""
        self.k.send(Packet(key.packet(number)))
        while not self.k.idle:
            await RisingEdge(self.dut.clk)
        self.reference.keys[number] = key
        self.peer.keys[number] = Key(key.octets, key.key_id, sent=key.received)

    async def remove(self, number: int) -> None:
        """Remove a key."""
        self.k.send(Packet(number.to_bytes(4, "little")))
        while not self.k.idle:
            await RisingEdge(self.dut.clk)
        self.reference.keys.pop(number, None)

    def send(self, mpdu: bytes, number: int, *, open_it: bool) -> int:
        """Send an MPDU to the core; the expected verdict."""
        tag = self._sent % (1 << TAG_W)
        self._sent += 1
        self.s.send(Packet(mpdu, {"open": int(open_it), "key": number, "tag": tag}))
        verdict, leaves = self.reference.take(mpdu, number, open_it=open_it)
        self._wanted.append((verdict, leaves, int(open_it), number, tag))
        key = self.reference.keys.get(number)
        self._covered[covered(mpdu, verdict, key, open_it=open_it)] += 1
        return verdict

    def sealed(self, number: int, size: int | None = None, *, kind: str = "") -> bytes:
        """An MPDU sealed by the peer under its key with this number."""
        verdict, mpdu = self.peer.take(frame(self.rng, size, kind=kind), number, open_it=False)
        assert verdict == SEALED_OR_OPENED
        assert mpdu is not None
        return mpdu

    async def finish(self, cycles: int = 60_000) -> None:
        """Wait for the verdicts of all sent MPDUs; compare the verdicts and the output."""
        leaving = sum(leaves is not None for _, leaves, *_ in self._wanted)
        with suppress(SimTimeoutError):
            for stream, packets in ((self.v, len(self._wanted)), (self.m, leaving)):
                await with_timeout(stream.wait_for(packets), cycles * CLOCK_NS, "ns")
        for at, (verdict, leaves, open_it, number, tag) in enumerate(self._wanted):
            assert self.v.packets, f"frame {at} of {len(self._wanted)} has no verdict"
            told = self.v.packets.popleft().beside
            assert told == {"verdict": verdict, "open": open_it, "key": number, "tag": tag}, f"frame {at}"
            if leaves is not None:
                assert self.m.packets, f"frame {at} did not leave"
                left = self.m.packets.popleft()
                assert left.octets == leaves, f"frame {at}\n{left.octets.hex()}\n{leaves.hex()}"
                assert left.beside == {"open": open_it, "key": number, "tag": tag}, f"frame {at}"
        self._wanted.clear()
        if FUNCTIONAL_COVERAGE:  # of compared frames
            with FUNCTIONAL_COVERAGE.open("a") as file:
                file.write(json.dumps(self._covered) + "\n")
        self._covered.clear()
        await ClockCycles(self.dut.clk, 100)
        assert not self.v.packets, "more verdicts than frames"
        assert not self.m.packets, "more left than was sent"


async def bench_with_keys(dut: Any, keys: int = 2) -> Bench:
    """A bench with the first keys installed; two keys have both lengths."""
    bench = await Bench(dut).start()
    for number in range(keys):
        length = 32 if number % 2 and LONG_KEYS else 16
        await bench.install(number, Key(bench.rng.randbytes(length), key_id=number % 4))
    return bench
