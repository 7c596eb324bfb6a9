"""Readings of a host by its agent."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from airtoll.agent import binary
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError


@pytest.fixture
def host() -> Iterator[AgentHost]:
    argv = [str(binary.local()), "serve"]
    with Connection("machine", argv) as connection:
        yield AgentHost(connection)


def test_readings_have_what_was_asked_for(host: AgentHost) -> None:
    with host.sampling(50) as machine, host.sampling(50, ["lo", "absent0"], machine=False) as links:
        time.sleep(0.5)
    for sampled in (machine, links):
        times_ns = [reading.at_ns for reading in sampled.readings]
        assert len(times_ns) > 10
        assert times_ns == sorted(times_ns)
        assert times_ns[-1] <= time.monotonic_ns()
    first, last = machine.readings[0], machine.readings[-1]
    assert len(first.idle_s) == len(first.steal_s) == os.cpu_count()
    assert first.available_b is not None
    assert last.available_b is not None
    assert sum(last.idle_s) >= sum(first.idle_s)
    assert first.carriers == {}
    assert links.readings[0].idle_s == ()
    assert links.readings[0].carriers == {"lo": True, "absent0": None}
    assert links.readings[0].peers == {}  # loopback is no radio


@pytest.mark.parametrize("rate_hz", [0, -1, 1001])
def test_a_rate_out_of_range_is_refused(host: AgentHost, rate_hz: float) -> None:
    with pytest.raises(AirtollError, match=r"^host machine: rate_hz: 0 to 1000$"), host.sampling(rate_hz):
        pass


def kill(host: AgentHost) -> None:
    assert host.connection._hello is not None
    os.kill(host.connection._hello.pid, signal.SIGKILL)
    until_s = time.monotonic() + 10
    while host.connection.lost is None and time.monotonic() < until_s:
        time.sleep(0.01)


def test_readings_of_a_host_that_is_lost_are_an_error(host: AgentHost) -> None:
    sampled = host.sampling(100)
    with pytest.raises(LostError, match="host machine"), sampled:
        kill(host)
    with pytest.raises(LostError, match="host machine"):
        _ = sampled.readings
