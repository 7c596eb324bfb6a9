"""Values that are implied but not printed: a difference and its percentage determine both operands.

The wording gives the convention: "8 % higher than" refers literally to the smaller value, "8 % lower than" to the
larger value. `implied_points` uses the literal convention, or on request the opposite one.
"""

from collections.abc import Iterator

from airtoll.published.arithmetic import operands, span, to_standard
from airtoll.published.publication import ComparisonClaim, Convention, Implied, Point, Publication
from airtoll.published.words import METRICS


def wording(claim: ComparisonClaim) -> Convention:
    """The value that the claim's percentage refers to, read literally."""
    return "smaller" if claim.wording == "higher" else "larger"


def implied_points(publication: Publication, *, other: bool = False) -> tuple[Point, ...]:
    """The values that claims imply, in the unit of their metric; `other` selects the opposite convention."""
    return tuple(_all(publication, other=other))


def implies(publication: Publication, claim: ComparisonClaim) -> bool:
    """Whether the claim determines both of its operands and neither is printed."""
    return (
        claim.difference is not None
        and claim.percent is not None
        and claim.unit is not None
        and not any(isinstance(publication.number(name), Point) for name in claim.of)
    )


def _all(publication: Publication, *, other: bool) -> Iterator[Point]:
    for claim in publication.claims:
        if isinstance(claim, ComparisonClaim) and implies(publication, claim):
            literal = wording(claim)
            opposite: Convention = "larger" if literal == "smaller" else "smaller"
            yield from _pair(publication, claim, opposite if other else literal)


def _pair(publication: Publication, claim: ComparisonClaim, convention: Convention) -> Iterator[Point]:
    if claim.difference is None or claim.percent is None or claim.unit is None:
        return
    first, second = (publication.number(name) for name in claim.of)
    apart = to_standard(span(claim.difference), claim.unit, first)
    values = operands(apart, span(claim.percent, cut=True), convention)
    better = METRICS[first.metric].better
    # The first number is the better one: the larger one if higher is better.
    for number, value in zip((first, second), values if better == "higher" else values[::-1], strict=True):
        yield Point.model_validate(
            {
                **dict(number),
                "place": claim.place,
                "unit": METRICS[number.metric].unit,
                "value": value.value,
                "approximate": True,
                "implied": Implied(claim=claim.id, convention=convention, low=value.low, high=value.high),
            }
        )
