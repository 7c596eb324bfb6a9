"""The hardware's streams for tests: words with valid and ready, octets in order, gaps on either side.

A `Sender` drives the signals of a stream into the core, a `Receiver` those of a stream out of it. Both decide with
`rng` whether they use a cycle, so a seed repeats a run. A single coroutine, `run_streams`, drives all streams, because
waking coroutines takes most of the time of a simulation.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from cocotb.triggers import Event, ReadOnly, RisingEdge

STANDSTILL_CYCLES = 50_000
"""Longest time without a word in or out: twice the time of the slowest design for the longest frame."""


@dataclass
class Packet:
    """Octets of one frame, and the signals that accompany them, by name."""

    octets: bytes
    beside: Mapping[str, int] = field(default_factory=dict)


class _Stream:
    """The signals of a stream: the signals of its words, and the signals that accompany a frame."""

    def __init__(
        self, dut: Any, prefix: str, beside: tuple[str, ...], rng: Random, busy: float = 1.0
    ) -> None:
        self._prefix, self._beside, self._rng = prefix, beside, rng
        self.busy = busy
        self.cycle = 0
        of_words = [name for name in ("data", "keep", "last") if hasattr(dut, f"{prefix}_{name}")]
        self._signals = {name: getattr(dut, f"{prefix}_{name}") for name in (*of_words, *beside)}
        self._valid, self._ready = (getattr(dut, f"{prefix}_{name}") for name in ("valid", "ready"))


class Sender(_Stream):
    """Sends packets; `busy` is the share of cycles in which it begins to offer a word."""

    def __init__(
        self, dut: Any, prefix: str, beside: tuple[str, ...], rng: Random, busy: float = 1.0
    ) -> None:
        super().__init__(dut, prefix, beside, rng, busy)
        self._words: deque[dict[str, int]] = deque()
        self._width = len(self._signals["data"])
        self._valid.value = 0
        self._offered = self._accepted = False

    def send(self, packet: Packet) -> None:
        """Queue a packet."""
        octets_per_word = self._width // 8
        for at in range(0, max(1, len(packet.octets)), octets_per_word):
            word = packet.octets[at : at + octets_per_word]
            signals = {
                "data": int.from_bytes(word, "little"),
                "last": int(at + octets_per_word >= len(packet.octets)),
            }
            if "keep" in self._signals:
                signals["keep"] = (1 << len(word)) - 1
            # Signals that accompany a frame count only with its first word.
            signals |= {
                name: packet.beside[name] if at == 0 else self._rng.getrandbits(1) for name in self._beside
            }
            self._words.append(signals)

    @property
    def idle(self) -> bool:
        """Whether all packets are sent."""
        return not self._words

    def forget(self) -> None:
        """Drop all queued and offered words, as at a reset."""
        self._words.clear()
        self._valid.value = 0
        self._offered = self._accepted = False

    def drive(self) -> None:
        """Set the signals of the cycle that begins."""
        self.cycle += 1
        offered = self._offered
        if self._accepted:
            if self._words:
                self._words.popleft()
            offered = False
        begins = not offered and bool(self._words) and self._rng.random() < self.busy
        offered = (offered or begins) and bool(self._words)
        if offered != self._offered:
            self._valid.value = int(offered)
        if begins:
            for name, value in self._words[0].items():
                self._signals[name].value = value
        self._offered = offered

    def look(self) -> bool:
        """Whether a word is taken."""
        self._accepted = self._offered and bool(self._ready.value)
        return self._accepted


class Receiver(_Stream):
    """Receives packets; `busy` is the share of cycles in which it is ready."""

    def __init__(
        self, dut: Any, prefix: str, beside: tuple[str, ...], rng: Random, busy: float = 1.0
    ) -> None:
        super().__init__(dut, prefix, beside, rng, busy)
        self.packets: deque[Packet] = deque()
        self._octets = b""
        self._ready.value = 0
        self._is_ready = False
        self.cycles: deque[int] = deque()  # in which each packet was complete
        self._received = Event()  # a packet, since the event was cleared

    def forget(self) -> None:
        """Drop everything received, as at a reset."""
        self.packets.clear()
        self.cycles.clear()
        self._octets = b""

    async def wait_for(self, packets: int) -> None:
        """Wait until this number of packets is there. A wait per cycle would take a fifth of a simulation's time."""
        while len(self.packets) < packets:
            self._received.clear()
            await self._received.wait()

    def drive(self) -> None:
        """Set the signals of the cycle that begins."""
        self.cycle += 1
        is_ready = self._rng.random() < self.busy
        if is_ready != self._is_ready:
            self._ready.value = int(is_ready)
        self._is_ready = is_ready

    def look(self) -> bool:
        """Whether there is a word, which is taken at the next edge."""
        if not (self._is_ready and self._valid.value):
            return False
        last = True
        if "data" in self._signals:
            keep = int(self._signals["keep"].value)
            count = keep.bit_length()
            assert count, f"{self._prefix}_keep is empty"
            assert keep == (1 << count) - 1, f"{self._prefix}_keep {keep:b}"
            data = self._signals["data"].value
            octets_per_word = len(data) // 8
            word = int(data).to_bytes(octets_per_word, "little")
            assert not any(word[count:]), f"{self._prefix}_data has octets that do not count"
            last = bool(self._signals["last"].value)
            assert last or count == octets_per_word
            self._octets += word[:count]
        if last:
            beside = {name: int(self._signals[name].value) for name in self._beside}
            self.packets.append(Packet(self._octets, beside))
            self.cycles.append(self.cycle)
            self._received.set()
            self._octets = b""
        return True


async def run_streams(dut: Any, *streams: Sender | Receiver) -> None:
    """Drive and watch the streams until the end of the simulation. AssertionError if no word moves anymore."""
    quiet = 0
    while quiet < STANDSTILL_CYCLES:
        await RisingEdge(dut.clk)
        for stream in streams:
            stream.drive()
        await ReadOnly()
        moved = [stream.look() for stream in streams]
        quiet = 0 if any(moved) else quiet + 1
    raise AssertionError(f"no word moved for {quiet} cycles")
