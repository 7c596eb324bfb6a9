"""The study file as models: every key with its type, unit, default and description.

docs/study.schema.json is made from these models and from nothing else:
`python -c "from airtoll.study import schema_text; print(schema_text(), end='')" > docs/study.schema.json`.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NoReturn, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from airtoll.study import cell
from airtoll.study.quantity import BANDWIDTH, DURATION, OFDM_RATE, PACKET_SIZE, WARMUP, Quantity, one_of, show

HT_MCS = tuple(f"mcs{index}" for index in range(32))
"""Equal modulation on one to four spatial streams: IEEE 802.11-2016, 19.5."""

SEED_MAX = 2**53 - 1  # the largest integer that every JSON reader keeps exact

PROBLEM = "study"
"""The pydantic error type whose message is this package's own wording; ctx: text, and index within a list."""

T = TypeVar("T")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' if one of the known names is near, else nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _refuse(text: str, **where: int) -> NoReturn:
    raise PydanticCustomError(PROBLEM, "{text}", {"text": text, **where})


def _key(parse: Callable[[Any], Any], schema: dict[str, Any]) -> tuple[PlainValidator, WithJsonSchema]:
    """A value judged by `parse` alone, whose ValueError is the whole message."""

    def validate(value: Any) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            _refuse(str(error))

    return PlainValidator(validate), WithJsonSchema(schema)


def _name_of(literal: Any, never: Mapping[str, str] | None = None) -> tuple[PlainValidator, WithJsonSchema]:
    """One of the names; `never` has those that one may look for among them, and why they are not there."""
    names: tuple[str, ...] = get_args(literal)

    def parse(value: Any) -> str:
        if isinstance(value, str) and value in names:
            return value
        if never and isinstance(value, str) and value in never:
            raise ValueError(f"{show(value)} {never[value]}")
        hint = did_you_mean(value.lower(), names) if isinstance(value, str) else ""
        raise ValueError(f"{show(value)} is not allowed; use {one_of(names)}{hint}")

    return _key(parse, {"type": "string", "enum": list(names)})


def _integer(least: int, most: int) -> tuple[PlainValidator, WithJsonSchema]:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{show(value)} is not allowed; give a whole number from {least} to {most}")
        return value

    return _key(parse, {"type": "integer", "minimum": least, "maximum": most})


def _quantity(quantity: Quantity, kind: Callable[[Any], float]) -> tuple[PlainValidator, WithJsonSchema]:
    return _key(lambda value: kind(quantity.parse(value)), quantity.json_schema())


def _rate(value: Any) -> str:
    if value in HT_MCS:
        return str(value)
    try:
        return f"{OFDM_RATE.parse(value)} {OFDM_RATE.unit}"
    except ValueError as error:
        raise ValueError(f"{error}, or for phy ht {HT_MCS[0]} to {HT_MCS[-1]}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{show(value)} is not a string")
    return value


def _title(value: Any) -> str:
    if not _text(value).strip() or not value.isprintable():
        raise ValueError(f"{show(value)} is not a title; give one line of text")
    return str(value)


def _lab(value: Any) -> str:
    if not re.fullmatch(_LAB, _text(value)):
        raise ValueError(f"{show(value)} is not the name of a lab; names are of a-z, 0-9 and -, like 'air'")
    return str(value)


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        _refuse(f"{show(value)} is not a list; a factor is a list of its levels, even of one: [...]")
    if not value:
        _refuse("the list is empty; a factor needs at least one level")
    return value


def _distinct(levels: tuple[T, ...]) -> tuple[T, ...]:
    # Only after parsing are 128 and "128 B" seen to be the same level.
    for index, level in enumerate(levels):
        if level in levels[:index]:
            _refuse(f"{show(level)} is there twice; each level may stand once", index=index)
    return levels


_LAB = "[a-z][a-z0-9-]*"
_LEVELS = (BeforeValidator(_listed), AfterValidator(_distinct))
_FORGEABLE = {"paper-lanes": "is forgeable and only for study (docs/enhanced-ccmp.md); take enhanced"}
_RATE_SCHEMA = {"enum": [*OFDM_RATE.json_schema()["enum"], *HT_MCS]}

Title = Annotated[str, *_key(_title, {"type": "string", "minLength": 1})]
Text = Annotated[str, *_key(_text, {"type": "string"})]
LabName = Annotated[str, *_key(_lab, {"type": "string", "pattern": f"^{_LAB}$"})]
Duration = Annotated[float, *_quantity(DURATION, float)]
Warmup = Annotated[float, *_quantity(WARMUP, float)]
Repeats = Annotated[int, *_integer(1, 1000)]
Discard = Annotated[int, *_integer(0, 1000)]
Seed = Annotated[int, *_integer(0, SEED_MAX)]

Securities = Annotated[tuple[Annotated[cell.Security, *_name_of(cell.Security, _FORGEABLE)], ...], *_LEVELS]
Transports = Annotated[tuple[Annotated[cell.Transport, *_name_of(cell.Transport)], ...], *_LEVELS]
Ips = Annotated[tuple[Annotated[cell.Ip, *_name_of(cell.Ip)], ...], *_LEVELS]
PacketSizes = Annotated[tuple[Annotated[int, *_quantity(PACKET_SIZE, int)], ...], *_LEVELS]
Phys = Annotated[tuple[Annotated[cell.Phy, *_name_of(cell.Phy)], ...], *_LEVELS]
Rates = Annotated[tuple[Annotated[str, *_key(_rate, _RATE_SCHEMA)], ...], *_LEVELS]
Bandwidths = Annotated[tuple[Annotated[int, *_quantity(BANDWIDTH, int)], ...], *_LEVELS]
Gis = Annotated[tuple[Annotated[cell.GuardInterval, *_name_of(cell.GuardInterval)], ...], *_LEVELS]
Topologies = Annotated[tuple[Annotated[cell.Topology, *_name_of(cell.Topology)], ...], *_LEVELS]


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
    phy: Phys = Field(description="PHYs: ofdm is 802.11a, ht is 802.11n.")
    rate: Rates = Field(
        description="PHY data rates: in Mbit/s for ofdm (6, 9, 12, 18, 24, 36, 48, 54), mcs0 to mcs31 "
        "for ht. Every PHY of the study must have every rate."
    )
    bandwidth: Bandwidths = Field(default=(20,), description="Channel widths in MHz; 40 MHz needs phy ht.")
    gi: Gis = Field(
        default=("long",), description="Guard intervals: long is 0.8 us, short is 0.4 us and needs phy ht."
    )
    topology: Topologies = Field(
        default=("point-to-point",),
        description="point-to-point: the access point's host is itself the server, the station the client.",
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


class Quick(_Table):
    """What a quick run changes; a key that is not named stays as it is."""

    repeats: Repeats | None = Field(default=None, description="Replicates of each cell that count.")
    discard_first: Discard | None = Field(default=None, description="Replicates before those that count.")
    duration: Duration | None = Field(
        default=None, description="Measured time of each probe in a run, in seconds."
    )
    warmup: Warmup | None = Field(default=None, description="Time before the measured time, in seconds.")
    factors: QuickFactors = Field(
        default_factory=QuickFactors, description="Levels to keep, each of them a level of the study."
    )


class StudyFile(_Table):
    """A study of airtoll: which cells to measure, and how."""

    model_config = ConfigDict(title="airtoll study")

    title: Title = Field(description="One line that names the study.")
    description: Text = Field(default="", description="What the study is for, in any number of lines.")
    lab: LabName = Field(default="air", description="Where it is measured: air is the emulated link.")
    factors: Factors = Field(description="The levels of each factor; every combination of them is a cell.")
    method: MethodTable = Field(description="How each cell is measured.")
    quick: Quick | None = Field(
        default=None, description="What a quick run changes; without it there is none."
    )


FACTORS = tuple(Factors.model_fields)
"""The factors' names, in the order of a study file."""


def level_text(factor: str, level: str | int) -> str:
    """A level as a study file writes it: with its unit where it has one."""
    unit = {"packet_size": PACKET_SIZE.unit, "bandwidth": BANDWIDTH.unit}.get(factor)
    return f"{level} {unit}" if unit else str(level)


TABLES: dict[tuple[str, ...], type[BaseModel]] = {
    (): StudyFile,
    ("factors",): Factors,
    ("method",): MethodTable,
    ("quick",): Quick,
    ("quick", "factors"): QuickFactors,
}
"""The model of each table, by its path."""


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
