"""What every probe gives back: samples, and the tools' own words beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from airtoll.labs.base import Link
from airtoll.study.cell import Cell, Method

Phase = Literal["warmup", "measure"]


@dataclass(frozen=True)
class Sample:
    """One value of one metric over one stretch of a run. A value that was not measured is None, never 0."""

    probe: str  # the tool: iperf3, sockperf, cpu, air
    metric: str  # throughput, rtt, jitter, datagrams_lost, ...
    unit: str  # bit/s, ms, %, 1
    endpoint: str  # where it was observed: ap, sta, machine, link
    direction: str  # up (station to AP), down, both, or "" where it has none
    t_ns: int  # start of the stretch, from the start of the probe
    dur_ns: int  # its length; 0 for an instant
    value: float | None
    phase: Phase = "measure"


@dataclass(frozen=True)
class Measurement:
    """All that one probe measured in one run."""

    samples: Sequence[Sample]
    raw: Mapping[str, bytes] = field(default_factory=dict)  # file name -> the tool's output, verbatim
    facts: Mapping[str, Any] = field(default_factory=dict)  # tool version, command lines, offered load
    faults: Sequence[str] = ()  # reasons that make the run invalid, one line each


class Probe(Protocol):
    """A way to measure a link."""

    name: str

    def missing(self) -> str | None:
        """What must be installed before this probe can work, or None if all is there."""
        ...

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once. Raises AirtollError when the tool fails, with its own last words."""
        ...
