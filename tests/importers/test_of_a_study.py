"""Discarded tests are stored but not counted; a result of a published study has the paper's figures in its report."""

from pathlib import Path
from typing import Any

import pytest
from recorded_files import LEVELS, RECORDED, by_run

from airtoll.errors import UsageError
from airtoll.published import published
from airtoll.report.material.data import ReportData
from airtoll.store import Result
from airtoll.store.importers import Given, import_files, read_table
from airtoll.study import find_study, load_study

JPERF = RECORDED / "iperf2" / "jperf-udp-client.txt"
TEPSIC = load_study(find_study("tepsic-11n"))


def imported(directory: Path, *files: Given, **options: Any) -> Result:
    import_files(files, directory, "Imported", **options)
    return Result.open(directory)


def test_the_first_tests_of_each_cell_are_discarded(tmp_path: Path) -> None:
    files = [
        Given(JPERF, {**LEVELS, "security": "open"}),
        Given(RECORDED / "netperf/tcp_stream_three.txt", LEVELS),
    ]
    result = imported(tmp_path / "result", *files, discard_first=2)
    assert [(run.replicate, run.discard) for run in result.plan.runs] == 2 * [
        (1, True),
        (2, True),
        (3, False),
    ]
    assert (result.plan.method.repeats, result.plan.method.discard_first) == (1, 2)
    data = ReportData.of(result)
    assert data.counts == {"discarded": 4, "valid": 2}
    assert len(by_run(result, "throughput")) == 6  # all are stored
    assert {cell.summary.n for cell in data.comparison.cells if cell.metric == "throughput"} == {1}


def test_the_table_names_discarded_files(tmp_path: Path) -> None:
    table = tmp_path / "levels.csv"
    for name in ("a.txt", "b.txt"):
        text = (RECORDED / "iperf2" / "2.0.5-udp-client.txt").read_text()
        (tmp_path / name).write_text(text if name == "a.txt" else text.replace("33262", "33263"))
    table.write_text("file,discard\na.txt,yes\nb.txt,no\n")
    given = [Given(each.path, LEVELS, each.block, each.discard) for each in read_table(table)]
    runs = imported(tmp_path / "result", *given).plan.runs
    assert [run.discard for run in runs] == [True, False]
    table.write_text("file,discard\na.txt,maybe\n")
    with pytest.raises(UsageError, match="line 2: discard: 'maybe' is neither yes nor no"):
        read_table(table)


def test_a_study_gives_the_levels_that_are_the_same_in_all_its_cells(tmp_path: Path) -> None:
    given = Given(JPERF, {"security": "ccmp", "stack": "ubuntu-13.04", "topology": "wired-ap"})
    result = imported(tmp_path / "result", given, study=TEPSIC)
    cell = result.plan.runs[0].cell
    assert (cell.phy, cell.bandwidth, cell.rate, cell.gi) == ("ht", 40, "mcs7", "short")
    assert cell.topology == "wired-ap"  # the owner's word replaces that of the study
    assert cell.packet_size == 1280  # of the file
    (first, *_) = result.records()
    assert "phy" in first.link["levels_by_study"]
    assert "topology" not in first.link["levels_by_study"]
    assert result.plan.link == TEPSIC.link


def test_a_level_that_varies_in_the_study_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not tell the security level"):
        imported(tmp_path / "result", Given(JPERF), study=TEPSIC)


def test_the_report_has_the_figures_of_the_paper_and_the_model(tmp_path: Path) -> None:
    given = Given(JPERF, {"security": "ccmp", "stack": "ubuntu-13.04"})
    data = ReportData.of(imported(tmp_path / "result", given, study=TEPSIC))
    assert data.publication == published("tepsic-11n")
    assert data.cases
    without = ReportData.of(imported(tmp_path / "other", Given(JPERF, LEVELS)))
    assert without.publication is None
    assert not without.cases


def test_cells_with_unknown_rates_have_no_prediction(tmp_path: Path) -> None:
    given = Given(JPERF, {"security": "ccmp", "stack": "ubuntu-13.04", "rate": "auto"})
    data = ReportData.of(imported(tmp_path / "result", given, study=TEPSIC))
    assert data.publication == published("tepsic-11n")
    assert not data.expected


def test_files_without_time_keep_their_order(tmp_path: Path) -> None:
    names = ("udp_rr.txt", "tcp_stream_1408.txt", "tcp_rr.txt")
    files = [Given(RECORDED / "netperf" / name, LEVELS) for name in names]
    records = import_files(files, tmp_path / "result", "Imported")
    assert [record.link["file"] for record in records] == list(names)
