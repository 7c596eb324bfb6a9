"""Sessions: the access point changes its settings as seldom as possible, in a counterbalanced order."""

import hashlib
from collections import Counter, defaultdict
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_study import make_study

from airtoll.errors import UsageError
from airtoll.study import Plan, Study, describe, expand, find_study, load_study, switches
from airtoll.study.cell import Run
from airtoll.study.factors import AP_FACTORS
from airtoll.study.schema import Quick


def study(method: dict[str, Any] | None = None, **factors: Any) -> Study:
    usual = {"transport": ["tcp", "udp"], "ip": ["ipv4", "ipv6"]}
    return make_study({"switching": "session", **(method or {})}, **usual | factors)


def some(*levels: Any) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(levels), min_size=1, unique=True)


STUDIES = st.builds(
    study,
    security=some("open", "wep40", "tkip", "ccmp", "gcmp256"),
    transport=some("tcp", "udp"),
    packet_size=some(16, 128, 1408),
    phy=some("ofdm", "erp"),
    rate=some("6 Mbit/s", "24 Mbit/s", "54 Mbit/s"),
    method=st.fixed_dictionaries(
        {
            "repeats": st.integers(3, 5),
            "discard_first": st.integers(0, 2),
            "sessions": st.integers(1, 3),
            "seed": st.integers(0, 2**53 - 1),
        }
    ),
)


def sessions_of(plan: Plan) -> list[list[Run]]:
    return [list(runs) for _, runs in groupby(plan.runs, key=lambda run: run.session)]


def settings_of(plan: Plan) -> list[tuple[Any, ...]]:
    """The setting of the access point in each session."""
    return [session[0].cell.ap_setting for session in sessions_of(plan)]


@settings(max_examples=60)
@given(STUDIES)
def test_both_designs_have_the_same_runs_with_the_same_seeds(made: Study) -> None:
    def without_place(run: Run) -> tuple[Any, ...]:
        return run.cell, run.replicate, run.discard, run.seed

    in_sessions, in_blocks = expand(made), expand(made, switching="block")
    assert Counter(map(without_place, in_sessions.runs)) == Counter(map(without_place, in_blocks.runs))
    assert [run.order for run in in_sessions.runs] == list(range(1, len(in_sessions.runs) + 1))
    assert Plan.model_validate_json(in_sessions.model_dump_json()) == in_sessions


@settings(max_examples=60)
@given(STUDIES)
def test_a_session_has_one_setting_and_a_block_one_session_of_every_setting(made: Study) -> None:
    plan = expand(made)
    sessions = sessions_of(plan)
    assert [session[0].session for session in sessions] == list(range(1, len(sessions) + 1))
    every = {run.cell.ap_setting for run in plan.runs}
    of_block = defaultdict(list)
    for session in sessions:
        assert len({(run.cell.ap_setting, run.block) for run in session}) == 1
        of_block[session[0].block].append(session[0].cell.ap_setting)
    assert sorted(of_block) == list(range(1, made.method.sessions + 1))
    assert all(sorted(block) == sorted(every) for block in of_block.values())


@settings(max_examples=60)
@given(STUDIES)
def test_the_access_point_changes_as_seldom_as_it_can(made: Study) -> None:
    plan = expand(made)
    order = settings_of(plan)
    per_block = len(set(order))
    assert switches(plan.runs) == (per_block - 1) * made.method.sessions
    blocks = [order[start : start + per_block] for start in range(0, len(order), per_block)]
    assert all(after == before[::-1] for before, after in pairwise(blocks))


@settings(max_examples=30)
@given(STUDIES)
def test_levels_of_security_are_in_neighbouring_sessions(made: Study) -> None:
    place = AP_FACTORS.index("security")
    others = [setting[:place] + setting[place + 1 :] for setting in settings_of(expand(made))]
    first_block = others[: len(set(settings_of(expand(made))))]
    assert len([key for key, _ in groupby(first_block)]) == len(set(first_block))


def test_the_repeats_are_divided_evenly_and_the_first_session_has_the_discarded_ones() -> None:
    plan = expand(study({"repeats": 10, "sessions": 4, "discard_first": 1}))
    counted: dict[int, set[int]] = defaultdict(set)
    for run in plan.runs:
        counted[run.block].add(run.replicate)
    assert dict(counted) == {1: {1, 2, 3}, 2: {4, 5, 6}, 3: {7, 8}, 4: {9, 10, 11}}
    assert {run.replicate for run in plan.runs if run.discard} == {1}


def test_a_session_performs_complete_rounds_of_its_cells_in_random_order() -> None:
    plan = expand(study(packet_size=[16, 64, 128, 256, 512, 1408]))
    orders = set()
    for session in sessions_of(plan):
        rounds = [list(runs) for _, runs in groupby(session, key=lambda run: run.replicate)]
        assert all(len({run.cell for run in one}) == len(one) == 24 for one in rounds)
        orders |= {tuple(run.cell.model_copy(update={"security": "open"}) for run in one) for one in rounds}
    assert len(orders) == 8  # one per replicate; both levels of a replicate have the same order


def test_where_udp_takes_its_load_from_tcp_the_blocks_of_both_are_the_same() -> None:
    plan = expand(study({"udp_load": "tcp", "sessions": 3}))
    transports = [{run.cell.transport for run in session} for session in sessions_of(plan)]
    assert transports == [{"tcp"}] * 6 + [{"udp"}] * 6
    assert switches(plan.runs) == 2 * 3
    for transport in ("tcp", "udp"):
        assert {run.block for run in plan.runs if run.cell.transport == transport} == {1, 2, 3}


def test_the_security_the_phy_and_the_width_are_settings_of_the_access_point() -> None:
    assert AP_FACTORS == ("security", "phy", "bandwidth")


def test_a_round_is_a_replicate_or_a_block_of_sessions() -> None:
    made = study()
    assert all(run.round == run.replicate for run in expand(made, switching="block").runs)
    assert all(run.round == run.block for run in expand(made).runs)


def test_a_quick_run_has_at_most_one_session_per_repeat() -> None:
    made = study().model_copy(update={"quick": Quick(repeats=3)})
    plan = expand(made, quick=True)
    assert (plan.method.sessions, describe(plan).sessions, describe(plan).blocks) == (3, 6, 3)


def test_the_study_of_802_11ac_changes_the_access_point_a_thousand_times_by_block_and_four_by_session() -> (
    None
):
    made = load_study(find_study("kolahi-11ac"))
    on_hosts = made.model_copy(update={"factors": made.factors.model_copy(update={"crypto_at": ("host",)})})
    by_block, by_session = (expand(on_hosts, switching=each).runs for each in ("block", "session"))
    assert (len(by_block), len(by_session)) == (1760, 1760)
    assert (switches(by_block), switches(by_session)) == (1328, 4)


def test_a_plan_by_block_is_that_of_versions_without_sessions() -> None:
    # Recorded before sessions existed: older results resume with the same runs.
    plan = expand(
        study({"seed": 7, "discard_first": 1}, security=["open", "wep40", "ccmp"]), switching="block"
    )
    lines = [f"{r.id} {r.block} {r.replicate} {r.discard} {r.seed}" for r in plan.runs]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == DIGEST
    assert {(run.session, run.attempt) for run in plan.runs} == {(None, 1)}


DIGEST = "23b7862f3a1cfa28079e548e981a5c2566a7846b7b238d05d564a1ccca0ede42"


@pytest.mark.parametrize(
    ("method", "error"),
    [
        (
            'switching = "sessions"',
            "method.switching: 'sessions' is not allowed; use block or session",
        ),
        (
            'switching = "session"\nsessions = 4',
            "method.sessions: 4 sessions cannot share 3 repeats; give at most one session per repeat",
        ),
        (
            'switching = "session"\nsessions = 2\nstop = "agreement"',
            "method.switching: session is not allowed with stop agreement: the number of sessions is fixed",
        ),
        ("sessions = 0", "method.sessions: 0 is not allowed; give a whole number from 1 to 1000"),
        ("retries = 6", "method.retries: 6 is not allowed; give a whole number from 0 to 5"),
    ],
)
def test_a_design_that_cannot_be_is_refused_in_one_line(tmp_path: Path, method: str, error: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(
        'title = "Wrong"\n[factors]\nsecurity = ["open", "ccmp"]\ntransport = ["udp"]\nip = ["ipv4"]\n'
        'packet_size = ["128 B"]\nphy = ["ofdm"]\nrate = ["54 Mbit/s"]\n'
        f'[method]\nrepeats = 3\nduration = "1 s"\n{method}\n'
    )
    with pytest.raises(UsageError) as refused:
        load_study(path)
    assert str(refused.value).removeprefix(f"{path}: ").startswith(error)
