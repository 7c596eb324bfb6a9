"""What is measured: a cell, its replicates (runs) and the blocks that pair them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict

from airtoll.study import factors
from airtoll.study.factors import (
    CryptoAt,
    Direction,
    GuardInterval,
    Ip,
    Offered,
    Phy,
    Security,
    Snr,
    StackName,
    TcpSize,
    Topology,
    Transport,
)
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.probes import PROBES
from airtoll.study.values import key_of


def sealed_at(crypto_at: CryptoAt, security: Security) -> Literal["host", "card"]:
    """Where frames of this security level are sealed and opened."""
    if crypto_at == "by-suite":
        return "host" if security.startswith("enhanced") else "card"
    return crypto_at


class Cell(BaseModel):
    """One combination of factor levels."""

    # `factors` declares the factors. The order here is the order in records.

    model_config = ConfigDict(frozen=True, extra="forbid")

    lab: str
    topology: Topology
    phy: Phy
    bandwidth: int  # MHz
    gi: GuardInterval
    rate: str  # "54 Mbit/s" for dsss, ofdm and erp, "mcs7" for ht and vht
    transport: Transport
    ip: Ip
    packet_size: int  # bytes: payload of a UDP datagram, or of one write to a TCP socket
    security: Security
    # The factors with a default came after the first version: a digest omits them at their default (see plan).
    streams: int = factors.STREAMS.default  # spatial streams; an ht rate of mcs8 or more says itself how many
    stations: int = factors.STATIONS.default
    direction: Direction = factors.DIRECTION.default
    snr: Snr = factors.NOISE.default
    crypto_at: CryptoAt = factors.CRYPTO_AT.default
    stack: StackName = factors.STACK.default
    tcp_size: TcpSize = factors.TCP_SIZE.default
    offered: Offered = factors.OFFERED.default

    @property
    def sealed_at(self) -> Literal["host", "card"]:
        """Where the cell's frames are sealed and opened."""
        return sealed_at(self.crypto_at, self.security)


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


PublicationName = Literal["hayajneh-enhanced", "kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n"]
ProbeName = Annotated[str, *key_of(PROBES)]
StopRule = Literal["fixed", "precision", "agreement"]
UdpLoad = Literal["overload", "tcp"]


class Method(BaseModel):
    """How each cell is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repeats: int  # replicates of each cell that count; the most of them, where a rule may stop earlier
    discard_first: int  # replicates before those, measured but left out
    duration: float  # seconds of each probe's measured window
    warmup: float  # seconds before that window, measured but left out
    seed: int
    # With a default are those that came after the first version.
    probes: tuple[ProbeName, ...] = ("throughput", "rtt")
    stop: StopRule = "fixed"
    least_repeats: int = 2  # before a rule may stop
    within: float = (
        5.0  # precision: half width of the interval in % of the mean; agreement: of the larger of two
    )
    confidence: float = 95.0  # of that interval, in %
    udp_load: UdpLoad | float = "overload"  # in one run's method also Mbit/s of payload


class Plan(BaseModel):
    """Every run of a study, in the order in which they are done."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str
    method: Method
    link: LinkSettings = LinkSettings()
    stacks: dict[StackName, Stack] = {}
    runs: tuple[Run, ...]
