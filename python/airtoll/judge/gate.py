"""Checks a result against rules, cell by cell.

For every cell that a rule names, the mean is known with its 95 % interval. The cell passes if the complete interval
satisfies the rule, fails if no part of it does, and is undecided otherwise: a repeated measurement might pass or fail,
so a gate that failed on it would fail at random. `by mean` uses only the mean. `surely` fails every cell that does not
pass. A single run has no interval: the mean decides, except with `surely`, which fails.

A cell that a rule names fails if it has no valid run.

A rule about a claim passes if every comparison that the claim makes has the named verdict, or with `!=`, if none has.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from airtoll.errors import UsageError
from airtoll.judge.difference import changes
from airtoll.judge.figures import Figures
from airtoll.judge.rule import AnyRule, ClaimRule, Operator, Rule, Undecided
from airtoll.published import Publication, names
from airtoll.report.material.data import ReportData
from airtoll.report.parts.claims import NOT_MEASURED, Claims, Judged
from airtoll.stats import IndependentDifference, IndependentRatio, Interval, PairedDifference, PairedRatio
from airtoll.store import Result
from airtoll.study.cell import Cell
from airtoll.study.levels import choice_of
from airtoll.study.quantity import one_of, show
from airtoll.study.values import did_you_mean

RuleState = Literal["pass", "undecided", "fail"]

_ORDER: tuple[RuleState, ...] = ("fail", "undecided", "pass")
_SHOWN_MOST: Final = 6
"""An error names at most this many ids of claims."""


@dataclass(frozen=True)
class CellOutcome:
    """The outcome of one rule for one cell; numbers in the unit of the rule's bound."""

    cell: Cell
    state: RuleState
    n: int  # runs, or pairs of runs
    value: float | None  # None if no run is valid
    ci95: Interval | None
    note: str = ""  # why there is no value or no interval


@dataclass(frozen=True)
class RuleOutcome:
    """The outcome of one rule for a result."""

    rule: Rule
    cells: tuple[CellOutcome, ...]  # worst first; never empty
    undecided: Undecided  # outcome of undecided cells

    @property
    def state(self) -> RuleState:
        """The state of the worst cell."""
        return self.cells[0].state

    @property
    def passed(self) -> bool:
        """Whether the rule passes the gate."""
        return self.state == "pass" or (self.state == "undecided" and self.undecided == "pass")

    def count(self, state: RuleState) -> int:
        """Number of cells in that state."""
        return sum(cell.state == state for cell in self.cells)


@dataclass(frozen=True)
class ClaimRuleOutcome:
    """The outcome of a rule about a claim."""

    rule: ClaimRule
    judged: tuple[Judged, ...]  # every comparison that the claim makes; never empty

    @property
    def passed(self) -> bool:
        """Whether every comparison satisfies the rule."""
        return all((one.verdict == self.rule.verdict) == (self.rule.operator == "=") for one in self.judged)

    @property
    def state(self) -> RuleState:
        """Pass or fail: a verdict is never undecided."""
        return "pass" if self.passed else "fail"


AnyRuleOutcome = RuleOutcome | ClaimRuleOutcome


def gate(
    result: Figures,
    rules: Sequence[AnyRule],
    *,
    against: Figures | None = None,
    ignored: Sequence[str] = (),
    undecided: Undecided = "pass",
) -> list[AnyRuleOutcome]:
    """The outcome of each rule. `ignored` factors need not be equal for a change against another result.

    Raises UsageError for a rule that applies to nothing in the result: such a rule does not pass.
    """
    of_claims = [rule for rule in rules if isinstance(rule, ClaimRule)]
    verdicts = _verdicts(of_claims, result.directory) if of_claims else {}
    return [
        RuleOutcome(rule, tuple(_judged(rule, result, against, ignored)), undecided)
        if isinstance(rule, Rule)
        else ClaimRuleOutcome(rule, verdicts[rule.id])
        for rule in rules
    ]


def _verdicts(rules: Sequence[ClaimRule], directory: Path) -> Mapping[str, tuple[Judged, ...]]:
    """The comparisons of each claim that a rule names, by the claim's id."""
    claims = Claims.of(ReportData.of(Result.open(directory)), with_model=False)
    by_id: dict[str, list[Judged]] = defaultdict(list)
    for one in claims.judged:
        for name in one.ids:
            by_id[name].append(one)
    for rule in rules:
        if rule.id not in by_id:
            raise UsageError(
                f"rule '{rule.text}': {_unknown_claim(rule.id, list(by_id), claims.publication)}"
            )
        if any(one.verdict == NOT_MEASURED for one in by_id[rule.id]):
            raise UsageError(f"rule '{rule.text}': {directory} lacks cells that this claim compares")
    return {name: tuple(found) for name, found in by_id.items()}


def _unknown_claim(name: str, known: Sequence[str], paper: Publication | None) -> str:
    if not known:
        return "the result has no claim with an id"
    hint = did_you_mean(name, known)
    if not hint:
        more = (
            ""
            if paper is None or paper.name not in names()
            else f"; `airtoll studies published {paper.name} --json` lists the paper's claims"
        )
        hint = f"; use {one_of(known[:_SHOWN_MOST])}{more}"
    return f"{show(name)} is not the id of a claim of this result{hint}"


@dataclass(frozen=True)
class _Figure:
    n: int
    value: float | None
    ci95: Interval | None
    note: str = ""


def _judged(
    rule: Rule, result: Figures, against: Figures | None, ignored: Sequence[str]
) -> list[CellOutcome]:
    cells = _matching(rule, result)
    known = _figures(rule, result, against, ignored)
    found = {cell: known[cell] for cell in cells if cell in known}
    for cell in cells:
        if cell not in found and (reasons := result.left_out.get(cell)):
            counted = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            found[cell] = _Figure(0, None, None, f"no run counts: {counted}")
    if all(figure.value is None for figure in found.values()):
        raise UsageError(f"rule '{rule.text}': {_nothing(rule, result)}")
    outcomes = [
        CellOutcome(cell, _state(rule, figure), figure.n, figure.value, figure.ci95, figure.note)
        for cell, figure in found.items()
    ]
    return sorted(outcomes, key=lambda each: (_ORDER.index(each.state), _slack(rule, each)))


def _matching(rule: Rule, result: Figures) -> list[Cell]:
    cells = [
        cell
        for cell in result.numbers
        if all(getattr(cell, factor) == level for factor, level in rule.where.items())
    ]
    if cells:
        return cells
    for factor, level in rule.where.items():
        if level not in result.levels[factor]:
            choice = choice_of(factor, list(result.levels[factor]))
            raise UsageError(
                f"rule '{rule.text}': no cell of {result.directory} matches: its {factor} is {choice}"
            )
    raise UsageError(f"rule '{rule.text}': no cell of {result.directory} has all of these levels")


def _nothing(rule: Rule, result: Figures) -> str:
    if rule.subject == "cost":
        baseline = result.comparison.baseline
        return f"{result.directory} has no pairs of these cells with {baseline} for {rule.metric.name}"
    if rule.subject == "change":
        return f"no cell of both results has {rule.metric.name}"
    return f"{rule.metric.name} was not measured in these cells; {result.directory} has {', '.join(result.metrics)}"


def _figures(
    rule: Rule, result: Figures, against: Figures | None, ignored: Sequence[str]
) -> Mapping[Cell, _Figure]:
    name = rule.metric.name
    if rule.subject == "value":
        return {
            each.cell: _Figure(each.summary.n, each.summary.mean, each.summary.ci95_t)
            for each in result.comparison.cells
            if each.metric == name and each.summary.n
        }
    if rule.subject == "cost":
        higher = rule.metric.better == "higher"
        return {
            pair.cell: _change(rule, pair.difference.n, pair.difference, pair.ratio, negative=higher)
            for pair in result.comparison.pairs
            if pair.metric == name and any(name in result.numbers[c] for c in (pair.cell, pair.baseline))
        }
    if against is None:
        raise UsageError(f"rule '{rule.text}': a change requires --against DIR, the result to compare with")
    return {
        cell: _change(rule, min(row.a.n, row.b.n), row.difference, row.ratio)
        for cell, row in changes(against, result, name, ignored).items()
    }


def _change(
    rule: Rule,
    n: int,
    difference: PairedDifference | IndependentDifference,
    ratio: PairedRatio | IndependentRatio,
    *,
    negative: bool = False,
) -> _Figure:
    """A difference, or a change in percent if the rule is relative."""
    if difference.mean is None:
        return _Figure(n, None, None, "no valid pair of runs")
    value, ci = (
        (ratio.percent, ratio.percent_ci95_t) if rule.relative else (difference.mean, difference.ci95_t)
    )
    if value is None:
        raise UsageError(
            f"rule '{rule.text}': no percentage: {ratio.reason}; use a bound in {rule.metric.display_unit} instead"
        )
    if negative:
        value, ci = -value, None if ci is None else Interval(-ci.high, -ci.low)
    return _Figure(n, value, ci)


def _state(rule: Rule, figure: _Figure) -> RuleState:
    if figure.value is None:
        return "fail"
    by_mean: RuleState = "pass" if _keeps(rule.operator, figure.value, rule.bound) else "fail"
    if rule.mode == "mean":
        return by_mean
    if figure.ci95 is None:
        return "fail" if rule.mode == "surely" else by_mean
    ends = figure.ci95.low, figure.ci95.high
    if all(_keeps(rule.operator, end, rule.bound) for end in ends):
        return "pass"
    out = rule.mode == "surely" or not _touches(rule.operator, figure.ci95, rule.bound)
    return "fail" if out else "undecided"


def _keeps(operator: Operator, value: float, bound: float) -> bool:
    match operator:
        case "<=":
            return value <= bound or _same(value, bound)
        case ">=":
            return value >= bound or _same(value, bound)
        case "<":
            return value < bound and not _same(value, bound)
        case ">":
            return value > bound and not _same(value, bound)
        case "=":
            return _same(value, bound)


def _touches(operator: Operator, ci: Interval, bound: float) -> bool:
    """Whether any part of the interval satisfies the rule."""
    if operator == "=":
        return ci.contains(bound)
    return _keeps(operator, ci.low if operator.startswith("<") else ci.high, bound)


def _same(value: float, bound: float) -> bool:
    """Whether the values are equal up to rounding in the conversion of units."""
    return math.isclose(value, bound, rel_tol=1e-12, abs_tol=0.0)


def _slack(rule: Rule, outcome: CellOutcome) -> float:
    """Distance of the mean from the bound, positive if it satisfies the rule; a cell without a value is worst."""
    if outcome.value is None:
        return -math.inf
    off = outcome.value - rule.bound
    if rule.operator == "=":
        return -abs(off)
    return -off if rule.operator.startswith("<") else off
