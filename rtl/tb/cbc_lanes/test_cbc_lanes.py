"""cbc_lanes compared with OpenSSL, and with the CBC-MAC of RFC 3610 for one lane."""

from random import Random
from typing import Any

import cocotb
import messages
from messages import LANES, STEP_CYCLES, Message

SIZES = (1, 2, 3, 7, 8, 9, 16, 25)


@cocotb.test()
async def macs_agree_with_openssl(dut: Any) -> None:
    rng = Random(1)
    await messages.start(dut)
    many = [messages.message(rng, size, ctr=False) for size in SIZES * 3]
    for pauses in (None, rng):
        run = await messages.run(dut, many, pauses)
        assert run.results == [each.mac for each in many]


@cocotb.test()
async def one_lane_has_the_mac_of_the_published_packet(dut: Any) -> None:
    """RFC 3610, packet vector 1: B0, the AAD, the payload, and the value before it is encrypted and shortened."""
    await messages.start(dut)
    octets = bytes.fromhex(
        "59 00000003020100a0a1a2a3a4a5 0017 0008 0001020304050607 000000000000"
        "08090a0b0c0d0e0f101112131415161718191a1b1c1d1e 00"
    )
    blocks = [octets[at : at + 16] for at in range(0, len(octets), 16)]
    run = await messages.run(dut, [Message(bytes(range(0xC0, 0xD0)), blocks)])
    published = bytes.fromhex("2d c6 97 e4 11 ca 83 a8")
    assert (run.results[0][:8] == published) == (LANES == 1)


@cocotb.test()
async def a_message_takes_a_step_per_group_and_one_cycle(dut: Any) -> None:
    rng = Random(2)
    await messages.start(dut)
    for size in SIZES:
        run = await messages.run(dut, [messages.message(rng, size, ctr=False)])
        assert run.cycles[0] - run.began[0] == STEP_CYCLES * -(-size // LANES) + 1


@cocotb.test()
async def a_reset_ends_a_message(dut: Any) -> None:
    rng = Random(3)
    await messages.start(dut)
    one, other = (messages.message(rng, 3 * LANES, ctr=False) for _ in range(2))
    await messages.cycle(dut, s_valid=1, **one.groups[0])
    await messages.cycle(dut, s_valid=0)
    await messages.cycle(dut, reset=1)
    await messages.cycle(dut, reset=0)
    assert (await messages.run(dut, [other])).results == [other.mac]
