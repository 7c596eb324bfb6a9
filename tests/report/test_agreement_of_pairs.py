"""Verdicts on claims: the agreement of pairs, the relevance of changes, and levels that lab sim cannot tell apart."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from made_study import make_study
from report_fakes import Make, exactly, make_plan

from airtoll.labs.sim import Sim
from airtoll.probes import probes_of
from airtoll.report.material.data import ReportData
from airtoll.report.parts import sentences
from airtoll.report.parts.claims import Claims, Judged
from airtoll.store import Result, record
from airtoll.study import expand
from airtoll.study.cell import Run
from airtoll.study.claims import ClaimTable

RISES = {"kind": "trend", "metric": "throughput", "way": "rises"}
OPEN_BETTER = {
    "kind": "ordering",
    "metric": "throughput",
    "factor": "security",
    "better": "open",
    "worse": "ccmp",
}
EQUAL = {"kind": "equality", "metric": "throughput", "factor": "security", "of": ["open", "ccmp"]}


def judge(
    make: Make, claim: Mapping[str, Any], change: Callable[[Run], float], *, exact: bool = True
) -> Judged:
    """The verdict on a claim if `change` is the factor by which a run differs from 100 Mbit/s."""
    plan = make_plan(repeats=4).model_copy(update={"claims": (ClaimTable.model_validate(claim),)})

    def throughput(run: Run) -> float:
        return 1e8 * change(run) * (1.0 if exact else 1 + 1e-5 * (run.order % 7))

    data = ReportData.of(make(plan, samples=exactly(throughput=throughput), invalid=lambda _: ()))
    (one,) = Claims.of(data, with_model=False).judged
    return one


def of_ccmp(cell_factor: Callable[[Run], float]) -> Callable[[Run], float]:
    """The factor applies to CCMP only."""
    return lambda run: cell_factor(run) if run.cell.security == "ccmp" else 1.0


def test_a_pooled_change_does_not_hide_a_transport_without_it(make: Make) -> None:
    def only_udp(run: Run) -> float:
        larger = run.cell.packet_size == 1408
        return {"udp": 4.0, "tcp": 0.998}[run.cell.transport] if larger else 1.0

    one = judge(make, RISES, only_udp, exact=False)
    assert one.measured.value == pytest.approx(99.8, abs=0.1)  # and significant
    assert (one.verdict, one.agreement) == ("mixed", "4 of 8")
    assert one.words == "mixed (TCP: \N{MINUS SIGN}0.2 %)"


def test_a_pair_with_a_significant_opposite_change_makes_a_verdict_mixed(make: Make) -> None:
    def mostly_slower(run: Run) -> float:
        cell = run.cell
        return 1.1 if (cell.transport, cell.ip, cell.packet_size) == ("tcp", "ipv6", 128) else 0.5

    one = judge(make, OPEN_BETTER, of_ccmp(mostly_slower), exact=False)
    assert (one.verdict, one.agreement) == ("mixed", "7 of 8")
    assert "TCP IPv6 128 B" in one.note


def test_equality_needs_every_transport_within_its_limit(make: Make) -> None:
    one = judge(make, EQUAL, of_ccmp(lambda run: {"udp": 1.25, "tcp": 0.8}[run.cell.transport]))
    assert one.measured.value == pytest.approx(0, abs=1e-9)
    assert (one.verdict, one.agreement) == ("mixed", "0 of 8")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({}, "no relevant difference"),
        ({"relevant": "0.01 %"}, "confirmed"),
        ({"at_least": "0.02 %"}, "confirmed"),
        ({"at_most": "0.01 %"}, "other size"),
    ],
)
def test_a_change_below_the_threshold_is_no_relevant_difference(
    make: Make, *, exact: bool, more: dict[str, Any], verdict: str
) -> None:
    one = judge(make, {**OPEN_BETTER, **more}, of_ccmp(lambda _: 1 / 1.0004), exact=exact)
    assert one.verdict == verdict


def test_a_relevant_change_in_all_pairs_is_confirmed(make: Make) -> None:
    one = judge(make, OPEN_BETTER, of_ccmp(lambda _: 0.9), exact=False)
    assert (one.verdict, one.agreement, one.note) == ("confirmed", "8 of 8", "")


@pytest.mark.parametrize(("rest", "verdict"), [(0.18, "confirmed"), (0.30, "other size")])
def test_a_loss_against_the_better_level_is_a_size(make: Make, rest: float, verdict: str) -> None:
    lost = {"at_least": "80 %", "percent_of": "better"}
    one = judge(make, {**OPEN_BETTER, **lost}, of_ccmp(lambda _: rest), exact=False)
    assert one.verdict == verdict


SIMULATED = (
    RISES,
    {"kind": "ordering", "metric": "throughput", "factor": "direction", "better": "up", "worse": "down"},
    {"kind": "equality", "metric": "throughput", "factor": "security", "of": ["ccmp", "sae"]},
    OPEN_BETTER,
)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """A study in lab sim with the claims of two papers: one of 802.11ac by transport, one of directions and SAE."""
    study = make_study(
        {"repeats": 3, "duration": 0.2, "warmup": 0.1, "probes": ["throughput"]},
        claims=SIMULATED,
        security=["open", "ccmp", "sae"],
        transport=["udp", "tcp"],
        direction=["up", "down"],
    )
    plan = expand(study, lab="sim")
    directory = Path(tmp_path_factory.mktemp("simulated")) / "result"
    with Result.create(directory, study.text, plan, "sim", quick=False) as result:
        record(result, Sim(plan.link), probes_of(plan.method.probes, "sim"), lambda _event: None)
    return ReportData.of(Result.open(directory))


def test_verdicts_in_lab_sim(simulated: ReportData) -> None:
    rises, up, same, cost = sorted(
        Claims.of(simulated, with_model=False).judged,
        key=lambda one: [str(claim) for claim in SIMULATED].index(_claim_of(one)),
    )
    assert (rises.verdict, rises.agreement) == ("mixed", "6 of 12")  # the packet size has no effect on TCP
    assert rises.note.startswith("TCP: ")
    assert up.verdict in ("no relevant difference", "mixed", "not confirmed")
    assert (same.verdict, same.agreement) == ("cannot be tested here", "\N{EN DASH}")
    assert cost.measured.cells == 8


def _claim_of(one: Judged) -> str:
    kinds = {"rises": 0, "direction": 1, "SAE": 2, "open": 3}
    words = one.statement.words({})
    return str(SIMULATED[next(place for word, place in kinds.items() if word in words)])


def test_the_method_of_lab_sim_says_what_its_runs_did(simulated: ReportData) -> None:
    words = " ".join(sentences.method(simulated))
    assert "simulated in virtual time" in words
    assert "UDP senders are saturated" in words
    assert "Seed 1 determines the backoffs." in words
    for false in ("1.25 times", "close in time", "order of runs", "write to the socket", "round-trip times."):
        assert false not in words


@pytest.mark.parametrize("lab", ["air", "linux", "hosts"])
def test_the_method_of_labs_with_hosts_has_the_recorded_loads(make: Make, lab: str) -> None:
    plan = make_plan(transports=("udp",), repeats=2, method={"probes": ("throughput", "rtt")})

    probes = {"throughput": {"offered_bit_per_s": 40_000_000}}
    data = ReportData.of(make(plan, lab=lab, invalid=lambda _: (), probes=probes))
    words = " ".join(sentences.method(data))
    assert "UDP offers 1.25 times the capacity of the open link (40.0 Mbit/s per sender)" in words
    assert "round-trip times" not in words  # no run of this result measured them
    assert "simulated" not in words
