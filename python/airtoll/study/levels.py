"""Levels of factors as text, on the command line, in CSV files and in rules."""

from decimal import Decimal
from typing import Any, Final

from pydantic import ValidationError

from airtoll.study.cell import Cell
from airtoll.study.factors import UNKNOWN, level_text
from airtoll.study.quantity import Quantity, one_of, plain_number, show
from airtoll.study.schema import QuickFactors
from airtoll.study.values import did_you_mean

AUTO_RATE: Final = "auto"
"""The rate of a link whose stations choose it per frame. Only imported results may have it, never a study."""

REQUIRED: Final = frozenset(
    name
    for name, field in Cell.model_fields.items()
    if field.is_required() and name not in ("lab", "security")
)
"""The factors that every cell names, and whose level may be unknown in an imported result."""

CELL_FACTORS: Final = tuple(Cell.model_fields)
"""The factors of a cell, including the lab."""


def check_factor(name: str) -> str:
    """Return the name if it is a factor's. Raises ValueError, with the known factors."""
    if name not in CELL_FACTORS:
        raise ValueError(
            f"{show(name)} is not a factor; known factors: {', '.join(CELL_FACTORS)}{did_you_mean(name, CELL_FACTORS)}"
        )
    return name


def parse_level(factor: str, text: str) -> Any:
    """Parse a level to its value in a cell. A bare number is in the factor's own unit.

    Raises ValueError, in one line, for an unknown factor or level.
    """
    check_factor(factor)
    if factor == "lab" or (factor == "rate" and text == AUTO_RATE):
        return text
    if text == UNKNOWN and factor in REQUIRED:
        return text
    value = plain_number(text)
    if factor == "packet_size":
        return int(_SIZE.parse(value))
    try:
        return getattr(QuickFactors.model_validate({factor: [value]}), factor)[0]
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        raise ValueError(detail.get("ctx", {}).get("text", detail["msg"])) from None


_SIZE = Quantity("a packet size", "B", "1408 B", Decimal(1), Decimal(2**31), whole=True)
"""Any write size of a foreign program; studies support a smaller range."""


def choice_of(factor: str, levels: list[Any]) -> str:
    """The levels as a choice: "open or ccmp"."""
    return one_of([level_text(factor, level) for level in levels])
