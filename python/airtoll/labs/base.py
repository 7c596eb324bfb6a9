"""What every lab offers: hosts to run commands on, their addresses, and facts about the link between them."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from airtoll.study.cell import Cell
from airtoll.study.factors import Ip

_ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Host(Protocol):
    """A machine, or something that acts as one: a network namespace, a guest, a machine behind ssh."""

    name: str

    def popen(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command on the host with stdout and stderr piped; killing the process kills the command."""
        ...

    def run(self, argv: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end; raises subprocess.TimeoutExpired after killing it."""
        ...

    def facts(self) -> dict[str, Any]:
        """What a reader needs to know about the machine: kernel, CPU, cores, TCP settings."""
        ...

    def cpu(self) -> "CpuTimes":
        """CPU time of the whole machine so far."""
        ...


@dataclass(frozen=True)
class CpuTimes:
    """CPU time summed over all cores since boot."""

    busy_s: float
    idle_s: float


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a probe may ask of a link, whatever the lab. None: the lab does not say."""

    capacity_open_bit_per_s: float | None = None  # UDP payload that the link carries without security
    rate_kbit_per_s: float | None = None  # PHY rate of data frames
    seed: int | None = None  # of the run
    congestion_control: str | None = None  # of TCP, where the study sets it; likewise the next two
    tcp_window_bytes: int | None = None
    udp_buffer_bytes: int | None = None


@dataclass(frozen=True)
class Link:
    """Hosts joined by the thing that is measured."""

    hosts: Mapping[
        str, Host
    ]  # by role: "ap"; "sta", or "sta1", "sta2"...; "server"; none where time is virtual
    addresses: Mapping[tuple[str, Ip], str]  # (role, IP version) -> address
    facts: Mapping[str, Any]  # for the record alone: PHY, rate, cipher, queue, scheduling
    counters: "Counters" = field(repr=False)
    pairs: tuple[tuple[str, str], ...] = (("sta", "ap"),)
    """Who talks to whom, by role: a station, and who is the server to it; all pairs talk at the same time."""

    known: Known = Known()
    """What probes rely on. A probe reads nothing from `facts`."""


class Counters(Protocol):
    """What the link itself counted since it was opened."""

    def __call__(self) -> dict[str, Any]:
        """Totals since the link was opened; docs/reference/data-format.md lists the keys."""
        ...


class Lab(Protocol):
    """Where a cell is measured."""

    name: str
    virtual: bool
    """Whether time is virtual: a run is over at once, can be repeated exactly, and has no capture of the air."""

    def check(self, cell: Cell) -> str | None:
        """Why this lab cannot do the cell on any machine, or None if it can."""
        ...

    def missing(self) -> str | None:
        """What keeps the lab from working on this machine, with the remedy; None if nothing does."""
        ...

    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> AbstractContextManager[Link]:
        """Bring the link up; leaving the context takes everything down again."""
        ...


def last_words(*outputs: bytes) -> str:
    """What a failed tool says is wrong: the last line of its first output that has one, without colours."""
    for output in outputs:
        text = _ANSI_COLOUR.sub("", output.decode(errors="replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1]
    return "it printed nothing"
