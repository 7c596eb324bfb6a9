"""A record of any size and content is read within limits of memory, or refused in one line."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from store_fakes import make_plan, make_record

from airtoll.errors import AirtollError
from airtoll.store import PlanRecord, RunRecord
from airtoll.store.layout import read_file
from airtoll.store.records import dump, parse


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (PlanRecord, b'{"plan": {"runs": [' + b",".join([b"0"] * 5000) + b"]}}"),
        (PlanRecord, b'{"plan": {"claims": [' + b",".join([b"0"] * 5000) + b"]}}"),
        (RunRecord, b'{"verdict": {"reasons": [' + b",".join([b"0"] * 5000) + b"]}}"),
    ],
    ids=["runs", "claims", "reasons"],
)
def test_a_list_of_a_record_ends_at_its_first_fault(kind: Any, content: bytes) -> None:
    """Pydantic keeps some 500 octets per fault, of two octets here."""
    with pytest.raises(AirtollError) as caught:
        parse(kind, content, "record")
    assert isinstance(caught.value.__cause__, ValidationError)
    assert caught.value.__cause__.error_count() < 50


def test_many_unknown_keys_of_a_record_are_counted() -> None:
    content = json.dumps({f"{key:x}": 0 for key in range(5000)}).encode()
    with pytest.raises(AirtollError, match=r"^record: 50\d\d values are invalid$"):
        parse(RunRecord, content, "record")


@pytest.mark.parametrize("kind", [PlanRecord, RunRecord])
def test_a_record_has_at_most_200000_keys_beside_its_facts(kind: Any) -> None:
    """Pydantic keeps some 500 octets per unknown key."""
    keys = {f"{key:x}": 0 for key in range(200_000)}
    content = json.dumps({"plan": {"method": keys}}).encode()
    with pytest.raises(AirtollError, match=r"^record: has 200002 keys: expected at most 200000$"):
        parse(kind, content, "record")
    record = make_record(make_plan().runs[0]).model_copy(update={"counters": {"words": keys}})
    assert parse(RunRecord, dump(record), "record") == record


@pytest.mark.parametrize(("name", "most"), [("plan.json", 16 << 20), ("run.json", 8 << 20)])
def test_a_record_has_a_limit(tmp_path: Path, name: str, most: int) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(most + 1)
    with pytest.raises(
        AirtollError, match=f"^cannot read {tmp_path / name}: is longer than {most >> 20} MiB$"
    ):
        read_file(tmp_path / name)
    os.truncate(tmp_path / name, most)
    assert len(read_file(tmp_path / name)) == most


def test_a_plan_of_9999_runs_fits_twice() -> None:
    plan = make_plan(9999)
    record = PlanRecord(airtoll="0.1", created=datetime.now(UTC), lab="fake", quick=False, plan=plan)
    assert 2 * len(dump(record)) < PlanRecord.MOST_BYTES


def test_a_record_that_could_not_be_read_is_not_written() -> None:
    record = make_record(make_plan().runs[0])
    too_long = record.model_copy(update={"counters": {"words": "x" * (8 << 20)}})
    with pytest.raises(AirtollError, match="is longer than 8 MiB"):
        dump(too_long)
