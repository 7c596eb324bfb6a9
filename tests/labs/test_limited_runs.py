"""Real programs over the emulated air in real time: a limit of the hosts makes a run invalid, the air does not."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from airtoll.host import Process
from airtoll.labs.air import Air, missing
from airtoll.labs.base import Link
from airtoll.probes import Measurement
from airtoll.probes.iperf3 import Throughput
from airtoll.store import Verdict
from airtoll.store.machine import LACKING_MOST, lacking_share
from airtoll.store.verdict import verdict_of
from airtoll.study.cell import Cell, Method, Run

METHOD = Method(repeats=1, discard_first=0, duration=1.0, warmup=0.5, seed=1)

BUSY_CORE = str(min(os.sched_getaffinity(0)))
BUSY_S = 30
"""A busy process ends after this time at the latest."""


class LastHost:
    """A host whose programs get only the time that the busy core has left."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def popen(self, argv: Sequence[str]) -> Process:
        started: Process = self._host.popen(["taskset", "-c", BUSY_CORE, "chrt", "--idle", "0", *argv])
        return started


@contextmanager
def busy_core() -> Iterator[None]:
    """Keep one core busy for the duration of the context. The emulator and the sender have the others."""
    loop = f"import time\nend = time.monotonic() + {BUSY_S}\nwhile time.monotonic() < end: pass"
    with subprocess.Popen(["taskset", "-c", BUSY_CORE, sys.executable, "-c", loop]) as process:
        yield
        process.kill()


def measured(cell: Cell, change: Callable[[Link], Link] = lambda link: link) -> tuple[Measurement, Verdict]:
    """A run of the cell on the link after this change, and its verdict without counters."""
    if reason := missing():
        pytest.skip(reason)
    with Air().open(cell, 1) as link:
        found = Throughput().measure(change(link), cell, METHOD)
    run = Run(order=1, block=1, replicate=1, cell=cell, seed=1, discard=False)
    return found, verdict_of(run, METHOD, {"throughput": found}, link.facts, {})


def test_a_receiver_without_cpu_time_makes_a_run_of_tcp_invalid(cell: Callable[..., Cell]) -> None:
    def slow(link: Link) -> Link:
        # Larger buffers would hide how late the receiver reads.
        known = replace(link.known, tcp_window_bytes=256 << 10)
        return replace(link, known=known, hosts={**link.hosts, "ap": LastHost(link.hosts["ap"])})

    fast = cell(phy="vht", rate="mcs9", bandwidth=80, gi="short", transport="tcp", packet_size=1024)
    with busy_core():
        found, verdict = measured(fast, slow)
    limits = found.facts["limits"]
    assert limits["receiver"]["wait_s"] > 0.1 * limits["window_s"], limits
    assert (lacking_share(limits, aggregating=True) or 0.0) > 0.1, limits
    (reason,) = (each for each in verdict.reasons if each.startswith("machine too slow: "))
    assert "the receiver's program waited for a CPU for" in reason


def test_a_run_that_the_air_limits_is_valid(cell: Callable[..., Cell]) -> None:
    slow = cell(phy="ofdm", rate="6 Mbit/s", bandwidth=20, transport="tcp", packet_size=1408)
    found, verdict = measured(slow)
    limits = found.facts["limits"]
    assert set(limits["receiver"]) == set(limits["emulator"]) == {"run_s", "wait_s"}
    assert limits["tcp"]["busy_s"] > 0.5
    lacking = lacking_share(limits, aggregating=False)
    assert lacking is not None
    if lacking > LACKING_MOST:
        pytest.skip(f"the hosts gave the air no data for {lacking:.0%} of the run")
    assert verdict.reasons == ()
