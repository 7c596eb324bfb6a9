"""Selection of the runs that count, and pairing of runs and cells for comparison."""

from collections.abc import Iterable, Sequence
from random import Random

import pytest
from made_cell import make_cell

from airtoll.stats import (
    Comparison,
    Interval,
    Outcome,
    RunNumber,
    Span,
    compare,
    coverage,
    describe,
    fixed_factors,
    holm,
    paired_difference,
    span,
)
from airtoll.study.cell import Run
from airtoll.study.security import Security

OPEN = make_cell()


def outcomes(
    levels: Sequence[Security] = ("open", "ccmp"), replicates: int = 4, discard: int = 0
) -> list[Outcome]:
    runs = [
        Run(
            order=replicate * len(levels) + place,
            block=replicate,
            replicate=replicate,
            discard=replicate <= discard,
            seed=replicate,
            cell=OPEN.model_copy(update={"security": level}),
        )
        for replicate in range(1, replicates + 1)
        for place, level in enumerate(levels)
    ]
    return [Outcome(run, finished=True) for run in runs]


def table(rows: Iterable[tuple[str, str, float]]) -> list[RunNumber]:
    return [RunNumber(*row) for row in rows]


def throughputs(of: Sequence[Outcome]) -> dict[str, float]:
    """Throughputs that drift between blocks by far more than the cost of security, as on real links."""
    return {o.run.id: 1e6 * (20 + 3 * o.run.block - (o.run.cell.security != "open")) for o in of}


def compared(of: Sequence[Outcome], values: dict[str, float]) -> Comparison:
    return compare(table((run, "throughput", value) for run, value in values.items()), of)


def test_profiles_of_a_study_follow_the_ready_made_levels() -> None:
    of = outcomes(("b", "gcmp", "a"), replicates=2)
    values = table((run, "throughput", value) for run, value in throughputs(of).items())
    found = compare(values, of, profiles=["b", "a"])
    assert (found.baseline, found.levels) == ("gcmp", ("gcmp", "b", "a"))
    assert [row.cell.security for row in found.pairs] == ["b", "a"]
    assert [one.cell.security for one in coverage(of, ["b", "a"])] == ["b", "a"]


def replaced(of: Sequence[Outcome], index: int, **fields: object) -> list[Outcome]:
    old = of[index]
    new = Outcome(**({"run": old.run, "finished": True} | fields))  # type: ignore[arg-type]
    return [*of[:index], new, *of[index + 1 :]]


def test_pairs_within_blocks_remove_drift_between_blocks() -> None:
    of = outcomes()
    comparison = compared(of, throughputs(of))
    (pair,) = comparison.pairs
    assert comparison.baseline == "open"
    assert (pair.baseline.security, pair.cell.security) == ("open", "ccmp")
    assert pair.difference.n == 4
    assert pair.difference.mean == pytest.approx(-1e6)
    assert pair.difference.sd == pytest.approx(0)
    assert pair.unpaired == 0


def test_cell_summaries_equal_describe() -> None:
    of = outcomes()
    values = throughputs(of)
    comparison = compared(of, values)
    for cell in comparison.cells:
        expected = describe([values[o.run.id] for o in of if o.run.cell == cell.cell])
        assert cell.summary == expected


def test_invalid_discarded_and_missing_runs_are_left_out_and_counted() -> None:
    of = outcomes(replicates=6, discard=1)
    of = replaced(of, 2, valid=False, reasons=("late: 12 ms", "late: again", "cpu: 99 %"))
    of = replaced(of, 5, finished=False)
    values = throughputs(of)
    del values[of[7].run.id]
    comparison = compared(of, values)
    assert comparison.left_out == {"discarded": 2, "invalid": 1, "not finished": 1}
    assert comparison.reasons == {"late": 1, "cpu": 1}
    by_level = {cell.cell.security: cell for cell in comparison.cells}
    assert by_level["open"].summary.n == 4
    assert by_level["open"].left_out == {"discarded": 1, "invalid": 1}
    assert by_level["ccmp"].summary.n == 3
    assert by_level["ccmp"].left_out == {"discarded": 1, "not finished": 1, "not measured": 1}
    (pair,) = comparison.pairs
    assert (pair.difference.n, pair.unpaired) == (2, 3)


def test_a_discarded_run_stays_out_even_if_it_is_invalid_too() -> None:
    of = replaced(outcomes(discard=1), 0, valid=False, reasons=("late: 1 ms",))
    assert of[0].left_out == "discarded"


def test_pairs_equal_paired_difference() -> None:
    of = outcomes(replicates=5)
    values = {o.run.id: 1e6 + 1e3 * (o.run.order * 7919 % 13) for o in of}
    (pair,) = compared(of, values).pairs
    a, b = ([values[o.run.id] for o in of if o.run.cell.security == level] for level in ("open", "ccmp"))
    assert pair.difference == paired_difference(a, b)


def test_every_level_is_compared_with_the_baseline() -> None:
    of = outcomes(levels=("gcmp", "ccmp", "open", "wep40"))
    comparison = compared(of, throughputs(of))
    assert comparison.levels == ("open", "wep40", "ccmp", "gcmp")
    assert [pair.cell.security for pair in comparison.pairs] == ["wep40", "ccmp", "gcmp"]


def test_without_open_the_first_level_is_the_baseline() -> None:
    of = outcomes(levels=("gcmp", "ccmp"))
    assert compared(of, throughputs(of)).baseline == "ccmp"


def test_a_single_level_has_summaries_and_no_pairs() -> None:
    of = outcomes(levels=("ccmp",))
    comparison = compared(of, throughputs(of))
    assert (comparison.baseline, comparison.pairs) == ("ccmp", ())
    assert comparison.cells[0].summary.n == 4


def test_a_result_without_finished_runs() -> None:
    of = [Outcome(o.run, finished=False) for o in outcomes()]
    comparison = compared(of, {})
    assert (comparison.metrics, comparison.cells, comparison.pairs) == ((), (), ())
    assert comparison.left_out == {"not finished": 8}
    assert compare(table([]), []).baseline is None


def test_runs_without_a_value_are_missing_and_not_zero() -> None:
    of = outcomes(replicates=2)
    rows = [(o.run.id, "rtt", None if o.run.block == 1 else 0.5) for o in of]
    (pair,) = compare(table(rows), of).pairs
    assert (pair.difference.n, pair.difference.mean, pair.unpaired) == (1, 0.0, 1)


def test_span_has_the_extremes_and_the_number_of_resolved_changes() -> None:
    changes = [(1.0, Interval(-1, 3)), (-2.0, Interval(-3, -1)), (5.0, None), (None, None)]
    assert span(changes) == Span(n=3, low=-2.0, high=5.0, resolved=1)
    assert span([(None, None)]) is None


def test_fixed_factors_have_one_level() -> None:
    cells = {o.run.cell for o in outcomes()}
    fixed = fixed_factors(cells)
    assert "security" not in fixed
    assert fixed["rate"] == "54 Mbit/s"
    assert fixed_factors([]) == {}


def test_p_is_corrected_over_the_pairs_of_one_metric() -> None:
    of = outcomes(levels=("open", "wep104", "ccmp", "gcmp"), replicates=6)
    rng = Random(5)
    cost = {"open": 0.0, "wep104": 0.1, "ccmp": 1.0, "gcmp": 2.0}
    rows = [
        (o.run.id, name, 50 - cost[o.run.cell.security] + rng.gauss(0, 0.5))
        for o in of
        for name in ("rtt", "jitter")
    ]
    pairs = compare(table(rows), of).pairs
    for metric in ("rtt", "jitter"):
        family = [pair for pair in pairs if pair.metric == metric]
        assert [pair.p_holm for pair in family] == holm([pair.p for pair in family])
        assert all(pair.p == pair.difference.p for pair in family)
        assert [pair.p_holm for pair in family] != [pair.p for pair in family]


def test_pairs_say_whether_there_is_no_cost_within_the_margin() -> None:
    of = outcomes(replicates=6)
    noise = Random(1)
    values = {
        o.run.id: 1e6 * (1.0 if o.run.cell.security == "open" else 0.995) * (1 + noise.gauss(0, 1e-4))
        for o in of
    }
    rows = table((run, "throughput", value) for run, value in values.items())
    (pair,) = compare(rows, of).pairs
    assert pair.equivalence is not None
    assert (pair.equivalence.verdict, pair.equivalence.margin_percent) == ("both", 1.0)
    (narrow,) = compare(rows, of, margin_percent=0.1).pairs
    assert narrow.equivalence is not None
    assert narrow.equivalence.verdict == "different"
    with pytest.raises(ValueError, match="margin"):
        compare(rows, of, margin_percent=0)


def test_instabilities_are_found_in_the_order_of_runs() -> None:
    of = outcomes(replicates=6)
    (of_open, _) = compared(of, throughputs(of)).cells  # rise by 3 Mbit/s from block to block
    assert [one.kind for one in of_open.instabilities] == ["spread", "drift"]
    asked = compare(table((o.run.id, "rtt", 10 + o.run.block % 2) for o in of), of, precision_percent=1.0)
    assert [one.kind for one in asked.cells[0].instabilities] == [
        "spread of the papers",
        "two modes",
        "too few",
    ]


def test_a_tiny_loss_is_not_unstable() -> None:
    of = outcomes(replicates=6)
    cells = compare(table((o.run.id, "loss", 0.001 * (o.run.block == 3)) for o in of), of).cells
    assert [cell.instabilities for cell in cells] == [(), ()]


def test_a_comparison_requires_two_pairs_of_valid_runs() -> None:
    of = outcomes(replicates=3, discard=1)  # blocks 2 and 3 count
    (whole,) = coverage(of)
    assert (whole.cell.security, whole.valid, whole.planned, whole.falls_short) == ("ccmp", 2, 2, False)
    for spoilt in (
        replaced(of, 2, valid=False, reasons=("open errors: 1",)),
        replaced(of, 3, finished=False),
    ):
        (one,) = coverage(spoilt)
        assert (one.valid, one.planned, one.falls_short) == (1, 2, True)
    # A discarded run may be invalid.
    assert not coverage(replaced(of, 0, valid=False, reasons=("open errors: 1",)))[0].falls_short
    # Valid runs in different blocks make no pair.
    apart = replaced(replaced(of, 2, finished=False), 5, finished=False)
    assert coverage(apart)[0].valid == 0


def test_of_one_planned_pair_one_is_needed() -> None:
    of = outcomes(replicates=1)
    assert not coverage(of)[0].falls_short
    assert coverage(replaced(of, 1, finished=False))[0].falls_short


def test_runs_skipped_by_a_stopping_rule_are_not_missing() -> None:
    of = outcomes(replicates=5)
    for index in range(4, 10):
        of = replaced(of, index, finished=False)
    assert not coverage(of)[0].falls_short


def test_with_one_level_every_cell_needs_one_valid_run() -> None:
    of = outcomes(levels=("ccmp",), replicates=2)
    assert [one.falls_short for one in coverage(replaced(of, 0, finished=False))] == [False]
    none = replaced(replaced(of, 0, finished=False), 1, valid=False, reasons=("open errors: 1",))
    assert [(one.valid, one.planned, one.falls_short) for one in coverage(none)] == [(0, 2, True)]


def test_every_level_needs_its_pairs_with_the_baseline() -> None:
    of = outcomes(levels=("open", "ccmp", "gcmp"), replicates=2)
    of = replaced(of, 5, finished=False)
    assert [(one.cell.security, one.falls_short) for one in coverage(of)] == [("ccmp", False), ("gcmp", True)]
