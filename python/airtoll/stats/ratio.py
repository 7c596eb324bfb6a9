"""A ratio of two sets of numbers, from the mean of its logarithm.

Logarithms make a ratio symmetric (twice and half are equally far from 1) and keep its interval above 0.
"""

import math
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from airtoll.stats.summary import Interval


class Estimate(Protocol):
    """A mean with its t interval, both None if unknown."""

    @property
    def mean(self) -> float | None:
        """The mean."""

    @property
    def ci95_t(self) -> Interval | None:
        """Its 95 % t interval."""


LogT_co = TypeVar("LogT_co", bound=Estimate, covariant=True)


@dataclass(frozen=True)
class Ratio(Generic[LogT_co]):
    """A geometric mean of ratios b / a, with the back-transformed t interval of its logarithm."""

    log: LogT_co
    """The mean of ln(b / a) or, for two independent sets, the difference of the means of ln b and ln a."""

    reason: str | None = None  # why there is no ratio

    @property
    def ratio(self) -> float | None:
        """The ratio itself."""
        return None if self.log.mean is None else exp_or_inf(self.log.mean)

    @property
    def ci95_t(self) -> Interval | None:
        """Its 95 % t interval."""
        return exp_interval(self.log.ci95_t)

    @property
    def percent(self) -> float | None:
        """The change from a to b in percent of a: +1 means that b is 1 % above a."""
        return None if self.ratio is None else 100 * (self.ratio - 1)

    @property
    def percent_ci95_t(self) -> Interval | None:
        """The t interval of `percent`."""
        return percent_interval(self.ci95_t)


def exp_or_inf(value: float) -> float:
    """E to the power of the value, or infinity if the result exceeds a double."""
    try:
        return math.exp(value)
    except OverflowError:  # possible for two pairs with very different ratios, because t(1) is 12.7
        return math.inf


def exp_interval(interval: Interval | None) -> Interval | None:
    """Convert the interval of a logarithm to that of the ratio."""
    if interval is None:
        return None
    return Interval(exp_or_inf(interval.low), exp_or_inf(interval.high))


def percent_interval(ratio: Interval | None) -> Interval | None:
    """Convert the interval of a ratio to that of a change in percent."""
    if ratio is None:
        return None
    return Interval(100 * (ratio.low - 1), 100 * (ratio.high - 1))
