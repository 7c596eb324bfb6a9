"""ctr_lanes compared with OpenSSL, and with NIST SP 800-38A."""

from random import Random
from typing import Any

import cocotb
import messages
from messages import LANES, STEP_CYCLES, Message

SIZES = (1, 2, 3, 7, 8, 9, 16, 25)


@cocotb.test()
async def messages_agree_with_openssl(dut: Any) -> None:
    rng = Random(1)
    await messages.start(dut)
    many = [messages.message(rng, size, ctr=True) for size in SIZES * 3]
    for pauses in (None, rng):
        run = await messages.run(dut, many, pauses)
        for result, each in zip(run.results, many, strict=True):
            assert result[: len(each.cipher)] == each.cipher


@cocotb.test()
async def the_published_blocks(dut: Any) -> None:
    """NIST SP 800-38A F.5.1, whose counter does not overflow two octets."""
    await messages.start(dut)
    plain = bytes.fromhex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
    )
    published = bytes.fromhex(
        "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
        "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"
    )
    key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    count = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    run = await messages.run(dut, [Message(key, [plain[at : at + 16] for at in range(0, 64, 16)], count)])
    assert run.results[0][:64] == published


@cocotb.test()
async def a_message_takes_a_step_per_group_and_one_cycle(dut: Any) -> None:
    rng = Random(2)
    await messages.start(dut)
    for size in SIZES:
        run = await messages.run(dut, [messages.message(rng, size, ctr=True)])
        assert run.cycles[0] - run.began[0] == STEP_CYCLES * -(-size // LANES) + 1


@cocotb.test()
async def a_reset_ends_a_message(dut: Any) -> None:
    rng = Random(3)
    await messages.start(dut)
    one, other = (messages.message(rng, 3 * LANES, ctr=True) for _ in range(2))
    await messages.cycle(dut, s_valid=1, **one.groups[0])
    await messages.cycle(dut, s_valid=0)
    await messages.cycle(dut, reset=1)
    await messages.cycle(dut, reset=0)
    assert (await messages.run(dut, [other])).results == [other.cipher]
