"""A journal keeps all results however a sweep ends; its table does not depend on the order or place of execution."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from airtoll.errors import AirtollError, UsageError
from airtoll.store.origin import Origin
from airtoll.sweep.journal import Journal
from airtoll.sweep.table import make_table, write_table
from airtoll.sweep.workers import Done, on_cores

SWEEP: dict[str, object] = {"grid": "abc", "cells": 3}
HERE = Origin("0.1.0+g0123456789ab", "Some CPU", "6.18.0")
ELSEWHERE = Origin("0.1.0+gffffffffffff", "Another CPU", "6.1.0")
BEGUN = {**SWEEP, "airtoll": HERE.airtoll, "processor": HERE.processor, "kernel": HERE.kernel}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.parquet.journal"


def done(place: int, origin: Origin = HERE) -> Done:
    return Done(place, f'{{"p":{place}}}', origin)


def begun(path: Path, *places: int) -> None:
    with Journal(path, SWEEP, HERE, resume=False) as journal:
        for place in places:
            journal.append(done(place))


def test_appended_cells_are_read_back(path: Path) -> None:
    begun(path, 2, 0)
    with Journal(path, SWEEP, HERE, resume=True) as journal:
        assert journal.done == {0, 2}
        journal.append(done(1))
        journal.append(Done(2, '{"p":"another"}', HERE))
        assert list(journal.cells()) == [done(2), done(0), done(1)]


@pytest.mark.parametrize("cut", range(1, 10))
def test_a_truncated_last_line_is_ignored(path: Path, cut: int) -> None:
    begun(path, 0, 1)
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    with Journal(path, SWEEP, HERE, resume=True) as journal:
        assert journal.done == {0}
        journal.append(done(1))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (None, UsageError, "there is no interrupted sweep to resume"),
        (b"", UsageError, "is not the journal of a sweep"),
        (b"[]\n", UsageError, "is not the journal of a sweep"),
        (b"PAR1\n", UsageError, "is not the journal of a sweep"),
        (json.dumps({**BEGUN, "grid": "other"}).encode() + b"\n", UsageError, "belongs to another sweep"),
        (json.dumps(BEGUN).encode() + b"\n1 {}\nx\n", AirtollError, "line 3 is damaged"),
        (json.dumps(BEGUN).encode() + b"\n1 {}\n{\n", AirtollError, "line 3 is damaged"),
    ],
)
def test_a_journal_that_cannot_be_resumed_is_refused_with_the_reason(
    path: Path, content: bytes | None, error: type[Exception], says: str
) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=says):
        Journal(path, SWEEP, HERE, resume=True)


@pytest.mark.parametrize("key", ["airtoll", "processor", "kernel"])
def test_another_origin_continues_only_if_allowed_and_each_cell_keeps_its_own(path: Path, key: str) -> None:
    other = replace(HERE, **{key: getattr(ELSEWHERE, key)})
    begun(path, 2)
    with pytest.raises(UsageError) as refused:
        Journal(path, SWEEP, other, resume=True)
    assert f"{HERE} created it, {other} would continue it; --allow-mixed" in str(refused.value)
    assert "\n" not in str(refused.value)
    with Journal(path, SWEEP, other, resume=True, allow_mixed=True) as journal:
        journal.append(done(0, other))
    with Journal(path, SWEEP, HERE, resume=True) as journal:
        journal.append(done(1))
        assert list(journal.cells()) == [done(2), done(0, other), done(1)]


def test_a_journal_of_an_earlier_version_can_be_continued_if_allowed(path: Path) -> None:
    path.write_text(json.dumps({"airtoll": "0.1.0", **SWEEP}) + '\n1 {"p":1}\n')
    with pytest.raises(
        UsageError, match=r"airtoll 0\.1\.0 on an unknown processor, kernel unknown created it"
    ):
        Journal(path, SWEEP, HERE, resume=True)
    with Journal(path, SWEEP, HERE, resume=True, allow_mixed=True) as journal:
        assert list(journal.cells()) == [done(1, Origin("0.1.0", None, None))]


def test_a_journal_is_created_once_and_has_one_writer(path: Path) -> None:
    with Journal(path, SWEEP, HERE, resume=False):
        with pytest.raises(UsageError, match="--resume"):
            Journal(path, SWEEP, HERE, resume=False)
        with pytest.raises(UsageError, match="another airtoll is writing it"):
            Journal(path, SWEEP, HERE, resume=True)
    Journal(path, SWEEP, HERE, resume=True).close()


CELLS = ['{"seed":1}', '{"seed":2,"snr_db":[[0,1],[1,0]]}', '{"seed":3,"wired":{"delay_us":5}}']
ANSWERS = [
    '{"throughput_mbps":1,"rtt_ms":null,"delay_ms":{"p50":0.5},"stations":[{"a":1}],"loss":null}',
    '{"throughput_mbps":2.5,"rtt_ms":{"p50":3.0},"delay_ms":{"p50":1},"stations":[],"loss":null}',
    '{"throughput_mbps":3,"delay_ms":{},"stations":[{"a":3}],"loss":null}',
]


DONE = [Done(place, answer, ELSEWHERE if place == 2 else HERE) for place, answer in enumerate(ANSWERS)]


def test_the_table_has_a_row_a_cell_in_the_order_of_the_grid() -> None:
    table = make_table(CELLS, [DONE[2], DONE[0], DONE[1]])
    assert table == {
        "cell": [0, 1, 2],
        "seed": [1, 2, 3],
        "snr_db_matrix": [None, "[[0,1],[1,0]]", None],
        "wired_delay_us": [None, None, 5],
        "throughput_mbps": [1.0, 2.5, 3.0],
        "delay_ms_p50": [0.5, 1.0, None],
        "per_station": ['[{"a":1}]', "[]", '[{"a":3}]'],
        "rtt_ms_p50": [None, 3.0, None],
        "airtoll": [HERE.airtoll, HERE.airtoll, ELSEWHERE.airtoll],
        "machine_processor": ["Some CPU", "Some CPU", "Another CPU"],
        "machine_kernel": ["6.18.0", "6.18.0", "6.1.0"],
    }
    assert table == make_table(CELLS, DONE)


def test_the_table_is_written_whole_and_in_every_form(tmp_path: Path) -> None:
    table = make_table(CELLS, DONE)
    paths = write_table(table, tmp_path / "t.parquet", ("csv", "json"))
    assert [path.name for path in paths] == ["t.parquet", "t.csv", "t.json"]
    assert {path.name for path in tmp_path.iterdir()} == {"t.parquet", "t.csv", "t.json"}
    assert pl.read_parquet(paths[0]).equals(pl.DataFrame(table))
    assert pl.read_csv(paths[1]).height == 3
    assert json.loads(paths[2].read_text())[1]["rtt_ms_p50"] == 3.0
    with pytest.raises(AirtollError, match="cannot write"):
        write_table(table, tmp_path / "none" / "t.parquet")


def test_workers_perform_every_job_once() -> None:
    jobs = [(place, f"{place}") for place in range(100)]
    found = list(on_cores(jobs, lambda text: f"<{text}>", lambda: False, workers=3))
    assert {each.origin for each in found} == {Origin.here()}
    assert sorted((each.place, each.answer) for each in found) == [
        (place, f"<{place}>") for place in range(100)
    ]


def test_a_stop_completes_started_jobs_and_starts_no_others() -> None:
    begun_jobs: list[str] = []

    def engine(text: str) -> str:
        begun_jobs.append(text)
        return "{}"

    places = []
    for each in on_cores([(n, str(n)) for n in range(1000)], engine, lambda: len(places) >= 5, workers=2):
        places.append(each.place)
    assert 5 <= len(places) < 50
    assert sorted(map(str, places)) == sorted(begun_jobs)


def test_a_cell_that_fails_is_named() -> None:
    def engine(text: str) -> str:
        if text == "7":
            raise ValueError("no such thing")
        return "{}"

    with pytest.raises(AirtollError, match=r"^cell 7: no such thing: 7$"):
        list(on_cores([(n, str(n)) for n in range(20)], engine, lambda: False, workers=2))
