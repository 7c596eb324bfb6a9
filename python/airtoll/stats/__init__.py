"""Statistics: pure functions on arrays and tables, without I/O, clock or randomness, except for a fixed seed.

The stages, in order; each uses only earlier stages:

1. `summary`: one set of numbers to mean, standard deviation and 95 % confidence intervals.
2. `effect`, `sign_flip`, `holm`, `significance`, `ratio`, `equivalence`: the size of an effect, its significance, alone
   and in a family, and whether it is too small to matter.
3. `paired`: two sets of numbers, paired by block, to their difference and ratio with all of these statistics.
   `independent`: the same for two unpaired sets. `matched`: the mean change over several pairs of cells, and
   interactions of two factors.
4. `stopping`: whether a cell has enough replicates. `stability`: whether a cell's values are stable.
   `polynomial`: curves through points.
5. `metrics`: the declaration of metrics (unit, scale, direction), and how the samples of one run become one number.
6. `units`: the numbers of all runs to one number per cell and unit of replication, which is a run or a session.
7. `comparison`: the numbers of all runs to a summary of every cell and to paired differences between security
   levels.

docs/measurements/coverage.md contains the measured coverage of the intervals.

The run is the unit of replication, or the session if the access point is switched by session. The one-second intervals
and the round trips inside a run are not independent of each other, so they are reduced to one number before any
interval is computed. An unknown number is always None, never 0 or NaN.
"""

from airtoll.stats.comparison import (
    CellSummary,
    Comparison,
    Coverage,
    Outcome,
    PairedRow,
    Span,
    compare,
    coverage,
    fixed_factors,
    span,
)
from airtoll.stats.effect import EffectSize
from airtoll.stats.equivalence import MARGIN_PERCENT, Conclusion, Equivalence
from airtoll.stats.holm import holm
from airtoll.stats.independent import (
    IndependentDifference,
    IndependentRatio,
    independent_difference,
    independent_equivalence,
    independent_ratio,
)
from airtoll.stats.lookup import find_metric
from airtoll.stats.matched import (
    MatchedMean,
    MatchedRatio,
    aligned,
    interaction_difference,
    interaction_ratio,
    matched_difference,
    matched_ratio,
)
from airtoll.stats.metrics import METRICS, Metric, RunNumber, per_run
from airtoll.stats.paired import (
    PairedDifference,
    PairedRatio,
    paired_difference,
    paired_differences,
    paired_equivalences,
    paired_ratio,
    paired_ratios,
)
from airtoll.stats.polynomial import Fit, choose_degree, fit
from airtoll.stats.sign_flip import sign_flip
from airtoll.stats.significance import is_significant
from airtoll.stats.stability import Instability, instabilities, runs_needed
from airtoll.stats.stopping import Agreement, Fixed, Precision, StoppingRule, enough, outcome
from airtoll.stats.summary import BCA_MIN_N, BCA_RESAMPLES, Interval, Summary, describe, describe_all
from airtoll.stats.units import ByUnit, by_unit

__all__ = [
    "BCA_MIN_N",
    "BCA_RESAMPLES",
    "MARGIN_PERCENT",
    "METRICS",
    "Agreement",
    "ByUnit",
    "CellSummary",
    "Comparison",
    "Conclusion",
    "Coverage",
    "EffectSize",
    "Equivalence",
    "Fit",
    "Fixed",
    "IndependentDifference",
    "IndependentRatio",
    "Instability",
    "Interval",
    "MatchedMean",
    "MatchedRatio",
    "Metric",
    "Outcome",
    "PairedDifference",
    "PairedRatio",
    "PairedRow",
    "Precision",
    "RunNumber",
    "Span",
    "StoppingRule",
    "Summary",
    "aligned",
    "by_unit",
    "choose_degree",
    "compare",
    "coverage",
    "describe",
    "describe_all",
    "enough",
    "find_metric",
    "fit",
    "fixed_factors",
    "holm",
    "independent_difference",
    "independent_equivalence",
    "independent_ratio",
    "instabilities",
    "interaction_difference",
    "interaction_ratio",
    "is_significant",
    "matched_difference",
    "matched_ratio",
    "outcome",
    "paired_difference",
    "paired_differences",
    "paired_equivalences",
    "paired_ratio",
    "paired_ratios",
    "per_run",
    "runs_needed",
    "sign_flip",
    "span",
]
