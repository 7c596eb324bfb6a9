"""Rules applied to results: pass, fail, undecided, and rules without an answer."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from judge_fakes import figures, noisy, store
from made_cell import make_cell

from airtoll.errors import UsageError
from airtoll.judge import ClaimRuleOutcome, RuleOutcome, gate, junit, parse_rule

OPEN = make_cell()
CCMP = make_cell(security="ccmp")


def held(directory: Path, rule: str, against: Path | None = None, **options: Any) -> RuleOutcome:
    baseline = None if against is None else figures(against)
    (outcome,) = gate(figures(directory), [parse_rule(rule)], against=baseline, **options)
    assert isinstance(outcome, RuleOutcome)
    return outcome


@pytest.mark.parametrize(
    ("rule", "state", "passed"),
    [
        ("rtt <= 2.2 ms", "pass", True),
        ("rtt <= 1.8 ms", "fail", False),
        ("rtt <= 2.05 ms", "undecided", True),  # the interval is 2 ms +- 0.105 ms
        ("rtt <= 1.95 ms", "undecided", True),
        ("rtt <= 2.05 ms by mean", "pass", True),
        ("rtt <= 1.95 ms by mean", "fail", False),
        ("rtt <= 2.05 ms surely", "fail", False),
        ("rtt <= 2.2 ms surely", "pass", True),
        ("rtt >= 1.8 ms", "pass", True),
        ("rtt > 2.2 ms", "fail", False),
        ("rtt = 2 ms", "undecided", True),
        ("rtt = 3 ms", "fail", False),
        ("rtt = 2 ms by mean", "pass", True),
    ],
)
def test_the_interval_decides_unless_the_rule_says_otherwise(
    tmp_path: Path, rule: str, state: str, passed: bool
) -> None:
    directory = store(tmp_path / "r", [(OPEN, {"rtt": noisy(2.0, 0.1, 6)})])
    outcome = held(directory, rule)
    assert (outcome.state, outcome.passed) == (state, passed)


def test_undecided_cells_can_be_made_to_fail(tmp_path: Path) -> None:
    directory = store(tmp_path / "r", [(OPEN, {"rtt": noisy(2.0, 0.1, 6)})])
    assert not held(directory, "rtt <= 2.05 ms", undecided="fail").passed
    assert held(directory, "rtt <= 2.2 ms", undecided="fail").passed


@pytest.mark.parametrize(
    ("rule", "state"), [("rtt <= 3 ms", "pass"), ("rtt <= 1 ms", "fail"), ("rtt <= 3 ms surely", "fail")]
)
def test_of_a_single_run_the_value_decides_but_not_surely(tmp_path: Path, rule: str, state: str) -> None:
    assert held(store(tmp_path / "r", [(OPEN, {"rtt": [2.0]})]), rule).state == state


def test_no_loss_is_exactly_none(tmp_path: Path) -> None:
    none = store(tmp_path / "none", [(OPEN, {"loss": [0.0, 0.0, 0.0]})])
    some = store(tmp_path / "some", [(OPEN, {"loss": [0.0, 0.0, 0.001]})])
    assert held(none, "loss = 0 %").state == "pass"
    assert held(some, "loss = 0 %").state == "undecided"
    assert held(some, "loss = 0 % by mean").state == "fail"


def test_bounds_in_other_units_are_exact(tmp_path: Path) -> None:
    directory = store(tmp_path / "r", [(OPEN, {"throughput": [300e3] * 3, "cpu_system": [7.3] * 3})])
    for rule in ("throughput >= 0.3 Mbit/s", "throughput <= 300 kbit/s", "cpu_system = 7.3 %"):
        assert held(directory, rule).state == "pass"
    assert held(directory, "throughput < 0.3 Mbit/s").state == "fail"


def test_the_worst_cell_is_named_and_decides(tmp_path: Path) -> None:
    cells = [
        (make_cell(packet_size=size), {"rtt": noisy(mean, 0.01, 4)})
        for size, mean in ((128, 1.0), (512, 4.0), (1408, 2.0))
    ]
    outcome = held(store(tmp_path / "r", cells), "rtt <= 3 ms")
    assert [cell.cell.packet_size for cell in outcome.cells] == [512, 1408, 128]
    assert (outcome.state, outcome.count("fail"), outcome.count("pass")) == ("fail", 1, 2)


def test_conditions_choose_the_cells(tmp_path: Path) -> None:
    cells = [
        (make_cell(packet_size=size, security=security), {"rtt": [2.0, 2.0]})
        for size in (128, 1408)
        for security in ("open", "ccmp")
    ]
    outcome = held(store(tmp_path / "r", cells), "rtt of ccmp <= 3 ms where packet_size=128")
    assert [cell.cell for cell in outcome.cells] == [make_cell(packet_size=128, security="ccmp")]


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("cost(throughput) <= 4 %", "pass"),
        ("cost(throughput) <= 2 %", "fail"),
        ("cost(throughput) of ccmp <= 1.2 Mbit/s", "pass"),
        ("cost(throughput) <= 0.5 Mbit/s", "fail"),
        ("cost(rtt) <= 10.5 %", "pass"),
        ("cost(rtt) <= 0.1 ms", "fail"),
        ("cost(cpu_system) <= 5.5 %", "pass"),  # for a percentage, the difference in points
        ("cost(cpu_system) <= 4 %", "fail"),
    ],
)
def test_a_cost_is_the_paired_change_for_the_worse(tmp_path: Path, rule: str, state: str) -> None:
    rates, times, loads = noisy(30e6, 2e6, 5), noisy(2.0, 0.2, 5, seed=2), noisy(20, 2, 5, seed=3)
    cells = [
        (OPEN, {"throughput": rates, "rtt": times, "cpu_system": loads}),
        (
            CCMP,
            {
                "throughput": [0.97 * x for x in rates],
                "rtt": [1.1 * x for x in times],
                "cpu_system": [x + 5 for x in loads],
            },
        ),
    ]
    outcome = held(store(tmp_path / "r", cells), rule)
    assert outcome.state == state
    assert [cell.cell.security for cell in outcome.cells] == ["ccmp"]
    assert outcome.cells[0].value is not None
    assert outcome.cells[0].value > 0


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("change(throughput) >= -2 % against baseline", "fail"),
        ("change(throughput) >= -6 %", "pass"),
        ("change(throughput) >= -2 Mbit/s", "pass"),
        ("change(throughput) >= -1 Mbit/s", "fail"),
    ],
)
def test_a_change_is_from_another_result(tmp_path: Path, rule: str, state: str) -> None:
    before = store(tmp_path / "before", [(OPEN, {"throughput": noisy(30e6, 1e4, 5)})])
    after = store(tmp_path / "after", [(OPEN, {"throughput": noisy(28.5e6, 1e4, 4)})])
    assert held(after, rule, before).state == state
    with pytest.raises(UsageError, match="a change requires --against DIR"):
        held(after, rule)


def test_a_change_over_labs_needs_the_lab_to_be_ignored(tmp_path: Path) -> None:
    before = store(tmp_path / "before", [(make_cell(lab="sim"), {"rtt": noisy(2.0, 0.001, 3)})])
    after = store(tmp_path / "after", [(OPEN, {"rtt": noisy(2.0, 0.001, 3)})])
    with pytest.raises(UsageError, match="--ignore lab"):
        held(after, "change(rtt) <= 1 %", before)
    assert held(after, "change(rtt) <= 1 %", before, ignored=["lab"]).passed


def test_a_cell_without_a_valid_run_fails(tmp_path: Path) -> None:
    cells = [(OPEN, {"rtt": [2.0, 2.0]}), (CCMP, {"rtt": [2.0, 2.0]})]
    directory = store(tmp_path / "r", cells, invalid=lambda run: run.cell == CCMP)
    outcome = held(directory, "rtt <= 3 ms")
    assert (outcome.state, outcome.cells[0].cell, outcome.cells[0].note) == (
        "fail",
        CCMP,
        "no run counts: 2 invalid",
    )
    pair = [(OPEN, {"rtt": [2.0, 2.0, 2.0]}), (CCMP, {"rtt": [2.0, 2.0, 2.0]})]
    unpaired = store(tmp_path / "u", pair, invalid=lambda run: (run.cell == OPEN) == (run.replicate == 1))
    with pytest.raises(UsageError, match="no pairs of these cells"):
        held(unpaired, "cost(rtt) <= 3 ms")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("jitter <= 1 ms", "jitter was not measured in these cells; .* has rtt"),
        ("rtt <= 1 ms where security=wep40", "its security is open or ccmp"),
        ("rtt <= 1 ms where security=ccmp and packet_size=128", "its packet_size is 1408 B"),
        ("cost(rtt) of open <= 1 %", "no pairs of these cells with open"),
        ("cost(jitter) <= 1 %", "no pairs of these cells"),
    ],
)
def test_a_rule_that_matches_nothing_is_an_error(tmp_path: Path, rule: str, words: str) -> None:
    cells = [(OPEN, {"rtt": [2.0, 2.0]}), (CCMP, {"rtt": [2.0, 2.0]})]
    with pytest.raises(UsageError, match=words):
        held(store(tmp_path / "r", cells), rule)


def test_levels_that_no_cell_has_together_are_a_fault(tmp_path: Path) -> None:
    cells = [(OPEN, {"rtt": [2.0]}), (make_cell(security="ccmp", packet_size=128), {"rtt": [2.0]})]
    with pytest.raises(UsageError, match="has all of these levels"):
        held(store(tmp_path / "r", cells), "rtt of ccmp <= 1 ms where packet_size=1408")


OPEN_BETTER = {
    "kind": "ordering",
    "id": "open-better",
    "metric": "rtt",
    "factor": "security",
    "better": "open",
    "worse": "ccmp",
}


def with_claims(directory: Path) -> Path:
    """A result in which open has half the round-trip time of CCMP, with claims about it."""
    return store(
        directory,
        [(OPEN, {"rtt": noisy(1.0, 0.01, 4)}), (CCMP, {"rtt": noisy(2.0, 0.01, 4, seed=2)})],
        claims=[
            OPEN_BETTER,
            {**OPEN_BETTER, "id": "ccmp-better", "better": "ccmp", "worse": "open"},
            {**OPEN_BETTER, "id": "much-better", "at_least": 70},
            {**OPEN_BETTER, "id": "of-jitter", "metric": "jitter"},
            {key: value for key, value in OPEN_BETTER.items() if key != "id"},
        ],
    )


@pytest.mark.parametrize(
    ("rule", "verdict", "passed"),
    [
        ("claim(open-better) = confirmed", "confirmed", True),
        ("claim(open-better) != opposite", "confirmed", True),
        ("claim(open-better) != confirmed", "confirmed", False),
        ("claim(ccmp-better) = confirmed", "opposite", False),
        ("claim(ccmp-better) != opposite", "opposite", False),
        ("claim(much-better) = confirmed", "other size", False),
        ("claim(much-better) = other size", "other size", True),
    ],
)
def test_a_rule_about_a_claim_asks_for_its_verdict(
    tmp_path: Path, rule: str, verdict: str, passed: bool
) -> None:
    (outcome,) = gate(figures(with_claims(tmp_path / "r")), [parse_rule(rule)])
    assert isinstance(outcome, ClaimRuleOutcome)
    assert [one.verdict for one in outcome.judged] == [verdict]
    assert (outcome.passed, outcome.state) == (passed, "pass" if passed else "fail")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("open-bette", "'open-bette' is not the id of a claim of this result; did you mean 'open-better'"),
        ("other", "'other' is not the id of a claim of this result; use open-better, ccmp-better"),
        ("of-jitter", "lacks cells that this claim compares"),
    ],
)
def test_a_claim_without_a_verdict_is_an_error(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        gate(figures(with_claims(tmp_path / "r")), [parse_rule(f"claim({name}) = confirmed")])
    assert str(caught.value).startswith(f"rule 'claim({name}) = confirmed': ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_result_without_claims_says_so(tmp_path: Path) -> None:
    directory = store(tmp_path / "r", [(OPEN, {"rtt": [1.0]})])
    with pytest.raises(UsageError, match="the result has no claim with an id"):
        gate(figures(directory), [parse_rule("claim(a) = confirmed")])


def test_ci_systems_get_junit_xml(tmp_path: Path) -> None:
    directory = store(tmp_path / "r", [(OPEN, {"rtt": noisy(2.0, 0.1, 6)})])
    rules = [parse_rule(rule) for rule in ("rtt <= 3 ms", "rtt <= 2.05 ms", "rtt <= 1 ms")]
    text = junit(
        gate(figures(directory), rules), "a \x00 <suite>", lambda outcome: f"so & so: {outcome.state}"
    )
    root = ET.fromstring(text)  # noqa: S314  (our own)
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ["rtt <= 3 ms", "rtt <= 2.05 ms", "rtt <= 1 ms"]
    assert [[child.tag for child in case] for case in suite] == [["system-out"], ["skipped"], ["failure"]]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "so & so: fail"
