"""`airtoll gate`: checks a result against rules; prints one line per rule."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, get_args

from airtoll.cli.base import echo
from airtoll.cli.json_output import print_json
from airtoll.cli.tables import plain_console, plain_table, print_table
from airtoll.condition import mixture, read_complete
from airtoll.durable import make_directory, publish, reporting
from airtoll.errors import UsageError
from airtoll.judge import (
    AnyRuleOutcome,
    CellOutcome,
    ClaimRuleOutcome,
    Figures,
    Rule,
    RuleOutcome,
    gate,
    junit,
    parse_rule,
    read_rules,
)
from airtoll.judge.figures import cell_name, fixed_factors_of
from airtoll.judge.rule import Undecided
from airtoll.report.material import text
from airtoll.stats import Interval
from airtoll.store.layout import check_target
from airtoll.study.levels import check_factor

_SHOWN_MOST: Final = 20
"""The table has at most this many cells; JSON has all."""


def gate_result(
    directory: Path,
    rules: Sequence[str],
    rule_file: Path | None,
    *,
    against: Path | None,
    ignored: Sequence[str],
    undecided: str | None,
    allow_incomplete: bool,
    as_json: bool,
    junit_file: Path | None,
) -> int:
    """Print the outcome of each rule, write JUnit XML if requested, and return the exit status."""
    parsed = [parse_rule(rule, f"--rule {number}") for number, rule in enumerate(rules, start=1)]
    default: Undecided = "pass"
    if rule_file is not None:
        of_file = read_rules(rule_file)
        parsed += of_file.rules
        default = of_file.undecided or default
    if not parsed:
        raise UsageError("no rule given: use --rule RULE or --rules FILE")
    for name in ignored:
        try:
            check_factor(name)
        except ValueError as error:
            raise UsageError(f"--ignore: {error}") from None
    result = _figures(directory, allow_incomplete=allow_incomplete)
    baseline = None if against is None else _figures(against, allow_incomplete=allow_incomplete)
    outcomes = gate(
        result,
        parsed,
        against=baseline,
        ignored=ignored,
        undecided=default if undecided is None else _undecided(undecided),
    )
    fixed = fixed_factors_of(result)
    if junit_file is not None:
        check_target(directory, junit_file.parent)
        content = junit(outcomes, str(directory), lambda outcome: _sentence(outcome, fixed))
        with reporting(f"cannot write {junit_file}"):
            make_directory(junit_file.absolute().parent)
            publish(junit_file.absolute().parent, {junit_file.name: content})
    if as_json:
        print_json([_json(outcome) for outcome in outcomes])
    else:
        _print(outcomes, fixed)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _figures(directory: Path, *, allow_incomplete: bool) -> Figures:
    figures = Figures.of(read_complete(directory, allow_incomplete=allow_incomplete))
    for line in mixture(figures.records):
        echo(f"warning: {directory}: {line}", err=True)
    return figures


def _undecided(word: str) -> Undecided:
    known: tuple[Undecided, ...] = get_args(Undecided)
    found = next((each for each in known if each == word), None)
    if found is None:
        raise UsageError(f"--undecided: '{word}' is not allowed; use {' or '.join(known)}")
    return found


def _print(outcomes: Sequence[AnyRuleOutcome], fixed: set[str]) -> None:
    console = plain_console(soft_wrap=True)
    for outcome in outcomes:
        console.print(f"{_word(outcome):9} {_sentence(outcome, fixed)}")
    rows = [
        (
            cell_name(cell.cell, without=fixed),
            outcome.rule.text,
            _value(outcome.rule, cell),
            str(cell.n),
            cell.state,
        )
        for outcome in outcomes
        if isinstance(outcome, RuleOutcome)
        for cell in outcome.cells
        if cell.state != "pass"
    ]
    if rows:
        console.print()
        print_table(
            console, plain_table(("cell", "rule", "mean [95 % CI]", "n", "state"), rows[:_SHOWN_MOST])
        )
        if len(rows) > _SHOWN_MOST:
            console.print(f"and {len(rows) - _SHOWN_MOST} more; --json prints all cells")
    missed = sum(not outcome.passed for outcome in outcomes)
    console.print(f"{len(outcomes) - missed} of {text.counted(len(outcomes), 'rule')} met")


def _word(outcome: AnyRuleOutcome) -> str:
    if outcome.passed:
        return "pass" if outcome.state == "pass" else "undecided"
    return "FAIL"


def _sentence(outcome: AnyRuleOutcome, fixed: set[str]) -> str:
    """The outcome of a rule: the number of cells per state and the worst cell, or the verdicts on a claim."""
    if isinstance(outcome, ClaimRuleOutcome):
        verdicts = (
            f"{one.statement.words({})}: {one.words}"
            + (f", {one.agreement} pairs, {one.measured.words()}" if one.measured.cells else "")
            for one in outcome.judged
        )
        return f"{outcome.rule.text}: {'; '.join(verdicts)}"
    worst = outcome.cells[0]
    counts = [
        (outcome.count("pass"), "pass"),
        (outcome.count("undecided"), "undecided"),
        (outcome.count("fail"), "fail"),
    ]
    states = ", ".join(f"{count} {state}" for count, state in counts if count)
    name = cell_name(worst.cell, without=fixed)
    cells = text.counted(len(outcome.cells), "cell")
    return f"{outcome.rule.text}: {cells}, {states}; worst {name}: {_value(outcome.rule, worst)}"


def _value(rule: Rule, cell: CellOutcome) -> str:
    if cell.value is None:
        return cell.note
    if rule.relative:
        ci = text.interval(cell.ci95, 2, sign=True)
        return text.joined(f"{text.number(cell.value, 2, sign=True)} %", ci)
    metric, sign = rule.metric, rule.subject != "value"
    ci95 = cell.ci95 and Interval(metric.display(cell.ci95.low), metric.display(cell.ci95.high))
    decimals = max(metric.decimals, _decimals(metric.display(rule.bound)))
    value = text.number(metric.display(cell.value), decimals, sign=sign)
    return text.joined(f"{value} {metric.display_unit}", text.interval(ci95, decimals, sign=sign))


def _decimals(bound: float) -> int:
    """The number of decimals that distinguishes a value from the bound."""
    return 0 if bound == 0 or abs(bound) >= 1 else min(9, 2 - math.floor(math.log10(abs(bound))))


def _json(outcome: AnyRuleOutcome) -> dict[str, Any]:
    head = {"rule": outcome.rule.text, "passed": outcome.passed, "state": outcome.state}
    return {
        **head,
        **(_json_claim(outcome) if isinstance(outcome, ClaimRuleOutcome) else _json_cells(outcome)),
    }


def _json_claim(outcome: ClaimRuleOutcome) -> dict[str, Any]:
    rule = outcome.rule
    return {
        "subject": "claim",
        "claim": rule.id,
        "operator": rule.operator,
        "verdict": rule.verdict,
        "comparisons": [
            {
                "claim": one.statement.words({}),
                "verdict": one.verdict,
                "metric": one.statement.metric.name,
                "unit": "%" if one.measured.in_percent else one.statement.metric.change_unit,
                "value": one.measured.value,
                "ci95": None if (ci := one.measured.interval) is None else [ci.low, ci.high],
                "p_holm": one.p_holm,
                "agreeing_pairs": one.agreeing,
                "pairs": one.measured.cells,
                "note": one.note,
            }
            for one in outcome.judged
        ],
    }


def _json_cells(outcome: RuleOutcome) -> dict[str, Any]:
    rule = outcome.rule
    return {
        "subject": rule.subject,
        "metric": rule.metric.name,
        "operator": rule.operator,
        "bound": rule.bound,
        "unit": "%" if rule.relative else rule.metric.unit,
        "mode": rule.mode,
        "cells": [
            {
                "cell": cell.cell.model_dump(),
                "state": cell.state,
                "n": cell.n,
                "value": cell.value,
                "ci95": None if cell.ci95 is None else [cell.ci95.low, cell.ci95.high],
                **({"note": cell.note} if cell.note else {}),
            }
            for cell in outcome.cells
        ],
    }
