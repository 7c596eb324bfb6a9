"""The next run of a plan depends only on the finished runs, and is therefore the same after an interruption."""

from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtoll.course import Course
from airtoll.probes.base import Sample
from airtoll.store import FinishedRun, NoLoadError, Result, RunRecord, Verdict, Versions
from airtoll.study import Study, expand
from airtoll.study.cell import Plan, Run

NOW = "2026-03-14T09:26:53Z"
Mbps = Callable[[Run], float]


def plan(method: Mapping[str, Any], **factors: Any) -> Plan:
    base = {
        "security": ["open", "ccmp"],
        "transport": ["udp"],
        "ip": ["ipv4"],
        "packet_size": [128, 1408],
        "phy": ["ofdm"],
        "rate": [54],
    }
    made = {"name": "made", "text": "", "path": Path("made.toml"), "title": "Made"}
    method = {"repeats": 8, "duration": 1, **method}
    return expand(Study.model_validate({**made, "factors": base | factors, "method": method}))


def finished(run: Run, mbps: float, reasons: tuple[str, ...] = ()) -> FinishedRun:
    record = RunRecord.model_validate(
        {
            "run": run,
            "started": NOW,
            "finished": NOW,
            "versions": Versions.current({}),
            "hosts": {},
            "link": {},
            "counters": {},
            "probes": {},
            "verdict": Verdict(valid=not reasons, reasons=reasons),
        }
    )
    arrived = Sample("iperf3", "throughput", "bit/s", "ap", "up", 0, 10**9, mbps * 1e6)
    return FinishedRun(record, [arrived], {})


def performed(
    course: Course, mbps: Mbps, reasons: Callable[[Run], tuple[str, ...]] = lambda _: ()
) -> list[Run]:
    """All runs of the course, each finished with its throughput."""
    done = []
    for run in course.left():
        done.append(run)
        course.add(finished(run, mbps(run), reasons(run)))
    return done


def replicates(runs: list[Run]) -> dict[tuple[int, str], int]:
    counted: dict[tuple[int, str], int] = {}
    for run in runs:
        key = run.cell.packet_size, run.cell.security
        counted[key] = counted.get(key, 0) + 1
    return counted


AGREEMENT = {"stop": "agreement", "least_repeats": 3, "within": 10}


def test_a_fixed_number_of_runs_ignores_their_results() -> None:
    made = plan({})
    assert performed(Course(made), lambda run: float(run.order)) == list(made.runs)


def test_cells_that_agree_stop_after_the_least() -> None:
    assert set(replicates(performed(Course(plan(AGREEMENT)), lambda _: 10.0)).values()) == {3}


def test_a_pair_of_cells_continues_until_the_last_two_runs_of_both_agree() -> None:
    def mbps(run: Run) -> float:
        unsteady = run.cell.packet_size == 128 and run.cell.security == "ccmp" and run.replicate <= 4
        return 10.0 * run.replicate if unsteady else 10.0

    counts = replicates(performed(Course(plan(AGREEMENT)), mbps))
    assert counts == {(128, "open"): 6, (128, "ccmp"): 6, (1408, "open"): 3, (1408, "ccmp"): 3}


def test_cells_that_never_agree_take_all_planned_replicates() -> None:
    counts = replicates(performed(Course(plan(AGREEMENT)), lambda run: 2.0**run.replicate))
    assert set(counts.values()) == {8}


def test_discarded_and_invalid_runs_do_not_count() -> None:
    made = plan({**AGREEMENT, "discard_first": 2, "repeats": 6, "retries": 0})
    invalid = {(run.cell, 3) for run in made.runs}
    done = performed(
        Course(made),
        lambda _: 10.0,
        lambda run: ("probe fault: x",) if (run.cell, run.replicate) in invalid else (),
    )
    assert set(replicates(done).values()) == {2 + 1 + 3}


def test_precision_stops_when_the_interval_is_narrow() -> None:
    made = plan({"stop": "precision", "least_repeats": 2, "within": 1, "confidence": 95})
    steady = performed(Course(made), lambda _: 10.0)
    wide = performed(Course(made), lambda run: 10.0 + (run.replicate % 2))
    assert (set(replicates(steady).values()), set(replicates(wide).values())) == ({2}, {8})


@settings(max_examples=20)
@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_an_interrupted_study_continues_with_the_same_runs(breaks_after: int, seed: int) -> None:
    made = plan({**AGREEMENT, "within": 40})

    def mbps(run: Run) -> float:
        return 5.0 + hash((seed, run.id)) % 10

    whole = performed(Course(made), mbps)
    first, second = Course(made), Course(made)
    before = []
    for run in first.left():
        if len(before) == breaks_after:
            break
        before.append(run)
        first.add(finished(run, mbps(run)))
    for run in before:
        second.add(finished(run, mbps(run)))
    assert before + performed(second, mbps) == whole


def test_a_stored_result_continues_at_its_next_run(tmp_path: Path) -> None:
    made = plan(AGREEMENT)
    with Result.create(tmp_path / "r", "", made, "air", quick=False) as result:
        for run in made.runs[:10]:
            result.write_all([finished(run, 10.0)])
        course = Course.of(result)
        assert performed(course, lambda _: 10.0) == list(made.runs[10:12])
        assert course.unneeded() == {run.id for run in made.runs[12:]}


def test_udp_load_is_the_mean_tcp_throughput() -> None:
    made = plan({"repeats": 2, "udp_load": "tcp"}, transport=["tcp", "udp"])
    course, loads = Course(made), {}
    for run in course.left():
        if run.cell.transport == "udp":
            loads[run.cell.packet_size, run.cell.security] = course.method(run).udp_load
        else:
            assert course.method(run).udp_load == "tcp"
        size = run.cell.packet_size / 100
        course.add(finished(run, size + run.replicate + (5 if run.cell.security == "ccmp" else 0)))
    assert loads == {
        (128, "open"): pytest.approx(2.78),
        (128, "ccmp"): pytest.approx(7.78),
        (1408, "open"): pytest.approx(15.58),
        (1408, "ccmp"): pytest.approx(20.58),
    }


def test_without_a_valid_run_of_tcp_there_is_no_load_for_udp() -> None:
    made = plan({"repeats": 1, "udp_load": "tcp"}, transport=["tcp", "udp"])
    course = Course(made)
    for run in course.left():
        if run.cell.transport == "udp":
            with pytest.raises(NoLoadError, match="no valid TCP run of the same cell"):
                course.method(run)
            break
        course.add(finished(run, 10.0, ("probe fault: x",)))


def side_by_side(course: Course, mbps: Mbps, workers: int, choose: Callable[[int], int]) -> set[str]:
    """The runs of the course when that many are in progress at a time; `choose` picks which one of n ends next."""
    begun: set[str] = set()
    running: list[Run] = []
    while True:
        for run in course.decided(begun):
            if len(running) == workers:
                break
            begun.add(run.id)
            running.append(run)
        if not running:
            return begun
        run = running.pop(choose(len(running)))
        course.add(finished(run, mbps(run)))


@settings(max_examples=60)
@given(
    st.sampled_from(["fixed", "agreement", "precision"]),
    st.sampled_from(["overload", "tcp"]),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_runs_side_by_side_are_those_performed_one_after_the_other(
    stop: str, udp_load: str, workers: int, random: Any
) -> None:
    made = plan({"stop": stop, "udp_load": udp_load, "repeats": 5, "within": 20}, transport=["tcp", "udp"])
    noise = {run.id: random.uniform(10, 16) for run in made.runs}
    one_by_one = {run.id for run in performed(Course(made), lambda run: noise[run.id])}
    assert side_by_side(Course(made), lambda run: noise[run.id], workers, random.randrange) == one_by_one


def test_a_load_that_follows_from_tcp_waits_for_all_tcp_runs_of_the_cell() -> None:
    made = plan({"udp_load": "tcp", "repeats": 2}, transport=["tcp", "udp"], packet_size=[1408])
    course = Course(made)
    assert {run.cell.transport for run in course.decided(set())} == {"tcp"}
    for run in made.runs:
        if run.cell.transport == "tcp" and run.cell.security == "open":
            course.add(finished(run, 20.0))
    assert {run.cell.security for run in course.decided(set()) if run.cell.transport == "udp"} == {"open"}


SESSIONS = {"switching": "session", "sessions": 2, "repeats": 4}


def valid_from(attempts: Mapping[int, int]) -> Callable[[Run], tuple[str, ...]]:
    """Reasons of runs, by order, that are invalid before that attempt; other runs are valid."""
    return lambda run: ("link lost: x",) if run.attempt < attempts.get(run.order, 1) else ()


@pytest.mark.parametrize("method", [{}, SESSIONS], ids=["block", "session"])
def test_invalid_runs_are_repeated_at_the_end_of_their_block_or_session(method: dict[str, Any]) -> None:
    made = plan({"retries": 2, **method})
    in_order = performed(Course(made), lambda _: 10.0, valid_from({1: 2, 2: 3, 7: 99}))
    groups = [list(runs) for _, runs in groupby(made.runs, key=lambda run: (run.block, run.session))]
    expected = []
    for group in groups:
        expected += [(run.order, 1) for run in group]
        expected += [(run.order, 2) for run in group if run.order in (1, 2, 7)]
        expected += [(run.order, 3) for run in group if run.order in (2, 7)]
    assert [(run.order, run.attempt) for run in in_order] == expected
    again = next(run for run in in_order if run.attempt == 3)
    assert again.id == f"{made.runs[again.order - 1].id}-attempt3"
    assert again.model_copy(update={"attempt": 1}) == made.runs[again.order - 1]


def test_without_retries_no_run_is_repeated() -> None:
    made = plan({"retries": 0})
    course = Course(made)
    assert performed(course, lambda _: 10.0, lambda _: ("link lost: x",)) == list(made.runs)
    assert course.again(made.runs[0]) is None


@pytest.mark.parametrize(("repeats", "most"), [(2, 10), (20, 80)])
def test_a_study_has_a_limited_number_of_repeats(repeats: int, most: int) -> None:
    made = plan({"repeats": repeats})
    done = performed(Course(made), lambda _: 10.0, lambda _: ("emulation late: x",))
    assert len(done) == len(made.runs) + most
    assert {run.order for run in done} == {run.order for run in made.runs}


def test_discarded_runs_are_not_repeated() -> None:
    made = plan({"retries": 1, "repeats": 1, "discard_first": 1})
    done = performed(Course(made), lambda _: 10.0, lambda _: ("link lost: x",))
    assert {run.discard for run in done if run.attempt == 2} == {False}
    assert len(done) == 2 * 4 + 4


@pytest.mark.parametrize("virtual", [{"lab": "sim"}, {"clock": "virtual"}])
def test_nothing_is_repeated_in_virtual_time(virtual: dict[str, Any]) -> None:
    made = plan({"retries": 2})
    runs = [run.model_copy(update={"cell": run.cell.model_copy(update=virtual)}) for run in made.runs]
    made = made.model_copy(update={"runs": tuple(runs)} if "lab" in virtual else virtual)
    assert performed(Course(made), lambda _: 10.0, lambda _: ("no load: x",)) == list(made.runs)


def test_a_repeat_takes_the_place_of_its_run_for_rules_and_loads() -> None:
    made = plan({"retries": 1, "udp_load": "tcp", "repeats": 2}, transport=["tcp", "udp"], packet_size=[1408])
    first = next(run.order for run in made.runs if run.cell.security == "open")
    course = Course(made)
    for run in course.left():
        if run.cell.transport == "udp" and run.cell.security == "open":
            assert course.method(run).udp_load == pytest.approx((30 + 20) / 2)
        mbps = 30.0 if run.attempt == 2 else 20.0
        course.add(finished(run, mbps, valid_from({first: 2})(run)))
    precise = plan({**AGREEMENT, "retries": 1})
    done = performed(Course(precise), lambda _: 10.0, valid_from(dict.fromkeys(range(1, 100), 2)))
    assert {run.replicate for run in done} == {1, 2, 3}


@settings(max_examples=30)
@given(st.integers(0, 60), st.sampled_from([{}, SESSIONS]), st.randoms(use_true_random=False))
def test_an_interrupted_study_continues_in_the_same_session_with_the_same_repeats(
    breaks_after: int, method: dict[str, Any], random: Any
) -> None:
    made = plan({"retries": 2, **method})
    reasons = valid_from({run.order: random.choice([1, 1, 2, 3, 9]) for run in made.runs})
    whole = performed(Course(made), lambda _: 10.0, reasons)
    resumed = Course(made)
    for run in whole[:breaks_after]:
        resumed.add(finished(run, 10.0, reasons(run)))
    assert performed(resumed, lambda _: 10.0, reasons) == whole[breaks_after:]


def test_the_remaining_runs_can_be_counted_without_performing_them() -> None:
    made = plan({"retries": 2})
    course = Course(made)
    course.add(finished(made.runs[0], 10.0, ("link lost: x",)))
    left = list(course.left())
    assert [run.attempt for run in left] == [1, 2, *[1] * (len(made.runs) - 2)]


def test_a_stored_result_continues_with_its_repeats(tmp_path: Path) -> None:
    made = plan({"retries": 2, **SESSIONS})
    reasons = valid_from({1: 3, 3: 99})
    whole = performed(Course(made), lambda _: 10.0, reasons)
    with Result.create(tmp_path / "r", "", made, "air", quick=False) as result:
        for run in whole[:10]:
            result.write_all([finished(run, 10.0, reasons(run))])
        assert [run for run in whole[:10] if run.attempt > 1]
        assert performed(Course.of(result), lambda _: 10.0, reasons) == whole[10:]
        for run in whole[10:]:
            result.write_all([finished(run, 10.0, reasons(run))])
        assert result.pending() == ()
        assert list(Course.of(result).left()) == []
    stored = Result.open(tmp_path / "r")
    assert stored.verify() == []
    assert stored.finished() == {run.id for run in made.runs}
    assert [run for run, _ in stored.recorded()] == sorted(whole, key=lambda run: (run.order, run.attempt))
    assert [record.run for record in stored.records()] == [run for run, _ in stored.recorded()]
