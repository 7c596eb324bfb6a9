"""Record ccmp_core with one frame, cycle by cycle: its ports, and the blocks in its AES core.

The record is written to `waveform.json` in the folder of the run, for rtl/doc/waveform.py. The frame is compared as in
the tests. The bench reads signals inside the core, so only Icarus can run it.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from core_bench import Bench
from reference import Key

LANES = int(os.environ.get("LANES", "-1"))
WORD_B = int(os.environ.get("W", "32")) // 8
BLOCK_B = 16
LAST_CYCLES = 4  # recorded after the frame's last word

KEY = bytes(range(16))
HEADER = bytes.fromhex("8802 0000 020000000001 020000000002 020000000003 1000 0500".replace(" ", ""))
"""QoS Data from an access point; its TID is 5."""
PAYLOAD = bytes.fromhex("aaaa030000000800") + b"Hello, world"
"""LLC/SNAP header and data."""


@cocotb.test()
async def one_frame(dut: Any) -> None:
    bench = await Bench(dut).start()
    await bench.install(0, Key(KEY))
    while bench.dut.pause.value:  # the key is expanded
        await RisingEdge(dut.clk)
    in_aes = _turns(dut) if LANES < 0 else _standard(dut)
    cycles: list[dict[str, Any]] = []
    left: int | None = None
    while left is None or len(cycles) - left < LAST_CYCLES:
        await RisingEdge(dut.clk)
        await ReadOnly()
        cycles.append({**_ports(dut), **_memory(dut), **in_aes()})
        if len(cycles) == 1:
            bench.send(HEADER + PAYLOAD, 0, open_it=False)
        if cycles[-1]["m"] and cycles[-1]["m_last"]:
            left = len(cycles)
    await RisingEdge(dut.clk)
    await bench.finish()
    Path("waveform.json").write_text(
        json.dumps({"key": KEY.hex(), "header": HEADER.hex(), "payload": PAYLOAD.hex(), "cycles": cycles})
    )


def _octets(data: Any) -> str:
    """Octets in order, as hexadecimal; `--` for octets never written, such as those after a payload in its block."""
    bits = str(data.value)
    octets = [bits[at : at + 8] for at in reversed(range(0, len(bits), 8))]
    return "".join(f"{int(octet, 2):02x}" if set(octet) <= {"0", "1"} else "--" for octet in octets)


def _ports(dut: Any) -> dict[str, Any]:
    """Valid and ready of each stream, and the word if it is taken."""
    found: dict[str, Any] = {}
    for stream in "svm":
        valid, ready = (bool(getattr(dut, f"{stream}_{name}").value) for name in ("valid", "ready"))
        found |= {f"{stream}_valid": valid, f"{stream}_ready": ready, stream: None}
        if stream == "v":
            found["v"] = int(dut.v_verdict.value) if valid and ready else None
            continue
        last = getattr(dut, f"{stream}_last")
        found[f"{stream}_last"] = valid and bool(last.value)
        if valid and ready:
            octets = int(getattr(dut, f"{stream}_keep").value).bit_count()
            found[stream] = _octets(getattr(dut, f"{stream}_data"))[: 2 * octets]
    return found


def _memory(dut: Any) -> dict[str, str | None]:
    """The words that CCM writes."""
    mic, text = bool(dut.mic_write.value), bool(dut.out_write.value)
    return {
        "mic": _octets(dut.mic_word) if mic else None,
        "text": _octets(dut.out_word) if text and not mic else None,
    }


def _turns(dut: Any) -> Callable[[], dict[str, str | None]]:
    """The block whose first word enters the core in a cycle, and the result whose first word leaves.

    With one frame, CTR and CBC-MAC have at most one block each in the core.
    """
    taken: list[str] = []
    given = 0

    def look() -> dict[str, str | None]:
        nonlocal given
        found: dict[str, str | None] = {"takes": None, "gives": None}
        if int(dut.op_valid.value):
            taken.append(_octets(dut.op_word))
            if len(taken) * WORD_B == BLOCK_B:
                found["takes"] = "".join(taken)
                taken.clear()
        if int(dut.result_valid_of.value):
            if given == 0:
                found["gives"] = "cbc" if int(dut.result_tag.value) & 1 else "ctr"
            given = (given + WORD_B) % BLOCK_B
        return found

    return look


def _standard(dut: Any) -> Callable[[], dict[str, str | None]]:
    """The same for ccm_lanes with one AES core, which takes a block in one cycle."""
    aes = dut.g_lanes.lanes.g_by_turns.aes
    was_busy = False

    def look() -> dict[str, str | None]:
        nonlocal was_busy
        found: dict[str, str | None] = {"takes": None, "gives": None}
        if was_busy and not aes.busy.value:
            found["gives"] = "it"
        if aes.start.value:
            found["takes"] = _octets(aes.blocks)
        was_busy = bool(aes.busy.value)
        return found

    return look
