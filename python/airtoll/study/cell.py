"""What is measured: a cell, its replicates (runs) and the blocks that pair them."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Security = Literal[
    "open",
    "wep40",
    "wep104",
    "tkip",
    "ccmp",
    "ccmp256",
    "gcmp",
    "gcmp256",
]
"""Security levels, by hostapd's names where it has them."""

Transport = Literal["tcp", "udp"]
Ip = Literal["ipv4", "ipv6"]
Phy = Literal["ofdm", "ht"]
"""The standard's PHY names: ofdm is 802.11a (clause 17), ht is 802.11n (clause 19)."""

GuardInterval = Literal["long", "short"]
Topology = Literal["point-to-point"]
"""point-to-point: the AP's host is itself the server, the station is the client."""


class Cell(BaseModel):
    """One combination of factor levels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lab: str
    topology: Topology
    phy: Phy
    bandwidth: int  # MHz
    gi: GuardInterval
    rate: str  # "54 Mbit/s" for ofdm, "mcs7" for ht
    transport: Transport
    ip: Ip
    packet_size: int  # bytes: payload of a UDP datagram, or of one write to a TCP socket
    security: Security


class Run(BaseModel):
    """One replicate of a cell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: int  # 1-based place in the plan; runs are done in this order
    block: int  # runs of one block differ in nothing but security
    replicate: int  # 1-based
    discard: bool  # one of the first replicates, measured and kept but left out of every figure
    seed: int  # the same for all runs of a block
    cell: Cell

    @property
    def id(self) -> str:
        """A name that is unique in the plan, sorts in running order and suits a directory."""
        c = self.cell
        return f"{self.order:04d}-{c.transport}-{c.ip}-{c.packet_size}-{c.security}"


class Method(BaseModel):
    """How each cell is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repeats: int  # replicates of each cell that count
    discard_first: int  # replicates before those, measured but left out
    duration: float  # seconds of each probe's measured window
    warmup: float  # seconds before that window, measured but left out
    seed: int


class Plan(BaseModel):
    """Every run of a study, in the order in which they are done."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str
    method: Method
    runs: tuple[Run, ...]
