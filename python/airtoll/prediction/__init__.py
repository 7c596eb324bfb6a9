"""Predictions of a study's cells from the air's timing, and the causes of the cost of security.

- `predictions`: every metric of a cell in virtual time, with the probes and definitions of measured metrics.
- `attribution`: a measured cost split into bytes on the air, symbols, aggregation, processors and the rest.
- `whatif`: the effect of a different engine, other suites or larger frames.
- `targets`: published figures as functions of simulated cells.
- `fitting`: settings of a study, fitted to published figures, and their prediction errors for other figures.
- `gap`: the difference between the air alone and a published figure, split by mechanism.

Everything here is computed from a plan and from numbers; nothing is measured.
"""

from airtoll.prediction.attribution import ATTRIBUTED, PARTS, Attribution, Part, attribute, chain, modelled
from airtoll.prediction.fitting import (
    FITTED,
    GROUPS,
    OF_CARD,
    Explanation,
    Fit,
    explain,
    fit,
    neutral,
    start_of,
)
from airtoll.prediction.gap import CHANGE_FACTOR, MECHANISMS, Gap, air_alone, cases_of, gap_of
from airtoll.prediction.predictions import Case, Prediction, Predictions, case_of
from airtoll.prediction.targets import (
    AGREES_PERCENT,
    Residual,
    Target,
    is_target,
    mean_percent,
    rms_percent,
    target_of,
    targets_of,
)
from airtoll.prediction.whatif import Alternative, alternatives

__all__ = [
    "AGREES_PERCENT",
    "ATTRIBUTED",
    "CHANGE_FACTOR",
    "FITTED",
    "GROUPS",
    "MECHANISMS",
    "OF_CARD",
    "PARTS",
    "Alternative",
    "Attribution",
    "Case",
    "Explanation",
    "Fit",
    "Gap",
    "Part",
    "Prediction",
    "Predictions",
    "Residual",
    "Target",
    "air_alone",
    "alternatives",
    "attribute",
    "case_of",
    "cases_of",
    "chain",
    "explain",
    "fit",
    "gap_of",
    "is_target",
    "mean_percent",
    "modelled",
    "neutral",
    "rms_percent",
    "start_of",
    "target_of",
    "targets_of",
]
