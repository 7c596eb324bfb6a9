"""The tables of the hardware are in the report of their study."""

from pathlib import Path

import pytest
from report_fakes import Make, make_plan

from airtoll.report import write_report

TITLE = "Resource utilization (Table III)"


@pytest.mark.parametrize(("study", "shown"), [("hayajneh-enhanced", True), ("quickstart", False)])
def test_they_are_in_the_report_of_the_paper_s_study(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: str, shown: bool
) -> None:
    monkeypatch.chdir(tmp_path)  # not in a checkout
    written = write_report(make(make_plan(repeats=2, study=study)), tmp_path / "out")
    assert (TITLE in written.html.read_text()) is shown
    assert (TITLE in written.markdown.read_text()) is shown
