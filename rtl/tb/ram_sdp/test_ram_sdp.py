"""ram_sdp: a written word is read two enabled cycles after its address."""

import os
from random import Random
from typing import Any

import cocotb
from clocked import cycle, start

WIDTH = int(os.environ.get("WIDTH", "32"))
DEPTH = int(os.environ.get("DEPTH", "16"))


@cocotb.test()
async def a_word_is_read_two_enabled_cycles_after_its_address(dut: Any) -> None:
    rng = Random(1)
    await start(dut, write=0, write_addr=0, write_data=0, enable=1, read_addr=0)
    held: dict[int, int] = {}
    for addr in range(DEPTH):
        held[addr] = rng.getrandbits(WIDTH)
        await cycle(dut, write=1, write_addr=addr, write_data=held[addr])
    on_the_way: list[int | None] = [None, None]
    for _ in range(1500):
        read, written, word = rng.randrange(DEPTH), rng.randrange(DEPTH), rng.getrandbits(WIDTH)
        enable, write = rng.random() < 0.7, rng.random() < 0.5
        if write and read == written:  # undefined
            continue
        await cycle(
            dut, enable=int(enable), read_addr=read, write=int(write), write_addr=written, write_data=word
        )
        due = on_the_way[0]
        assert due is None or int(dut.read_data.value) == due
        if enable:
            on_the_way = [on_the_way[1], held[read]]
        if write:
            held[written] = word
