"""What is measured: a cell, its replicates (runs) and the blocks that pair them."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from airtoll.study.link import LinkSettings, Stack

Security = Literal[
    "open",
    "wep40",
    "wep104",
    "tkip",
    "ccmp",
    "ccmp256",
    "gcmp",
    "gcmp256",
    "enhanced1",
    "enhanced2",
    "enhanced4",
    "enhanced8",
]
"""Security levels, by hostapd's names where it has them; enhancedN is Enhanced CCMP in N lanes."""

Transport = Literal["tcp", "udp"]
Ip = Literal["ipv4", "ipv6"]
Phy = Literal["dsss", "ofdm", "erp", "ht", "vht"]
"""The standard's PHY names: dsss is 802.11b (clauses 15 and 16), ofdm 802.11a (17), erp 802.11g (18),
ht 802.11n (19), vht 802.11ac (21)."""

GuardInterval = Literal["long", "short"]
Topology = Literal["point-to-point", "wired-ap", "through-ap", "stations"]
"""Where the server is. point-to-point: the AP's host is itself the server, the station is the client;
wired-ap: behind the AP on a wire; through-ap: another station, so that every packet crosses the air twice;
stations: the AP's host, with any number of stations."""

Direction = Literal["up", "down", "both"]
"""Of the data: up is from the station."""

CryptoAt = Literal["host", "card", "by-suite"]
"""Where frames are sealed and opened: by the host's CPU, or by the processor of the wireless card. by-suite is the
comparison of Hayajneh et al.: the card seals by the standard's suites, the host by Enhanced CCMP."""


def sealed_at(crypto_at: CryptoAt, security: Security) -> Literal["host", "card"]:
    """Where frames of this security level are sealed and opened."""
    if crypto_at == "by-suite":
        return "host" if security.startswith("enhanced") else "card"
    return crypto_at


TcpSize = Literal["write", "mss"]
"""What the packet size is over TCP: the size of one write to the socket, or the payload of a segment."""

Offered = float | Literal["max"]
"""UDP payload that each sender offers, in Mbit/s; max: all of them together more than the link carries."""

StackName = str
"""Which settings the hosts' TCP/IP stacks have: a table [stack.NAME] of the study; default: the hosts' own."""

Snr = float | Literal["none"]
"""Signal-to-noise ratio in dB; none: no frame is lost to noise."""


class Cell(BaseModel):
    """One combination of factor levels."""

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
    # With a default are those that came after the first version: at it they stand in no digest (see plan).
    streams: int = 1  # spatial streams; an ht rate of mcs8 or more says itself how many
    stations: int = 1
    direction: Direction = "up"
    snr: Snr = "none"
    crypto_at: CryptoAt = "host"
    stack: StackName = "default"
    tcp_size: TcpSize = "write"
    offered: Offered = "max"

    @property
    def sealed_at(self) -> Literal["host", "card"]:
        """Where the cell's frames are sealed and opened."""
        return sealed_at(self.crypto_at, self.security)


LATER_FACTORS: Final = {
    name: field.default for name, field in Cell.model_fields.items() if not field.is_required()
}
"""The factors that are named only where they are not at their default, with that default."""


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
ProbeName = Literal["throughput", "rtt", "irtt", "ftp", "video", "engine"]
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
