"""Attribution of the cost: parts that add up, and the model's figures beside measured figures."""

import re

import pytest
from report_fakes import Make, exactly, expected_bit_per_s, make_plan

from airtoll.report import write_report
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import build
from airtoll.report.material.text import MINUS
from airtoll.report.parts import explained
from airtoll.store import Result
from airtoll.study.cell import Run


def numbers(cell: str) -> tuple[float, float]:
    """A change and its share in percent: "-1.25 (-3.10 %)"."""
    found = re.fullmatch(r"(\S+) \((\S+) %\)", cell.replace(MINUS, "-"))
    assert found is not None, cell
    return float(found[1]), float(found[2])


@pytest.fixture(scope="module")
def data(quickstart: Result) -> ReportData:
    return ReportData.of(quickstart)


def test_the_parts_of_every_cost_add_up_to_the_measured_change(data: ReportData) -> None:
    grid = explained.splits(data)
    assert grid.columns[3:] == (
        "Measured change",
        "Bytes on the air",
        "Whole symbols",
        "Processor",
        "Unexplained",
    )
    assert len(grid.rows) == 16  # eight flows; throughput and round-trip time
    for row in grid.rows:
        (change, percent), *parts = (numbers(cell) for cell in row[3:])
        assert sum(part for part, _ in parts) == pytest.approx(change, abs=0.03)
        assert sum(share for _, share in parts) == pytest.approx(percent, abs=0.03)


def test_measured_changes_equal_those_of_the_comparison(data: ReportData) -> None:
    changes = {(row.flow, row.metric.short): row for row in build(data).rows}
    for row in explained.splits(data).rows:
        of = changes[row[0], row[1].partition(",")[0]]
        open_mean, other = (float(words) for words in (of.mean(of.baseline), of.mean(of.other)))
        assert numbers(row[3])[0] == pytest.approx(other - open_mean, abs=0.011)


def test_each_step_of_the_waterfall_starts_at_the_end_of_the_previous(data: ReportData) -> None:
    (figure,) = explained.waterfalls(data)
    assert [chart.title for chart in figure.charts] == ["Throughput, CCMP", "Round-trip time, CCMP"]
    for chart in figure.charts:
        reached: dict[str, float] = {}
        for value in chart.spec["datasets"]["values"]:
            assert value["from"] == reached.get(value["flow"], 0.0)
            reached[value["flow"]] = value["to"]
        assert len(reached) == 8


def test_of_many_flows_the_ends_of_the_axis_are_drawn(make: Make) -> None:
    plan = make_plan(sizes=(128, 512, 1024, 1408), repeats=1)
    found = ReportData.of(make(plan, invalid=lambda _: ()))
    (figure,) = explained.waterfalls(found)
    sizes = {value["flow"].split()[-2] for value in figure.charts[0].spec["datasets"]["values"]}
    assert sizes == {"128", "1408"}
    assert "flows at both ends of the axis" in figure.caption
    assert len(explained.splits(found).rows) == 32


def test_only_main_metrics_stand_beside_the_model(data: ReportData) -> None:
    grid = explained.predictions(data)
    assert {row[1] for row in grid.rows} == {"Throughput, Mbit/s", "RTT, ms", "Jitter, ms", "Loss, %"}
    by_cell = {(row[0], row[1], row[2]): row for row in grid.rows}
    closed_form = 28.97  # Mbit/s
    assert float(by_cell["UDP IPv4 1408 B", "Throughput, Mbit/s", "open"][3]) == pytest.approx(
        closed_form, rel=0.015
    )


def test_alternatives_name_levels_as_tables_do(data: ReportData) -> None:
    udp = next(grid for grid in explained.answers(data) if grid.title.startswith("UDP"))
    questions = [row[0] for row in udp.rows]
    assert questions[0] == "no change"
    assert {"open", "GCMP-256", "an engine that takes no time"} <= set(questions)
    by_question = {row[0]: row for row in udp.rows}
    assert float(by_question["open"][1]) >= float(by_question["no change"][1])


def test_simulated_results_are_not_explained(make: Make) -> None:
    result = make(make_plan(repeats=1), lab="sim", invalid=lambda _: ())
    found = ReportData.of(result)
    assert explained.waterfalls(found) == []
    assert explained.splits(found).rows == ()
    assert 'id="explained"' not in write_report(result, result.directory).html.read_text()


def test_a_load_below_capacity_has_no_throughput_cost(make: Make) -> None:
    def measured(run: Run) -> float:
        return min(2e6, expected_bit_per_s(run.cell))

    plan = make_plan(transports=("udp",), repeats=1, factors={"offered": (2.0,)})
    found = ReportData.of(make(plan, samples=exactly(throughput=measured), invalid=lambda _: ()))
    assert explained.splits(found).rows == ()
