"""The language of rules against which a result is checked.

    RULE    = SUBJECT ["of" SECURITY] OP VALUE ["where" FACTOR "=" LEVEL {"and" FACTOR "=" LEVEL}] [MODE]
    SUBJECT = METRIC | "cost" "(" METRIC ")" | "change" "(" METRIC ")"
    OP      = "<=" | ">=" | "<" | ">" | "="
    VALUE   = number and unit: "800 Mbit/s", "2 ms", "3 %"
    MODE    = "by" "mean" | "surely"

`cost(M)` is how much worse M is than at the baseline level of its block, in percent or as a difference in M's own unit;
above 0 is worse. `change(M)` is how much larger M is than in another result ("against baseline" may follow it). After
the value, clauses may be in any order. Every error is a UsageError with the column.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, get_args

from airtoll.errors import UsageError
from airtoll.stats import Metric, find_metric
from airtoll.study.levels import check_factor, parse_level
from airtoll.study.quantity import Quantity, one_line, one_of, show
from airtoll.study.toml import read_toml
from airtoll.study.values import did_you_mean

Subject = Literal["value", "cost", "change"]
Operator = Literal["<=", ">=", "<", ">", "="]
Mode = Literal["interval", "mean", "surely"]
Undecided = Literal["pass", "fail"]

MOST_CHARACTERS: Final = 500
_KEYWORDS: Final = ("of", "where", "and", "by", "surely", "against")
_WORD: Final = re.compile(r"<=|>=|==|!=|[<>=(),]|[^\s<>=(),!]+|!")


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
class RuleFile:
    """A file of rules."""

    rules: Sequence[Rule]
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


def parse_rule(text: str, where: str = "--rule") -> Rule:
    """Parse a rule from one line of text. Raises UsageError with `where` and the column of the error, from 1."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"{where}: a rule has at most {MOST_CHARACTERS} characters, this one has {len(text)}"
        )
    return _Parser(text, where).rule()


@dataclass(frozen=True)
class _Word:
    text: str
    column: int  # from 1


class _Parser:
    """Parses a rule word by word."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where
        self._words = [_Word(match[0], match.start() + 1) for match in _WORD.finditer(text)]
        self._at = 0

    def rule(self) -> Rule:
        subject, metric = self._subject()
        where: dict[str, Any] = {}
        while self._next_is("of"):
            self._level(where, "security", self._take("a security level", "of"))
        operator = self._operator()
        bound, relative = self._bound(subject, metric)
        mode: Mode | None = None
        while (word := self._peek()) is not None:
            match word.text:
                case "of":
                    self._at += 1
                    self._level(where, "security", self._take("a security level", "of"))
                case "where":
                    self._at += 1
                    self._conditions(where)
                case "by" | "surely":
                    if mode is not None:
                        self._fail(word, "duplicate mode; use only one of 'by mean' and 'surely'")
                    mode = self._mode()
                case "against":
                    self._against(subject)
                case _:
                    hint = did_you_mean(word.text, _KEYWORDS)
                    self._fail(word, f"unexpected {show(word.text)}; expected {one_of(_KEYWORDS)}{hint}")
        text = " ".join(self._text.split())
        return Rule(text, subject, metric, operator, bound, relative, where, mode or "interval")

    def _subject(self) -> tuple[Subject, Metric]:
        word = self._take("a metric", None)
        if (following := self._peek()) is None or following.text != "(":
            return "value", self._metric(word)
        if word.text not in ("cost", "change"):
            hint = did_you_mean(word.text, ("cost", "change"))
            self._fail(word, f"{show(word.text)} is not a function of a metric; use cost or change{hint}")
        self._at += 1
        metric = self._metric(self._take("a metric", "("))
        closing = self._take(")", metric.name)
        if closing.text != ")":
            self._fail(closing, f"unexpected {show(closing.text)}; expected )")
        return ("cost" if word.text == "cost" else "change"), metric

    def _metric(self, word: _Word) -> Metric:
        if word.text in ("cost", "change"):
            self._fail(word, f"{word.text} requires a metric: {word.text}(METRIC)")
        try:
            return find_metric(word.text)
        except ValueError as error:
            self._fail(word, str(error))

    def _operator(self) -> Operator:
        word = self._take("one of <=, >=, <, >, =", None)
        operators: tuple[Operator, ...] = get_args(Operator)
        found = next((each for each in operators if each == word.text), None)
        if found is None:
            self._fail(word, f"unexpected {show(word.text)}; expected one of {', '.join(operators)}")
        return found

    def _bound(self, subject: Subject, metric: Metric) -> tuple[float, bool]:
        first = self._take("a number with its unit", None)
        words = [first]
        while (word := self._peek()) is not None and word.text not in _KEYWORDS:
            words.append(word)
            self._at += 1
        text = self._text[first.column - 1 : words[-1].column - 1 + len(words[-1].text)]
        relative = subject != "value" and metric.relative and text.endswith("%")
        quantity = _PERCENT if relative else _quantity(metric)
        try:
            number = quantity.parse(" ".join(text.split()))
        except ValueError as error:
            self._fail(first, str(error).replace(", or a plain number (in " + quantity.unit + ")", ""))
        return (float(number) if relative else float(number) / metric.scale), relative

    def _conditions(self, where: dict[str, Any]) -> None:
        while True:
            factor = self._take("a factor", "where")
            try:
                check_factor(factor.text)
            except ValueError as error:
                self._fail(factor, str(error))
            equals = self._take("=", factor.text)
            if equals.text not in ("=", "=="):
                self._fail(equals, f"unexpected {show(equals.text)}; expected = (a factor has one level)")
            self._level(where, factor.text, self._take("a level", "="))
            if not self._next_is("and"):
                return

    def _level(self, where: dict[str, Any], factor: str, first: _Word) -> None:
        last = first
        while factor != "security" and (word := self._peek()) is not None and word.text not in _KEYWORDS:
            last = word
            self._at += 1
        text = self._text[first.column - 1 : last.column - 1 + len(last.text)]
        if factor in where:
            self._fail(first, f"duplicate factor {factor}")
        try:
            where[factor] = parse_level(factor, " ".join(text.split()))
        except ValueError as error:
            self._fail(first, f"{factor}: {error}")

    def _mode(self) -> Mode:
        if self._next_is("surely"):
            return "surely"
        by = self._take("by", None)
        word = self._take("mean", by.text)
        if word.text != "mean":
            self._fail(word, f"unexpected {show(word.text)}; expected mean, as in 'by mean'")
        return "mean"

    def _against(self, subject: Subject) -> None:
        against = self._take("against", None)
        word = self._take("baseline", against.text)
        if word.text != "baseline":
            self._fail(word, f"unexpected {show(word.text)}; expected baseline (--against names the result)")
        if subject != "change":
            self._fail(against, "against requires a change: change(METRIC)")

    def _peek(self) -> _Word | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def _next_is(self, text: str) -> bool:
        word = self._peek()
        if word is None or word.text != text:
            return False
        self._at += 1
        return True

    def _take(self, what: str, after: str | None) -> _Word:
        word = self._peek()
        if word is None:
            behind = f" after '{after}'" if after else ""
            self._fail(
                _Word("", len(self._text.rstrip()) + 1),
                f"unexpected end of the rule; expected {what}{behind}",
            )
        self._at += 1
        return word

    def _fail(self, word: _Word, why: str) -> NoReturn:
        raise UsageError(f"{self._where}: column {word.column}: {why}")


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
"""An example and further units, by the unit in which a metric is shown."""


def _quantity(metric: Metric) -> Quantity:
    example, units = _UNITS[metric.display_unit]
    return Quantity(f"a value of {metric.name}", metric.display_unit, example, -_MOST, _MOST, units=units)
