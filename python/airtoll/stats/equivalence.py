"""Distinguishes an absent cost from an undetected cost: two one-sided tests (TOST) of a ratio against a margin.

A difference that is not significant proves nothing: there may have been too few runs. Schuirmann 1987 (Journal of
Pharmacokinetics and Biopharmaceutics 15) tests the opposite hypotheses: the ratio is below 1 - margin, and the ratio is
above 1 + margin. If both are rejected at 5 %, that is, if the 90 % interval lies within the margin, the cost is smaller
than the margin. The tests use logarithms, like all statistics of ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from airtoll.stats.ratio import exp_interval, percent_interval
from airtoll.stats.summary import Interval

Conclusion = Literal["equivalent", "different", "both", "undecided"]
"""equivalent: within the margin. different: the 95 % interval excludes 1. both: different, but within the margin.
undecided: too few runs for either."""

MARGIN_PERCENT = 1.0


@dataclass(frozen=True)
class Equivalence:
    """The result of the tests of one ratio."""

    margin_percent: float
    verdict: Conclusion
    ci90: Interval | None = None  # of the ratio; None for a single pair
    p: float | None = None  # the larger p-value of the two tests; None without an interval or without spread

    @property
    def percent_ci90(self) -> Interval | None:
        """The 90 % interval of the change in percent: within the margin if the verdict is equivalent."""
        return percent_interval(self.ci90)


@dataclass(frozen=True)
class LogMean:
    """A mean logarithm with its standard error and degrees of freedom; NaN if unknown."""

    mean: float
    error: float
    df: float


def equivalences(logs: Sequence[LogMean], margin_percent: float = MARGIN_PERCENT) -> list[Equivalence]:
    """Verdicts on ratios with the mean logarithms `logs`. Raises ValueError unless 0 < margin_percent < 100."""
    if not 0 < margin_percent < 100:
        raise ValueError(f"the margin of equivalence must be between 0 and 100 %, not {margin_percent:g} %")
    lower, upper = math.log1p(-margin_percent / 100), math.log1p(margin_percent / 100)
    mean, error, df = (np.array([getattr(log, name) for log in logs]) for name in ("mean", "error", "df"))
    with np.errstate(all="ignore"):  # a single pair has no error, and equal pairs have an error of 0
        half90, half95 = special.stdtrit(df, [[0.95], [0.975]]) * error
        p = np.maximum(special.stdtr(df, (lower - mean) / error), special.stdtr(df, (mean - upper) / error))
    result = []
    for m, h90, h95, e, one_p in zip(
        *(array.tolist() for array in (mean, half90, half95, error, p)), strict=True
    ):
        if not math.isfinite(h90):
            result.append(Equivalence(margin_percent, "undecided"))
            continue
        within = lower < m - h90 and m + h90 < upper
        verdict: Conclusion = "equivalent" if within else "undecided"
        if abs(m) > h95:
            verdict = "both" if within else "different"
        ci = exp_interval(Interval(m - h90, m + h90))
        result.append(Equivalence(margin_percent, verdict, ci, one_p if e > 0 else None))
    return result
