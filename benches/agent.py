"""Measure the agent: size of its program, start, cost of sampling, and error of clock offsets.

The agent runs on this machine, through its standard streams. Its clock is this machine's: the true offset is 0.
"""

import resource
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from page import publish

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.guest import boot, recipe

STARTS = 51
TRIALS = 200
SAMPLING_S = 20.0
RATES_HZ = (10, 100, 1000)
CASES = (
    ("CPU, memory and energy", (), True),
    ("one interface", ("lo",), False),
    ("both", ("lo",), True),
)


def _connect() -> AgentHost:
    argv = [str(binary.program()), "serve"]
    return AgentHost("machine", Connection("machine", argv), argv[:1])


def size() -> str:
    """Size of the programs that the build made."""
    rows = [
        f"| {file.name.removeprefix('airtoll-agent-')} | {file.stat().st_size / 1e6:.2f} |"
        for file in sorted(binary.FOLDER.glob("airtoll-agent-*"))
    ]
    return "\n".join(["## Program", "", "| architecture | MB |", "| --- | ---: |", *rows])


def start() -> str:
    """Time from the start of the process to its first frame."""
    taken_ms = []
    for _ in range(STARTS):
        began = time.perf_counter()
        host = _connect()
        taken_ms.append(1000 * (time.perf_counter() - began))
        host.connection.close()
    row = f"| {median(taken_ms):.1f} | {max(taken_ms):.1f} |"
    return "\n".join(
        ["## Start to ready", "", f"{STARTS} starts.", "", "| median ms | most ms |", "| ---: | ---: |", row]
    )


def sampling() -> str:
    """CPU time of the agent's processes, from getrusage(2) of this process's children."""
    rows = []
    idle_s = _cost_s(None, (), machine=False)
    for name, interfaces, machine in CASES:
        for rate_hz in RATES_HZ:
            share = (_cost_s(rate_hz, interfaces, machine=machine) - idle_s) / SAMPLING_S
            rows.append(f"| {name} | {rate_hz} | {100 * share:.2f} | {1e6 * share / rate_hz:.0f} |")
    return "\n".join(
        [
            "## Sampling",
            "",
            f"CPU time of the agent over {SAMPLING_S:.0f} s beyond that of an idle agent; one core = 100 %.",
            "",
            "| readings | per second | CPU % | us per reading |",
            "| --- | ---: | ---: | ---: |",
            *rows,
        ]
    )


def radio() -> str:
    """CPU time of an agent that reads a radio with one peer, in a guest with radios of mac80211_hwsim."""
    kernel = recipe.built()
    if kernel is None:
        return f"## Sampling of a radio\n\nNot measured: {recipe.missing()}"
    with TemporaryDirectory() as name:
        folder = Path(name)
        job = folder / "job"
        job.mkdir()
        (folder / "program.py").write_text(
            IN_GUEST.format(path=sys.path, rates_hz=RATES_HZ, sampling_s=SAMPLING_S)
        )
        script = folder / "script"
        script.write_text(f"#!/bin/sh\n{sys.executable} {folder}/program.py > /run/job/rows 2>&1\n")
        script.chmod(0o755)
        task = {"task": "shell", "environment": {"SHELL": str(script)}}
        boot.perform(kernel, task, job, clock="real", radios=2)
        rows = (job / "rows").read_text().splitlines()
    return "\n".join(
        [
            "## Sampling of a radio",
            "",
            "The same for a station's radio with one peer, in a guest with mac80211_hwsim.",
            "",
            "| per second | CPU % | us per reading |",
            "| ---: | ---: | ---: |",
            *rows,
        ]
    )


IN_GUEST = """
import sys
sys.path[:] = {path}
import resource, subprocess, time
from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.labs.linux import Linux
from airtoll.study.cell import Cell

def spent_s():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime

def cost_s(namespace, rate_hz):
    before_s = spent_s()
    argv = ["nsenter", f"--net={{namespace}}", "--", str(binary.program()), "serve"]
    host = AgentHost("sta", Connection("sta", argv), argv[-2:-1])
    if rate_hz:
        with host.sampling(rate_hz, ["wlan0"], machine=False) as sampled:
            time.sleep({sampling_s})
        assert all(len(reading.peers["wlan0"]) == 1 for reading in sampled.readings)
    else:
        time.sleep({sampling_s})
    host.connection.close()
    return spent_s() - before_s

subprocess.run(["iw", "reg", "set", "US"], check=True)
time.sleep(1)
cell = Cell(
    lab="linux", topology="point-to-point", phy="vht", bandwidth=80, gi="long", rate="mcs7",
    transport="udp", ip="ipv4", packet_size=1408, security="ccmp",
)
with Linux(clock="real", own_radios=["phy0", "phy1"]).open(cell, seed=1) as link:
    namespace = link.hosts["sta"].namespace
    idle_s = cost_s(namespace, 0)
    for rate_hz in {rates_hz}:
        share = (cost_s(namespace, rate_hz) - idle_s) / {sampling_s}
        print(f"| {{rate_hz}} | {{100 * share:.2f}} | {{1e6 * share / rate_hz:.0f}} |")
"""


def _cost_s(rate_hz: float | None, interfaces: tuple[str, ...], *, machine: bool) -> float:
    """CPU time of an agent that samples for `SAMPLING_S`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    host = _connect()
    if rate_hz is None:
        time.sleep(SAMPLING_S)
    else:
        with host.sampling(rate_hz, interfaces, machine=machine):
            time.sleep(SAMPLING_S)
    host.connection.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def clock() -> str:
    """Error of clock offsets, and how often it is within the stated uncertainty."""
    host = _connect()
    found = [host.clock() for _ in range(TRIALS)]
    host.connection.close()
    errors_us = sorted(abs(one.offset_ns) / 1000 for one in found)
    within = sum(abs(one.offset_ns) <= one.uncertainty_ns for one in found)
    stated_us = median(one.uncertainty_ns / 1000 for one in found)
    row = f"| {median(errors_us):.1f} | {errors_us[-1]:.1f} | {stated_us:.1f} | {within} of {TRIALS} |"
    return "\n".join(
        [
            "## Clock offset",
            "",
            f"{TRIALS} offsets to the same clock, whose true offset is 0.",
            "",
            "| median error us | largest error us | median stated uncertainty us | within the stated uncertainty |",
            "| ---: | ---: | ---: | ---: |",
            row,
        ]
    )


if __name__ == "__main__":
    publish(
        "What the agent costs a host.",
        "# The agent\n\nMade by `make bench-agent WRITE=docs/measurements/agent.md`. The agent is a local process.",
        [size, start, sampling, radio, clock],
    )
