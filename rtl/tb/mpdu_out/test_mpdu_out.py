"""mpdu_out: frames in memory leave complete or not at all."""

import os
from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Any

import cocotb
from clocked import reset, run_clock
from cocotb.triggers import FallingEdge, ReadOnly
from frames import SIZES
from reference import BAD_MIC, LONG, REPLAYED, SEALED_OR_OPENED

W = int(os.environ.get("W", "32"))
BYTES = W // 8
WORDS = 128 // W
SLOT_W, KEY_W, BLOCK_W, TAG_W = 4, 5, 10, 8
CYCLES_A_READ = {"info": 2, "head": 2, "mic": 2, "block": 3}


@dataclass
class Frame:
    """The fields of a frame, and the output of CCM."""

    header: bytes
    payload: bytes
    mic: bytes  # computed
    received: bytes  # in an opened frame
    open_it: bool
    pn: int
    verdict: int = SEALED_OR_OPENED
    key: int = 0
    key_id: int = 0
    tag: int = 0
    tid: int = 0

    def leaves(self) -> bytes:
        """The octets that leave, sealed or opened."""
        if self.open_it:
            return self.header + self.payload
        pn = self.pn.to_bytes(6, "little")
        return self.header + pn[:2] + bytes((0, 0x20 | self.key_id << 6)) + pn[2:] + self.payload + self.mic


class Bench:
    """The module, the memories that it reads, and the receiver of its streams."""

    def __init__(self, dut: Any, seed: int, busy: float = 1.0) -> None:
        self.dut, self.rng, self.busy = dut, Random(seed), busy
        self._blocks = bytearray(16 << BLOCK_W)
        self._slots: dict[int, Frame] = {}
        self._ends: dict[int, int] = {}
        self._base = self._slot = 0
        self._read: dict[str, deque[int]] = {
            name: deque((0,) * cycles) for name, cycles in CYCLES_A_READ.items()
        }
        self._events: deque[dict[str, int]] = deque()
        self.replay_pn = 0
        self.replays: list[int] = []
        self.verdicts: list[tuple[int, int]] = []
        self.left: list[tuple[bytes, int]] = []
        self._octets = b""

    async def start(self) -> "Bench":
        """Reset."""
        run_clock(self.dut)
        idle = dict.fromkeys(("frame_valid", "done_valid", "done_slot", "v_ready", "m_ready", "replay_pn"), 0)
        await reset(self.dut, **idle, info=0, head_word=0, mic_word=0, block_word=0)
        return self

    def put(self, frame: Frame) -> None:
        """Put a frame into memory and report it; it is finished later."""
        end = self._base
        if frame.verdict == SEALED_OR_OPENED:
            lies = frame.payload + (frame.received if frame.open_it else b"")
            for at, octet in enumerate(lies):
                self._blocks[(16 * (self._base + 2) + at) % len(self._blocks)] = octet
            end = self._base + 2 + -(-len(lies) // 16)
            end = (end + end % 2) % (2 << BLOCK_W)
        slot = self._slot
        self._slots[slot % (1 << SLOT_W)] = frame
        self._ends[slot % (1 << SLOT_W)] = end
        self._base, self._slot = end, (slot + 1) % (2 << SLOT_W)
        self._events.append({"frame_valid": 1})
        if frame.verdict == SEALED_OR_OPENED:
            self._events.append({"done_valid": 1, "done_slot": slot})

    async def run(self, cycles: int) -> None:
        """Run this number of cycles."""
        dut = self.dut
        for _ in range(cycles):
            event = self._events.popleft() if self._events and self.rng.random() < 0.3 else {}
            await FallingEdge(dut.clk)
            for name, value in ({"frame_valid": 0, "done_valid": 0} | event).items():
                getattr(dut, name).value = value
            dut.v_ready.value = int(self.rng.random() < self.busy)
            dut.m_ready.value = int(self.rng.random() < self.busy)
            dut.replay_pn.value = self.replay_pn
            dut.info.value = self._read["info"][0]
            dut.head_word.value = self._read["head"][0]
            dut.mic_word.value = self._read["mic"][0]
            dut.block_word.value = self._read["block"][0]
            await ReadOnly()
            self._look()

    def _look(self) -> None:
        dut = self.dut
        slot = int(dut.slot.value)
        frame = self._slots.get(slot)
        self._next("info", self._info(slot))
        if dut.enable.value:
            self._next("head", word(frame.header if frame else b"", address(dut.head_word_addr)))
            mic_at = address(dut.mic_word_addr) if WORDS > 1 else 0
            self._next("mic", word(frame.mic if frame else b"", mic_at))
            block_at = WORDS * address(dut.block_addr) + (address(dut.block_word_addr) if WORDS > 1 else 0)
            self._next("block", word(bytes(self._blocks), block_at))
        if dut.replay_write.value:
            self.replay_pn = int(dut.replay_pn_next.value)
            self.replays.append(self.replay_pn)
        if dut.v_valid.value and dut.v_ready.value:
            self.verdicts.append((int(dut.v_verdict.value), int(dut.v_tag.value)))
        if dut.m_valid.value and dut.m_ready.value:
            count = int(dut.m_keep.value).bit_length()
            self._octets += int(dut.m_data.value).to_bytes(BYTES, "little")[:count]
            if dut.m_last.value:
                self.left.append((self._octets, int(dut.m_tag.value)))
                self._octets = b""

    def _next(self, memory: str, value: int) -> None:
        self._read[memory].popleft()
        self._read[memory].append(value)

    def _info(self, slot: int) -> int:
        frame = self._slots.get(slot)
        if frame is None:
            return 0
        fields = (
            (frame.verdict, 4),
            (int(frame.open_it), 1),
            (int(len(frame.mic) == 16), 1),
            (len(frame.header) - 1, 6),
            ((len(frame.payload) - 1) % (1 << 14), 14),
            (frame.key, KEY_W),
            (frame.key_id, 2),
            (frame.tag, TAG_W),
            (self._ends[slot], BLOCK_W + 1),
            (frame.tid, 5),
            (frame.pn, 48),
        )
        value = 0
        for field, width in fields:
            value = value << width | field
        return value

    def frame(self, size: int, *, open_it: bool, pn: int) -> Frame:
        """A frame with a good MIC."""
        rng = self.rng
        mic = rng.randbytes(rng.choice((8, 16)))
        header = rng.randbytes(rng.choice((24, 26, 28, 30, 32, 36)))
        frame = Frame(header, rng.randbytes(size), mic, mic, open_it, pn)
        frame.key, frame.key_id, frame.tag, frame.tid = (
            rng.randrange(32),
            rng.randrange(4),
            rng.getrandbits(8),
            rng.randrange(17),
        )
        return frame


def address(signal: Any) -> int:
    """The address of a read; undefined bits before the first frame are allowed."""
    return int(signal.value) if signal.value.is_resolvable else 0


def word(octets: bytes, at: int) -> int:
    """A word of a memory that begins with these octets."""
    return int.from_bytes(octets[at * BYTES : (at + 1) * BYTES].ljust(BYTES, b"\xa5"), "little")


@cocotb.test()
async def frames_leave_in_order_and_whole(dut: Any) -> None:
    bench = await Bench(dut, 1, busy=0.7).start()
    wanted = []
    for at, size in enumerate(SIZES):
        for open_it in (False, True):
            frame = bench.frame(size, open_it=open_it, pn=at + 1)
            bench.put(frame)
            wanted.append((frame.leaves(), frame.tag))
            await bench.run(60)
    await bench.run(1000)
    assert bench.left == wanted
    assert [verdict for verdict, _ in bench.verdicts] == [SEALED_OR_OPENED] * len(wanted)
    assert bench.replays == list(range(1, len(SIZES) + 1))


@cocotb.test()
async def one_wrong_octet_of_the_mic_keeps_a_frame_inside(dut: Any) -> None:
    bench = await Bench(dut, 2).start()
    frames = []
    for at in range(16):
        frame = bench.frame(bench.rng.choice(SIZES), open_it=True, pn=at + 1)
        changed = bytearray(frame.mic)
        changed[at % len(changed)] ^= 1 << bench.rng.randrange(8)
        frame.received = bytes(changed)
        frames.append(frame)
        bench.put(frame)
        await bench.run(80)
    await bench.run(500)
    assert bench.verdicts == [(BAD_MIC, frame.tag) for frame in frames]
    assert not bench.left
    assert not bench.replays


@cocotb.test()
async def refused_and_replayed_frames_are_told_and_the_next_one_leaves(dut: Any) -> None:
    bench = await Bench(dut, 3).start()
    refused = bench.frame(20, open_it=True, pn=1)
    refused.verdict = LONG
    first, again, next_ = (bench.frame(20, open_it=True, pn=pn) for pn in (7, 7, 8))
    for frame in (refused, first, again, next_):
        bench.put(frame)
    await bench.run(600)
    assert bench.verdicts == [
        (LONG, refused.tag),
        (SEALED_OR_OPENED, first.tag),
        (REPLAYED, again.tag),
        (SEALED_OR_OPENED, next_.tag),
    ]
    assert bench.left == [(first.leaves(), first.tag), (next_.leaves(), next_.tag)]
    assert bench.replays == [7, 8]
