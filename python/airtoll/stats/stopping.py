"""When a cell has been measured often enough: rules on its values so far, in the order of its replicates.

`enough` says whether to stop, `outcome` also whether what was asked for was reached. A rule that looks at the values
bends what is computed from them afterwards: runs end when the spread happens to look small, so that the interval of
what was measured is too narrow. docs/measurements/coverage.md says how much for each rule. Many values before the
first look keep it small: `Precision` from 10 values on covers the mean about as often as a fixed number of runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from airtoll.stats.summary import Floats, present, t_half_width

Progress = Literal["reached", "not reached", "going on"]


@dataclass(frozen=True)
class Fixed:
    """A number of values; what they are does not matter. The intervals are those of the textbook."""

    n: int

    def __post_init__(self) -> None:
        _check(self.n >= 1, f"a cell is measured at least once, not {self.n} times")

    @property
    def least(self) -> int:
        """Values before the rule may stop."""
        return self.n

    @property
    def most(self) -> int:
        """Values after which the rule stops in any case."""
        return self.n

    def reached(self, values: Floats) -> bool:
        """Whether there are as many values as asked for."""
        return len(values) >= self.n


@dataclass(frozen=True)
class Precision:
    """Until the t interval of the mean reaches no further than `percent` of the mean to each side.

    That is netperf's rule, with another measure: its `-I 99,5` asks for an interval that is 5 % wide, +- 2.5 %, which
    is Precision(percent=2.5, confidence=99); its `-i 30,10` is most=30, least=10 (netperf manual, global options).
    """

    percent: float
    confidence: float = 95.0  # of the interval, in %
    least: int = 10
    most: int = 30

    def __post_init__(self) -> None:
        _check(self.percent > 0, f"precision is a part of the mean above 0 %, not {self.percent:g} %")
        _check(0 < self.confidence < 100, f"confidence is between 0 and 100 %, not {self.confidence:g} %")
        _check_range(self.least, self.most)

    def reached(self, values: Floats) -> bool:
        """Whether the interval is as narrow as asked for."""
        half = t_half_width(float(values.std(ddof=1)), len(values), self.confidence / 100)
        return half <= self.percent / 100 * abs(float(values.mean()))


@dataclass(frozen=True)
class Agreement:
    """Until the last two values differ by no more than `within_percent` of the larger (Tepsic et al.).

    Their rule is least=5, within_percent=10. It says nothing about the mean: two values agree by chance, too.
    """

    within_percent: float = 10.0
    least: int = 5
    most: int = 20

    def __post_init__(self) -> None:
        within = self.within_percent
        _check(0 < within < 100, f"agreement is within more than 0 and less than 100 %, not {within:g} %")
        _check_range(self.least, self.most)

    def reached(self, values: Floats) -> bool:
        """Whether the last two values agree."""
        one, other = (float(value) for value in values[-2:])
        return abs(one - other) <= self.within_percent / 100 * max(abs(one), abs(other))


Rule = Fixed | Precision | Agreement


def enough(rule: Rule, values: Sequence[float]) -> bool:
    """Whether the cell needs no further value. Raises ValueError for an infinite one; NaN does not count."""
    return outcome(rule, values) != "going on"


def outcome(rule: Rule, values: Sequence[float]) -> Progress:
    """Whether what the rule asks for is reached, or not within its most values, or may still be."""
    array = present(values)
    if len(array) >= rule.least and rule.reached(array):
        return "reached"
    return "not reached" if len(array) >= rule.most else "going on"


def _check_range(least: int, most: int) -> None:
    _check(least >= 2, f"a rule that looks at the spread needs at least 2 values, not {least}")
    _check(most >= least, f"at most {most} values are fewer than at least {least}")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
