"""results.json: read with one line for every fault, and replaced as a whole."""

import json
from pathlib import Path

import pytest
from rtl_fakes import document, results

from airtoll.errors import UsageError
from airtoll.rtl import Results, amend, default_file, load


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "invalid JSON"),
        ("[]", "expected an object"),
        ('{"schema_version": 2}', "schema_version: expected 1, got 2"),
        ('{"points": {"a": {}}}', "points.a.title: is missing"),
        ('{"point": {}}', "point: unknown key"),
        (b"\xff", "invalid JSON"),
    ],
)
def test_an_error_is_one_line_with_its_position(tmp_path: Path, content: str | bytes, fault: str) -> None:
    file = tmp_path / "results.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as raised:
        load(file)
    message = str(raised.value)
    assert message.startswith(f"{file}: ")
    assert fault in message
    assert "\n" not in message


def test_a_missing_results_file_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make -C rtl synth"):
        load(tmp_path / "results.json")


def test_results_are_read_back_as_written(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    amend(file, lambda _: results())
    assert load(file) == results()
    assert "null" not in file.read_text()


def test_times_of_ports_that_a_part_does_not_tell_are_left_out(tmp_path: Path) -> None:
    file, content = tmp_path / "results.json", document()
    for run in content["points"]["standard"]["targets"]["ecp5"]["runs"]:
        del run["tsu_ns"], run["tco_ns"]
    untold = Results.model_validate(content)
    amend(file, lambda _: untold)
    assert load(file) == untold
    assert load(file).points["standard"].targets["ecp5"].median_ns("tsu_ns") is None


def test_a_change_keeps_earlier_changes_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(document()))

    def without_lanes(before: Results) -> Results:
        return Results(points={"standard": before.points["standard"]})

    assert list(amend(file, without_lanes).points) == ["standard"]
    assert load(file).points["standard"] == results().points["standard"]
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"]


def test_the_packaged_results_equal_those_of_the_repository() -> None:
    checkout = Path(__file__).parents[2] / "rtl/syn/results.json"
    assert default_file().read_bytes() == checkout.read_bytes()
    assert load(default_file()).points
