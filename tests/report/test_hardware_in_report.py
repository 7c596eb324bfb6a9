"""The tables of the hardware in the report of the study that they belong to."""

from pathlib import Path

import pytest
from report_fakes import Make, make_plan

from airtoll.errors import UsageError
from airtoll.report import write_report

TITLE = "Resource utilization (Table III)"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the results of a checkout in the working directory are, with nothing measured yet."""
    file = tmp_path / "checkout" / "rtl" / "syn" / "results.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    monkeypatch.chdir(tmp_path / "checkout")
    return file


@pytest.mark.parametrize(("study", "shown"), [("hayajneh-enhanced", True), ("quickstart", False)])
def test_they_are_in_the_report_of_the_paper_s_study(
    make: Make, tmp_path: Path, results: Path, study: str, shown: bool
) -> None:
    assert results.is_file()
    written = write_report(make(make_plan(repeats=2, study=study)), tmp_path / "out")
    assert (TITLE in written.html.read_text()) is shown
    assert (TITLE in written.markdown.read_text()) is shown


def test_without_results_there_are_none(make: Make, tmp_path: Path, results: Path) -> None:
    results.unlink()
    written = write_report(make(make_plan(repeats=2, study="hayajneh-enhanced")), tmp_path / "out")
    assert TITLE not in written.markdown.read_text()


def test_damaged_results_are_told(make: Make, tmp_path: Path, results: Path) -> None:
    results.write_text("{")
    with pytest.raises(UsageError, match="not JSON"):
        write_report(make(make_plan(repeats=2, study="hayajneh-enhanced")), tmp_path / "out")
