"""Measure the agent: size of its program, start, cost of sampling, and error of clock offsets.

The agent runs on this machine, through its standard streams or behind SSH. Its clock is this machine's: the true offset
is 0.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from page import publish

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from ssh_server import write_ssh

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.agent.ssh import Ssh

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
    return AgentHost(Connection("machine", [str(binary.local()), "serve"]))


@contextmanager
def _local() -> Iterator[AgentHost]:
    """An agent that is a local process."""
    host = _connect()
    yield host
    host.connection.close()


@contextmanager
def _behind_ssh(config: Path) -> Iterator[AgentHost]:
    """An agent behind an SSH server of this machine, through a new connection."""
    with Ssh("machine", "machine", ["-F", str(config)]) as way:
        host = way.connect()
        yield host
        host.connection.close()


def _ways(folder: str) -> dict[str, Callable[[], AbstractContextManager[AgentHost]]]:
    config = write_ssh(Path(folder))
    return {"local process": _local, "SSH": lambda: _behind_ssh(config)}


def size() -> str:
    """Size of the programs that the build made."""
    rows = [
        f"| {file.name.removeprefix('airtoll-agent-')} | {file.stat().st_size / 1e6:.2f} |"
        for file in sorted(binary.FOLDER.glob("airtoll-agent-*"))
    ]
    return "\n".join(["## Program", "", "| architecture | MB |", "| --- | ---: |", *rows])


def start() -> str:
    """Time from the start of the process, or of the connection, to the agent's first frame."""
    rows = []
    with TemporaryDirectory() as folder:
        for name, way in _ways(folder).items():
            with way():  # SSH copies the program the first time
                pass
            taken_ms = []
            for _ in range(STARTS):
                began = time.perf_counter()
                with way():
                    taken_ms.append(1000 * (time.perf_counter() - began))
            rows.append(f"| {name} | {median(taken_ms):.1f} | {max(taken_ms):.1f} |")
    return "\n".join(
        [
            "## Start to ready",
            "",
            f"{STARTS} starts each. SSH opens a new connection, and checks the copy of the program.",
            "",
            "| agent | median ms | most ms |",
            "| --- | ---: | ---: |",
            *rows,
        ]
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
            "The interface is that of loopback: a radio also has peers and a channel.",
            "",
            "| readings | per second | CPU % | us per reading |",
            "| --- | ---: | ---: | ---: |",
            *rows,
        ]
    )


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
    rows = []
    with TemporaryDirectory() as folder:
        for name, way in _ways(folder).items():
            with way() as host:
                found = [host.clock() for _ in range(TRIALS)]
            errors_us = sorted(abs(one.offset_ns) / 1000 for one in found)
            within = sum(abs(one.offset_ns) <= one.uncertainty_ns for one in found)
            stated_us = median(one.uncertainty_ns / 1000 for one in found)
            rows.append(
                f"| {name} | {median(errors_us):.1f} | {errors_us[-1]:.1f} | {stated_us:.1f} | "
                f"{within} of {TRIALS} |"
            )
    return "\n".join(
        [
            "## Clock offset",
            "",
            f"{TRIALS} offsets each to the same clock, whose true offset is 0.",
            "",
            "| agent | median error us | largest error us | median stated uncertainty us | "
            "within the stated uncertainty |",
            "| --- | ---: | ---: | ---: | ---: |",
            *rows,
        ]
    )


if __name__ == "__main__":
    publish(
        "What the agent costs a host.",
        "# The agent\n\n"
        "A local agent is ready within some milliseconds, an agent behind SSH within a quarter of a second. Ten\n"
        "readings per second take less than 0.2 % of a core, and the true clock offset is within the stated\n"
        "uncertainty.\n\n"
        "Made by `make bench-agent WRITE=docs/measurements/agent.md`. The agent is a local process, or "
        "behind an\nSSH server of the same machine.",
        [size, start, sampling, clock],
    )
