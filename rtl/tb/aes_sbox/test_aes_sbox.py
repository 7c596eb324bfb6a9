"""aes_sbox compared with the table of FIPS 197."""

from typing import Any

import cocotb
from aes import SUBSTITUTES
from cocotb.triggers import Timer


@cocotb.test()
async def every_octet_has_the_printed_substitute(dut: Any) -> None:
    for octet, substitute in enumerate(SUBSTITUTES):
        dut.octet.value = octet
        await Timer(1, "ns")
        assert int(dut.substitute.value) == substitute, f"{octet:#04x}"
