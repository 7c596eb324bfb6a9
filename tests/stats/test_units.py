"""The unit of replication is the run, or the session: the statistics then use one number per session."""

import math
from random import Random
from typing import Any

import pytest
from made_study import make_study

from airtoll.stats import (
    Interval,
    Outcome,
    RunNumber,
    aligned,
    by_unit,
    compare,
    coverage,
    describe,
    matched_difference,
    matched_ratio,
    paired_difference,
    paired_ratio,
)
from airtoll.study import expand
from airtoll.study.cell import Plan, Run


def plan(**method: Any) -> Plan:
    return expand(make_study({"repeats": 12, "switching": "session", "sessions": 4, **method}))


def numbers(runs: tuple[Run, ...]) -> list[RunNumber]:
    random = Random(7)
    effect = {run.session: random.gauss(30, 1) for run in runs}
    return [RunNumber(run.id, "throughput", effect[run.session] + random.gauss(0, 1)) for run in runs]


def session_means(made: Plan, values: list[RunNumber], security: str, size: int) -> list[float]:
    """The means of a cell's runs in each session, by block, without the functions under test."""
    of_block: dict[int, list[float]] = {}
    for run, number in zip(made.runs, values, strict=True):
        if (run.cell.security, run.cell.packet_size) == (security, size) and not run.discard:
            of_block.setdefault(run.block, []).append(number.value)
    return [math.fsum(of_block[block]) / len(of_block[block]) for block in sorted(of_block)]


def ends(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


def width(interval: Interval | None) -> float:
    low, high = ends(interval)
    return high - low


def test_a_comparison_in_sessions_is_that_of_the_means_of_sessions() -> None:
    made = plan(discard_first=1)
    values = numbers(made.runs)
    found = compare(values, [Outcome(run, finished=True) for run in made.runs])
    for pair in found.pairs:
        a, b = (session_means(made, values, level, pair.cell.packet_size) for level in ("open", "ccmp"))
        assert len(a) == len(b) == 4
        expected = paired_difference(a, b)
        assert (pair.difference.n, pair.unpaired) == (4, 0)
        assert pair.difference.mean == pytest.approx(expected.mean)
        assert ends(pair.difference.ci95_t) == pytest.approx(ends(expected.ci95_t))
        assert pair.ratio.ratio == pytest.approx(paired_ratio(a, b).ratio)
    for cell in found.cells:
        means = session_means(made, values, cell.cell.security, cell.cell.packet_size)
        assert (cell.summary.n, cell.left_out["discarded"]) == (4, 1)
        assert cell.summary.sd == pytest.approx(describe(means).sd)


def test_a_session_with_invalid_runs_is_the_mean_of_the_others() -> None:
    made = plan()
    values = numbers(made.runs)
    lost = {run.id for run in made.runs if run.block == 2 and run.replicate == 4}
    gone = {run.id for run in made.runs if run.block == 3 and run.cell.security == "ccmp"}
    outcomes = [Outcome(run, finished=True, valid=run.id not in lost | gone) for run in made.runs]
    found = compare(values, outcomes)
    assert {(pair.difference.n, pair.unpaired) for pair in found.pairs} == {(3, 1)}
    assert {(each.valid, each.planned, each.needed) for each in coverage(outcomes)} == {(3, 4, 2)}
    of_cell = by_unit(values, [run for run in made.runs if run.id not in lost], lambda run: run.round)
    cell = made.runs[0].cell
    kept = [n.value for run, n in zip(made.runs, values, strict=True) if run.cell == cell and run.block == 2]
    replicates = [run.replicate for run in made.runs if run.cell == cell and run.block == 2]
    others = [value for value, replicate in zip(kept, replicates, strict=True) if replicate != 4]
    assert of_cell["throughput"][cell][2] == pytest.approx(sum(others) / 2)


def test_a_repeat_takes_the_place_of_its_invalid_run() -> None:
    made = plan(switching="block", repeats=3)
    values = numbers(made.runs)
    first = made.runs[0]
    again = first.model_copy(update={"attempt": 2})
    outcomes = [Outcome(run, finished=True, valid=run != first) for run in made.runs]
    short = compare(values, outcomes)
    whole = compare(
        [*values, RunNumber(again.id, "throughput", 30.0)], [*outcomes, Outcome(again, finished=True)]
    )
    n = {pair.cell.packet_size: pair.difference.n for pair in short.pairs}
    assert n == {first.cell.packet_size: 2, ({128, 1408} - {first.cell.packet_size}).pop(): 3}
    assert {pair.difference.n for pair in whole.pairs} == {3}


def test_missing_values_do_not_count() -> None:
    made = plan(repeats=4)
    values = [RunNumber(run.id, "rtt", math.nan if run.block == 1 else 1.0) for run in made.runs]
    found = by_unit(values, made.runs, lambda run: run.round)
    assert {tuple(rounds) for rounds in found["rtt"].values()} == {(2, 3, 4)}


def test_cells_that_share_sessions_are_averaged_before_the_interval() -> None:
    # The same change in all cells of a round is one observation, however many cells there are.
    a, b = [10.0, 11.0, 10.5, 10.0], [9.0, 10.5, 9.0, 9.5]
    alone, several = matched_difference([(a, b)]), matched_difference([(a, b)] * 5, in_sessions=True)
    assert (several.cells, several.mean, several.p) == (5, alone.mean, pytest.approx(alone.p))
    assert ends(several.ci95_t) == pytest.approx(ends(alone.ci95_t))
    naive = matched_difference([(a, b)] * 5)
    assert width(naive.ci95_t) < width(alone.ci95_t) / 2
    ratio = matched_ratio([(a, b)] * 5, in_sessions=True)
    assert ends(ratio.ci95_t) == pytest.approx(ends(matched_ratio([(a, b)]).ci95_t))


def test_the_average_over_cells_is_the_paired_t_test_of_the_averages_of_rounds() -> None:
    random = Random(3)
    sets = [
        ([random.gauss(10, 1) for _ in range(6)], [random.gauss(9, 1) for _ in range(6)]) for _ in range(3)
    ]
    averages = [
        tuple(sum(side[one] for side in sides) / 3 for one in range(6)) for sides in zip(*sets, strict=True)
    ]
    expected = paired_difference(*averages)
    found = matched_difference(sets, in_sessions=True)
    assert (found.mean, found.p) == (pytest.approx(expected.mean), pytest.approx(expected.p))
    assert ends(found.ci95_t) == pytest.approx(ends(expected.ci95_t))


def test_cells_without_a_common_session_are_independent() -> None:
    a, b = [10.0, 11.0, 10.5], [9.0, 10.5, 9.0]
    early: tuple[list[float | None], list[float | None]] = ([*a, None, None, None], [*b, None, None, None])
    late: tuple[list[float | None], list[float | None]] = ([None, None, None, *a], [None, None, None, *b])
    apart = matched_difference([early, late], in_sessions=True)
    assert apart == matched_difference([(a, b), (a, b)])


def test_a_cell_that_lacks_a_session_does_not_move_the_rounds() -> None:
    a, b = [10.0, 11.0, 10.5, 10.0], [9.0, 10.5, 9.0, 9.5]
    # Another cell with a change that is 100 larger lacks the last round.
    other: tuple[list[float | None], list[float | None]] = (
        [*a[:3], None],
        [*(value + 100 for value in b[:3]), None],
    )
    found = matched_difference([(a, b), other], in_sessions=True)
    assert width(found.ci95_t) < 5
    assert found.mean == pytest.approx((sum(b) / 4 - sum(a) / 4 + sum(b[:3]) / 3 + 100 - sum(a[:3]) / 3) / 2)


def test_sets_are_aligned_by_round() -> None:
    sets = aligned([({1: 1.0, 3: 3.0}, {3: 4.0}), ({2: 2.0}, {})])
    assert sets == [([1.0, None, 3.0], [None, None, 4.0]), ([None, 2.0, None], [None, None, None])]
