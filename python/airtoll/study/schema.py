"""Models of the study file: every key with its type, unit, default and description.

docs/reference/study.schema.json derives only from these models:
`python -c "from airtoll.study import schema_text; print(schema_text(), end='')" > docs/reference/study.schema.json`.
"""

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from airtoll.clock import ClockChoice
from airtoll.study import cell
from airtoll.study.claims import ClaimTable, Where
from airtoll.study.factors import FACTORS
from airtoll.study.link import LinkSettings, LinkWhere, Stack
from airtoll.study.probes import DEFAULT_PROBES, PROBES, PROBES_OF
from airtoll.study.quantity import one_of, show
from airtoll.study.security import SecurityProfile
from airtoll.study.values import (
    LEVELS,
    Confidence,
    Duration,
    LabName,
    Name,
    Percent,
    Seed,
    Text,
    Title,
    Warmup,
    did_you_mean,
    integer,
    key,
    key_of,
    lab_table,
    name_of,
    tables,
)

Repeats = Annotated[int, *integer(1, 1000)]
Discard = Annotated[int, *integer(0, 1000)]
Retries = Annotated[int, *integer(0, cell.RETRIES_MOST)]

ClaimList = Annotated[tuple[ClaimTable, ...], tables("claim")]
Radios = Annotated[tuple[Text, ...], *LEVELS]
Probes = Annotated[tuple[cell.ProbeName, ...], *LEVELS]


FIGURES_SUFFIXES: Final = (".toml", ".csv")


def is_figures_file(published: str) -> bool:
    """Whether the key `published` names a file; otherwise it names a shipped paper."""
    return published.endswith(FIGURES_SUFFIXES)


def _published(value: Any) -> str:
    papers = get_args(cell.PublicationName)
    if isinstance(value, str) and (value in papers or is_figures_file(value)):
        return value
    hint = did_you_mean(value.lower(), papers) if isinstance(value, str) else ""
    raise ValueError(
        f"{show(value)} is not allowed; use a file, such as 'figures.toml' or 'figures.csv', or {one_of(papers)}{hint}"
    )


Published = Annotated[
    str,
    *key(
        _published,
        {
            "anyOf": [
                {"type": "string", "enum": list(get_args(cell.PublicationName))},
                {"type": "string", "pattern": r"\.(toml|csv)$"},
            ]
        },
    ),
]


class _Table(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class Levels(_Table):
    """The levels of factors. The tables of factors derive from the declarations in `airtoll.study.factors`."""

    if TYPE_CHECKING:

        def __getattr__(self, factor: str) -> tuple[Any, ...]: ...


if TYPE_CHECKING:
    Factors = Levels
    FactorsWhere = Levels
    QuickFactors = Levels
else:
    FactorsWhere = create_model(
        "FactorsWhere",
        __base__=Levels,
        __doc__="The levels of factors in some cells, instead of those of the study.",
        levels=(Where, Field(description="The cells: one level of other factors.")),
        **{name: factor.some("in these cells") for name, factor in FACTORS.items()},
    )
    Factors = create_model(
        "Factors",
        __base__=Levels,
        __doc__="The levels of each factor; every combination of them is a cell.",
        **{name: factor.levels() for name, factor in FACTORS.items()},
        where=(
            Annotated[tuple[FactorsWhere, ...], tables("factors.where")],
            Field(default=(), description="Tables with other levels for some cells."),
        ),
    )
    QuickFactors = create_model(
        "QuickFactors",
        __base__=Levels,
        __doc__="Levels to keep in a quick run; a factor that is not named keeps all its levels.",
        **{name: factor.some("to keep") for name, factor in FACTORS.items()},
    )


class LabTable(_Table):
    """Where the cells are measured. `lab = "NAME"` is short for a table with this name alone."""

    name: LabName = Field(
        default="air",
        description="The lab: air is the emulated link with real programs, linux the Wi-Fi stack of Linux on the same "
        "air, sim the same link with traffic models, hosts the machines of an inventory.",
    )
    clock: Annotated[ClockChoice, *name_of(ClockChoice)] | None = Field(
        default=None,
        description="The clock of the lab's hosts: real, or virtual, which no other work on the machine disturbs "
        "(`airtoll lab build`), or auto: real if a measurement of the machine shows that it carries every cell, "
        "otherwise virtual for all runs; default: virtual for lab linux without radios, otherwise real. Lab sim always "
        "has virtual time.",
    )
    inventory: str | None = Field(
        default=None,
        min_length=1,
        description="Has no effect: an inventory runs commands, so only --inventory names one.",
    )
    radios: Radios = Field(
        default=(),
        description="For lab linux: radios of this machine (iw phy) instead of emulated air. The first is the access "
        "point's, the others are the stations'.",
    )


class MethodTable(_Table):
    """How each cell is measured."""

    repeats: Repeats = Field(description="Counted replicates per cell.")
    discard_first: Discard = Field(
        default=0,
        description="Replicates before the counted ones; they are measured and stored, but excluded.",
    )
    duration: Duration = Field(description="Measured time per probe and run, in seconds.")
    warmup: Warmup = Field(
        default=0.2,
        description="Time before each probe's measured time, in seconds; measured, but excluded.",
    )
    seed: Seed = Field(
        default=1, description="Seed of the order of the runs and of the random numbers of each run."
    )
    probes: Probes = Field(
        default=DEFAULT_PROBES,
        description="Probes, which measure one after the other: "
        + one_of(tuple(PROBES))
        + ". rtt measures all round-trip times by airtoll's ping-pong, sockperf those over IPv4 once more.",
    )
    stop: Annotated[cell.StopRule, *name_of(cell.StopRule)] = Field(
        default="fixed",
        description="When a cell has enough replicates: fixed, after `repeats`; precision, when the interval of "
        "the mean is narrow enough; agreement, when the last two agree. `repeats` is then the maximum.",
    )
    least_repeats: Repeats = Field(default=2, description="Counted replicates before a rule may stop.")
    within: Percent = Field(
        default=5.0,
        description="Limit of the rule, in percent: half the width of the interval, of the mean; or the difference of "
        "the last two, of the larger one.",
    )
    confidence: Confidence = Field(default=95.0, description="Confidence of that interval, in percent.")
    udp_load: Annotated[cell.UdpLoad, *name_of(cell.UdpLoad)] = Field(
        default="overload",
        description="UDP load if `offered` is max: overload is 1.25 times the capacity of the open link, tcp is the "
        "mean TCP throughput of the same cell, which is measured first.",
    )
    rtt_pause: Warmup = Field(
        default=0.0,
        description="Pause of the probe rtt between a response and the next request, in seconds. Without a pause, the "
        "backoff after each frame delays the next one.",
    )
    switching: Annotated[cell.Switching, *name_of(cell.Switching)] = Field(
        default="block",
        description="When the access point changes its settings: block, up to once per run, so that runs that are "
        "compared are close in time; session, as seldom as possible: all runs of a setting are in `sessions` sessions.",
    )
    sessions: Repeats = Field(
        default=4,
        description="Sessions of each setting of the access point if switching is session; the repeats are divided "
        "over them.",
    )
    retries: Retries | None = Field(
        default=None,
        description="How often an invalid run is repeated, at the end of its session or block; never in virtual time. "
        "A study has at most 10 repeats, or as many as runs if that is more. Default: 2 in real time.",
    )


class Quick(_Table):
    """Changes of a quick run. Keys that are not named keep their values."""

    repeats: Repeats | None = Field(default=None, description="Counted replicates per cell.")
    discard_first: Discard | None = Field(default=None, description="Replicates before the counted ones.")
    duration: Duration | None = Field(
        default=None, description="Measured time per probe and run, in seconds."
    )
    warmup: Warmup | None = Field(default=None, description="Time before the measured time, in seconds.")
    least_repeats: Repeats | None = Field(
        default=None, description="Counted replicates before a rule may stop."
    )
    factors: QuickFactors = Field(
        default_factory=QuickFactors, description="Levels to keep, each a level of the study."
    )


class StudyFile(_Table):
    """A study of airtoll: the cells to measure, and how to measure them."""

    model_config = ConfigDict(defer_build=True, title="airtoll study")

    title: Title = Field(description="One line that names the study.")
    description: Text = Field(default="", description="Purpose of the study, in any number of lines.")
    published: Published | None = Field(
        default=None,
        description="The publication that the study repeats, whose figures and claims its report shows: a file with "
        "them (.toml or .csv), relative to the study's folder, or a shipped paper: "
        + one_of(get_args(cell.PublicationName))
        + ".",
    )
    primary: Annotated[str, *key_of(PROBES_OF)] | None = Field(
        default=None,
        description="The metric whose largest changes begin the report; default: throughput, or a delay if every "
        "sender offers a fixed load: " + one_of(tuple(PROBES_OF)) + ".",
    )
    lab: Annotated[LabTable, BeforeValidator(lab_table, json_schema_input_type=LabName | LabTable)] = Field(
        default_factory=LabTable, description="Where the cells are measured: the name of a lab, or a table."
    )
    factors: Factors = Field(description="The levels of each factor; every combination of them is a cell.")
    method: MethodTable = Field(description="How each cell is measured.")
    link: LinkSettings = Field(
        default_factory=LinkSettings, description="Settings of the link, the same in every run."
    )
    security: dict[Name, SecurityProfile] = Field(
        default_factory=dict, description="Security profiles in hostapd's words, by name."
    )
    stack: dict[Name, Stack] = Field(
        default_factory=dict, description="TCP/IP stacks that reproduce other systems, by name."
    )
    claim: ClaimList = Field(default=(), description="Claims that the report tests, each a table [[claim]].")
    quick: Quick | None = Field(
        default=None, description="Changes of a quick run; without this table, the study has no quick run."
    )


TABLES: dict[tuple[str, ...], Any] = {
    (): StudyFile,
    ("lab",): LabTable,
    ("factors",): Factors,
    ("factors", "where"): FactorsWhere,
    ("factors", "where", "levels"): Where,
    ("method",): MethodTable,
    ("link",): LinkSettings,
    ("link", "where"): LinkWhere,
    ("link", "where", "levels"): Where,
    ("security", "NAME"): SecurityProfile,
    ("stack", "NAME"): Stack,
    ("claim",): ClaimTable,
    ("claim", "where"): Where,
    ("quick",): Quick,
    ("quick", "factors"): QuickFactors,
}
"""The model of each table, by path. NAME is any name."""


class TomlSchema(GenerateJsonSchema):
    """JSON Schema for TOML, which has no null: a key without a value is left out."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  (a title would repeat the key)
        return False


class _StudySchema(TomlSchema):
    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        return {**super().tuple_schema(schema), "minItems": 1, "uniqueItems": True}  # all lists are of levels


def schema_of(model: type[BaseModel], generator: type[TomlSchema] = TomlSchema) -> dict[str, Any]:
    """JSON Schema (2020-12) of a TOML file with the keys of the model."""
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **model.model_json_schema(schema_generator=generator),
    }


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a study file, for editors.

    It covers keys, types, units and names. Only the loader checks the range of a quantity given as a string,
    incompatible levels, and that quick levels are levels of the study. The schema accepts rates and bandwidths only in
    their plain spelling ("54 Mbit/s", not "54.0Mbit/s").
    """
    return schema_of(StudyFile, _StudySchema)


def schema_text() -> str:
    """The JSON Schema as the text of its file."""
    return json.dumps(json_schema(), indent=2) + "\n"
