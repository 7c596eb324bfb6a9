"""Send one message through ccm_secworks: check that it is CCM, and write its clock cycles to `cycles.txt`."""

from pathlib import Path
from random import Random
from typing import Any

import cocotb
from clocked import cycle, start
from cryptography.hazmat.primitives.ciphers.aead import AESCCM

AAD_B = 30  # two blocks including its length, as in CCMP
BLOCKS = 94  # 1500 octets; the bench pads the last block, because the core does not mask
PATIENCE_CYCLES = 100_000


def _number(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


@cocotb.test()
async def a_message_is_sealed(dut: Any) -> None:
    rng = Random(1)
    key, nonce, aad, payload = (rng.randbytes(length) for length in (16, 13, AAD_B, 16 * BLOCKS))
    b0 = b"\x59" + nonce + len(payload).to_bytes(2, "big")
    lengthened = AAD_B.to_bytes(2, "big") + aad
    blocks = [(lengthened[at : at + 16], 1) for at in range(0, len(lengthened), 16)]
    blocks += [(payload[at : at + 16], 0) for at in range(0, len(payload), 16)]
    inputs = dict.fromkeys(("key_valid", "start", "s_valid", "s_aad", "s_last", "s_open", "key_long"), 0)
    await start(
        dut, **inputs, key=_number(key) << 128, b0=_number(b0), nonce=_number(b"\x01" + nonce + bytes(2))
    )
    await cycle(dut, key_valid=1)
    await cycle(dut, key_valid=0)
    for _ in range(200):  # until the key is expanded
        await cycle(dut)
    await cycle(dut, start=1)
    sealed, at, takes = b"", 0, False
    cycles = 0
    while not dut.mic_valid.value:
        assert cycles < PATIENCE_CYCLES, "the core never finishes"
        cycles += 1
        at += takes
        block, is_aad = blocks[min(at, len(blocks) - 1)]
        await cycle(
            dut, start=0, s_valid=int(at < len(blocks)), s_block=_number(block), s_aad=is_aad,
            s_last=int(at == len(blocks) - 1),
        )  # fmt: skip
        takes = bool(dut.s_ready.value) and at < len(blocks)
        if dut.m_valid.value:
            sealed += int(dut.m_block.value).to_bytes(16, "big")
    sealed += int(dut.mic.value).to_bytes(8, "big")
    assert sealed == AESCCM(key, tag_length=8).encrypt(nonce, payload, aad)
    Path("cycles.txt").write_text(str(cycles))
