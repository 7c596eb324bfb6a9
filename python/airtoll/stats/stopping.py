"""Stopping rules: whether a cell has enough replicates, from its values so far, in the order of its replicates.

`enough` returns whether to stop, `outcome` also whether the rule was satisfied. A rule that uses the values biases the
statistics computed from them: runs end when the spread happens to be small, so the interval is too narrow.
docs/measurements/coverage.md gives the bias of each rule. Many values before the first check keep it small: `Precision`
from 10 values covers the mean about as often as a fixed number of runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from airtoll.stats.summary import Floats, present, t_half_width

StoppingProgress = Literal["reached", "not reached", "going on"]


@dataclass(frozen=True)
class Fixed:
    """A fixed number of values, independent of the values. The intervals are exact."""

    n: int

    def __post_init__(self) -> None:
        _check(self.n >= 1, f"a cell must be measured at least once, not {self.n} times")

    @property
    def least(self) -> int:
        """Number of values before the rule may stop."""
        return self.n

    @property
    def most(self) -> int:
        """Number of values after which the rule always stops."""
        return self.n

    def reached(self, values: Floats) -> bool:
        """Whether there are enough values."""
        return len(values) >= self.n


@dataclass(frozen=True)
class Precision:
    """Stops when the t interval of the mean extends by at most `percent` of the mean to each side.

    This is netperf's rule with a different measure: its `-I 99,5` requests an interval 5 % wide, +- 2.5 %, which is
    Precision(percent=2.5, confidence=99); its `-i 30,10` is most=30, least=10 (netperf manual, global options).
    """

    percent: float
    confidence: float = 95.0  # of the interval, in %
    least: int = 10
    most: int = 30

    def __post_init__(self) -> None:
        _check(self.percent > 0, f"precision must be above 0 % of the mean, not {self.percent:g} %")
        _check(
            0 < self.confidence < 100, f"confidence must be between 0 and 100 %, not {self.confidence:g} %"
        )
        _check_range(self.least, self.most)

    def reached(self, values: Floats) -> bool:
        """Whether the interval is narrow enough."""
        half = t_half_width(float(values.std(ddof=1)), len(values), self.confidence / 100)
        return half <= self.percent / 100 * abs(float(values.mean()))


@dataclass(frozen=True)
class Agreement:
    """Stops when the last two values differ by at most `within_percent` of the larger one (Tepsic et al.).

    Their rule is least=5, within_percent=10. It gives no precision of the mean: two values may agree by chance.
    """

    within_percent: float = 10.0
    least: int = 5
    most: int = 20

    def __post_init__(self) -> None:
        within = self.within_percent
        _check(0 < within < 100, f"agreement must be between 0 and 100 %, not {within:g} %")
        _check_range(self.least, self.most)

    def reached(self, values: Floats) -> bool:
        """Whether the last two values agree."""
        one, other = (float(value) for value in values[-2:])
        return abs(one - other) <= self.within_percent / 100 * max(abs(one), abs(other))


StoppingRule = Fixed | Precision | Agreement


def enough(rule: StoppingRule, values: Sequence[float]) -> bool:
    """Whether the cell needs no further value. Raises ValueError for an infinite value; NaN does not count."""
    return outcome(rule, values) != "going on"


def outcome(rule: StoppingRule, values: Sequence[float]) -> StoppingProgress:
    """Whether the rule is satisfied, not satisfied within its maximum number of values, or may still be satisfied."""
    array = present(values)
    if len(array) >= rule.least and rule.reached(array):
        return "reached"
    return "not reached" if len(array) >= rule.most else "going on"


def _check_range(least: int, most: int) -> None:
    _check(least >= 2, f"a rule that uses the spread requires at least 2 values, not {least}")
    _check(most >= least, f"the maximum of {most} values is below the minimum of {least}")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
