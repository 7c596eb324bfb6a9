"""Hosts and links for tests of probes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.labs.base import Known, Link
from airtoll.study.factors import Ip

ADDRESSES: dict[tuple[str, Ip], str] = {
    ("ap", "ipv4"): "192.0.2.1",
    ("sta", "ipv4"): "192.0.2.2",
    ("ap", "ipv6"): "2001:db8::1",
    ("sta", "ipv6"): "2001:db8::2",
}

CAPACITY_BIT_PER_S = 20e6
"""Capacity that the tests' link claims; the veth pair can carry all traffic offered because of it."""

CONNECTIONS: list[Connection] = []
"""The connections of the running test."""


class PlainHost(AgentHost):
    """Runs commands, optionally after a prefix, with the test's environment, until the test ends."""

    def __init__(self, name: str, prefix: Sequence[str] = (), path: Path | None = None) -> None:
        """`path` is the first directory in which programs are searched."""
        agent = str(binary.local())
        environment = [] if path is None else ["env", f"PATH={path}:{os.environ['PATH']}"]
        connection = Connection(name, [*prefix, *environment, agent, "serve"])
        CONNECTIONS.append(connection)
        super().__init__(connection)


class FakeCounters:
    """A link that always uses half a core, a tenth of it for sealing; a fifth of its transmissions are retries."""

    def __init__(self) -> None:
        self._elapsed_s = 0.0

    def __call__(self) -> dict[str, Any]:
        self._elapsed_s += 1.0
        return {
            "elapsed_s": self._elapsed_s,
            "emulator_cpu_s": 0.5 * self._elapsed_s,
            "crypto_s": 0.05 * self._elapsed_s,
            "air_busy_s": 0.75 * self._elapsed_s,
            "sta": {"mpdus": 80 * self._elapsed_s, "retries": 20 * self._elapsed_s, "drops_retry": 0},
        }


def make_link(hosts: dict[str, PlainHost]) -> Link:
    known = Known(capacity_open_bit_per_s=CAPACITY_BIT_PER_S, rate_kbit_per_s=54_000)
    return Link(hosts=hosts, addresses=ADDRESSES, facts={}, counters=FakeCounters(), known=known)
