"""The columns of points as CSV, as airtoll writes and reads them."""

from typing import Final

from airtoll.published.words import FACTORS

COLUMNS: Final = (
    "study",
    "id",
    "figure",
    "place",
    "metric",
    "value",
    "unit",
    "approximate",
    "uncertainty",
    "statistic",
    "over",
    "change",
    "source",
    "subject",
    "implied_by",
    "convention",
    "low",
    "high",
    "standard_value",
    "standard_unit",
    *FACTORS,
)
"""Columns of the CSV: `value` and `unit` as printed, `standard_value` in the unit of the metric (a change: as a
multiple of open), `low` and `high` only for implied values, then one column per factor. Missing values are empty."""

DERIVED: Final = frozenset(
    {"study", "implied_by", "convention", "low", "high", "standard_value", "standard_unit"}
)
"""The columns that a reader ignores: other columns determine them."""
