"""`airtoll.load`: a result as frames of polars or pandas."""

import csv
import os
import subprocess
import sys
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_fakes import Make

import airtoll
from airtoll import frames
from airtoll.errors import UsageError
from airtoll.frames import LIBRARIES, FrameLibrary
from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.report.pages.files import run_records
from airtoll.stats import METRICS
from airtoll.store import Result, Verdict

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "put-figures-into-a-paper.md"


def rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of either library, with None for a missing value."""
    if isinstance(frame, pl.DataFrame):
        return frame.to_dicts()
    return [
        {name: None if value != value else value for name, value in row.items()}  # noqa: PLR0124 - NaN
        for row in frame.to_dict("records")
    ]


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_have_every_value_with_its_unit_and_state(quickstart: Result, library: FrameLibrary) -> None:
    runs = rows(airtoll.load(quickstart.directory, library).runs)
    assert {row["metric"]: row["unit"] for row in runs} == {
        row["metric"]: METRICS[row["metric"]].unit for row in runs
    }
    invalid = {record.run.id for record in quickstart.records() if not record.verdict.valid}
    assert {row["run"] for row in runs if row["state"] == "invalid"} == invalid
    assert len(invalid) == 3
    assert all(bool(row["reasons"]) == (row["run"] in invalid) for row in runs)
    missing = {(row["metric"], row["transport"], row["security"]) for row in runs if row["value"] is None}
    of_tcp = {(metric, "tcp", level) for metric in ("jitter", "loss") for level in ("open", "ccmp")}
    assert missing == of_tcp | {("cpu_crypto", transport, "open") for transport in ("tcp", "udp")}


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_equal_the_csv_files(quickstart: Result, library: FrameLibrary, tmp_path: Path) -> None:
    paths = write_report(quickstart, tmp_path)
    loaded = airtoll.load(quickstart.directory, library)
    for frame, path in ((loaded.runs, paths.runs_csv), (loaded.cells, paths.csv)):
        with path.open(newline="", encoding="utf-8") as file:
            expected = list(csv.DictReader(file))
        for found, line in zip(rows(frame), expected, strict=True):
            assert found.keys() == line.keys()
            for name, value in found.items():
                word = "" if value is None else value if isinstance(value, str) else float(value)
                assert word == (float(line[name]) if isinstance(word, float) else line[name]), name


@pytest.mark.parametrize("library", LIBRARIES)
def test_samples_have_the_state_of_their_run(quickstart: Result, library: FrameLibrary) -> None:
    loaded = airtoll.load(quickstart.directory, library)
    samples = rows(loaded.samples)
    stored = quickstart.samples()
    assert [row["value"] for row in samples] == [value for one in stored for value in one.value]
    assert [row["metric"] for row in samples] == [word for one in stored for word in one.metric]
    assert all(isinstance(row["t_ns"], int) for row in samples)
    assert {row["run"]: row["state"] for row in samples} == loaded.states


def test_a_value_of_a_valid_run_that_does_not_count_is_missing_with_its_reason(quickstart: Result) -> None:
    data = ReportData.of(quickstart)
    run = data.runs[0]
    assert run.record is not None
    verdict = Verdict(valid=True, reasons=(), spoiled={"rtt": "sender late: 3 ms"})
    spoiled = replace(
        run,
        record=run.record.model_copy(update={"verdict": verdict}),
        values={name: value for name, value in run.values.items() if name != "rtt"},
    )
    found = [
        row for row in run_records(replace(data, runs=(spoiled, *data.runs[1:]))) if row["run"] == run.run.id
    ]
    assert {row["state"] for row in found} == {"valid"}
    reasons = {row["metric"]: row["reasons"] for row in found if row["reasons"]}
    assert reasons == {"rtt": "sender late: 3 ms"}
    assert [row["value"] for row in found if row["metric"] == "rtt"] == [None]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_result_without_finished_runs_has_empty_frames(make: Make, library: FrameLibrary) -> None:
    loaded = airtoll.load(make(finished=lambda _: False).directory, library)
    assert len(loaded.runs) == len(loaded.samples) == 0
    assert list(loaded.samples.columns)[:3] == ["run", "state", "probe"]


def test_the_first_installed_library_is_used(quickstart: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    assert airtoll.load(str(quickstart.directory)).library == "polars"
    monkeypatch.setattr(frames, "find_spec", lambda name: util.find_spec(name) if name == "pandas" else None)
    assert airtoll.load(quickstart.directory).library == "pandas"
    with pytest.raises(UsageError, match=r"^airtoll.load requires polars: pip install polars$"):
        airtoll.load(quickstart.directory, "polars")
    monkeypatch.setattr(frames, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"^airtoll.load requires polars or pandas: pip install polars$"):
        airtoll.load(quickstart.directory)
    with pytest.raises(UsageError, match=r"unknown library 'arrow' \(expected polars or pandas\)"):
        airtoll.load(quickstart.directory, "arrow")  # type: ignore[arg-type]


def test_a_directory_that_is_no_result_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        airtoll.load(tmp_path)
    assert "\n" not in str(error.value)


def test_importing_airtoll_imports_no_library() -> None:
    code = (
        "import sys, airtoll.frames; print([m for m in ('polars', 'pandas', 'altair') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_example_of_the_guide_averages_valid_runs_only(quickstart: Result, tmp_path: Path) -> None:
    """The means of its program are those of `cells.csv`, although three runs are invalid."""
    (tmp_path / "results").mkdir()
    os.symlink(quickstart.directory, tmp_path / "results" / "first")
    (program,) = (part.partition("```")[0] for part in GUIDE.read_text().split("```python\n")[1:])
    program += "\nmeans.write_csv('means.csv')\n"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True)
    keys = ["security", "transport", "ip", "packet_size_byte"]
    means = {tuple(row[:-1]): row[-1] for row in pl.read_csv(tmp_path / "means.csv").iter_rows()}
    cells = airtoll.load(quickstart.directory).cells.filter(pl.col("metric") == "throughput")
    expected = {tuple(row[:-1]): row[-1] / 1e6 for row in cells.select(*keys, "mean").iter_rows()}
    assert means == pytest.approx(expected)
