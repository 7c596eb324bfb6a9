"""The output of `airtoll verify` and `airtoll report` for a result."""

from pathlib import Path

import pytest
from report_fakes import Make, make_plan

from airtoll.cli.results import report_results, verify_result

AGREEMENT = {"stop": "agreement", "within": 10.0, "least_repeats": 2}


def test_verify_counts_runs_that_were_not_needed_apart(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make_plan(method=AGREEMENT)
    result = make(plan, finished=lambda run: run.replicate < 3, invalid=lambda _: ())
    assert verify_result(result.directory, as_json=False) == 0
    assert capsys.readouterr().out.endswith(
        "no problems; 32 of 48 runs finished, 32 of them valid, 16 not needed\n"
    )


def test_verify_counts_the_remaining_runs(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(method=AGREEMENT)
    result = make(plan, finished=lambda run: run.replicate < 2, invalid=lambda _: ())
    assert verify_result(result.directory, as_json=False) == 0
    assert capsys.readouterr().out.endswith(
        "no problems; 16 of 48 runs finished, 16 of them valid, 32 remaining\n"
    )


def test_reports_of_several_results_have_an_index_and_optional_paper_files(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = make(make_plan(repeats=2, sizes=(1408,), transports=("udp",)), invalid=lambda _: ())
    report_results([result.directory, result.directory], tmp_path / "out", paper=True, as_json=False)
    printed = capsys.readouterr().out.split()
    assert str(tmp_path / "out" / "index.html") in printed
    assert (tmp_path / "out" / "index.html").is_file()
    assert (result.directory / "paper" / "throughput.tex").is_file()
    assert "8 of 8 runs finished, 0 of them invalid" in " ".join(printed)
