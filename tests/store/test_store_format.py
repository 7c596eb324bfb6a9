"""The published description of the format agrees with the stored files."""

import json
import re
from pathlib import Path
from typing import get_args

import jsonschema
import pytest
from store_fakes import STUDY, FakeLab, FakeProbe, ignore, make_plan

from airtoll.probes.base import Phase
from airtoll.store import COLUMNS, SCHEMA_VERSION, PlanRecord, Result, RunRecord, record, run_schema
from airtoll.store.machine import (
    BEHIND_MOST,
    BUSY_MOST,
    LACKING_MOST,
    LATE_SHARE_MOST,
    MAX_LATENESS_P99_US,
    WITHOUT_DATA_MOST,
)
from airtoll.store.verdict import MAX_EMULATOR_CPU_CORES, MIN_WINDOW_SHARE, REASONS

DOCS = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def description() -> str:
    return (DOCS / "data-format.md").read_text(encoding="utf-8")


def test_the_published_schema_is_that_of_the_model() -> None:
    assert (DOCS / "run.schema.json").read_text() == run_schema(), (
        "docs/reference/data-format.md says how to regenerate it"
    )


def test_a_stored_run_conforms_to_the_published_schema(tmp_path: Path) -> None:
    schema = json.loads((DOCS / "run.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    with Result.create(tmp_path / "r", STUDY, make_plan(), "fake", quick=False) as result:
        record(result, FakeLab(), [FakeProbe()], ignore)
    validator = jsonschema.Draft202012Validator(schema)
    documents = [json.loads(path.read_text()) for path in (tmp_path / "r").glob("runs/*/run.json")]
    assert len(documents) == 3
    for document in documents:
        validator.validate(document)
        assert not validator.is_valid({**document, "schema_version": SCHEMA_VERSION + 1})
        assert not validator.is_valid({**document, "extra": None})


def test_times_are_written_in_utc(tmp_path: Path) -> None:
    with Result.create(tmp_path / "r", STUDY, make_plan(), "fake", quick=False) as result:
        record(result, FakeLab(), [FakeProbe()], ignore)
    times = [json.loads((tmp_path / "r" / "plan.json").read_text())["created"]]
    for path in (tmp_path / "r").glob("runs/*/run.json"):
        document = json.loads(path.read_text())
        times += [document["started"], document["finished"]]
    assert len(times) == 7
    for time in times:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", time)


def test_every_name_is_described(description: str) -> None:
    names = [*COLUMNS, *RunRecord.model_fields, *PlanRecord.model_fields, *get_args(Phase)]
    for name in names:
        assert f"`{name}`" in description, name
    for reason in REASONS:
        assert f"| {reason} |" in description, reason


def test_the_bounds_are_described(description: str) -> None:
    for bound in (
        f"{MIN_WINDOW_SHARE:.0%}".replace("%", " %"),
        f"{MAX_LATENESS_P99_US:.0f} us",
        f"{MAX_EMULATOR_CPU_CORES}",
        *(
            f"{100 * share:g} %"
            for share in (LACKING_MOST, BUSY_MOST, WITHOUT_DATA_MOST, BEHIND_MOST, LATE_SHARE_MOST)
        ),
    ):
        assert bound in description, bound
    assert f"schema version {SCHEMA_VERSION}" in description
