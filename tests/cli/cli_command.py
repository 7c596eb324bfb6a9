"""Shared by the command-line tests: the path of the command, and a study small enough for a test."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from airtoll.store import Result

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))

# Any machine carries its load. An overload of small packets would take most of the CPU time of a run. Without retries,
# the number of runs does not depend on what else runs on the machine.
SMALL_STUDY = """
title = "Small"
description = "Two runs of one block, twice."
lab = "air"

[factors]
security = ["open", "ccmp"]
transport = ["udp"]
ip = ["ipv6"]
packet_size = ["256 B"]
offered = ["2 Mbit/s"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]

[method]
repeats = 2
retries = 0
duration = "0.5 s"
warmup = "0 s"
seed = 1
"""

IN_OWN_MOUNTS = ("unshare", "--mount", "sh", "-ec")
"""Command prefix for a shell script that mounts something and then runs its arguments."""

Airtoll = Callable[..., subprocess.CompletedProcess[str]]


def assert_performed(done: subprocess.CompletedProcess[str], result: Path) -> None:
    """Assert that a study was performed. On a busy machine runs may be invalid, which the exit status reports."""
    if done.returncode == 1:
        assert "fewer than two valid pairs" in one_line(done)
        assert ", 0 of them invalid" not in done.stdout
    else:
        assert done.returncode == 0, done.stderr
    assert_parts_of_cpu_add_up(Result.open(result))


def assert_parts_of_cpu_add_up(result: Result) -> None:
    """Assert that the machine was busy at least as long as the emulator, a part of its load, over the same windows.

    Linux counts a part of the stolen time as time of the programs, so the machine was busy or without its CPU. The load
    of iperf3's process is of its whole life, and is not compared.
    """
    for record, samples in zip(result.records(), result.samples(), strict=True):
        cores = next(iter(record.hosts.values()))["cores"]
        system_s, emulator_s, link_s = (
            float(sum((samples.dur_ns * samples.value)[samples.metric.equal(metric)])) / 100e9
            for metric in ("cpu_system", "cpu_emulator", "cpu_link")
        )
        windows = int(samples.metric.equal("cpu_emulator").sum())
        assert windows > 0, record.run.id
        resolution_s = 0.01 * cores * windows
        stolen_s = record.counters["machines"]["machine"]["steal_s"]
        assert cores * system_s + stolen_s >= emulator_s + link_s - resolution_s, record.run.id


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr of a command that failed."""
    assert done.stderr.startswith("airtoll: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("airtoll: ").rstrip()
