"""Figures of a paper beside the measured cells."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from report_fakes import Make, exactly, make_plan

from airtoll.published import names, published
from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.report.parts import changes, figures
from airtoll.report.parts.publications import BesidePublication, merged
from airtoll.store import Result
from airtoll.study import load_study, shipped_studies
from airtoll.study.cell import PublicationName, Run

KOLAHI = {
    "phy": ("vht",),
    "bandwidth": (80,),
    "streams": (3,),
    "gi": ("short",),
    "topology": ("wired-ap",),
}


def throughput(run: Run) -> float:
    """Throughput of a run; Figure 3 has 852 Mbit/s for open UDP over IPv4 at 1408 B."""
    cell = run.cell
    of_figure_3 = (cell.security, cell.transport, cell.ip, cell.packet_size) == ("open", "udp", "ipv4", 1408)
    return 852e6 * 1.1 if of_figure_3 else 500e6 + 1e6 * run.replicate


def kolahi(make: Make, study: str = "kolahi-11ac", study_text: str | None = None) -> ReportData:
    plan = make_plan(sizes=(128, 1408), repeats=2, rates=("mcs9",), study=study, factors=KOLAHI)
    return ReportData.of(
        make(
            plan,
            samples=exactly(throughput=throughput),
            invalid=lambda _: (),
            lab="sim",
            link={},
            study_text=study_text,
        )
    )


@pytest.fixture
def paper(make: Make, monkeypatch: pytest.MonkeyPatch) -> BesidePublication:
    monkeypatch.setattr("report_fakes.expected_bit_per_s", lambda _: 1.0)
    found = BesidePublication.of(kolahi(make))
    assert found is not None
    return found


def test_a_published_value_is_listed_beside_its_cell(paper: BesidePublication) -> None:
    lines = {(row[0], row[1]): row for row in paper.grid().rows}
    line = dict(zip(paper.grid().columns, lines["Figure 3", "open UDP IPv4 1408 B"], strict=True))
    assert line["Published"] == "852"
    assert line["Simulated here"].startswith("937.20")
    assert line["Deviation"] == "+10.0 %"


def test_a_published_value_is_a_cross_in_its_figure(paper: BesidePublication) -> None:
    udp = figures.measured(paper.data)[0].charts[1]
    crosses = {(row["x"], row["ip"], row["level"]): row["printed"] for row in udp.spec["datasets"]["printed"]}
    assert crosses["1408", "IPv4", "open"] == 852
    assert {x for x, _, _ in crosses} == {"1408"}  # the paper has no figure for UDP at 128 B


def test_a_published_extreme_is_listed_beside_the_measured_extreme(paper: BesidePublication) -> None:
    (line,) = [
        row for row in paper.grid().rows if row[1].startswith("open UDP IPv4, maximum over packet sizes")
    ]
    assert line[3:5] == ("about 850", "937.20")


def test_a_published_extreme_is_not_compared_with_a_single_cell(make: Make) -> None:
    plan = make_plan(sizes=(1408,), repeats=2, rates=("mcs9",), study="kolahi-11ac", factors=KOLAHI)
    found = BesidePublication.of(
        ReportData.of(
            make(plan, samples=exactly(throughput=throughput), invalid=lambda _: (), lab="sim", link={})
        )
    )
    assert found is not None
    assert not any("maximum over packet sizes" in row[1] for row in found.grid().rows)


@pytest.mark.parametrize(
    ("point", "value"),
    [("udp-decrease-most", 0.90), ("tcp-decrease-least", 0.96), ("tcp-decrease-most", 0.92)],
)
def test_the_largest_decrease_is_the_smallest_ratio(point: str, value: float) -> None:
    (decrease,) = [each for each in published("tepsic-11n").points if each.id == point]
    assert merged(decrease, [0.90, 0.92, 0.95, 0.96, 0.97]) == pytest.approx(value)


def test_quoted_values_are_not_compared_with_measurements(paper: BesidePublication) -> None:
    assert {one.metric.name for one in paper.beside} == {"throughput"}
    assert not any(one.point.quoted for one in paper.beside)


def test_the_page_lists_the_inconsistencies_of_the_paper(paper: BesidePublication) -> None:
    directory = paper.data.directory
    page = write_report(Result.open(directory), directory).html.read_text()
    assert f"own numbers ({len(paper.inconsistencies)})" in page
    assert paper.inconsistencies
    assert published("kolahi-11ac").title in page


def test_a_user_study_has_no_paper(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("report_fakes.expected_bit_per_s", lambda _: 1.0)
    assert BesidePublication.of(kolahi(make, study="mine")) is None


def test_a_study_that_only_has_a_paper_s_name_has_no_paper(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report_fakes.expected_bit_per_s", lambda _: 1.0)
    data = kolahi(make, study_text='title = "Something else"\n')
    assert data.study == "kolahi-11ac"
    assert BesidePublication.of(data) is None


def test_a_study_of_another_name_that_names_its_paper_has_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report_fakes.expected_bit_per_s", lambda _: 1.0)
    found = BesidePublication.of(kolahi(make, study="mine", study_text='published = "kolahi-11ac"\n'))
    assert found is not None
    assert found.publication is published("kolahi-11ac")


@pytest.mark.parametrize(
    "path", [path for path in shipped_studies() if path.stem in names()], ids=lambda path: path.stem
)
def test_a_shipped_study_names_its_paper_and_was_known_without_the_key(
    make: Make, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setattr("report_fakes.expected_bit_per_s", lambda _: 1.0)
    assert load_study(path).published == path.stem
    before = "".join(
        line for line in path.read_text().splitlines(True) if not line.startswith("published = ")
    )
    data = kolahi(make, study=path.stem, study_text=before)
    assert data.publication == published(path.stem)
    changed = before.replace("title = ", 'title = "Another" # ')
    assert replace(data, study_text=changed).publication is None


def test_study_files_accept_the_names_of_all_publications() -> None:
    assert get_args(PublicationName) == names()


def test_a_printed_change_is_drawn_beside_the_change_of_each_cell(make: Make) -> None:
    plan = make_plan(
        levels=("open", "ccmp", "gcmp"),
        sizes=(1400,),
        transports=("udp",),
        ips=("ipv4",),
        study="hayajneh-enhanced",
        factors={"topology": ("through-ap",), "phy": ("erp",), "offered": (4.0, 7.0)},
    )
    jitter = exactly(jitter=lambda run: (1.5 if run.cell.security == "ccmp" else 1.0) + 0.01 * run.replicate)
    data = ReportData.of(make(plan, samples=jitter, invalid=lambda _: (), lab="sim", link={}))
    _, figure = changes.differences(data)
    assert len(figure.charts) == 2
    for chart in figure.charts:
        (mark,) = chart.spec["datasets"]["printed"]  # the paper has a number for CCMP, but none for GCMP
        assert mark["security"] == "CCMP"
        assert mark["printed"] == pytest.approx(100)  # "almost doubled"
        assert mark["of"] == "published by Hayajneh et al."


def test_a_change_is_compared_with_the_paired_ratio(make: Make) -> None:
    plan = make_plan(
        levels=("open", "ccmp"),
        sizes=(1400,),
        transports=("udp",),
        ips=("ipv4",),
        study="hayajneh-enhanced",
        factors={"topology": ("through-ap",), "phy": ("erp",)},
    )
    jitter = exactly(jitter=lambda run: 1.5 if run.cell.security == "ccmp" else 1.0)
    found = BesidePublication.of(ReportData.of(make(plan, samples=jitter, invalid=lambda _: (), lab="sim")))
    assert found is not None
    (line,) = [row for row in found.grid().rows if row[2].startswith("Jitter")]
    assert line[0] == "Figure 7"
    assert line[3:] == ("+100 %", "+50.00 %", "\N{MINUS SIGN}25.0 %", "not explained")
