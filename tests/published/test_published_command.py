"""`airtoll studies published`, and the page that shows its output."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from airtoll.published import COLUMNS, finding_lines, findings, implied_points, names, published

PAGE = Path(__file__).parents[2] / "docs" / "measurements" / "published.md"

Command = Callable[..., tuple[int, str, str]]


def test_bare_studies_lists_them_as_before(airtoll: Command) -> None:
    status, out, _ = airtoll("studies")
    assert status == 0
    assert re.search(r"^study +runs +title", out)
    assert "quickstart" in out


@pytest.mark.parametrize("study", names())
def test_points_and_findings_are_printed(airtoll: Command, study: str) -> None:
    status, out, _ = airtoll("studies", "published", study, "--printed")
    assert status == 0
    publication = published(study)
    assert publication.title in out
    for line in finding_lines(publication, consistent=False):
        assert f"- {line}\n" in out
    assert len(out.splitlines()) > len(publication.points) + len(findings(publication))


@pytest.mark.parametrize(
    ("study", "published_in"),
    [
        ("hayajneh-enhanced", "IEEE Systems Journal, 2017, doi:10.1109/JSYST.2015.2424702"),
        ("kolahi-11n-udp", "Baltic Congress on Future Internet Communications (BCFIC), 2011, DOI unknown"),
        ("pacheco-11ag", "Venue, year and DOI unknown"),
    ],
)
def test_venue_year_and_doi_are_named_or_unknown(airtoll: Command, study: str, published_in: str) -> None:
    _, out, _ = airtoll("studies", "published", study, "--printed")
    authors = ", ".join(published(study).authors)
    assert out.splitlines()[1] == f"{authors}. {published_in}"


def test_venue_year_and_doi_have_a_source() -> None:
    for study in names():
        publication = published(study)
        found = (publication.venue, publication.year, publication.doi)
        assert (publication.published_from is None) == (found == (None, None, None)), study


@pytest.mark.parametrize("study", names())
def test_the_csv_reads_back_as_the_points(airtoll: Command, study: str) -> None:
    status, out, _ = airtoll("studies", "published", study, "--csv")
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    publication = published(study)
    implied = implied_points(publication)
    assert tuple(rows[0]) == COLUMNS
    assert [row["id"] for row in rows] == [p.id for p in (*publication.points, *implied)]
    for row, point in zip(rows, publication.points, strict=False):
        assert row["value"] == str(point.value)
        assert row["unit"] == point.unit
        assert row["place"] == point.place
        levels = {name: str(level) for name, level in point.condition.given().items()}
        assert {name: row[name] for name in levels} == levels
    for row, point in zip(rows[len(publication.points) :], implied, strict=True):
        assert float(row["value"]) == pytest.approx(float(point.value), rel=1e-3)
        assert row["implied_by"]


def test_json_has_all_fields(airtoll: Command) -> None:
    status, out, _ = airtoll("studies", "published", "kolahi-11n-udp", "--printed", "--json")
    assert status == 0
    told = json.loads(out)
    publication = published("kolahi-11n-udp")
    assert [p["id"] for p in told["points"]] == [p.id for p in publication.points]
    assert len(told["findings"]) == len(findings(publication))
    assert len(told["implied"]) == 12
    assert told["points"][0]["value"] == "175"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["kolahi-11"], "'kolahi-11' is neither a study nor a file; "),
        (["kolahi-11ac", "--csv", "--json"], "--csv and --json are mutually exclusive"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_status_2(
    airtoll: Command, arguments: list[str], words: str
) -> None:
    status, out, err = airtoll("studies", "published", *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith(f"airtoll: {words}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("study", names())
def test_the_page_lists_the_inconsistencies_that_the_command_prints(study: str) -> None:
    section = PAGE.read_text().split(f"\n### {study}\n")[1].split("\n### ")[0]
    listed = [line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ")]
    assert listed == finding_lines(published(study), consistent=False)
