"""The study file as models: every key with its type, unit, default and description.

docs/reference/study.schema.json is made from these models and from nothing else:
`python -c "from airtoll.study import schema_text; print(schema_text(), end='')" > docs/reference/study.schema.json`.
"""

import json
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from airtoll.study import cell
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.quantity import BANDWIDTH, DATA_RATE, PACKET_SIZE, SNR, one_of
from airtoll.study.values import (
    FORGEABLE,
    LEVELS,
    Bandwidth,
    Confidence,
    Duration,
    LabName,
    Name,
    OfferedLevel,
    PacketSize,
    Percent,
    Rate,
    Seed,
    SnrLevel,
    Stations,
    Streams,
    Text,
    Title,
    Warmup,
    integer,
    name_of,
)

Repeats = Annotated[int, *integer(1, 1000)]
Discard = Annotated[int, *integer(0, 1000)]

Securities = Annotated[tuple[Annotated[cell.Security, *name_of(cell.Security, FORGEABLE)], ...], *LEVELS]
Transports = Annotated[tuple[Annotated[cell.Transport, *name_of(cell.Transport)], ...], *LEVELS]
Ips = Annotated[tuple[Annotated[cell.Ip, *name_of(cell.Ip)], ...], *LEVELS]
PacketSizes = Annotated[tuple[PacketSize, ...], *LEVELS]
Phys = Annotated[tuple[Annotated[cell.Phy, *name_of(cell.Phy)], ...], *LEVELS]
Rates = Annotated[tuple[Rate, ...], *LEVELS]
Bandwidths = Annotated[tuple[Bandwidth, ...], *LEVELS]
Gis = Annotated[tuple[Annotated[cell.GuardInterval, *name_of(cell.GuardInterval)], ...], *LEVELS]
Topologies = Annotated[tuple[Annotated[cell.Topology, *name_of(cell.Topology)], ...], *LEVELS]
StreamCounts = Annotated[tuple[Streams, ...], *LEVELS]
StationCounts = Annotated[tuple[Stations, ...], *LEVELS]
Directions = Annotated[tuple[Annotated[cell.Direction, *name_of(cell.Direction)], ...], *LEVELS]
Snrs = Annotated[tuple[SnrLevel, ...], *LEVELS]
CryptoPlaces = Annotated[tuple[Annotated[cell.CryptoAt, *name_of(cell.CryptoAt)], ...], *LEVELS]
StackNames = Annotated[tuple[Name, ...], *LEVELS]
TcpSizes = Annotated[tuple[Annotated[cell.TcpSize, *name_of(cell.TcpSize)], ...], *LEVELS]
Offers = Annotated[tuple[OfferedLevel, ...], *LEVELS]
Probes = Annotated[tuple[Annotated[cell.ProbeName, *name_of(cell.ProbeName)], ...], *LEVELS]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Factors(_Table):
    """The levels of each factor; every combination of them is a cell."""

    security: Securities = Field(
        description=f"Security levels: {one_of(get_args(cell.Security))}. "
        "All levels of an otherwise equal cell are measured together, in a block."
    )
    transport: Transports = Field(description=f"Transport protocols: {one_of(get_args(cell.Transport))}.")
    ip: Ips = Field(description=f"Internet Protocol versions: {one_of(get_args(cell.Ip))}.")
    packet_size: PacketSizes = Field(
        description="Packet sizes in bytes: the payload of a UDP datagram, or of one write to a TCP socket; "
        "16 B to 1472 B, and to 1452 B for UDP over IPv6."
    )
    phy: Phys = Field(
        description="PHYs: dsss is 802.11b, ofdm 802.11a, erp 802.11g, ht 802.11n, vht 802.11ac."
    )
    rate: Rates = Field(
        description="PHY data rates: in Mbit/s for dsss (1, 2, 5.5, 11), ofdm and erp (6, 9, 12, 18, 24, 36, 48, "
        "54), mcs0 to mcs31 for ht, mcs0 to mcs9 for vht. Every PHY of the study must have every rate."
    )
    bandwidth: Bandwidths = Field(
        default=(20,), description="Channel widths in MHz; 40 MHz needs phy ht or vht, 80 and 160 MHz vht."
    )
    gi: Gis = Field(
        default=("long",),
        description="Guard intervals: long is 0.8 us, short is 0.4 us and needs phy ht or vht.",
    )
    topology: Topologies = Field(
        default=("point-to-point",),
        description="Where the server is: point-to-point and stations: on the access point's host, with one "
        "station or with any number; wired-ap: behind the access point; through-ap: on another station.",
    )
    streams: StreamCounts = Field(
        default=(1,),
        description="Spatial streams, 1 to 8; ht has 4 and may say them in the rate instead (mcs8 to mcs31).",
    )
    stations: StationCounts = Field(
        default=(1,), description="Stations that contend; several need a topology."
    )
    direction: Directions = Field(
        default=("up",),
        description="Which way the data goes: up is from the stations, down to them, or both.",
    )
    snr: Snrs = Field(
        default=("none",), description="Signal-to-noise ratios in dB; none loses no frame to noise."
    )
    crypto_at: CryptoPlaces = Field(
        default=("host",),
        description="Where frames are sealed and opened: by the host's CPU or by the card's processor; by-suite is by "
        "the card but for Enhanced CCMP.",
    )
    stack: StackNames = Field(
        default=("default",),
        description="TCP/IP stacks of the hosts: default is their own, others are tables [stack.NAME].",
    )
    tcp_size: TcpSizes = Field(
        default=("write",),
        description="What the packet size is over TCP: write is the size of one write to the socket, mss the payload "
        "of a segment.",
    )
    offered: Offers = Field(
        default=("max",),
        description="UDP payload that each sender offers, in Mbit/s; max is more than the link carries.",
    )


class MethodTable(_Table):
    """How each cell is measured."""

    repeats: Repeats = Field(description="Replicates of each cell that count.")
    discard_first: Discard = Field(
        default=0, description="Replicates before those that count; they are measured and kept, but left out."
    )
    duration: Duration = Field(description="Measured time of each probe in a run, in seconds.")
    warmup: Warmup = Field(
        default=0.2,
        description="Time before the measured time of each probe, in seconds; measured, but left out.",
    )
    seed: Seed = Field(
        default=1, description="From it follow the order of the runs and the random numbers of each run."
    )
    probes: Probes = Field(
        default=("throughput", "rtt"),
        description="What is measured, one after the other: " + one_of(get_args(cell.ProbeName)) + ".",
    )
    stop: Annotated[cell.StopRule, *name_of(cell.StopRule)] = Field(
        default="fixed",
        description="When a cell has enough replicates: fixed is after `repeats`; precision when the interval of the "
        "mean is narrow enough; agreement when the last two agree; `repeats` is then the most.",
    )
    least_repeats: Repeats = Field(default=2, description="Replicates that count before a rule may stop.")
    within: Percent = Field(
        default=5.0,
        description="What the rule wants, in percent: half the width of the interval, of the mean; the difference of "
        "the last two, of the larger.",
    )
    confidence: Confidence = Field(default=95.0, description="Confidence of that interval, in percent.")
    udp_load: Annotated[cell.UdpLoad, *name_of(cell.UdpLoad)] = Field(
        default="overload",
        description="What UDP offers where `offered` is max: overload is 1.25 times what the open link carries, tcp "
        "the mean throughput of TCP in the same cell, which is measured first.",
    )


class QuickFactors(_Table):
    """For a quick run, the levels to keep; a factor that is not named keeps all of its levels."""

    security: Securities | None = Field(default=None, description="Security levels to keep.")
    transport: Transports | None = Field(default=None, description="Transport protocols to keep.")
    ip: Ips | None = Field(default=None, description="Internet Protocol versions to keep.")
    packet_size: PacketSizes | None = Field(default=None, description="Packet sizes to keep, in bytes.")
    phy: Phys | None = Field(default=None, description="PHYs to keep.")
    rate: Rates | None = Field(
        default=None, description="PHY data rates to keep, in Mbit/s or as mcs0 to mcs31."
    )
    bandwidth: Bandwidths | None = Field(default=None, description="Channel widths to keep, in MHz.")
    gi: Gis | None = Field(default=None, description="Guard intervals to keep.")
    topology: Topologies | None = Field(default=None, description="Topologies to keep.")
    streams: StreamCounts | None = Field(default=None, description="Numbers of spatial streams to keep.")
    stations: StationCounts | None = Field(default=None, description="Numbers of stations to keep.")
    direction: Directions | None = Field(default=None, description="Directions to keep.")
    snr: Snrs | None = Field(default=None, description="Signal-to-noise ratios to keep, in dB.")
    crypto_at: CryptoPlaces | None = Field(default=None, description="Places of the crypto to keep.")
    stack: StackNames | None = Field(default=None, description="TCP/IP stacks to keep.")
    tcp_size: TcpSizes | None = Field(default=None, description="Meanings of TCP's packet size to keep.")
    offered: Offers | None = Field(default=None, description="Offered loads to keep, in Mbit/s.")


class Quick(_Table):
    """What a quick run changes; a key that is not named stays as it is."""

    repeats: Repeats | None = Field(default=None, description="Replicates of each cell that count.")
    discard_first: Discard | None = Field(default=None, description="Replicates before those that count.")
    duration: Duration | None = Field(
        default=None, description="Measured time of each probe in a run, in seconds."
    )
    warmup: Warmup | None = Field(default=None, description="Time before the measured time, in seconds.")
    least_repeats: Repeats | None = Field(
        default=None, description="Replicates that count before a rule may stop."
    )
    factors: QuickFactors = Field(
        default_factory=QuickFactors, description="Levels to keep, each of them a level of the study."
    )


class StudyFile(_Table):
    """A study of airtoll: which cells to measure, and how."""

    model_config = ConfigDict(title="airtoll study")

    title: Title = Field(description="One line that names the study.")
    description: Text = Field(default="", description="What the study is for, in any number of lines.")
    published: Annotated[cell.PublicationName, *name_of(cell.PublicationName)] | None = Field(
        default=None,
        description="The publication that the study repeats, whose figures its report shows: "
        + one_of(get_args(cell.PublicationName))
        + ".",
    )
    lab: LabName = Field(
        default="air",
        description="Where it is measured: air is the emulated link, in real time; sim the same in virtual time.",
    )
    factors: Factors = Field(description="The levels of each factor; every combination of them is a cell.")
    method: MethodTable = Field(description="How each cell is measured.")
    link: LinkSettings = Field(
        default_factory=LinkSettings, description="How the link is set up, the same in every run."
    )
    stack: dict[Name, Stack] = Field(
        default_factory=dict, description="TCP/IP stacks that stand for other systems, by name."
    )
    quick: Quick | None = Field(
        default=None, description="What a quick run changes; without it there is none."
    )


FACTORS = tuple(Factors.model_fields)
"""The factors' names, in the order of a study file."""


_UNITS = {"packet_size": PACKET_SIZE, "bandwidth": BANDWIDTH, "snr": SNR, "offered": DATA_RATE}


def level_text(factor: str, level: str | float) -> str:
    """A level as a study file writes it: with its unit where it has one."""
    if isinstance(level, str) or factor not in _UNITS:
        return str(level)
    return _UNITS[factor].text(level)


def level_order(level: str | float) -> tuple[bool, str | float]:
    """To sort the levels of a factor by: numbers before names, as those of snr come together."""
    return isinstance(level, str), level


TABLES: dict[tuple[str, ...], type[BaseModel]] = {
    (): StudyFile,
    ("factors",): Factors,
    ("method",): MethodTable,
    ("link",): LinkSettings,
    ("stack", "NAME"): Stack,
    ("quick",): Quick,
    ("quick", "factors"): QuickFactors,
}
"""The model of each table, by its path; NAME is any."""


class _TomlSchema(GenerateJsonSchema):
    """JSON Schema for TOML, which has no null: a key without a value is left out instead."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        return {**super().tuple_schema(schema), "minItems": 1, "uniqueItems": True}  # every list is of levels

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  (a title would only repeat the key)
        return False


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a study file, for editors.

    It knows keys, types, units and names. What only the loader checks: the range of a quantity that is given
    as a string, impossible combinations of levels, and that quick levels are levels of the study. Of rates
    and bandwidths it knows the plain spelling alone ("54 Mbit/s", not "54.0Mbit/s").
    """
    made = StudyFile.model_json_schema(schema_generator=_TomlSchema)
    return {"$schema": GenerateJsonSchema.schema_dialect, **made}


def schema_text() -> str:
    """The JSON Schema as the text of its file."""
    return json.dumps(json_schema(), indent=2) + "\n"
