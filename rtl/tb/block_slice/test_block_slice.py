"""block_slice: a written word is read READ_CYCLES enabled cycles after its address."""

import os
from collections import deque
from random import Random
from typing import Any

import cocotb
from clocked import cycle, start

DEPTH = int(os.environ.get("DEPTH", "16"))
READ_CYCLES = int(os.environ.get("READ_CYCLES", "2"))
CYCLES_A_WRITE = 2


@cocotb.test()
async def a_word_is_read_so_many_enabled_cycles_after_its_address(dut: Any) -> None:
    rng = Random(1)
    await start(dut, write=0, write_addr=0, write_data=0, enable=1, read_addr=0)
    held: dict[int, int] = {}
    for addr in range(DEPTH):
        held[addr] = rng.getrandbits(32)
        await cycle(dut, write=1, write_addr=addr, write_data=held[addr])
    # Addresses in progress: reading a word while it is written is undefined.
    reads: deque[int | None] = deque([None] * READ_CYCLES, READ_CYCLES)
    writes: deque[int | None] = deque([None] * CYCLES_A_WRITE, CYCLES_A_WRITE)
    for _ in range(3000):
        read, written, word = rng.randrange(DEPTH), rng.randrange(DEPTH), rng.getrandbits(32)
        enable, write = rng.random() < 0.7, rng.random() < 0.5 and written not in reads
        while read in writes or (write and read == written):
            read = rng.randrange(DEPTH)
        await cycle(
            dut, enable=int(enable), read_addr=read, write=int(write), write_addr=written, write_data=word
        )
        assert reads[0] is None or int(dut.read_data.value) == held[reads[0]]
        if enable:
            reads.append(read)
        writes.append(written if write else None)
        if write:
            held[written] = word
