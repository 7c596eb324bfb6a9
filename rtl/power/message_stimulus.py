"""Run by cocotb in `message_activity`: keep cbc_lanes or ctr_lanes busy with messages, and record its ports.

Environment: RECORD_FILE, RECORD_MESSAGES, RECORD_MESSAGE_B (octets of a message), RECORD_PORTS, LANES.
"""

import os
from random import Random
from typing import Any

import cocotb
import messages
import numpy as np


@cocotb.test()
async def keep_busy(dut: Any) -> None:
    rng = Random(1)
    blocks = -(-int(os.environ["RECORD_MESSAGE_B"]) // 16)
    ctr = hasattr(dut, "s_count")
    ports = {name: getattr(dut, name) for name in os.environ["RECORD_PORTS"].split()}
    rows: dict[str, list[bytes]] = {name: [] for name in ports}

    def keep() -> None:
        for name, port in ports.items():
            rows[name].append(int(port.value).to_bytes((len(port) + 7) // 8, "little"))

    many = [messages.message(rng, blocks, ctr=ctr) for _ in range(int(os.environ["RECORD_MESSAGES"]))]
    await messages.start(dut, keep)
    await messages.run(dut, many, each_cycle=keep)
    arrays = {
        name: np.frombuffer(b"".join(values), np.uint8).reshape(len(values), -1)
        for name, values in rows.items()
    }
    np.savez_compressed(os.environ["RECORD_FILE"], allow_pickle=False, **arrays)
