"""The factors of a study, each declared once: its levels, unit, default, labs, option and words.

The tables `[factors]` and `[quick.factors]` of a study file, the JSON Schema, the defaults of a cell, the words of a
scenario, the options of `airtoll simulate`, the columns of CSV files and the phrases of reports all derive from these
declarations. A new factor is one declaration here and one typed line in `Cell` (and in `Scenario`, if the medium knows
it). A test compares both classes with the declarations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from airtoll.study import phys
from airtoll.study.phys import PHYS
from airtoll.study.quantity import BANDWIDTH, DATA_RATE, PACKET_SIZE, SNR, Quantity, one_of
from airtoll.study.security import READY_MADE, Security
from airtoll.study.values import (
    LEVELS,
    Bandwidth,
    Name,
    OfferedLevel,
    PacketSize,
    Rate,
    SnrLevel,
    Stations,
    Streams,
    key_of,
    name_of,
    setting,
)

Transport = Literal["tcp", "udp"]
Ip = Literal["ipv4", "ipv6"]
Phy = Annotated[str, *key_of(PHYS, aliases=phys.ALIASES)]
"""The standard's PHY names, such as ht for 802.11n."""

GuardInterval = Literal["long", "short"]
Topology = Literal["point-to-point", "wired-ap", "through-ap", "stations"]
"""The place of the server. point-to-point: the AP's host is the server, the station is the client; wired-ap: on a wire
behind the AP; through-ap: on another station, so that every packet crosses the air twice; stations: the AP's host, with
any number of stations."""

Direction = Literal["up", "down", "both"]
"""Direction of the data: up is from the station."""

CryptoAt = Literal["host", "card", "by-suite"]
"""The place where frames are sealed and opened: the host's CPU or the processor of the wireless card. by-suite is the
comparison of Hayajneh et al.: the card seals the standard's suites, the host seals Enhanced CCMP."""

TcpSize = Literal["write", "mss"]
"""Meaning of the packet size over TCP: the size of one write to the socket, or the payload of a segment."""

Offered = float | Literal["max"]
"""UDP payload per sender, in Mbit/s; max: all senders together offer more than the link carries."""

StackName = str
"""TCP/IP stack settings of the hosts: a table [stack.NAME] of the study; default: the hosts' own settings."""

Snr = float | Literal["none"]
"""Signal-to-noise ratio in dB; none: no frame is lost to noise."""

UNKNOWN: Final = "unknown"
"""The level of a factor that neither an imported file nor its owner tells. Only cells of imported results have it."""


class OrUnknown:
    """Adds UNKNOWN to the type of a factor in a record. The type for code is that of known levels: labs, which rely on
    it, never measure imported cells.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        known = handler(source)
        return core_schema.union_schema(
            [core_schema.literal_schema([UNKNOWN]), known],
            mode="left_to_right",
            custom_error_type="level",
            custom_error_message=f"a level or '{UNKNOWN}'",
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        known = handler(schema)
        return known if "anyOf" in known else {"anyOf": [{"const": UNKNOWN, "type": "string"}, known]}


# Types of one level of each factor in a study file.
SecurityLevel = Security
TransportLevel = Annotated[Transport, *name_of(Transport)]
IpLevel = Annotated[Ip, *name_of(Ip)]
PhyLevel = Phy
GiLevel = Annotated[GuardInterval, *name_of(GuardInterval)]
TopologyLevel = Annotated[Topology, *name_of(Topology)]
DirectionLevel = Annotated[Direction, *name_of(Direction)]
CryptoAtLevel = Annotated[CryptoAt, *name_of(CryptoAt)]
TcpSizeLevel = Annotated[TcpSize, *name_of(TcpSize)]


@dataclass(frozen=True)
class Word:
    """The scenario key of a factor, which is also an option of `airtoll simulate` and `airtoll model`."""

    text: str  # description of the key, and help of the option
    default: Any  # None: the medium chooses
    panel: str  # as in `Option`
    metavar: str = "NAME"  # as in `Option`


@dataclass(frozen=True, kw_only=True)
class Factor:
    """One factor of a study: its levels, and its names in each part of the program."""

    name: str
    level: Any  # the annotated type that checks one level
    text: str  # description of the key in [factors]
    several: str  # the levels in words, for [quick.factors] and [[factors.where]]: "Packet sizes"
    measured_in: str = ""  # the unit in words, for the same tables: ", in bytes"
    unit: Quantity | None = None  # None: a level is text, or a number without a unit
    listed: tuple[str, ...] = ()  # the levels, if their type does not list them
    default: Any = None  # the single level if the file names none; None: the key is required
    first_version: bool = False  # every cell names it; other factors are named only when not at their default
    labs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # levels of labs that support only some
    at_access_point: bool = False  # a change of level is a change of the access point's settings
    word: Word | None = None  # None: scenarios do not have the key
    column: str = ""  # header of its CSV column, if not the name
    named: Mapping[str, str] = field(default_factory=dict)  # report texts of levels
    phrase: str = "{}"  # report text of a level that is not in `named`

    def levels(self) -> tuple[Any, Any]:
        """Type and field of the key in [factors], for pydantic."""
        default = ... if self.default is None else (self.default,)
        return self._listed(), Field(default, description=self.text)

    def some(self, use: str) -> tuple[Any, Any]:
        """Type and field of an optional key with some levels, for pydantic. `use` says what they are for."""
        text = f"{self.several} {use}{self.measured_in}."
        return self._listed() | None, Field(default=None, description=text)

    def _listed(self) -> Any:
        level = self.level
        return Annotated[tuple[level, ...], *LEVELS]  # type: ignore[valid-type]

    def spoken(self) -> Any:
        """The scenario key, as a pydantic field."""
        assert self.word is not None, self.name
        return setting(self.word.text, self.word.panel, self.word.metavar, default=self.word.default)

    def choices(self) -> tuple[Any, ...]:
        """The levels, if they can be listed; otherwise empty."""
        of_type = self.unit.values if self.unit else get_args(get_args(self.level)[0])
        return self.listed or tuple(of_type)

    def level_text(self, level: str | float) -> str:
        """A level in the syntax of a study file: with its unit, if it has one."""
        return str(level) if isinstance(level, str) or self.unit is None else self.unit.text(level)

    def phrase_of(self, level: Any) -> str:
        """A level as text of a report."""
        if level == UNKNOWN:
            return f"{self.name.replace('_', ' ')} unknown"
        return self.named[level] if level in self.named else self.phrase.format(level)


SECURITY: Final = Factor(
    name="security",
    level=SecurityLevel,
    text=f"Security levels: {one_of(tuple(READY_MADE))}; others are tables [security.NAME]. "
    "All levels of an otherwise equal cell are measured together, in a block.",
    several="Security levels",
    first_version=True,
    at_access_point=True,
    listed=tuple(READY_MADE),
    word=Word("Security level, spelled as in studies.", "open", "Security"),
    named={name: profile.title for name, profile in READY_MADE.items() if profile.title},
)
TRANSPORT: Final = Factor(
    name="transport",
    level=TransportLevel,
    text=f"Transport protocols: {one_of(get_args(Transport))}.",
    several="Transport protocols",
    first_version=True,
    word=Word("Transport protocol: udp or tcp.", "udp", "Traffic"),
    named={"tcp": "TCP", "udp": "UDP"},
)
IP: Final = Factor(
    name="ip",
    level=IpLevel,
    text=f"Internet Protocol versions: {one_of(get_args(Ip))}.",
    several="Internet Protocol versions",
    first_version=True,
    word=Word("ipv4 or ipv6.", "ipv4", "Traffic"),
    named={"ipv4": "IPv4", "ipv6": "IPv6"},
)
SIZE: Final = Factor(
    name="packet_size",
    level=PacketSize,
    text="Packet sizes in bytes: the payload of a UDP datagram, or the size of one write to a TCP socket; "
    "16 B to 1472 B, or to 1452 B for UDP over IPv6.",
    several="Packet sizes",
    measured_in=", in bytes",
    unit=PACKET_SIZE,
    first_version=True,
    word=Word(
        "UDP payload in bytes, like iperf3's -l; bulk TCP sends full segments at every size.",
        1472,
        "Traffic",
        "BYTES",
    ),
    column="packet_size_byte",
    phrase="{} B",
)
PHY: Final = Factor(
    name="phy",
    level=PhyLevel,
    text=f"PHYs: {phys.names()}.",
    several="PHYs",
    first_version=True,
    at_access_point=True,
    listed=tuple(PHYS),
    word=Word(f"PHY: {phys.names()}.", "ofdm", "PHY"),
    named={word: phy.amendment for word, phy in PHYS.items()},
)
RATE: Final = Factor(
    name="rate",
    level=Rate,
    text=f"PHY data rates: in Mbit/s for {phys.non_ht_names(with_rates=True)}, {phys.mcs_ranges()}. "
    "Every PHY of the study must support every rate.",
    several="PHY data rates",
    measured_in=f", in Mbit/s or as {phys.MCS[0]} to {phys.MCS[-1]}",
    first_version=True,
    word=Word(
        f"PHY rate: in Mbit/s for {phys.non_ht_names(with_rates=False)}, {phys.mcs_ranges()}; "
        f"default: {phys.usual_rates()}.",
        None,
        "PHY",
        "RATE",
    ),
    named={mcs: mcs.upper() for mcs in phys.MCS},
)
WIDTH: Final = Factor(
    name="bandwidth",
    level=Bandwidth,
    text=f"Channel widths in MHz; {phys.widths_with_requirements()}.",
    several="Channel widths",
    measured_in=", in MHz",
    unit=BANDWIDTH,
    default=20,
    first_version=True,
    at_access_point=True,
    word=Word(f"Channel width in MHz: {one_of([str(mhz) for mhz in BANDWIDTH.values])}.", 20, "PHY", "MHZ"),
    column="bandwidth_mhz",
    phrase="{} MHz",
)
GI: Final = Factor(
    name="gi",
    level=GiLevel,
    text=f"Guard intervals: long is 0.8 us; short is 0.4 us and requires phy {phys.with_short_gi()}.",
    several="Guard intervals",
    default="long",
    first_version=True,
    word=Word("Guard interval: long is 0.8 us, short 0.4 us.", "long", "PHY"),
    phrase="{} guard interval",
)
TOPOLOGY: Final = Factor(
    name="topology",
    level=TopologyLevel,
    text="Place of the server: point-to-point and stations: on the access point's host, with one "
    "station or any number; wired-ap: behind the access point; through-ap: on another station.",
    several="Topologies",
    default="point-to-point",
    first_version=True,
    word=Word(
        "Place of the server: point-to-point, wired-ap, through-ap or stations; default: point-to-point "
        "for one station, stations for several.",
        None,
        "Stations",
    ),
)
STREAMS: Final = Factor(
    name="streams",
    level=Streams,
    text=f"Spatial streams, 1 to {phys.STREAMS_MAX}; {phys.streams_limits()}.",
    several="Numbers of spatial streams",
    default=1,
    word=Word(f"Spatial streams, 1 to {phys.STREAMS_MAX}.", 1, "PHY", "N"),
    phrase="spatial streams: {}",
)
STATIONS: Final = Factor(
    name="stations",
    level=Stations,
    text="Contending stations; more than one requires a topology.",
    several="Numbers of stations",
    default=1,
    # One machine runs a measuring program per station, or per pair of stations with topology through-ap.
    labs={"air": tuple(range(1, 17))},
    word=Word("Number of stations, without the access point.", 1, "Stations", "N"),
    phrase="stations: {}",
)
DIRECTION: Final = Factor(
    name="direction",
    level=DirectionLevel,
    text="Direction of the data: up is from the stations, down is to them, or both.",
    several="Directions",
    default="up",
    word=Word("Direction of the data: up (from the stations), down or both.", "up", "Stations"),
    phrase="direction: {}",
)
NOISE: Final = Factor(
    name="snr",
    level=SnrLevel,
    text="Signal-to-noise ratios in dB; with none, no frame is lost to noise.",
    several="Signal-to-noise ratios",
    measured_in=", in dB",
    unit=SNR,
    default="none",
    word=Word(
        "Signal-to-noise ratio in dB, or a matrix of ratios (from, to); with none, no frame is lost to noise.",
        "none",
        "Channel",
        "DB",
    ),
    named={"none": "no noise"},
    phrase="SNR {:g} dB",
)
CRYPTO_AT: Final = Factor(
    name="crypto_at",
    level=CryptoAtLevel,
    text="Where frames are sealed and opened: host is the host's CPU, card the card's processor; by-suite is the "
    "host for Enhanced CCMP and the card otherwise.",
    several="Crypto locations",
    default="host",
    word=Word("Where frames are sealed and opened: host or card.", "host", "Security"),
    named={"host": "crypto on the host", "card": "crypto on the card", "by-suite": "crypto by suite"},
)
STACK: Final = Factor(
    name="stack",
    level=Name,
    text="TCP/IP stacks of the hosts: default is their own; others are tables [stack.NAME].",
    several="TCP/IP stacks",
    default="default",
)
TCP_SIZE: Final = Factor(
    name="tcp_size",
    level=TcpSizeLevel,
    text="Meaning of the packet size over TCP: write is the size of one write to the socket, mss is the payload "
    "of a segment.",
    several="Meanings of TCP's packet size",
    default="write",
    named={"write": "packet size of writes", "mss": "packet size of TCP segments"},
)
OFFERED: Final = Factor(
    name="offered",
    level=OfferedLevel,
    text="UDP payload that each sender offers, in Mbit/s; max exceeds the link's capacity.",
    several="Offered loads",
    measured_in=", in Mbit/s",
    unit=DATA_RATE,
    default="max",
    word=Word(
        "UDP payload that each sender offers, in Mbit/s; default: saturated.",
        None,
        "Traffic",
        "MBIT/S",
    ),
    named={"max": "as much as the link carries"},
    phrase="{:g} Mbit/s offered",
)

FACTORS: Final[Mapping[str, Factor]] = {
    factor.name: factor
    for factor in (
        *(SECURITY, TRANSPORT, IP, SIZE, PHY, RATE, WIDTH, GI, TOPOLOGY, STREAMS, STATIONS, DIRECTION),
        *(NOISE, CRYPTO_AT, STACK, TCP_SIZE, OFFERED),
    )
}
"""Every factor by name, in the order of a study file."""

LATER_FACTORS: Final[Mapping[str, Any]] = {
    name: factor.default for name, factor in FACTORS.items() if not factor.first_version
}
"""Factors that are named only when not at their default, with that default."""

AP_FACTORS: Final = tuple(name for name, factor in FACTORS.items() if factor.at_access_point)
"""The factors that are settings of the access point. Other factors change at stations and servers alone."""


def level_text(factor: str, level: str | float) -> str:
    """A level in the syntax of a study file: with its unit, if it has one. `factor` may be the lab."""
    return FACTORS[factor].level_text(level) if factor in FACTORS else str(level)


def level_order(level: str | float) -> tuple[bool, str | float]:
    """Sort key for the levels of a factor: numbers before names, because snr has both."""
    return isinstance(level, str), level
