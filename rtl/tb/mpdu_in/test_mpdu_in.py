"""mpdu_in: AAD and nonce in memory compared with IEEE 802.11-2020 12.5.3.3, printed and computed."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import cocotb
from clocked import cycle, reset, run_clock
from frames import SIZES, header_octets, mac_header
from reference import SEALED_OR_OPENED, SHORT

W = int(os.environ.get("W", "32"))
BYTES = W // 8
WORDS = 128 // W
SLOT_W, BLOCK_W = 4, 10
VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "ccmp"
KINDS = ("data", "qos", "four", "four-qos", "htc", "four-htc", "management", "management-htc")


def aad_and_nonce(mpdu: bytes, pn: int) -> tuple[bytes, bytes]:
    """AAD and nonce of 12.5.3.3.3 and 12.5.3.3.4, field by field; without SPP A-MSDUs."""
    control = int.from_bytes(mpdu[:2], "little")
    data = control >> 2 & 3 == 2
    qos = data and bool(control & 0x80)
    four = data and control >> 8 & 3 == 3
    masked = control & ~0x3800 | 0x4000  # Retry, Power Management, More Data; Protected
    masked &= ~0x0070 if data else 0xFFFF  # subtype
    masked &= ~0x8000 if qos else 0xFFFF  # +HTC
    aad = masked.to_bytes(2, "little") + mpdu[4:22] + bytes((mpdu[22] & 0x0F, 0))
    aad += mpdu[24:30] if four else b""
    tid = mpdu[30 if four else 24] & 0x0F if qos else 0
    aad += bytes((tid, 0)) if qos else b""
    return aad, bytes((tid | (0 if data else 0x10),)) + mpdu[10:16] + pn.to_bytes(6, "big")


class Frame(NamedTuple):
    """The reported fields of a frame, and its position in memory."""

    verdict: int
    header_end: int
    payload_end: int
    tag: int
    tid: int
    pn: int
    slot: int
    base: int
    end: int


class Bench:
    """The module, the memories that it writes, and one key."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, Random(seed)
        self.blocks, self.heads, self.nonces = (
            bytearray(16 << BLOCK_W),
            bytearray(64 << SLOT_W),
            bytearray(16 << SLOT_W),
        )
        self.pn = 0
        self._base = self._slot = 0
        self._told: dict[str, int] | None = None
        self.jobs: list[dict[str, int]] = []

    async def start(self, key_octets: int, key_id: int = 0) -> "Bench":
        """Reset, with a key of this length and Key ID."""
        idle = dict.fromkeys(
            ("s_valid", "s_data", "s_keep", "s_last", "s_open", "s_key", "s_tag", "pause"), 0
        )
        space = {"oldest_block": 0, "oldest_slot": 0, "job_ready": 1}
        key = {"key_known": 1, "key_long": int(key_octets == 32), "key_id": key_id, "key_pn": 0}
        await reset(self.dut, **idle, **space, **key)
        self._mic = 8 if key_octets == 16 else 16
        return self

    async def step(self, **inputs: int) -> None:
        """Run one cycle and store what the module writes."""
        await cycle(self.dut, **inputs)
        dut = self.dut
        if dut.block_write.value:
            at = 16 * int(dut.block_addr.value) + (BYTES * int(dut.block_word_addr.value) if WORDS > 1 else 0)
            self.blocks[at : at + BYTES] = int(dut.block_word.value).to_bytes(BYTES, "little")
        if dut.head_write.value:
            at = 64 * int(dut.slot.value) + BYTES * int(dut.head_word_addr.value)
            self.heads[at : at + BYTES] = int(dut.head_word.value).to_bytes(BYTES, "little")
        if dut.nonce_write.value:
            at = 16 * int(dut.slot.value) + (BYTES * int(dut.nonce_word_addr.value) if WORDS > 1 else 0)
            self.nonces[at : at + BYTES] = int(dut.nonce_word.value).to_bytes(BYTES, "little")
        if dut.key_pn_write.value:
            self.pn = int(dut.key_pn_next.value)
        if dut.job_valid.value:
            names = ("slot", "base", "last", "tail", "aad", "key", "long", "open")
            self.jobs.append({name: int(getattr(dut, f"job_{name}").value) for name in names})
        if dut.frame_valid.value:
            names = ("verdict", "header_end", "payload_end", "tag", "tid", "pn", "end")
            self._told = {name: int(getattr(dut, f"frame_{name}").value) for name in names}
            self._told["payload_end"] = dut.frame_payload_end.value.to_signed()
            self._told |= {"slot": int(dut.slot.value), "base": self._base}

    async def send(self, mpdu: bytes, *, open_it: bool) -> Frame:
        """Send an MPDU and return its reported fields; its memory is freed immediately."""
        tag = self.rng.getrandbits(8)
        self._told = None
        self.jobs.clear()
        key = self.rng.randrange(32)
        beside = {"s_open": int(open_it), "s_key": key, "s_tag": tag}
        for at in range(0, len(mpdu), BYTES):
            word = mpdu[at : at + BYTES]
            await self.step(
                s_valid=1,
                s_data=int.from_bytes(word, "little"),
                s_keep=(1 << len(word)) - 1,
                s_last=int(at + BYTES >= len(mpdu)),
                **(beside if at == 0 else {}),
                key_pn=self.pn,
            )
            while not self.dut.s_ready.value:
                await self.step()
        for _ in range(60):
            await self.step(s_valid=0)
        assert self._told is not None, "no verdict"
        frame = Frame(**self._told)
        assert frame.tag == tag
        assert len(self.jobs) == (frame.verdict == SEALED_OR_OPENED)
        for job in self.jobs:
            assert (job["slot"], job["base"]) == (self._slot, frame.base % (1 << BLOCK_W))
            assert (job["key"], job["long"], job["open"]) == (key, self._mic == 16, open_it)
        self._base, self._slot = frame.end, (self._slot + 1) % (2 << SLOT_W)
        await self.step(oldest_block=self._base, oldest_slot=self._slot)
        return frame

    def check(self, mpdu: bytes, frame: Frame, aad: bytes, nonce: bytes, *, open_it: bool) -> None:
        """Compare the memory that CCM reads."""
        header = header_octets(mpdu)
        assert header is not None
        assert (frame.verdict, frame.header_end) == (SEALED_OR_OPENED, header - 1)
        start = header + (8 if open_it else 0)
        payload = len(mpdu) - start - (self._mic if open_it else 0)
        assert frame.payload_end == payload - 1
        assert frame.tid == (nonce[0] & 0x0F) | (nonce[0] & 0x10)
        assert frame.pn == int.from_bytes(nonce[7:], "big")
        (job,) = self.jobs
        assert job["last"] == 1 + -(-payload // 16)
        assert job["tail"] == (payload - 1) % 16
        assert job["aad"] == (len(aad) + 1) % 16
        with_length = len(aad).to_bytes(2, "big") + aad
        assert self._read(frame.base, len(with_length)) == with_length
        assert self._read(frame.base + 2, len(mpdu) - start) == mpdu[start:]
        lies = bytes(self.nonces[16 * frame.slot : 16 * frame.slot + 16])
        assert lies[1:14] == nonce
        assert int.from_bytes(lies[14:], "big") == payload
        changed = bytes((mpdu[0], mpdu[1] & ~0x40 | (0 if open_it else 0x40))) + mpdu[2:header]
        assert bytes(self.heads[64 * frame.slot : 64 * frame.slot + header]) == changed

    def _read(self, block: int, octets: int) -> bytes:
        return bytes(self.blocks[(16 * block + at) % len(self.blocks)] for at in range(octets))


@cocotb.test()
async def printed_aad_and_nonce_lie_in_memory(dut: Any) -> None:
    run_clock(dut)
    for file in ("ieee80211-data", "ieee80211-management", "ieee80211ac"):
        for vector in json.loads((VECTORS / f"{file}.json").read_text())["vectors"]:
            if vector.get("use", "mpdu") != "mpdu":
                continue
            names = ("tk", "header", "ccmp_header", "plaintext", "ciphertext", "mic", "aad", "nonce")
            octets = {name: bytes.fromhex(vector[name]) for name in names}
            bench = await Bench(dut, 1).start(len(octets["tk"]), vector["key_id"])
            bench.pn = int(vector["pn"], 16) - 1
            plain = octets["header"] + octets["plaintext"]
            sealed = octets["header"] + octets["ccmp_header"] + octets["ciphertext"] + octets["mic"]
            for mpdu, open_it in ((plain, False), (sealed, True)):
                frame = await bench.send(mpdu, open_it=open_it)
                bench.check(mpdu, frame, octets["aad"], octets["nonce"], open_it=open_it)


@cocotb.test()
async def every_header_makes_its_aad_and_nonce(dut: Any) -> None:
    run_clock(dut)
    bench = await Bench(dut, 2).start(32)
    for kind in KINDS:
        for size in bench.rng.sample(SIZES, 4):
            header = mac_header(bench.rng, kind=kind)
            pn = bench.pn + 1
            mpdu = header + bench.rng.randbytes(size)
            frame = await bench.send(mpdu, open_it=False)
            bench.check(mpdu, frame, *aad_and_nonce(mpdu, pn), open_it=False)
            assert bench.pn == pn
            received = bench.rng.getrandbits(48)
            octets = received.to_bytes(6, "little")
            ccmp_header = octets[:2] + bytes((0, 0x20)) + octets[2:]
            protected = bytes((header[0], header[1] | 0x40)) + header[2:]
            mpdu = protected + ccmp_header + bench.rng.randbytes(size + 16)
            frame = await bench.send(mpdu, open_it=True)
            bench.check(mpdu, frame, *aad_and_nonce(mpdu, received), open_it=True)


@cocotb.test()
async def a_refused_frame_takes_a_slot_but_no_blocks_and_no_packet_number(dut: Any) -> None:
    run_clock(dut)
    bench = await Bench(dut, 3).start(16)
    frame = await bench.send(mac_header(bench.rng, kind="qos")[:23], open_it=False)
    assert frame.verdict == SHORT
    assert frame.end == frame.base
    assert bench.pn == 0
    mpdu = mac_header(bench.rng, kind="qos") + bytes(20)
    frame = await bench.send(mpdu, open_it=False)
    bench.check(mpdu, frame, *aad_and_nonce(mpdu, 1), open_it=False)
