"""Statistics: pure functions on arrays and tables, with no I/O, no clock and no randomness but a fixed seed.

The stages, each reading only what stands before it:

1. `summary`: one set of numbers to mean, standard deviation and 95 % confidence intervals.
2. `paired`: two sets of numbers, paired by block, to their difference, ratio and effect size.
3. `metrics`: what is measured (unit, scaling, which way is better), and how the samples of one run become one
   number.
4. `comparison`: the numbers of all runs to a summary of every cell and to paired differences between security
   levels.

The run is the unit of replication: the one-second intervals and the round trips inside a run are not
independent of each other, so they are reduced to one number before any interval is computed. A number that is
not known is None throughout, never 0 and never NaN.
"""

from airtoll.stats.comparison import (
    CellSummary,
    Comparison,
    Outcome,
    PairedRow,
    Span,
    compare,
    fixed_factors,
    span,
)
from airtoll.stats.metrics import METRICS, Metric, per_run
from airtoll.stats.paired import PairedDifference, PairedRatio, paired_difference, paired_ratio, paired_ratios
from airtoll.stats.summary import BCA_MIN_N, BCA_RESAMPLES, Interval, Summary, describe, describe_all

__all__ = [
    "BCA_MIN_N",
    "BCA_RESAMPLES",
    "METRICS",
    "CellSummary",
    "Comparison",
    "Interval",
    "Metric",
    "Outcome",
    "PairedDifference",
    "PairedRatio",
    "PairedRow",
    "Span",
    "Summary",
    "compare",
    "describe",
    "describe_all",
    "fixed_factors",
    "paired_difference",
    "paired_ratio",
    "paired_ratios",
    "per_run",
    "span",
]
