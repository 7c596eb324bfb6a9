"""Measure the clock cycles of a message in cbc_lanes or ctr_lanes; every result is also compared as in the tests.

`cycles.json` in the folder of the run has, for each size of MESSAGES in octets, the cycles from the first group in to
the last result out.
"""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import cocotb
import messages


@cocotb.test()
async def cycles_of_messages(dut: Any) -> None:
    rng = Random(1)
    ctr = hasattr(dut, "s_count")
    await messages.start(dut)
    found = []
    for size_b in map(int, os.environ["MESSAGES"].split(",")):
        one = messages.message(rng, -(-size_b // 16), ctr=ctr)
        run = await messages.run(dut, [one])
        expected = one.cipher if ctr else one.mac
        assert run.results[0][: len(expected)] == expected
        found.append({"message_b": size_b, "total": run.cycles[0] - run.began[0]})
    Path("cycles.json").write_text(json.dumps(found))
