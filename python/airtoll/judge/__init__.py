"""Compares a result with another result, and checks a result against rules.

- `figures`: a result as the numbers of its cells.
- `difference`: two results, cell by cell: which cells differ, and which are equal within a margin.
- `setting`: other differences between them: method, machines, tools.
- `rule`: the language of rules; `gate`: checks a result against rules; `junit`: the outcome for CI systems.

Rules and differences use only valid runs and the statistics of `airtoll.stats`; there is no arithmetic here.
Rules about claims use the verdicts of `airtoll.report`.
"""

from airtoll.judge.difference import CellDifference, Difference, difference
from airtoll.judge.figures import Figures
from airtoll.judge.gate import AnyRuleOutcome, CellOutcome, ClaimRuleOutcome, RuleOutcome, gate
from airtoll.judge.junit import junit
from airtoll.judge.rule import AnyRule, ClaimRule, Rule, RuleFile, parse_rule, read_rules
from airtoll.judge.setting import Unlike, unlike

__all__ = [
    "AnyRule",
    "AnyRuleOutcome",
    "CellDifference",
    "CellOutcome",
    "ClaimRule",
    "ClaimRuleOutcome",
    "Difference",
    "Figures",
    "Rule",
    "RuleFile",
    "RuleOutcome",
    "Unlike",
    "difference",
    "gate",
    "junit",
    "parse_rule",
    "read_rules",
    "unlike",
]
