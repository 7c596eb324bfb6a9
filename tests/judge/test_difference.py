"""Comparison of two results: differences, equality, undecided cells, and differing conditions."""

from pathlib import Path
from typing import Any

import pytest
import scipy
from judge_fakes import figures, noisy, store
from made_cell import make_cell

from airtoll.errors import UsageError
from airtoll.judge import Difference, difference, unlike
from airtoll.judge.figures import cell_name

OPEN = make_cell()
CCMP = make_cell(security="ccmp")


def compared(tmp_path: Path, a: list[Any], b: list[Any], **options: Any) -> Difference:
    results = [figures(store(tmp_path / name, cells)) for name, cells in (("a", a), ("b", b))]
    return difference(*results, **options)


def test_a_difference_is_welchs_with_its_interval(tmp_path: Path) -> None:
    a, b = noisy(30e6, 0.1e6, 5), noisy(29e6, 0.3e6, 8, seed=2)
    (row,) = compared(tmp_path, [(OPEN, {"throughput": a})], [(OPEN, {"throughput": b})]).rows
    truth = scipy.stats.ttest_ind(b, a, equal_var=False)
    ci = truth.confidence_interval(0.95)
    assert row.difference.mean == pytest.approx(-1e6)
    assert row.difference.ci95_t is not None
    assert (row.difference.ci95_t.low, row.difference.ci95_t.high) == pytest.approx((ci.low, ci.high))
    assert row.p_holm == pytest.approx(truth.pvalue)
    assert row.finding == "differs"
    assert row.worse


@pytest.mark.parametrize(
    ("mean", "spread", "finding"),
    [
        (30.0e6, 0.05e6, "equal"),
        (30.1e6, 0.01e6, "differs within the margin"),
        (31.0e6, 0.05e6, "differs"),
        (30.5e6, 2.00e6, "undecided"),
    ],
)
def test_findings_of_compared_cells(tmp_path: Path, mean: float, spread: float, finding: str) -> None:
    a, b = noisy(30e6, spread, 6), noisy(mean, spread, 6, seed=2)
    (row,) = compared(tmp_path, [(OPEN, {"throughput": a})], [(OPEN, {"throughput": b})]).rows
    assert row.finding == finding


def test_a_wider_margin_makes_more_equal(tmp_path: Path) -> None:
    a, b = [(OPEN, {"rtt": noisy(2.0, 0.05, 5)})], [(OPEN, {"rtt": noisy(2.03, 0.05, 5, seed=3)})]
    for name, margin, finding in (("narrow", 1.0, "undecided"), ("wide", 10.0, "equal")):
        found = compared(tmp_path / name, a, b, margin_percent=margin)
        assert [row.finding for row in found.rows] == [finding]


@pytest.mark.parametrize(
    ("a", "b", "finding"),
    [
        ([0.0] * 3, [0.0] * 3, "equal"),
        ([0.0] * 3, [0.01] * 3, "differs"),
        ([0.01], [0.02], "undecided"),
        ([0.01] * 4, [0.02], "undecided"),
    ],
)
def test_values_without_spread_need_no_test(
    tmp_path: Path, a: list[float], b: list[float], finding: str
) -> None:
    (row,) = compared(tmp_path, [(OPEN, {"loss": a})], [(OPEN, {"loss": b})]).rows
    assert row.finding == finding
    assert row.p_holm is None


@pytest.mark.parametrize("values", [[5.0, 50.0, 500.0], [7.0]])
def test_a_result_equals_itself_whatever_its_spread(tmp_path: Path, values: list[float]) -> None:
    (row,) = compared(tmp_path, [(OPEN, {"rtt": values})], [(OPEN, {"rtt": values})]).rows
    assert row.finding == "equal"


def test_p_values_are_adjusted_over_the_cells_of_a_metric(tmp_path: Path) -> None:
    sizes = range(128, 128 + 20)
    a = [(make_cell(packet_size=size), {"rtt": noisy(2, 0.1, 5, seed=size)}) for size in sizes]
    b = [(make_cell(packet_size=size), {"rtt": noisy(2, 0.1, 5, seed=size + 99)}) for size in sizes]
    b[0] = (b[0][0], {"rtt": noisy(2.16, 0.1, 5, seed=7)})
    found = compared(tmp_path, a, b)
    first = found.rows[0]
    assert first.difference.p is not None
    assert first.difference.p < 0.05 < 20 * first.difference.p == first.p_holm
    assert first.finding == "undecided"


def test_only_common_cells_are_compared_and_the_others_are_named(tmp_path: Path) -> None:
    values = {"rtt": noisy(2, 0.1, 3)}
    small = make_cell(packet_size=128)
    found = compared(tmp_path, [(OPEN, values), (CCMP, values)], [(OPEN, values), (small, values)])
    assert (found.cells, found.only_a, found.only_b) == (1, (CCMP,), (small,))
    assert cell_name(CCMP, without=["lab"]).startswith("udp ipv4 1408 B ccmp")


def test_a_metric_that_one_of_two_cells_lacks_is_named(tmp_path: Path) -> None:
    both, one = {"rtt": [2.0, 2.1], "jitter": [0.1, 0.2]}, {"rtt": [2.0, 2.1]}
    found = compared(tmp_path, [(OPEN, both), (CCMP, both)], [(OPEN, both), (CCMP, one)])
    assert found.not_compared == ((CCMP, "jitter"),)


def test_results_of_two_labs_meet_where_the_lab_is_ignored(tmp_path: Path) -> None:
    values = {"throughput": noisy(3e7, 1e5, 4)}
    a, b = [(OPEN, values)], [(make_cell(lab="sim"), values)]
    with pytest.raises(UsageError, match="lab: air in the first, sim in the second; use --ignore lab"):
        compared(tmp_path / "strict", a, b)
    found = compared(tmp_path / "ignored", a, b, ignored=["lab"])
    assert [row.finding for row in found.rows] == ["equal"]


def test_a_factor_by_which_cells_differ_cannot_be_ignored(tmp_path: Path) -> None:
    values = {"rtt": [2.0, 2.1]}
    with pytest.raises(
        UsageError, match=r"security cannot be ignored: the cells differ in this factor \(open, ccmp\)"
    ):
        compared(tmp_path, [(OPEN, values), (CCMP, values)], [(OPEN, values)], ignored=["security"])


def test_an_unmeasured_metric_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="jitter was not measured; measured metrics: rtt"):
        compared(tmp_path / "x", [(OPEN, {"rtt": [2.0]})], [(OPEN, {"rtt": [2.0]})], metrics=["jitter"])
    with pytest.raises(UsageError, match="no metric in common"):
        compared(tmp_path / "y", [(OPEN, {"rtt": [2.0]})], [(OPEN, {"jitter": [2.0]})])


def test_excluded_runs_are_ignored(tmp_path: Path) -> None:
    values = {"rtt": [2.0, 2.1, 9.0]}
    store(tmp_path / "a", [(OPEN, values)], invalid=lambda run: run.replicate == 3)
    found = figures(tmp_path / "a")
    assert found.numbers[OPEN]["rtt"] == [2.0, 2.1]
    store(tmp_path / "none", [(OPEN, values)], invalid=lambda _: True)
    with pytest.raises(UsageError, match="none of its 3 runs counts"):
        figures(tmp_path / "none")


def test_differences_in_origin_and_method_are_listed(tmp_path: Path) -> None:
    cells = [(OPEN, {"rtt": [2.0, 2.1]})]
    a = store(tmp_path / "a", cells, hosts={"kernel": "6.1", "boot_id": "x"}, tools={"rtt": "sockperf 3.7"})
    b = store(
        tmp_path / "b",
        cells,
        hosts={"kernel": "6.12", "boot_id": "y"},
        tools={"rtt": "sockperf 3.7"},
        duration=5.0,
    )
    found = {(each.kind, each.name): (each.a, each.b) for each in unlike(figures(a), figures(b))}
    assert found == {
        ("method", "method.duration"): ("1", "5"),
        ("environment", "hosts.sta.kernel"): ("6.1", "6.12"),
    }
