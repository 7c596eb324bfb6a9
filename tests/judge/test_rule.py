"""The language of rules: valid rules, and the position of the fault in invalid rules."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airtoll.errors import UsageError
from airtoll.judge import ClaimRule, Rule, parse_rule, read_rules


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("throughput >= 800 Mbit/s", ("value", "throughput", ">=", 800e6, False, {}, "interval")),
        ("throughput>=0.8Gbit/s", ("value", "throughput", ">=", 800e6, False, {}, "interval")),
        ("rtt_p99 <= 2 ms", ("value", "rtt_p99", "<=", 2.0, False, {}, "interval")),
        ("rtt < 250 us by mean", ("value", "rtt", "<", 0.25, False, {}, "mean")),
        ("loss = 0 %", ("value", "loss", "=", 0.0, False, {}, "interval")),
        ("loss <= 0.1 % surely", ("value", "loss", "<=", 0.001, False, {}, "surely")),
        ("ftp_rate > 2 Mbyte/s", ("value", "ftp_rate", ">", 2e6, False, {}, "interval")),
        ("noise <= -90 dBm", ("value", "noise", "<=", -90.0, False, {}, "interval")),
        (
            "cost(throughput) of ccmp <= 3 %",
            ("cost", "throughput", "<=", 3.0, True, {"security": "ccmp"}, "interval"),
        ),
        (
            "cost(rtt) <= 0.2 ms of gcmp256",
            ("cost", "rtt", "<=", 0.2, False, {"security": "gcmp256"}, "interval"),
        ),
        (
            "responsiveness_up >= 1000 1/min",
            ("value", "responsiveness_up", ">=", 1000.0, False, {}, "interval"),
        ),
        ("energy <= 5J", ("value", "energy", "<=", 5.0, False, {}, "interval")),
        ("cost(cpu_system) <= 5 %", ("cost", "cpu_system", "<=", 5.0, False, {}, "interval")),
        (
            "change(throughput) >= -2 % against baseline",
            ("change", "throughput", ">=", -2.0, True, {}, "interval"),
        ),
        (
            "jitter <= 1 ms where security=ccmp and packet_size=1408 B and rate=54 Mbit/s by mean",
            (
                "value",
                "jitter",
                "<=",
                1.0,
                False,
                {"security": "ccmp", "packet_size": 1408, "rate": "54 Mbit/s"},
                "mean",
            ),
        ),
        (
            "rtt <= 1 ms where packet_size = 1408 and snr=none",
            ("value", "rtt", "<=", 1.0, False, {"packet_size": 1408, "snr": "none"}, "interval"),
        ),
    ],
)
def test_rules_are_parsed(text: str, expected: tuple[Any, ...]) -> None:
    rule = parse_rule(text)
    assert isinstance(rule, Rule)
    found = (
        rule.subject,
        rule.metric.name,
        rule.operator,
        rule.bound,
        rule.relative,
        dict(rule.where),
        rule.mode,
    )
    assert found == (*expected[:3], pytest.approx(expected[3]), *expected[4:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("claim(open-better) = confirmed", ("open-better", "=", "confirmed")),
        ("claim ( open-better )!=not  confirmed", ("open-better", "!=", "not confirmed")),
        ("claim(cost.1) = other size", ("cost.1", "=", "other size")),
        ("claim(claim) != opposite", ("claim", "!=", "opposite")),
    ],
)
def test_rules_about_claims_are_parsed(text: str, expected: tuple[str, str, str]) -> None:
    rule = parse_rule(text)
    assert isinstance(rule, ClaimRule)
    assert (rule.id, rule.operator, rule.verdict) == expected


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "unexpected end of the rule; expected a metric"),
        ("throughputt >= 8 Mbit/s", 1, "did you mean 'throughput'?"),
        ("THROUGHPUT >= 8 Mbit/s", 1, "did you mean 'throughput'?"),
        ("speed >= 8 Mbit/s", 1, "known metrics: throughput, rtt"),
        ("cost <= 3 %", 1, "cost requires a metric: cost(METRIC)"),
        ("cots(rtt) <= 3 %", 1, "did you mean 'cost'?"),
        ("cost(rtt <= 3 %", 10, "unexpected '<='; expected )"),
        ("throughput", 11, "unexpected end of the rule; expected one of <=, >=, <, >, ="),
        ("throughput != 8 Mbit/s", 12, "unexpected '!='; expected one of"),
        ("throughput >=", 14, "unexpected end of the rule; expected a number with its unit"),
        ("throughput >= 8", 15, "'8' has no unit"),
        ("throughput >= 8 Mbits", 15, "has the wrong unit; give a string in Mbit/s"),
        ("throughput >= many Mbit/s", 15, "is not a value of throughput"),
        ("change(rtt) <= 2 m", 16, "has the wrong unit"),
        ("throughput of CMP >= 8 Mbit/s", 15, "security: 'CMP' is not allowed"),
        ("rtt <= 2 ms where securty=ccmp", 19, "did you mean 'security'?"),
        ("rtt <= 2 ms where security<=ccmp", 27, "unexpected '<='; expected ="),
        ("rtt <= 2 ms where security=", 28, "unexpected end of the rule; expected a level after '='"),
        ("rtt <= 2 ms where packet_size=1 MB", 31, "packet_size: '1 MB' has the wrong unit"),
        ("rtt of open <= 2 ms of ccmp", 24, "duplicate factor security"),
        ("rtt <= 2 ms by max", 16, "'by mean'"),
        ("rtt <= 2 ms by mean surely", 21, "duplicate mode"),
        ("rtt <= 2 ms against baseline", 13, "against requires a change"),
        ("change(rtt) <= 2 % against main", 28, "unexpected 'main'; expected baseline"),
        ("rtt <= 2 ms surely not", 20, "unexpected 'not'; expected of, where, by, surely or against"),
        ("claim = confirmed", 7, "unexpected '='; expected ( and the id of a claim"),
        ("claim() = confirmed", 7, "unexpected ')'; expected the id of a claim"),
        ("claim(a) < confirmed", 10, "unexpected '<'; expected = or !="),
        ("claim(a) =", 11, "unexpected end of the rule; expected a verdict after '='"),
        ("claim(a) = confirmd", 12, "'confirmd' is not a verdict; use confirmed, other size"),
        ("claim(a) = not measured", 12, "'not measured' is not a verdict"),
        ("claim(a) = confirmed surely", 12, "'confirmed surely' is not a verdict"),
        ("claims(a) = confirmed", 1, "did you mean 'claim'?"),
        ("rtt <= " + "9" * 500 + " ms", 0, "at most 500 characters"),
    ],
)
def test_a_wrong_rule_is_refused_with_the_place(text: str, column: int, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_rule(text, "--rule 3")
    line = str(caught.value)
    assert line.startswith(f"--rule 3: column {column}: " if column else "--rule 3: ")
    assert words in line


_WORDS = st.sampled_from(
    [
        *(
            "throughput",
            "rtt",
            "loss",
            "cost",
            "change",
            "claim",
            "confirmed",
            "not",
            "(",
            ")",
            "<=",
            "=",
            "!=",
            "3",
            "-2.5",
            "%",
            "ms",
            "Mbit/s",
        ),
        *(
            "of",
            "ccmp",
            "where",
            "security",
            "packet_size",
            "1408",
            "B",
            "and",
            "by",
            "mean",
            "surely",
            "against",
        ),
        *("baseline", "\x00", "\xe9", "\n"),
    ]
)


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(_WORDS, max_size=14).map(" ".join),
        st.lists(_WORDS, max_size=9).map("".join),
    )
)
@example("rtt<=2 ms where rate=")
@example("rtt <= 2 ms where rate=auto")
def test_any_text_is_a_rule_or_one_line(text: str) -> None:
    try:
        rule = parse_rule(text)
    except UsageError as error:
        line = str(error)
    else:
        assert parse_rule(rule.text) == rule
        return
    assert line.startswith("--rule: ")
    assert "\n" not in line


def test_a_rule_file_has_rules_and_a_verdict_for_undecided_cells(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text('undecided = "fail"\nrules = ["loss = 0 %", "rtt <= 2 ms"]\n')
    read = read_rules(file)
    assert [rule.text for rule in read.rules] == ["loss = 0 %", "rtt <= 2 ms"]
    assert read.undecided == "fail"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("rules = [", "not TOML"),
        ("rules = []", "rules: give a list of rules"),
        ('rule = ["loss = 0 %"]', "rule: unknown key; known keys: rules, undecided; did you mean 'rules'?"),
        ("rules = [3]", "rules[0]: 3 is not a string"),
        ('rules = ["loss = 0 %", "los = 0 %"]', "rules[1]: column 1: 'los' is not a metric"),
        ('rules = ["loss = 0 %"]\nundecided = "maybe"', "undecided: 'maybe' is not allowed"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(content)
    with pytest.raises(UsageError) as caught:
        read_rules(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)
