"""The flows of a cell: one per station and direction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from airtoll.host import Host
from airtoll.labs.base import Link
from airtoll.probes.base import Sample
from airtoll.study.cell import Cell
from airtoll.study.factors import Transport

PORT = 5201

Way = Literal["up", "down"]

ENDS: Mapping[Way, tuple[str, str]] = {"up": ("sta", "ap"), "down": ("ap", "sta")}
"""Sender and receiver of each direction."""


@dataclass(frozen=True)
class Flow:
    """Payload from one host to another."""

    way: Way
    client: Host
    server: Host
    address: str  # the server's
    port: int
    station: str | None  # None if the cell has one station
    share: float  # of the link's capacity

    @property
    def name(self) -> str:
        """Base name of the flow's files when there are several flows."""
        return f"iperf3-{self.way}{'' if self.station is None else f'-{self.station}'}"

    def label(self, sample: Sample) -> Sample:
        """The sample, labelled with this flow's station."""
        if self.station is None:
            return sample
        metric = "throughput_station" if sample.metric == "throughput" else sample.metric
        return replace(sample, metric=metric, endpoint=f"{sample.endpoint}/{self.station}")

    def said(self, fault: str) -> str:
        """The fault, labelled with this flow's station."""
        return fault if self.station is None else f"{fault} ({self.station}, {self.way})"


def flows_of(link: Link, cell: Cell) -> list[Flow]:
    """The flows of the cell, each on its own port."""
    ways: tuple[Way, ...] = ("up", "down") if cell.direction == "both" else (cell.direction,)
    flows: list[Flow] = []
    for way in ways:
        for station, other in link.pairs:
            client, server = (station, other) if way == "up" else (other, station)
            flows.append(
                Flow(
                    way,
                    link.hosts[client],
                    link.hosts[server],
                    link.addresses[server, cell.ip],
                    PORT + len(flows),
                    station if len(link.pairs) > 1 else None,
                    _share(way, cell, len(link.pairs)),
                )
            )
    return flows


def _share(way: Way, cell: Cell, pairs: int) -> float:
    """A flow's share of the link's capacity. With direction `both`, the access point contends as one sender."""
    if cell.direction != "both" or cell.topology == "through-ap":
        return 1 / pairs
    return 1 / (pairs + 1) if way == "up" else 1 / (pairs + 1) / pairs


def zeros_allowed(transport: Transport, intervals: int) -> int:
    """How many intervals of throughput of a valid flow may be zero.

    TCP delivers nothing while it repairs a loss, which takes a round trip through the sender's full queue: up to 0.3 s
    at 6 Mbit/s.
    """
    return intervals // 2 if transport == "tcp" else 0
