"""Contents of `plan.json` and `run.json`. A change of a key here requires a higher SCHEMA_VERSION."""

import json
import platform
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    FailFast,
    JsonValue,
    ValidationError,
    model_validator,
)
from pydantic_core import from_json, to_json

from airtoll import _rust
from airtoll.documents import first_fault
from airtoll.errors import AirtollError, UsageError
from airtoll.study.cell import Plan, Run

SCHEMA_VERSION: Final = 9
"""Version of the complete result directory: names, columns, units and meanings."""

Facts = dict[str, JsonValue]


class _Record(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", use_attribute_docstrings=True)

    MOST_BYTES: ClassVar[int]
    """Limit of the file."""

    FREE: ClassVar[frozenset[str]]
    """The keys whose values have any form, and the list of runs, which ends at its first invalid run."""

    # Keys of later versions have defaults that describe results of earlier versions.
    schema_version: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9] = SCHEMA_VERSION
    """Version of the result directory's format."""


class Versions(BaseModel):
    """The programs that produced the run."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", use_attribute_docstrings=True)

    airtoll: str | None
    """With the commit, such as 0.1.0+g0123456789ab, and .dirty if the sources differed from the commit. Earlier
    versions
    recorded no commit, and null for a source tree that was not installed."""
    python: str
    tools: dict[str, str]
    """By probe, if the probe's facts contain the version of its tool."""

    @classmethod
    def current(cls, tools: Mapping[str, str]) -> Self:
        """The versions of this process."""
        return cls(airtoll=_rust.VERSION, python=platform.python_version(), tools=dict(tools))


class Verdict(BaseModel):
    """Whether a run is valid."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", use_attribute_docstrings=True)

    valid: bool
    """True exactly if there are no reasons."""
    reasons: Annotated[tuple[str, ...], FailFast()]
    """One line each, as `name: detail`; docs/reference/data-format.md lists the names."""
    spoiled: dict[str, str] = {}
    """Metrics of a valid run that do not count, with the reason: names of samples or of metrics."""

    def valid_for(self, metric: str) -> bool:
        """Whether the run counts for this metric."""
        return self.valid and metric not in self.spoiled

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.valid == bool(self.reasons):
            raise ValueError("an invalid run must have a reason, and a valid run must have none")
        return self


class RunRecord(_Record):
    """The content of `run.json` for one finished run. Values that were not reported are null or absent, never 0."""

    MOST_BYTES = 8 << 20  # a thousand times that of a run of three hosts
    FREE = frozenset({"hosts", "link", "counters", "probes"})

    run: Run
    """The run as in the plan; if it is a repeat, with a higher attempt."""
    started: AwareDatetime
    """UTC, before the link was opened."""
    finished: AwareDatetime
    """UTC, after the link was closed."""
    versions: Versions
    hosts: dict[str, Facts]
    """Description of each host, by role (ap, sta); in virtual time the role is machine."""
    link: Facts
    """The lab's description of the link: PHY, rate, cipher, queue."""
    counters: Facts
    """The link's counts from before the first probe until after the last."""
    probes: dict[str, Facts]
    """By probe: tool version, command lines, offered load."""
    verdict: Verdict


class PlanRecord(_Record):
    """The content of `plan.json` for the complete result."""

    MOST_BYTES = 16 << 20  # twice that of a plan of 9,999 runs, the maximum
    FREE = frozenset({"machine", "runs"})

    airtoll: str | None
    """Version of airtoll that created the result, as in `Versions`."""
    machine: Facts = {}
    """Description of the machine that created the result; empty in results of earlier versions."""
    created: AwareDatetime
    """UTC."""
    lab: str
    """Name of the lab in which the runs are performed."""
    quick: bool
    """Whether the study was shortened by its [quick] table."""
    plan: Plan
    """Every run, in execution order."""

    @model_validator(mode="after")
    def _has_distinct_runs(self) -> Self:
        if len({run.id for run in self.plan.runs}) != len(self.plan.runs):
            raise ValueError("two runs of the plan have the same id")
        return self


RecordT = TypeVar("RecordT", PlanRecord, RunRecord)

_KEYS_MOST: Final = 200_000
"""Limit of the keys of a record that are not below a free one. pydantic keeps some 500 octets per unknown key."""


def spoiled_metrics(records: Iterable[RunRecord]) -> dict[str, Mapping[str, str]]:
    """The metrics of valid runs that do not count, by the id of the run."""
    return {record.run.id: record.verdict.spoiled for record in records}


def as_facts(facts: Mapping[str, Any], whose: str) -> Facts:
    """The facts as JSON values. NaN and infinities, which JSON lacks, become null.

    Raises AirtollError if a value has no JSON form.
    """
    try:
        plain: Facts = from_json(to_json(dict(facts), inf_nan_mode="null"))
    except ValueError as error:
        raise AirtollError(f"{whose} cannot be stored as JSON: {error}") from error
    return plain


def dump(record: _Record) -> bytes:
    """The record as the content of its file. Raises AirtollError if it exceeds the limit of the file."""
    content = record.model_dump_json(indent=2).encode() + b"\n"
    if len(content) > record.MOST_BYTES:
        raise AirtollError(f"a record of {len(content)} bytes is longer than {record.MOST_BYTES >> 20} MiB")
    return content


def parse(kind: type[RecordT], content: bytes, name: str) -> RecordT:
    """Parse a record from the content of the file `name`.

    Raises UsageError if a newer airtoll wrote it, and AirtollError if it is damaged.
    """
    try:
        keys = from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise AirtollError(f"{name}: not JSON: {error}") from error
    version = keys.get("schema_version") if isinstance(keys, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UsageError(
            f"{name}: written by a newer airtoll (schema version {version}, this one reads up to "
            f"{SCHEMA_VERSION}): update airtoll"
        )
    if (count := _count_keys(keys, kind.FREE)) > _KEYS_MOST:
        raise AirtollError(f"{name}: has {count} keys: expected at most {_KEYS_MOST}")
    try:
        return kind.model_validate_json(content, strict=True)
    except ValidationError as error:
        raise AirtollError(f"{name}: {first_fault(error)}") from error


def _count_keys(value: Any, free: Collection[str]) -> int:
    """The number of keys in a JSON value, without those below a `free` key."""
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(each, free) for key, each in value.items() if key not in free)
    return sum(_count_keys(each, free) for each in value) if isinstance(value, list) else 0


def run_schema() -> str:
    """JSON Schema of `run.json`: the content of docs/reference/run.schema.json."""
    schema = RunRecord.model_json_schema(mode="serialization")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2) + "\n"
