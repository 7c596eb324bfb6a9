"""The report of a study in sessions: its figures, intervals and words are about sessions."""

import csv
from pathlib import Path
from random import Random
from typing import Any

import pytest
from made_study import make_study
from report_fakes import STUDY, exactly, make_record, store

from airtoll.judge.difference import difference
from airtoll.judge.figures import Figures
from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.report.parts import sentences
from airtoll.report.parts.claims import Claims
from airtoll.stats import matched_ratio
from airtoll.store import Result
from airtoll.study import expand
from airtoll.study.cell import Plan, Run

CLAIM = {
    "kind": "ordering",
    "metric": "throughput",
    "factor": "security",
    "better": "open",
    "worse": "ccmp",
}


def plan(**method: Any) -> Plan:
    usual = {"repeats": 12, "switching": "session", "sessions": 4}
    factors = {"ip": ["ipv4", "ipv6"], "packet_size": [128, 640, 1408]}
    return expand(make_study({**usual, **method}, claims=[CLAIM], **factors))


def throughput(run: Run) -> float:
    """30 Mbit/s, 1 % less with security, with an effect of 2 % of each session and noise of 0.1 % of each run."""
    effect = Random(1000 + (run.session or 0)).gauss(1, 0.02)
    return 3e7 * effect * Random(run.order).gauss(1, 0.001) * (0.99 if run.cell.security == "ccmp" else 1)


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return store(
        tmp_path / "r", plan(), samples=exactly(throughput=throughput), invalid=lambda _: (), study_text=STUDY
    )


def test_all_figures_rest_on_sessions(result: Result, tmp_path: Path) -> None:
    data = ReportData.of(result)
    assert {cell.summary.n for cell in data.comparison.cells} == {4}
    assert {pair.difference.n for pair in data.comparison.pairs} == {4}
    with write_report(result, tmp_path / "out").runs_csv.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["session"] for row in rows] == [str(run.session) for run in result.plan.runs]
    with (tmp_path / "out" / "cells.csv").open(newline="", encoding="utf-8") as file:
        assert {row["n"] for row in csv.DictReader(file)} == {"4"}


def test_a_claim_over_several_cells_is_not_significant_by_the_number_of_cells(result: Result) -> None:
    # The effect of a session is far larger than the cost; all six cells share it.
    (judged,) = Claims(ReportData.of(result)).judged
    assert judged.measured.cells == 6
    assert judged.verdict == "not confirmed"
    by_block = plan(switching="block").runs
    assert len({run.block for run in by_block}) == 6 * 12
    sets = []
    for pair in ReportData.of(result).comparison.pairs:
        values = ReportData.of(result).by_round["throughput"]
        sets.append((list(values[pair.baseline].values()), list(values[pair.cell].values())))
    naive, right = matched_ratio(sets).log.ci95_t, matched_ratio(sets, in_sessions=True).log.ci95_t
    assert naive is not None
    assert right is not None
    assert right.high - right.low > 2 * (naive.high - naive.low)


def test_the_words_are_about_sessions(result: Result, tmp_path: Path) -> None:
    data = ReportData.of(result)
    assert sentences.table_note(data).startswith("Mean over sessions")
    method = " ".join(sentences.method(data))
    assert "The runs of each setting of the access point are in 4 sessions." in method
    assert "The session is the unit of replication" in method
    page = write_report(result, tmp_path / "out").html.read_text(encoding="utf-8")
    assert '["session",1]' in page.replace(" ", "")


def test_two_results_in_sessions_are_compared_over_sessions(result: Result, tmp_path: Path) -> None:
    other = store(
        tmp_path / "other",
        plan(seed=2),
        samples=exactly(throughput=throughput),
        invalid=lambda _: (),
        study_text=STUDY,
    )
    found = difference(Figures.of(result), Figures.of(other))
    assert {(row.difference.n_a, row.difference.n_b) for row in found.rows} == {(4, 4)}


def test_a_repeated_run_counts_once_and_its_invalid_run_is_named(tmp_path: Path) -> None:
    made = plan(retries=1, switching="block", repeats=3)
    first = made.runs[0]
    again = first.model_copy(update={"attempt": 2})
    with Result.create(tmp_path / "r", STUDY, made, "air", quick=False) as result:
        for run in (*made.runs, again):
            reasons = ("zero interval: x",) if run == first else ()
            result.write(make_record(run, reasons), exactly(throughput=throughput)(run), {})
    data = ReportData.of(Result.open(tmp_path / "r"))
    assert {pair.difference.n for pair in data.comparison.pairs} == {3}
    assert sentences.run_counts(data) == (
        "36 runs planned, 36 counted; left out: 1 invalid; 1 repeat of invalid runs."
    )
    assert sentences.verdicts(data)[1:] == [f"{first.id}: zero interval: x"]
    assert [run.run.id for run in data.runs][:2] == [first.id, again.id]
