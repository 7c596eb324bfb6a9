"""Predictions of a study's cells from the air's timing, and the causes of the cost of security.

- `prediction`: every metric of a cell in virtual time, with the probes and definitions of measured metrics.
- `attribution`: a measured cost split into bytes on the air, symbols, aggregation, processors and the rest.
- `whatif`: the effect of a different engine, other suites or larger frames.
- `card`: the processor of a wireless card fitted to published figures, and its prediction errors for other figures.

Everything here is computed from a plan and from numbers; nothing is measured.
"""

from airtoll.model.attribution import ATTRIBUTED, PARTS, Attribution, Part, attribute, chain, modelled
from airtoll.model.card import CardFit, CardPoint, fit_card
from airtoll.model.prediction import Case, Prediction, Predictions, case_of
from airtoll.model.whatif import Alternative, alternatives

__all__ = [
    "ATTRIBUTED",
    "PARTS",
    "Alternative",
    "Attribution",
    "CardFit",
    "CardPoint",
    "Case",
    "Part",
    "Prediction",
    "Predictions",
    "alternatives",
    "attribute",
    "case_of",
    "chain",
    "fit_card",
    "modelled",
]
