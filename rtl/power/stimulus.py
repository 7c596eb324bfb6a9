"""Run by cocotb in `activity`: keep ccmp_core busy with frames, and record its ports, cycle by cycle.

Environment: RECORD_FILE, RECORD_FRAMES (the number of frames that must leave), RECORD_PAYLOAD_B, RECORD_SEED,
RECORD_PORTS, and RECORD_MPDUS: a file with sealed MPDUs to open, or empty to seal frames.
"""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from frames import frame
from reference import Key
from streams import Packet, Receiver, Sender, run_streams

KEYS = 4
"""Number of stations, whose frames alternate, each with its own key."""

_RESET_CYCLES = 3
_MAX_CYCLES = 1_000_000
_AHEAD = 80  # frames after the last counted one: more than fit into the core


@cocotb.test()
async def keep_busy(dut: Any) -> None:
    rng = Random(int(os.environ["RECORD_SEED"]))
    frames = int(os.environ["RECORD_FRAMES"])
    payload_b = int(os.environ["RECORD_PAYLOAD_B"])
    opened = os.environ["RECORD_MPDUS"]
    s = Sender(dut, "s", ("open", "key", "tag"), rng)
    k = Sender(dut, "k", (), rng)
    v = Receiver(dut, "v", (), rng)
    m = Receiver(dut, "m", ("key",), rng)
    for number in range(KEYS):
        k.send(Packet(Key(rng.randbytes(16)).packet(number)))
    if opened:
        mpdus = [(number, bytes.fromhex(mpdu)) for number, mpdu in json.loads(Path(opened).read_text())]
    else:
        mpdus = [(at % KEYS, frame(rng, payload_b, kind="qos")) for at in range(frames + _AHEAD)]

    dut.count_addr.value = 0
    dut.reset.value = 1
    ports = {name: getattr(dut, name) for name in os.environ["RECORD_PORTS"].split()}
    rows: dict[str, list[bytes]] = {name: [] for name in ports}
    octets = {name: (len(port) + 7) // 8 for name, port in ports.items()}
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    cocotb.start_soon(run_streams(dut, s, k, v, m))
    for cycle in range(_MAX_CYCLES):
        await RisingEdge(dut.clk)
        if cycle == _RESET_CYCLES:
            dut.reset.value = 0
        if cycle > _RESET_CYCLES and mpdus and k.idle:
            for at, (number, mpdu) in enumerate(mpdus):
                s.send(Packet(mpdu, {"open": int(bool(opened)), "key": number, "tag": at % 256}))
            mpdus = []
        await ReadOnly()
        for name, port in ports.items():
            rows[name].append(int(port.value).to_bytes(octets[name], "little"))
        if len(m.packets) >= frames:
            break
    assert len(m.packets) >= frames, f"{len(m.packets)} of {frames} frames left in {_MAX_CYCLES} cycles"
    arrays = {
        name: np.frombuffer(b"".join(values), np.uint8).reshape(len(values), -1)
        for name, values in rows.items()
    }
    file = Path(os.environ["RECORD_FILE"])
    np.savez_compressed(file, allow_pickle=False, **arrays)
    left = [(packet.beside["key"], packet.octets.hex()) for packet in m.packets]
    file.with_suffix(".json").write_text(json.dumps(left))
