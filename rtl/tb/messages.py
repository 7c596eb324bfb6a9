"""Messages for the modules cbc_lanes and ctr_lanes: input groups, expected results and cycle counts."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import clocked
from aes import encrypt, number, xor
from clocked import cycle

LANES = int(os.environ.get("LANES", "1"))
STEP_CYCLES = 11
"""Cycles per group of blocks (module aes_iter)."""

_MAX_CYCLES = 100_000


@dataclass(frozen=True)
class Message:
    """A message of complete blocks, for CBC-MAC or, with a counter block, for CTR."""

    key: bytes
    blocks: Sequence[bytes]
    count: bytes | None = None

    @property
    def groups(self) -> list[dict[str, int]]:
        """The values of the input ports, one dictionary per group of blocks."""
        found = []
        for at in range(0, len(self.blocks), LANES):
            some = self.blocks[at : at + LANES]
            ports = {
                "s_key": number(self.key),
                "s_data": number(b"".join(some)),
                "s_last": int(at + LANES >= len(self.blocks)),
            }
            if self.count is None:
                ports["s_take"] = (1 << len(some)) - 1
            else:
                ports["s_count"] = number(self.count)
            found.append(ports)
        return found

    @property
    def mac(self) -> bytes:
        """The XOR of the CBC chains (Hayajneh et al., Fig. 4); with one lane, plain CBC-MAC."""
        chains = [bytes(16)] * LANES
        for at, block in enumerate(self.blocks):
            chains[at % LANES] = encrypt(self.key, xor(chains[at % LANES], block))
        total = bytes(16)
        for chain in chains:
            total = xor(total, chain)
        return total

    @property
    def cipher(self) -> bytes:
        """The message, encrypted in CTR mode. As in CCM, the counter is the last two octets of the counter block."""
        assert self.count is not None
        first = int.from_bytes(self.count[14:], "big")
        counts = (
            self.count[:14] + ((first + at) % 2**16).to_bytes(2, "big") for at in range(len(self.blocks))
        )
        return b"".join(
            xor(block, encrypt(self.key, count)) for block, count in zip(self.blocks, counts, strict=True)
        )


def message(rng: Random, blocks: int, *, ctr: bool) -> Message:
    """A random message with this number of blocks."""
    return Message(
        rng.randbytes(16),
        [rng.randbytes(16) for _ in range(blocks)],
        rng.randbytes(16) if ctr else None,
    )


@dataclass
class Run:
    """The results of messages, in the order of the messages."""

    results: list[bytes] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)  # the cycle in which each result was complete
    began: list[int] = field(
        default_factory=list
    )  # the cycle in which the first group of each message was accepted


def _nothing() -> None:
    """Do nothing."""


async def start(dut: Any, each_cycle: Callable[[], None] = _nothing) -> None:
    """Start the clock and reset the module; call `each_cycle` in every cycle."""
    clocked.run_clock(dut)
    inputs = {"s_valid": 0, "s_key": 0, "s_data": 0, "s_last": 0}
    inputs |= {"s_take": 0} if hasattr(dut, "s_take") else {"s_count": 0}
    for reset in (*[1] * clocked.RESET_CYCLES, 0):
        await cycle(dut, **inputs, reset=reset)
        each_cycle()


async def run(
    dut: Any,
    messages: Sequence[Message],
    rng: Random | None = None,
    each_cycle: Callable[[], None] = _nothing,
) -> Run:
    """Send the messages to the module: each group as soon as the module is ready, or after random pauses with `rng`."""
    found = Run()
    groups = [(at == 0, ports) for each in messages for at, ports in enumerate(each.groups)]
    parts: list[bytes] = []
    given = 0
    for now in range(_MAX_CYCLES):
        valid = given < len(groups) and (rng is None or rng.random() < 0.7)
        # Without valid, all other inputs are meaningless.
        await cycle(dut, s_valid=int(valid), **(groups[given][1] if valid else {}))
        each_cycle()
        if dut.m_valid.value:
            parts.append(int(dut.m_data.value).to_bytes(len(dut.m_data) // 8, "little"))
            if not hasattr(dut, "m_last") or dut.m_last.value:
                found.results.append(b"".join(parts))
                found.cycles.append(now)
                parts = []
        if valid and dut.s_ready.value:
            if groups[given][0]:
                found.began.append(now)
            given += 1
        if len(found.results) == len(messages):
            return found
    raise AssertionError(
        f"{len(found.results)} of {len(messages)} messages were complete after {_MAX_CYCLES} cycles"
    )
