"""The units of measurement: a cell, its replicates (runs), and the blocks and sessions that group them."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, FailFast, Field, model_validator

from airtoll.clock import Clock
from airtoll.errors import UsageError
from airtoll.study import factors
from airtoll.study.claims import ClaimTable
from airtoll.study.factors import (
    AP_FACTORS,
    UNKNOWN,
    CryptoAt,
    Direction,
    GuardInterval,
    Ip,
    Offered,
    OrUnknown,
    Phy,
    Snr,
    StackName,
    TcpSize,
    Topology,
    Transport,
)
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.phys import STREAMS_MAX
from airtoll.study.probes import DEFAULT_PROBES, PROBES
from airtoll.study.security import READY_MADE, Security, SecurityProfile, is_enhanced, undeclared
from airtoll.study.values import STATIONS_MAX, key_of

RETRIES_MOST = 5
"""The largest number of repeats of an invalid run."""

_Count = Annotated[int, Field(ge=0, lt=2**31)]
_Seed = Annotated[int, Field(ge=0, lt=2**64)]


def sealed_at(crypto_at: CryptoAt, security: Security) -> Literal["host", "card"]:
    """The place where frames of this cipher are sealed and opened."""
    if crypto_at == "by-suite":
        return "host" if is_enhanced(security) else "card"
    return crypto_at


class Cell(BaseModel):
    """One combination of factor levels."""

    # `factors` declares the factors. This order is the order in records.

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    lab: str
    topology: Annotated[Topology, OrUnknown()]
    phy: Annotated[Phy, OrUnknown()]
    bandwidth: Annotated[_Count, OrUnknown()]  # MHz
    gi: Annotated[GuardInterval, OrUnknown()]
    rate: str  # "54 Mbit/s" for dsss, ofdm and erp, "mcs7" for ht and vht; "auto", "unknown"
    transport: Annotated[Transport, OrUnknown()]
    ip: Annotated[Ip, OrUnknown()]
    # Bytes: payload of a UDP datagram, or size of one write to a TCP socket.
    packet_size: Annotated[_Count, OrUnknown()]
    security: Security
    # Factors with a default were added after the first version. A digest omits them at their default (see plan).
    # Spatial streams; ht rates from mcs8 imply their own number.
    streams: Annotated[int, Field(ge=1, le=STREAMS_MAX)] = factors.STREAMS.default
    stations: Annotated[int, Field(ge=1, le=STATIONS_MAX)] = factors.STATIONS.default
    direction: Direction = factors.DIRECTION.default
    snr: Snr = factors.NOISE.default
    crypto_at: CryptoAt = factors.CRYPTO_AT.default
    stack: StackName = factors.STACK.default
    tcp_size: TcpSize = factors.TCP_SIZE.default
    offered: Offered = factors.OFFERED.default

    @property
    def sealed_at(self) -> Literal["host", "card"]:
        """The place where the cell's frames are sealed and opened."""
        return sealed_at(self.crypto_at, self.security)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The factors whose level is not known. A prediction requires all of them."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) == UNKNOWN)

    @property
    def ap_setting(self) -> tuple[Any, ...]:
        """The levels that are settings of the access point, in the order of `AP_FACTORS`."""
        return tuple(getattr(self, name) for name in AP_FACTORS)


def resolved(
    cell: Cell,
    link: LinkSettings,
    stacks: Mapping[StackName, Stack],
    profiles: Mapping[str, SecurityProfile],
) -> tuple[Cell, LinkSettings]:
    """The cell on its link: with the level of its cipher, and the settings of the link with those of its levels, its
    stack and its security profile.

    `profiles` is the result of `security.with_ready_made`. Raises UsageError if it does not contain the cell's level.
    """
    if (profile := profiles.get(cell.security)) is None:
        raise UsageError(f"security: {undeclared(cell.security, profiles)}")
    on_link = link.at(cell.model_dump()).with_stack(stacks.get(cell.stack)).with_profile(profile)
    return cell.model_copy(update={"security": profile.cipher}), on_link


class Run(BaseModel):
    """One replicate of a cell."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    order: _Count  # 1-based position in the plan; runs are executed in this order, except repeats
    block: _Count  # runs that are compared: they differ only in security, or are one session of every setting
    replicate: _Count  # 1-based
    discard: bool  # one of the first replicates: measured and stored, but excluded from every statistic
    seed: _Seed  # shared by the runs of a replicate that differ only in security
    cell: Cell
    # Keys with a default were added after the first version.
    session: _Count | None = None  # 1-based; has one setting of the access point. None: switching by block
    attempt: Annotated[int, Field(ge=1, le=RETRIES_MOST + 1)] = (
        1  # above 1: repeats the run of the plan, whose earlier attempts are invalid
    )

    @property
    def id(self) -> str:
        """A name that is unique in the result, sorts in the order of the plan and is a valid directory name."""
        c = self.cell
        repeated = f"-attempt{self.attempt}" if self.attempt > 1 else ""
        return f"{self.order:04d}-{c.transport}-{c.ip}-{c.packet_size}-{c.security}{repeated}"

    @property
    def round(self) -> int:
        """The number that runs of different cells share if they are compared with each other."""
        return self.replicate if self.session is None else self.block


PublicationName = Literal["hayajneh-enhanced", "kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n"]
"""The papers whose figures airtoll contains."""

ProbeName = Annotated[str, *key_of(PROBES)]
StopRule = Literal["fixed", "precision", "agreement"]
UdpLoad = Literal["overload", "tcp"]
Switching = Literal["block", "session"]


class Method(BaseModel):
    """How each cell is measured."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    repeats: _Count  # counted replicates per cell; with a stopping rule, the maximum
    discard_first: _Count  # replicates before those, measured but excluded
    duration: float  # seconds of each probe's measured window
    warmup: float  # seconds before that window, measured but excluded
    seed: _Seed
    # Keys with a default were added after the first version.
    probes: Annotated[tuple[ProbeName, ...], FailFast()] = DEFAULT_PROBES
    stop: StopRule = "fixed"
    least_repeats: _Count = 2  # minimum before a rule may stop
    within: float = 5.0  # in %: half the interval of the mean; for agreement, the difference
    confidence: float = 95.0  # of that interval, in %
    udp_load: UdpLoad | float = "overload"  # in the method of one run also Mbit/s of payload
    rtt_pause: float = 0.0  # seconds between a response and the next request of probe rtt
    switching: Switching = "block"  # when the access point changes its settings
    sessions: _Count = 4  # of each setting, if switching is by session
    # How often an invalid run is repeated; `Course` also limits the repeats of a study. A reader lists all attempts.
    retries: Annotated[int, Field(ge=0, le=RETRIES_MOST)] = 0


class Plan(BaseModel):
    """Every run of a study, in execution order."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    study: str
    method: Method
    link: LinkSettings = Field(default_factory=LinkSettings)
    stacks: dict[StackName, Stack] = {}
    profiles: dict[Security, SecurityProfile] = {}  # of the study's tables, in their order
    clock: Clock = "real"
    clock_reason: str | None = None  # why airtoll selected the clock; None: the study or an option names it
    radios: Annotated[tuple[str, ...], FailFast()] = ()  # of this machine, for lab linux
    # The file with the machines of lab hosts, for the record: an inventory runs commands, so no plan chooses one.
    inventory: str | None = None
    inventory_sha256: str | None = None  # in hexadecimal digits
    claims: Annotated[tuple[ClaimTable, ...], FailFast()] = ()  # of the study's tables, in their order
    runs: Annotated[tuple[Run, ...], FailFast()]

    def attempts(self) -> Iterator[Run]:
        """Every run, each followed by the repeats that it may have."""
        for run in self.runs:
            yield run
            for attempt in range(2, self.method.retries + 2):
                yield run.model_copy(update={"attempt": attempt})

    @model_validator(mode="after")
    def _declares_its_levels(self) -> Self:
        for level in dict.fromkeys(run.cell.security for run in self.runs):
            if level not in READY_MADE and level not in self.profiles:
                raise ValueError(undeclared(level, self.profiles))
        return self
