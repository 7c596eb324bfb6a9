"""Measure clock cycles of ccmp_core per frame, at its ports; every frame is also compared as in the tests.

`cycles.json` in the folder of the run has, for each size of PAYLOADS and each operation, the cycles per frame in a
continuous stream, and the cycles from the first input word to the verdict and to the last output word in an idle core.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from core_bench import Bench, bench_with_keys
from frames import frame

PAYLOADS_B = tuple(map(int, os.environ.get("PAYLOADS", "16,1500").split(",")))
FRAMES = int(os.environ.get("FRAMES", "5"))  # in the core at a time,
BLOCKS = int(os.environ.get("BLOCKS", "1024"))  # if they fit into its memory
LEAST_FRAMES = ((300, 192), (2304, 48), (7935, 4))  # per bunch, by the longest payload
STEADY = 0.03  # largest relative difference of two parts of a run


def _send(bench: Bench, size_b: int, *, open_it: bool) -> None:
    mpdu = bench.sealed(0, size_b, kind="qos") if open_it else frame(bench.rng, size_b, kind="qos")
    bench.send(mpdu, 0, open_it=open_it)


async def _of_one(bench: Bench, size_b: int, *, open_it: bool) -> dict[str, int]:
    """Cycles of a frame in an idle core."""
    bench.m.cycles.clear()
    bench.v.cycles.clear()
    _send(bench, size_b, open_it=open_it)
    while True:
        await ReadOnly()
        if bench.dut.s_valid.value and bench.dut.s_ready.value:
            break
        await RisingEdge(bench.dut.clk)
    first = bench.s.cycle
    while not bench.m.cycles:
        await RisingEdge(bench.dut.clk)
    told, left = bench.v.cycles[0], bench.m.cycles[0]
    await bench.finish()
    return {"first_in_to_verdict": told - first, "first_in_to_last_out": left - first}


async def _of_many(bench: Bench, size_b: int, *, open_it: bool) -> float:
    """Cycles per frame of a stream.

    Frames that are in the core together end together, in bunches. Counting therefore begins and ends between bunches,
    after the first two and before the last, at whose end the core empties. The time of the end varies by the same
    amount for short and long frames, so bunches of short frames have more frames.
    """
    least = next(frames for longest_b, frames in LEAST_FRAMES if size_b <= longest_b)
    together = min(FRAMES, max(1, BLOCKS // (size_b // 16 + 6)))
    bunch = together * -(-least // together)
    bench.m.cycles.clear()
    for _ in range(5 * bunch):
        _send(bench, size_b, open_it=open_it)
    while len(bench.m.cycles) < 5 * bunch:
        await RisingEdge(bench.dut.clk)
    begin, middle, end = (bench.m.cycles[n * bunch - 1] for n in (2, 3, 4))
    first, second = (middle - begin) / bunch, (end - middle) / bunch
    assert abs(first / second - 1) <= STEADY, f"not steady: {first:.1f}, then {second:.1f} cycles a frame"
    await bench.finish()
    return (first + second) / 2


@cocotb.test()
async def cycles_of_frames(dut: Any) -> None:
    bench = await bench_with_keys(dut, 1)
    # Wait until the key is expanded.
    _send(bench, 0, open_it=False)
    await bench.finish()
    found = []
    for size_b in PAYLOADS_B:
        one: dict[str, Any] = {"payload_b": size_b}
        for operation in ("seal", "open"):
            way: dict[str, float] = dict(await _of_one(bench, size_b, open_it=operation == "open"))
            way["cycles_a_frame"] = await _of_many(bench, size_b, open_it=operation == "open")
            one[operation] = way
            dut._log.info(f"{operation} {size_b} octets: {way}")
        found.append(one)
    Path("cycles.json").write_text(json.dumps(found))
