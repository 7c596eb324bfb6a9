"""The language of rules against which a result is checked.

    RULE    = SUBJECT ["of" SECURITY] OP VALUE ["where" FACTOR "=" LEVEL {"and" FACTOR "=" LEVEL}] [MODE]
            | "claim" "(" ID ")" ("=" | "!=") VERDICT
    SUBJECT = METRIC | "cost" "(" METRIC ")" | "change" "(" METRIC ")"
    OP      = "<=" | ">=" | "<" | ">" | "="
    VALUE   = number and unit: "800 Mbit/s", "2 ms", "3 %"
    MODE    = "by" "mean" | "surely"
    VERDICT = "confirmed" | "other size" | "not confirmed" | "opposite"

`cost(M)` is how much worse M is than at the baseline level of its block, in percent or as a difference in M's own unit;
above 0 is worse. `change(M)` is how much larger M is than in another result ("against baseline" may follow it). After
the value, clauses may be in any order. `claim(ID)` is the report's verdict on a claim of the study or its paper. Every
error is a UsageError with the column.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from airtoll.errors import UsageError
from airtoll.report.parts.claims import NOT_MEASURED, ClaimResult
from airtoll.stats import Metric, find_metric
from airtoll.study.levels import check_factor, parse_level
from airtoll.study.quantity import Quantity, one_line, one_of, show
from airtoll.study.toml import read_toml
from airtoll.study.values import did_you_mean

Subject = Literal["value", "cost", "change"]
Operator = Literal["<=", ">=", "<", ">", "="]
ClaimOperator = Literal["=", "!="]
Mode = Literal["interval", "mean", "surely"]
Undecided = Literal["pass", "fail"]

MOST_CHARACTERS: Final = 500
_WORD: Final = re.compile(r"<=|>=|==|!=|[<>=(),]|[^\s<>=(),!]+|!")
"""One word of a message about a rule."""


@dataclass(frozen=True)
class Rule:
    """One rule. `bound` is in the metric's unit, or in percent if `relative`."""

    text: str
    subject: Subject
    metric: Metric
    operator: Operator
    bound: float
    relative: bool = False  # for a cost or a change: `bound` is in percent of the baseline's value
    where: Mapping[str, Any] = field(default_factory=dict)  # factor -> level of a cell
    mode: Mode = "interval"


@dataclass(frozen=True)
class ClaimRule:
    """One rule about the verdict on a claim."""

    text: str
    id: str
    operator: ClaimOperator
    verdict: ClaimResult


AnyRule = Rule | ClaimRule


@dataclass(frozen=True)
class RuleFile:
    """A file of rules."""

    rules: Sequence[AnyRule]
    undecided: Undecided | None = None


def read_rules(path: Path) -> RuleFile:
    """Read the rules in a TOML file: `rules`, a list of strings, and `undecided`, `pass` or `fail`.

    Raises UsageError with file, key and column.
    """
    _, keys = read_toml(path, "a file of rules")
    name = one_line(str(path), most=4096)
    for key in keys:
        if key not in ("rules", "undecided"):
            hint = did_you_mean(key, ("rules", "undecided"))
            raise UsageError(f"{name}: {one_line(key)}: unknown key; known keys: rules, undecided{hint}")
    rules = keys.get("rules")
    if not isinstance(rules, list) or not rules:
        raise UsageError(f"{name}: rules: give a list of rules, such as ['loss <= 0.1 %']")
    undecided = keys.get("undecided")
    if undecided not in (None, *get_args(Undecided)):
        raise UsageError(f"{name}: undecided: {show(undecided)} is not allowed; use pass or fail")
    parsed = []
    for index, text in enumerate(rules):
        if not isinstance(text, str):
            raise UsageError(f"{name}: rules[{index}]: {show(text)} is not a string")
        parsed.append(parse_rule(text, f"{name}: rules[{index}]"))
    return RuleFile(parsed, undecided)


def parse_rule(text: str, where: str = "--rule") -> AnyRule:
    """Parse a rule from one line of text. Raises UsageError with `where` and the column of the error, from 1."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"{where}: a rule has at most {MOST_CHARACTERS} characters, this one has {len(text)}"
        )
    try:
        tree = _parse(text)
        return _claim_rule(text, _tokens(tree)) if tree.data == "claim" else _Reader(text).rule(tree)
    except _RuleError as fault:
        raise UsageError(f"{where}: column {fault.column}: {fault}") from None


def _parse(text: str) -> Tree[Token]:
    try:
        return _parser().parse(text)
    except UnexpectedInput as error:
        raise _misfit(text, error) from None


_GRAMMAR: Final = r"""
?start: rule | claim
claim: _CLAIM "(" ID ")" EQUALITY VERDICT+
rule: subject of* OPERATOR bound (of | conditions | mode | against)*
subject: METRIC | METRIC "(" METRIC ")"
of: _OF SECURITY
bound: NUMBER UNIT?
conditions: _WHERE condition (_AND condition)*
condition: FACTOR _EQUALS LEVEL UNIT?
mode: BY _MEAN | SURELY
against: AGAINST _BASELINE

OPERATOR: /<=|>=|<|>|=(?!=)/
_EQUALS: /==?/
WORD: /[^\s<>=(),!]+/
ID: WORD
EQUALITY: /!?=/
VERDICT: WORD
METRIC: WORD
SECURITY: WORD
NUMBER: WORD
UNIT: WORD
FACTOR: WORD
LEVEL: WORD

// A keyword is a complete word, and precedes the other words that are possible at its place.
END: /(?![^\s<>=(),!])/
_CLAIM.1: "claim" END
_OF.1: "of" END
_WHERE.1: "where" END
_AND.1: "and" END
BY.1: "by" END
_MEAN.1: "mean" END
SURELY.1: "surely" END
AGAINST.1: "against" END
_BASELINE.1: "baseline" END

%ignore /\s+/
"""

_KEYWORDS: Final = {
    "_OF": "of",
    "_WHERE": "where",
    "_AND": "and",
    "BY": "by",
    "SURELY": "surely",
    "AGAINST": "against",
}
_EXPECTED: Final = {
    "OPERATOR": f"one of {', '.join(get_args(Operator))}",
    "METRIC": "a metric",
    "RPAR": ")",
    "SECURITY": "a security level",
    "NUMBER": "a number with its unit",
    "FACTOR": "a factor",
    "_EQUALS": "= (a factor has one level)",
    "LEVEL": "a level",
    "LPAR": "( and the id of a claim",
    "ID": "the id of a claim",
    "EQUALITY": "= or !=",
    "VERDICT": "a verdict",
    "_MEAN": "mean, as in 'by mean'",
    "_BASELINE": "baseline (--against names the result)",
}
"""The expected words by the terminal of the grammar; elsewhere, keywords are expected."""


class _RuleError(Exception):
    """The error in a rule, and its position in the text."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.column = position + 1


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr")


def _misfit(text: str, error: UnexpectedInput) -> _RuleError:
    """The fault of a text that does not follow the grammar."""
    expected: Collection[str] = ()
    if isinstance(error, UnexpectedToken):
        expected = error.expected
    elif isinstance(error, UnexpectedCharacters):
        expected = error.allowed
    what = next((words for name, words in _EXPECTED.items() if name in expected), "")
    keywords = [word for name, word in _KEYWORDS.items() if name in expected]
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        before = _WORD.findall(text)
        behind = f" after '{before[-1]}'" if before else ""
        return _RuleError(len(text.rstrip()), f"unexpected end of the rule; expected {what}{behind}")
    position = error.pos_in_stream or 0
    found = _WORD.match(text, position)
    word = found[0] if found else text[position]
    hint = "" if what else did_you_mean(word, keywords)
    return _RuleError(position, f"unexpected {show(word)}; expected {what or one_of(keywords)}{hint}")


def _claim_rule(text: str, words: Sequence[Token]) -> ClaimRule:
    name, operator, *verdict = words
    known = [each for each in get_args(ClaimResult) if each != NOT_MEASURED]
    found = next((each for each in known if each.split() == verdict), None)
    if found is None:
        given = " ".join(verdict)
        raise _RuleError(
            _at(verdict[0]),
            f"{show(given)} is not a verdict; use {one_of(known)}{did_you_mean(given, known)}",
        )
    return ClaimRule(" ".join(text.split()), str(name), "=" if operator == "=" else "!=", found)


class _Reader:
    """Turns the tree of a rule into a `Rule`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._where: dict[str, Any] = {}
        self._mode: Mode | None = None

    def rule(self, tree: Tree[Token]) -> Rule:
        first, *rest = tree.children
        subject, metric = self._subject(_tokens(first))
        operator: Operator | None = None
        bound, relative = 0.0, False
        for part in rest:
            if isinstance(part, Token):
                operator = next(each for each in get_args(Operator) if each == part)
                continue
            match part.data:
                case "of":
                    self._level("security", _tokens(part))
                case "bound":
                    bound, relative = self._bound(subject, metric, _tokens(part))
                case "conditions":
                    for condition in part.children:
                        factor, *level = _tokens(condition)
                        self._condition(factor, level)
                case "mode":
                    self._set_mode(_tokens(part)[0])
                case "against":
                    if subject != "change":
                        raise _RuleError(_at(_tokens(part)[0]), "against requires a change: change(METRIC)")
        assert operator is not None
        text = " ".join(self._text.split())
        return Rule(text, subject, metric, operator, bound, relative, self._where, self._mode or "interval")

    def _subject(self, words: Sequence[Token]) -> tuple[Subject, Metric]:
        first, last = words[0], words[-1]
        if len(words) == 1:
            if first in ("cost", "change"):
                raise _RuleError(_at(first), f"{first} requires a metric: {first}(METRIC)")
            return "value", self._metric(first)
        if first not in ("cost", "change"):
            hint = did_you_mean(first, ("cost", "change", "claim"))
            raise _RuleError(_at(first), f"{show(first)} is not a function; use cost, change or claim{hint}")
        return ("cost" if first == "cost" else "change"), self._metric(last)

    def _metric(self, word: Token) -> Metric:
        try:
            return find_metric(word)
        except ValueError as error:
            raise _RuleError(_at(word), str(error)) from None

    def _bound(self, subject: Subject, metric: Metric, words: Sequence[Token]) -> tuple[float, bool]:
        text = self._spelling(words)
        relative = subject != "value" and metric.relative and text.endswith("%")
        quantity = _PERCENT if relative else _quantity(metric)
        try:
            number = quantity.parse(text)
        except ValueError as error:
            why = str(error).replace(f", or a plain number (in {quantity.unit})", "")
            raise _RuleError(_at(words[0]), why) from None
        return (float(number) if relative else float(number) / metric.scale), relative

    def _condition(self, factor: Token, level: Sequence[Token]) -> None:
        try:
            check_factor(factor)
        except ValueError as error:
            raise _RuleError(_at(factor), str(error)) from None
        self._level(str(factor), level)

    def _level(self, factor: str, words: Sequence[Token]) -> None:
        if factor in self._where:
            raise _RuleError(_at(words[0]), f"duplicate factor {factor}")
        try:
            self._where[factor] = parse_level(factor, self._spelling(words))
        except ValueError as error:
            raise _RuleError(_at(words[0]), f"{factor}: {error}") from None

    def _set_mode(self, word: Token) -> None:
        if self._mode is not None:
            raise _RuleError(_at(word), "duplicate mode; use only one of 'by mean' and 'surely'")
        self._mode = "mean" if word.type == "BY" else "surely"

    def _spelling(self, words: Sequence[Token]) -> str:
        """The words, with one space between two of them."""
        return " ".join(self._text[_at(words[0]) : words[-1].end_pos].split())


def _tokens(tree: Tree[Token] | Token) -> list[Token]:
    assert isinstance(tree, Tree)
    return [child for child in tree.children if isinstance(child, Token)]


def _at(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


_MOST: Final = Decimal(10) ** 15
_PERCENT: Final = Quantity("a percentage", "%", "3 %", -_MOST, _MOST)

_UNITS: Final[Mapping[str, tuple[str, tuple[tuple[str, Decimal], ...]]]] = {
    "Mbit/s": (
        "100 Mbit/s",
        (("bit/s", Decimal("1e-6")), ("kbit/s", Decimal("1e-3")), ("Gbit/s", Decimal(1000))),
    ),
    "kbyte/s": ("100 kbyte/s", (("byte/s", Decimal("1e-3")), ("Mbyte/s", Decimal(1000)))),
    "ms": ("2 ms", (("us", Decimal("1e-3")), ("s", Decimal(1000)))),
    "%": ("3 %", ()),
    "dB": ("25 dB", ()),
    "dBm": ("-90 dBm", ()),
}
"""An example and further units, by the unit in which a metric is shown. Other units have no further units."""


def _quantity(metric: Metric) -> Quantity:
    unit = metric.display_unit
    example, units = _UNITS.get(unit, (f"2 {unit}", ()))
    return Quantity(f"a value of {metric.name}", unit, example, -_MOST, _MOST, units=units)
