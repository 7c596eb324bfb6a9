"""What one result says of another, and whether a result keeps to what was asked of it.

- `figures`: a result as the numbers of its cells.
- `difference`: two results, cell by cell: which differ, which are equal within a margin.
- `setting`: what else is different about them: method, machines, tools.
- `rule`: the language of rules; `gate`: rules held against a result; `junit`: the outcome as CI systems read it.

Rules and differences are judged on the runs that count, by the statistics of `airtoll.stats`; no arithmetic of its own.
"""

from airtoll.judge.difference import CellDifference, Difference, difference
from airtoll.judge.figures import Figures
from airtoll.judge.gate import CellOutcome, RuleOutcome, gate
from airtoll.judge.junit import junit
from airtoll.judge.rule import Rule, RuleFile, parse_rule, read_rules
from airtoll.judge.setting import Unlike, unlike

__all__ = [
    "CellDifference",
    "CellOutcome",
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
