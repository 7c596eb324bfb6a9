"""CSV, Markdown, the terminal's table, and how files are written."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_fakes import FEW_FLOWS, Make, make_plan

from airtoll.errors import AirtollError
from airtoll.report import write_report
from airtoll.report.material import text as words
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import csv_text
from airtoll.report.material.rows import build
from airtoll.report.pages.markdown import in_markdown
from airtoll.stats import METRICS, Interval
from airtoll.store import Result


@pytest.fixture(scope="module")
def directory(quickstart: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(quickstart, tmp_path_factory.mktemp("files")).html.parent


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_runs_csv_has_a_row_for_every_run_and_metric(directory: Path, quickstart: Result) -> None:
    found = rows(directory / "runs.csv")
    data = ReportData.of(quickstart)
    # Metrics that no probe of the study measures have no rows.
    recorded = [name for name in METRICS if any(name in run.values for run in data.runs)]
    assert {"throughput", "rtt", "loss", "cpu_hosts"} <= set(recorded)
    assert len(found) == len(quickstart.plan.runs) * len(recorded)
    values = {(r["run"], r["metric"]): r["value"] for r in found}
    for run in data.runs:
        for metric in recorded:
            expected = run.values.get(metric)
            assert values[run.run.id, metric] == ("" if expected is None else str(expected))
    states = {(r["run"], r["state"], r["reasons"]) for r in found}
    assert sum(state == "invalid" for _, state, _ in states) == 3
    assert all(bool(reasons) == (state == "invalid") for _, state, reasons in states)


def test_no_reason_is_a_formula_of_a_spreadsheet(make: Make, tmp_path: Path) -> None:
    result = make(make_plan(**FEW_FLOWS), invalid=lambda run: ["=1+1"] if run.order == 1 else [])
    found = rows(write_report(result, tmp_path / "report").runs_csv)
    assert {row["reasons"] for row in found} == {"", "'=1+1"}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\n=1", "\uff1d1"])
def test_only_text_of_csv_may_need_an_apostrophe(text: str) -> None:
    (row,) = csv.reader(io.StringIO(csv_text([[text, "a=1", -1.5, None]]), newline=""))
    assert row == [f"'{text}", "a=1", "-1.5", ""]


def test_no_text_of_csv_begins_another_row() -> None:
    ((text,),) = csv.reader(io.StringIO(csv_text([["a\r=1+1"]]), newline=""))
    assert text == "a\n=1+1"


def test_cells_csv_has_the_figures_of_statistics_in_full(directory: Path, quickstart: Result) -> None:
    found = rows(directory / "cells.csv")
    comparison = ReportData.of(quickstart).comparison
    assert len(found) == len(comparison.cells)
    pairs = {(p.cell, p.metric): p for p in comparison.pairs}
    for row, cell in zip(found, comparison.cells, strict=True):
        assert (row["security"], row["metric"]) == (cell.cell.security, cell.metric)
        assert int(row["n"]) == cell.summary.n
        if cell.summary.mean is not None:
            assert float(row["mean"]) == cell.summary.mean
        pair = pairs.get((cell.cell, cell.metric))
        assert (row["baseline"] == "open") == (pair is not None)
        if pair and pair.difference.ci95_t:
            assert float(row["difference_ci95_t_low"]) == pair.difference.ci95_t.low
            assert float(row["difference_ci95_t_high"]) == pair.difference.ci95_t.high
        if pair and pair.ratio.reason:
            assert (row["ratio"], row["no_ratio_because"]) == ("", pair.ratio.reason)
    assert {row["unit"] for row in found} == {"bit/s", "ms", "1", "%"}


def test_cells_csv_counts_discarded_and_missing_runs(make: Make) -> None:
    result = make(make_plan(discard_first=1), finished=lambda run: run.order != 40)
    found = rows(write_report(result, result.directory).csv)
    throughput = [row for row in found if row["metric"] == "throughput"]
    assert sum(int(row["discarded"]) for row in throughput) == 16
    assert sum(int(row["not_finished"]) for row in throughput) == 1
    assert sum(int(row["invalid"]) for row in throughput) == 2  # the third invalid run is discarded
    assert sum(int(row["n"]) for row in throughput) == 64 - 16 - 1 - 2


def test_cells_csv_compares_throughput_with_the_model(directory: Path) -> None:
    expected = {
        (row["transport"], row["metric"]): row["measured_to_expected"]
        for row in rows(directory / "cells.csv")
        if row["packet_size_byte"] == "1408"
    }
    assert float(expected["udp", "throughput"]) == pytest.approx(1, abs=0.02)
    assert float(expected["udp", "rtt"]) == pytest.approx(1, abs=0.1)
    assert expected["udp", "cpu_hosts"] == ""  # virtual time has no CPU
    assert "Measurement and model" in (directory / "report.html").read_text()


def test_markdown_has_the_headline_and_a_whole_table(directory: Path, quickstart: Result) -> None:
    markdown = (directory / "report.md").read_text(encoding="utf-8")
    assert markdown.startswith("# What WPA2 costs on an 802.11a link\n\n**CCMP costs ")
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    heads = next(line for line in lines if line.startswith("| Flow"))
    columns = heads.count(" | ")
    start = lines.index(heads)
    body = lines[start + 2 : start + 2 + len(build(ReportData.of(quickstart)).rows)]
    assert all(len(re.findall(r"(?<!\\) \| ", line)) == columns for line in body)


def test_the_terminal_table_is_as_wide_as_its_columns(quickstart: Result) -> None:
    found = build(ReportData.of(quickstart))
    narrow = found.narrow("quickstart")
    assert narrow.columns == ("Flow, metric", "open", "CCMP", "Difference [95 % CI]", "Change")
    assert {len(row) for row in narrow.rows} == {len(narrow.columns)}
    headings = [row[0] for row in narrow.rows if not any(row[1:])]
    assert headings == list(found.by_flow())
    shown = {row[0].strip() for row in narrow.rows} - set(headings)
    assert {"Throughput, Mbit/s", "RTT, ms", "Jitter, ms", "Loss, %", "CPU hosts, %"} <= shown


def test_an_empty_table_has_columns_and_no_rows(make: Make) -> None:
    found = build(ReportData.of(make(finished=lambda _: False))).narrow("quickstart")
    assert found.rows == ()
    assert "Difference [95 % CI]" in found.columns


def test_a_report_replaces_the_previous_one_and_keeps_the_record_valid(make: Make) -> None:
    result = make(make_plan(repeats=1, **FEW_FLOWS))
    paths = write_report(result, result.directory)
    paths.markdown.write_text("old")
    assert write_report(result, result.directory) == paths
    assert paths.markdown.read_text() != "old"
    assert result.verify() == []
    assert not list(result.directory.glob(".tmp-*"))


def test_an_unwritable_directory_is_one_line(make: Make, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(AirtollError, match="cannot write the report into") as error:
        write_report(make(finished=lambda _: False), blocked / "report")
    assert "\n" not in str(error.value)


@given(st.floats(-1e9, 1e9), st.integers(0, 4))
def test_numbers_read_back_and_have_no_negative_zero(value: float, decimals: int) -> None:
    shown = words.number(value, decimals, sign=True)
    assert float(shown.replace(words.MINUS, "-")) == pytest.approx(value, abs=0.5001 * 10**-decimals)
    assert not re.fullmatch(rf"[{words.MINUS}+]0\.?0*", shown)


def test_an_unknown_value_is_a_dash() -> None:
    assert words.number(None, 2) == words.number(float("nan"), 2) == words.MISSING
    assert words.interval(None, 2) == ""
    assert words.interval(Interval(0.0, float("inf")), 1) == "[0.0, \N{INFINITY}]"


@given(st.text())
def test_no_text_becomes_markdown_or_html(text: str) -> None:
    safe = in_markdown(text)
    assert "\n" not in safe
    assert "<" not in safe
    assert not re.search(r"(?<!\\)(\\\\)*[`*_\[\]|~]", safe)
