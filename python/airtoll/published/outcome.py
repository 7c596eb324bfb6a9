"""The results of recomputing a publication's arithmetic."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from airtoll.published.arithmetic import Cut

ClaimVerdict = Literal["holds", "contradicts", "noted", "implied"]
"""holds: confirmed by the arithmetic; contradicts: refuted; noted: requires judgement; implied: a value follows."""


class ClaimOutcome(BaseModel):
    """One way of computing a printed number, with the interval that the operands' rounding allows."""

    model_config = ConfigDict(frozen=True)

    convention: Literal["larger", "smaller", "value"]  # value: only one way of computing exists
    of_baseline: bool | None = None  # whether it refers to the open value; None without an open value
    value: Decimal
    low: Decimal
    high: Decimal
    fits: bool  # whether the printed digits are within the interval
    printed_as: Cut | None = None  # how the value was shortened to the printed digits, if they match


class Finding(BaseModel):
    """The result of one check: the printed number, the computed values and a line for people."""

    model_config = ConfigDict(frozen=True)

    verdict: ClaimVerdict
    about: tuple[str, ...]  # ids of claims, points, notes
    place: str | None = None
    printed: Decimal | None = None
    unit: str | None = None
    outcomes: tuple[ClaimOutcome, ...] = ()
    text: str

    @property
    def consistent(self) -> bool:
        """Whether the finding is not an inconsistency."""
        return self.verdict in ("holds", "implied")

    @property
    def fits(self) -> tuple[str, ...]:
        """The conventions that reproduce the printed number."""
        return tuple(outcome.convention for outcome in self.outcomes if outcome.fits)


def listing(parts: Iterable[str]) -> str:
    """The parts as a list in a sentence: "a, b and c"."""
    *first, last = list(parts)
    return f"{', '.join(first)} and {last}" if first else last
