"""`airtoll rtl report`."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rtl_fakes import document

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "measured.json"
    path.write_text(json.dumps(document()))
    return path


def test_rtl_report_without_results_names_the_command_that_makes_them(airtoll: Command) -> None:
    status, out, err = airtoll("rtl", "report", "--results", "none.json")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "none.json" in err
    assert "make -C rtl synth" in err


@pytest.mark.parametrize("columns", [80, 60, 200])
def test_the_tables_fit_the_width_and_our_designs_are_first(
    airtoll: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = airtoll("rtl", "report")
    lines = out.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0] == "Our designs on ECP5-85F"
    assert out.index("Our designs on iCE40 HX8K") < out.index("Table III")
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
    row = next(line for line in lines if line.startswith("Standard, one AES"))
    assert row.split()[3:5] == ["4478", "3138"]
    status, document, _ = airtoll("rtl", "report", "--json")
    assert status == 0
    fastest = max(one["fmax_mhz"] or 0 for one in json.loads(document) if one["target"] == "ecp5")
    assert f" {fastest:.1f} " in out


def test_damaged_results_are_one_line(airtoll: Command, tmp_path: Path) -> None:
    (tmp_path / "measured.json").write_text("{}{}")
    status, _, err = airtoll("rtl", "report", "--results", tmp_path / "measured.json")
    assert status == 2
    assert err.count("\n") == 1


def test_the_installed_package_contains_the_results(airtoll: Command) -> None:
    status, out, _ = airtoll("rtl", "report")
    assert status == 0
    for title in ("Table III", "Table IV", "Table V", "Our designs on ECP5-85F", "The paper's comparison"):
        assert title in out


def test_json_and_csv_have_every_figure(airtoll: Command, file: Path) -> None:
    status, out, _ = airtoll("rtl", "report", "--results", file, "--json")
    assert status == 0
    records = json.loads(out)
    assert [(one["point"], one["target"]) for one in records] == [
        ("standard", "ecp5"),
        ("standard", "cycloneive"),
        ("lanes2", "ecp5"),
        ("lanes2", "cycloneive"),
    ]
    assert records[2]["speed_up"] == pytest.approx(2)
    _, out, _ = airtoll("rtl", "report", "--results", file, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["lut"] for row in rows] == ["950", "1950", "2950", "4950"]
    assert rows[1]["fmax_mhz"] == ""


def test_markdown_has_every_table(airtoll: Command, file: Path) -> None:
    status, out, _ = airtoll("rtl", "report", "--results", file, "--markdown")
    assert status == 0
    assert out.count("\n## ") + out.startswith("## ") == 6
    assert "| Two lanes | ECP5-85F |" in out


def test_forms_exclude_each_other(airtoll: Command, file: Path) -> None:
    status, _, err = airtoll("rtl", "report", "--results", file, "--json", "--csv")
    assert status == 2
    assert err.count("\n") == 1
