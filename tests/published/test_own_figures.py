"""A user's own published figures: read, checked, stored with the result, compared and fitted like those of a paper."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.published import names, parse_figures, points_csv, publication_of, published
from airtoll.report.material.data import ReportData
from airtoll.store import Result
from airtoll.study import load_study
from airtoll.study.load import Figures

EXAMPLES = Path(__file__).parents[2] / "docs" / "how-to"

Command = Callable[..., tuple[int, str, str]]

STUDY = """
title = "A vendor's table"
published = "{name}"
lab = "sim"
[factors]
security = ["open", "ccmp"]
transport = ["tcp", "udp"]
ip = ["ipv4"]
packet_size = ["1470 B"]
phy = ["ht"]
rate = ["mcs7"]
gi = ["short"]
[method]
repeats = 2
duration = "0.2 s"
warmup = "0.1 s"
probes = ["throughput"]
"""
CSV = """metric,value,unit,security,transport
throughput,50.0,Mbit/s,open,tcp
throughput,49,Mbps,ccmp,tcp
throughput,63,Mbit/s,open,udp
throughput,63,Mbit/s,ccmp,udp
"""
TOML = """
title = "A vendor's table"
url = "https://example.org/table"
condition = { transport = "udp" }
[[point]]
metric = "throughput"
value = 63.0
unit = "Mbit/s"
condition = { security = "open" }
[[point]]
metric = "throughput"
value = 62
unit = "Mbit/s"
condition = { security = "ccmp" }
[[claim]]
kind = "ordering"
metric = "throughput"
factor = "security"
better = "open"
worse = "ccmp"
"""


def study_with(folder: Path, figures: str, name: str = "vendor.csv") -> Path:
    (folder / name).write_text(figures)
    study = folder / "study.toml"
    study.write_text(STUDY.format(name=name))
    return study


def test_a_csv_file_has_the_points_with_their_digits(tmp_path: Path) -> None:
    publication = publication_of(load_study(study_with(tmp_path, CSV)))
    assert publication is not None
    assert publication.name == "vendor"
    assert [str(point.value) for point in publication.points] == ["50.0", "49", "63", "63"]
    assert publication.points[1].condition.given() == {"security": "ccmp", "transport": "tcp"}


def test_a_toml_file_has_points_and_claims(tmp_path: Path) -> None:
    publication = publication_of(load_study(study_with(tmp_path, TOML, "vendor.toml")))
    assert publication is not None
    assert publication.points[0].value == Decimal("63.0")
    assert str(publication.points[0].value) == "63.0"
    assert publication.points[0].condition.transport == "udp"
    (claim,) = publication.claims
    assert claim.kind == "ordering"
    assert (claim.better, claim.worse) == ("open", "ccmp")
    assert publication.published_in == "https://example.org/table, venue and year unknown"


@pytest.mark.parametrize("name", names())
def test_the_csv_of_a_paper_reads_back_as_its_points(name: str) -> None:
    paper = published(name)
    read = parse_figures(Figures(f"{name}.csv", points_csv(paper), name))
    told = [(p.id, p.value, p.unit, p.metric, p.condition, p.change, p.over, p.source) for p in read.points]
    assert told == [
        (p.id, p.value, p.unit, p.metric, p.condition, p.change, p.over, p.source) for p in paper.points
    ]


@pytest.mark.parametrize(
    ("figures", "name", "words"),
    [
        (CSV.replace("50.0,Mbit/s", "50.0,"), "v.csv", "v.csv: line 2: unit: missing key; expected Mbit/s"),
        (CSV.replace("Mbps", "Mbit"), "v.csv", "v.csv: line 3: unit: 'Mbit' is not one of"),
        (CSV + "throughput,51,Mbit/s,open,tcp\n", "v.csv", "v.csv: line 6: doubles line 2"),
        (
            CSV + "throughput,51,Mbit/s,gcmp,tcp\n",
            "v.csv",
            "v.csv: line 6: the study has no cell with gcmp tcp",
        ),
        (CSV.replace("63,", "fast,"), "v.csv", "v.csv: line 4: value: 'fast' is not a printed number"),
        (CSV.replace(",security", ",secured"), "v.csv", "v.csv: line 1: 'secured' is not a column"),
        (CSV.replace("open,udp", "open,sctp"), "v.csv", "v.csv: line 4: transport: 'sctp' is not allowed"),
        (TOML.replace('unit = "Mbit/s"\n', "", 1), "v.toml", "v.toml: point[0].unit: missing key; expected"),
        (
            TOML.replace('worse = "ccmp"', 'worse = "gcmp"'),
            "v.toml",
            "v.toml: claim[0]: the study has no cell with gcmp",
        ),
        (TOML.replace("value = 62", "valeu = 62"), "v.toml", "v.toml: point[1].value: missing key"),
        (TOML.replace('"ordering"', '"order"'), "v.toml", "v.toml: claim[0]"),
        (TOML + "[", "v.toml", "v.toml: line "),
    ],
)
def test_wrong_figures_are_a_line_with_file_and_place(
    airtoll: Command, tmp_path: Path, figures: str, name: str, words: str
) -> None:
    study = study_with(tmp_path, figures, name)
    for command in (
        ("plan",),
        ("run", "--out", str(tmp_path / "result")),
        ("studies", "published"),
        ("fit",),
    ):
        status, out, err = airtoll(*command, str(study))
        assert status == 2
        assert out == ""
        assert f"/{words}" in err.splitlines()[0]
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(("name", "figures"), [("iw612", 48), ("rt2880", 6)])
def test_the_figures_of_the_examples_belong_to_their_studies(name: str, figures: int) -> None:
    publication = publication_of(load_study(EXAMPLES / f"{name}.toml"))
    assert publication is not None
    assert len(publication.points) == figures


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    study = study_with(tmp_path, CSV)
    (tmp_path / "vendor.csv").unlink()
    with pytest.raises(UsageError, match=r"vendor.csv: cannot be read"):
        load_study(study)


def test_a_result_keeps_the_figures_of_its_study(airtoll: Command, tmp_path: Path) -> None:
    study = study_with(tmp_path, CSV)
    directory = tmp_path / "result"
    assert airtoll("run", str(study), "--out", str(directory))[0] == 0
    study.unlink()
    (tmp_path / "vendor.csv").unlink()
    assert (directory / "figures.csv").read_text() == CSV
    assert airtoll("verify", str(directory))[0] == 0
    data = ReportData.of(Result.open(directory))
    assert data.publication is not None
    assert data.publication.name == "vendor"
    page = (directory / "report.html").read_text()
    assert "Where the gap to the paper comes from" in page
    status, _, _ = airtoll("report", str(directory), "--pages", str(tmp_path / "pages"))
    assert status == 0
    written = (tmp_path / "pages" / "vendor.md").read_text()
    assert "| Figure |" in written
    assert "Explained by" in written
    (directory / "figures.csv").chmod(0o644)
    (directory / "figures.csv").write_text(CSV.replace("50.0", "51.0"))
    assert airtoll("verify", str(directory))[0] == 1


def test_published_figures_are_beside_their_simulation(airtoll: Command, tmp_path: Path) -> None:
    figures = CSV.replace("63,Mbit/s,open", "900,Mbit/s,open").replace("49,Mbps", "10,Mbps")
    status, out, _ = airtoll("studies", "published", str(study_with(tmp_path, figures)), "--json")
    assert status == 0
    told = json.loads(out)["simulated"]
    assert set(told) == {"line-2", "line-3", "line-4", "line-5"}
    beyond, slow, reproduced = told["line-4"], told["line-3"], told["line-5"]
    assert beyond["ratio"] < 0.1
    assert beyond["explained_by"].startswith("not explained; the air alone carries at most ")
    assert slow["explained_by"].startswith("not explained; the air alone carries ")
    assert slow["explained_by"].endswith(" times as much")
    assert reproduced["explained_by"] == "air alone"
    low, high = reproduced["ci95"]
    assert low <= reproduced["ours"] <= high


def test_a_study_without_figures_is_refused(airtoll: Command) -> None:
    status, _, err = airtoll("fit", "quickstart")
    assert status == 2
    assert err.endswith("published: missing key: the file with the published figures\n")
    status, _, err = airtoll("fit", "kolahi-11n-udp", "--vary", "windows")
    assert status == 2
    assert "--vary: 'windows' is not one of window, " in err
