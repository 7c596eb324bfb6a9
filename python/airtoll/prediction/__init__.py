"""Predictions of a study's cells from the air's timing, and the causes of the cost of security.

- `predictions`: every metric of a cell in virtual time, with the probes and definitions of measured metrics.
- `attribution`: a measured cost split into bytes on the air, symbols, aggregation, processors and the rest.
- `whatif`: the effect of a different engine, other suites or larger frames.
- `card`: the processor of wireless cards, fitted to published figures, and its prediction errors for other figures.

Everything here is computed from a plan and from numbers; nothing is measured.
"""

from airtoll.prediction.attribution import ATTRIBUTED, PARTS, Attribution, Part, attribute, chain, modelled
from airtoll.prediction.card import FITTED, CardFit, CardTarget, Residual, fit_card, rms_percent, targets_of
from airtoll.prediction.predictions import Case, Prediction, Predictions, case_of
from airtoll.prediction.whatif import Alternative, alternatives

__all__ = [
    "ATTRIBUTED",
    "FITTED",
    "PARTS",
    "Alternative",
    "Attribution",
    "CardFit",
    "CardTarget",
    "Case",
    "Part",
    "Prediction",
    "Predictions",
    "Residual",
    "alternatives",
    "attribute",
    "case_of",
    "chain",
    "fit_card",
    "modelled",
    "rms_percent",
    "targets_of",
]
