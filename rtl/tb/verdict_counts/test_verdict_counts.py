"""verdict_counts: the number of each verdict since reset."""

from random import Random
from typing import Any

import cocotb
from clocked import cycle, reset, run_clock

VERDICTS = 16
CYCLES_BETWEEN = 5
COUNTING = 6  # cycles


async def count(dut: Any, verdict: int) -> int:
    for _ in range(40):
        await cycle(dut, event_valid=0, addr=verdict)
        if dut.ready.value:
            break
    else:
        raise AssertionError("never ready")
    await cycle(dut, addr=(verdict + 1) % VERDICTS)
    await cycle(dut)
    await cycle(dut)
    return int(dut.count.value)


async def counts(dut: Any) -> list[int]:
    return [await count(dut, verdict) for verdict in range(VERDICTS)]


async def tell(dut: Any, rng: Random, verdict: int, *, gap: int) -> None:
    await cycle(dut, event_valid=1, event_verdict=verdict, addr=rng.randrange(VERDICTS))
    for _ in range(gap - 1):
        await cycle(dut, event_valid=0, event_verdict=rng.randrange(VERDICTS), addr=rng.randrange(VERDICTS))


async def begin(dut: Any) -> None:
    await reset(dut, event_valid=0, event_verdict=0, addr=0)
    assert await counts(dut) == [0] * VERDICTS


@cocotb.test()
async def each_verdict_is_counted_even_every_fifth_cycle(dut: Any) -> None:
    run_clock(dut)
    await begin(dut)
    rng = Random(1)
    told = [0] * VERDICTS
    for gap in (CYCLES_BETWEEN, CYCLES_BETWEEN + 1, 9):
        for _ in range(60):
            verdict = rng.choice((rng.randrange(VERDICTS), 3))  # often the same verdict again
            told[verdict] += 1
            await tell(dut, rng, verdict, gap=gap)
        assert await counts(dut) == told


@cocotb.test()
async def a_reset_clears_all(dut: Any) -> None:
    run_clock(dut)
    await begin(dut)
    rng = Random(2)
    for verdict in range(VERDICTS):
        await tell(dut, rng, verdict, gap=CYCLES_BETWEEN)
    await begin(dut)


@cocotb.test()
async def a_number_is_ready_only_while_nothing_is_counted(dut: Any) -> None:
    run_clock(dut)
    await begin(dut)
    await cycle(dut, event_valid=1, event_verdict=7, addr=7)
    ready = [bool(dut.ready.value)]
    for _ in range(COUNTING):
        await cycle(dut, event_valid=0, addr=7)
        ready.append(bool(dut.ready.value))
    assert ready == [False] * COUNTING + [True]
    assert await count(dut, 7) == 1
