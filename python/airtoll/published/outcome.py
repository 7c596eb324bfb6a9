"""What comes out when a publication's arithmetic is computed again."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from airtoll.published.arithmetic import Cut

ClaimVerdict = Literal["holds", "contradicts", "noted", "implied"]
"""holds: the arithmetic confirms it; contradicts: it does not; noted: it takes judgement; implied: a value follows."""


class ClaimOutcome(BaseModel):
    """One way of computing a printed number, with the interval that the operands' rounding allows."""

    model_config = ConfigDict(frozen=True)

    convention: Literal["larger", "smaller", "value"]  # value: there is but one way
    of_baseline: bool | None = None  # whether that is the open one; None where neither is open
    value: Decimal
    low: Decimal
    high: Decimal
    fits: bool  # the printed digits are within the interval
    printed_as: Cut | None = None  # how the printed digits come from the printed operands, if they do


class Finding(BaseModel):
    """One thing that was checked: what is printed, what comes out, and a line for people."""

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
        """Whether it is no inconsistency."""
        return self.verdict in ("holds", "implied")

    @property
    def fits(self) -> tuple[str, ...]:
        """The conventions in which the printed number comes out."""
        return tuple(outcome.convention for outcome in self.outcomes if outcome.fits)


def listing(parts: Iterable[str]) -> str:
    """a, b and c."""
    *first, last = list(parts)
    return f"{', '.join(first)} and {last}" if first else last
