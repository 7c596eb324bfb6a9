"""The lines of `airtoll run` about invalid runs: the way out, and the reasons with their repeats."""

import re
from datetime import UTC, datetime

import pytest

from airtoll.cli.results import invalid_by_reason, not_counted
from airtoll.cli.running import way_out
from airtoll.guest import recipe
from airtoll.store import RunRecord, Verdict, Versions
from airtoll.study import Cell, Plan, Run, expand, find_study, load_study

PLAN = expand(load_study(find_study("quickstart")), clock="real")
LATE = "emulation late: p99 of the lateness 4000 us"
HEAVIEST = next(run for run in PLAN.runs if run.cell.transport == "tcp" and run.cell.packet_size == 128)
NOW = datetime.now(UTC)


def record(run: Run, attempt: int, *reasons: str) -> RunRecord:
    return RunRecord(
        run=run.model_copy(update={"attempt": attempt}),
        started=NOW,
        finished=NOW,
        versions=Versions.current({}),
        hosts={},
        link={},
        counters={},
        probes={},
        verdict=Verdict(valid=not reasons, reasons=reasons),
    )


def test_the_way_out_is_named_after_the_last_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "missing", lambda: None)
    line = way_out(PLAN, record(HEAVIEST, 3, LATE), ()) or ""
    assert re.fullmatch(
        r"this machine carries (\d+) of 16 cells of this study in real time; --clock virtual takes about \d+ (s|min)",
        line,
    )
    assert way_out(PLAN, record(HEAVIEST, 2, LATE), ()) is None
    assert way_out(PLAN, record(HEAVIEST, 3), ()) is None
    monkeypatch.setattr(recipe, "missing", lambda: "the guest is not built: airtoll lab build")
    assert (way_out(PLAN, record(HEAVIEST, 3, LATE), ()) or "").startswith(
        f"{line.partition(' takes')[0]} takes about"
    )
    assert (way_out(PLAN, record(HEAVIEST, 3, LATE), ()) or "").endswith(
        "(the guest is not built: airtoll lab build)"
    )


def test_cells_with_a_valid_run_and_lighter_cells_count_as_carried() -> None:
    def carried(run: Run, valid: set[Cell]) -> int:
        return int((way_out(PLAN, record(run, 3, LATE), valid) or "").split()[3])

    cells = {run.cell for run in PLAN.runs}
    lightest = next(run for run in PLAN.runs if run.cell.transport == "tcp" and run.cell.packet_size == 1408)
    assert carried(HEAVIEST, set()) > carried(lightest, set())
    assert carried(lightest, cells) == carried(HEAVIEST, cells) == 15


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (PLAN, "wrong cipher: link uses tkip, expected ccmp"),
        (PLAN, "no load: no valid TCP run of the same cell"),
        (PLAN.model_copy(update={"clock": "virtual"}), LATE),
    ],
)
def test_virtual_time_is_no_way_out_for_other_reasons(plan: Plan, reason: str) -> None:
    assert way_out(plan, record(HEAVIEST, 3, reason), ()) is None


def test_the_attempts_of_a_run_are_one_run_of_a_reason() -> None:
    first, second, third = PLAN.runs[:3]
    records = [
        record(first, 1, LATE),
        record(first, 2, LATE),
        record(first, 3),
        record(second, 1, LATE),
        record(third, 1, "zero interval: a"),
    ]
    assert list(invalid_by_reason(records)) == [
        f"emulation late, 2 runs in 3 attempts, such as {first.id}: p99 of the lateness 4000 us",
        f"zero interval, 1 run, such as {third.id}: a",
    ]


def test_many_reasons_take_at_most_ten_lines() -> None:
    records = [record(run, attempt, f"reason {run.order}: x") for run in PLAN.runs for attempt in (1, 2, 3)]
    *_, last = lines = list(invalid_by_reason(records))
    assert len(lines) == 10
    assert last == "and 39 more reasons"


def test_metrics_that_do_not_count_are_one_line() -> None:
    first, second = PLAN.runs[:2]
    records = [record(first, 1), record(second, 1)]
    assert not_counted(records) is None
    late = "p99 of the lateness 0.300 ms, limit 0.100 ms"
    for at, spoiled in enumerate(({"rtt_p99": late, "jitter_p99": late}, {"rtt": "late", "rtt_p99": late})):
        verdict = records[at].verdict.model_copy(update={"spoiled": spoiled})
        records[at] = records[at].model_copy(update={"verdict": verdict})
    assert (
        not_counted(records)
        == f"not counted in valid runs: rtt_p99 of 2 runs and rtt of 1 run, such as {first.id}: {late}"
    )
