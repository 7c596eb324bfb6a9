"""What a study's cells should measure by the air's timing alone, and where the cost of security comes from.

- `prediction`: every metric of a cell in virtual time, by the same probes and definitions as measured ones.
- `attribution`: a measured cost split into bytes on the air, symbols, aggregation, processors and what is left.
- `whatif`: what another engine, other suites or larger frames would change.
- `card`: the processor of a wireless card fitted to published figures, and how well it predicts the rest of them.

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
