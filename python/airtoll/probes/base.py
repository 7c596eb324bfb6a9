"""The result of every probe: samples, and the tools' verbatim output."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from airtoll.labs.base import Link
from airtoll.study.cell import Cell, Method

Phase = Literal["warmup", "measure"]

Lacks = Callable[[Mapping[str, str]], str | None]
"""Returns the first command that hosts lack (command -> Debian package), with the remedy, or None."""


@dataclass(frozen=True)
class Sample:
    """One value of one metric over one interval of a run. A value that was not measured is None, never 0."""

    probe: str  # the tool: iperf3, sockperf, cpu, air
    metric: str  # throughput, rtt, jitter, datagrams_lost, ...
    unit: str  # bit/s, ms, %, 1
    endpoint: str  # where it was observed: ap, sta, machine, link
    direction: str  # up (station to AP), down, both, or "" if the metric has no direction
    t_ns: int  # start of the interval, from the start of the probe
    dur_ns: int  # length of the interval; 0 for an instant
    value: float | None
    phase: Phase = "measure"


@dataclass(frozen=True)
class Measurement:
    """Everything that one probe measured in one run."""

    samples: Sequence[Sample]
    raw: Mapping[str, bytes] = field(default_factory=dict)  # file name -> the tool's output, verbatim
    facts: Mapping[str, Any] = field(default_factory=dict)  # tool version, command lines, offered load
    faults: Sequence[str] = ()  # reasons why the run is invalid, one line each


class Probe(Protocol):
    """A way to measure a link."""

    name: str

    def missing(self, lacks: Lacks) -> str | None:
        """Return what must be installed before this probe can run, or None. `lacks` asks the hosts for commands."""
        ...

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError with the tool's own last words if the tool fails."""
        ...
