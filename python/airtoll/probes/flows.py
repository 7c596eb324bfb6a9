"""Who sends payload to whom in a cell: one flow for each station and direction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from airtoll.labs.base import Host, Link
from airtoll.probes.base import Sample
from airtoll.study.cell import Cell

PORT = 5201

Way = Literal["up", "down"]

ENDS: Mapping[Way, tuple[str, str]] = {"up": ("sta", "ap"), "down": ("ap", "sta")}
"""Who sends and who receives."""


@dataclass(frozen=True)
class Flow:
    """Payload from one host to another."""

    way: Way
    client: Host
    server: Host
    address: str  # the server's
    port: int
    station: str | None  # whose it is, where there are several
    share: float  # of what the link carries: with all flows of one way it makes 1, of both what each way gets

    @property
    def name(self) -> str:
        """What its files are called among those of others."""
        return f"iperf3-{self.way}{'' if self.station is None else f'-{self.station}'}"

    def label(self, sample: Sample) -> Sample:
        """The sample as one of this station's."""
        if self.station is None:
            return sample
        metric = "throughput_station" if sample.metric == "throughput" else sample.metric
        return replace(sample, metric=metric, endpoint=f"{sample.endpoint}/{self.station}")

    def said(self, fault: str) -> str:
        """The fault with this station's name."""
        return fault if self.station is None else f"{fault} ({self.station}, {self.way})"


def flows_of(link: Link, cell: Cell) -> list[Flow]:
    """Who sends to whom in this cell, each by a port of its own."""
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
    """What a flow gets of the link: of both ways, the access point contends as one of all senders."""
    if cell.direction != "both" or cell.topology == "through-ap":
        return 1 / pairs
    return 1 / (pairs + 1) if way == "up" else 1 / (pairs + 1) / pairs
