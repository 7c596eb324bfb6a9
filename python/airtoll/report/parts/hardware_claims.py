"""The statements of Hayajneh et al. about their FPGA designs, and the verdicts of our designs of CBC and of CTR."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from airtoll.published import Publication, arithmetic
from airtoll.published.publication import ComparisonClaim
from airtoll.report.material import text
from airtoll.report.material.grid import Grid
from airtoll.rtl import ALONE, PAYLOAD_B, DesignFigures
from airtoll.stats import Interval

_Ratio = Callable[[DesignFigures, DesignFigures], Interval | None]
"""The range of a ratio between a parallel and its standard design; None if it is not measured."""


def _clock_ratio(parallel: DesignFigures, standard: DesignFigures) -> Interval | None:
    """The clock rate of the parallel design, divided by that of the standard design, over the placements of both."""
    least, most = parallel.fmax_least_mhz, parallel.fmax_most_mhz
    base_least, base_most = standard.fmax_least_mhz, standard.fmax_most_mhz
    if least is None or most is None or base_least is None or base_most is None:
        return None
    return Interval(least / base_most, most / base_least)


def _with_clock(figure: str) -> _Ratio:
    """The range of a ratio that is proportional to the clock rate of the parallel design."""

    def ratio(parallel: DesignFigures, standard: DesignFigures) -> Interval | None:
        at_median, clocks = getattr(parallel, figure), _clock_ratio(parallel, standard)
        if at_median is None or clocks is None or parallel.fmax_mhz is None or standard.fmax_mhz is None:
            return None
        per_clock = at_median * standard.fmax_mhz / parallel.fmax_mhz
        return Interval(per_clock * clocks.low, per_clock * clocks.high)

    return ratio


def _fixed(figure: str) -> _Ratio:
    """A ratio that does not depend on the placement."""

    def ratio(parallel: DesignFigures, _: DesignFigures) -> Interval | None:
        value = getattr(parallel, figure)
        return None if value is None else Interval(value, value)

    return ratio


def _delay(parallel: DesignFigures, standard: DesignFigures) -> Interval | None:
    """The delay from register to register is the period of the highest clock rate."""
    clocks = _clock_ratio(parallel, standard)
    return None if clocks is None else Interval(1 / clocks.high, 1 / clocks.low)


@dataclass(frozen=True)
class _Quantity:
    claim: str  # id of the paper's claim
    words: str
    more: bool  # whether the paper says that the ratio is above 1
    ratio: _Ratio


_QUANTITIES: Final = (
    _Quantity("hardware-speed-up", "The parallel design takes less time", True, _with_clock("total_ratio")),
    _Quantity("hardware-expected", "Two chains halve the time", True, _with_clock("total_ratio")),
    _Quantity("hardware-delay", "The parallel design has shorter delays between registers", False, _delay),
    _Quantity("elements-ratio", "The parallel design has more elements", True, _fixed("logic_element_ratio")),
    _Quantity("hardware-power", "The parallel design takes more power", True, _with_clock("power_ratio")),
    _Quantity("hardware-energy", "The parallel design takes less energy", False, _fixed("energy_ratio")),
)


def claims_grid(every: Sequence[DesignFigures], paper: Publication) -> Grid:
    """The paper's claims about its designs, with the verdicts of our designs."""
    alone = [one for one in every if one.group in ALONE]
    standards = {(one.group, one.target): one for one in alone if one.lanes == 1}
    pairs = [(one, standards[one.group, one.target]) for one in alone if one.lanes != 1]
    rows = []
    for quantity in _QUANTITIES:
        claim = paper.claim(quantity.claim)
        assert isinstance(claim, ComparisonClaim)
        ratios = [found for pair in pairs if (found := quantity.ratio(*pair)) is not None]
        ours = Interval(min(one.low for one in ratios), max(one.high for one in ratios)) if ratios else None
        direction = "> 1" if quantity.more else "< 1"
        rows.append(
            (
                quantity.words,
                claim.place,
                _verdict(quantity, claim.ratio, ours),
                direction if claim.ratio is None else str(claim.ratio),
                text.MISSING if ours is None else " to ".join(_ends(ours)),
                str(len(ratios)),
            )
        )
    return Grid(
        "rtl-claims",
        "Claims of the paper about its designs, and the verdicts of our designs",
        "The ratio of the parallel design (two AES cores) to the standard design, of CBC and of CTR. The ratio of "
        f"times is that of the standard design to the parallel design, for a message of {PAYLOAD_B} B. Ours: the "
        "smallest and the largest ratio over the pairs of designs and their placements. Confirmed: all ratios are on "
        "the claimed side of 1. Other size: they are, but none of them is the published ratio. Opposite: all of them "
        "are on the other side. Not confirmed: ratios are on both sides.",
        ("Claim", "Place", "Verdict", "Published", "Ours", "Pairs"),
        tuple(rows),
        words=3,
    )


def _verdict(quantity: _Quantity, published: Decimal | None, ours: Interval | None) -> str:
    if ours is None:
        return "not measured"
    if ours.contains(1):
        return "not confirmed"
    if (ours.low > 1) != quantity.more:
        return "opposite"
    if published is None:
        return "confirmed"
    printed = arithmetic.span(published)
    return "confirmed" if ours.low <= printed.high and ours.high >= printed.low else "other size"


def _ends(ours: Interval) -> list[str]:
    """Both ends as text, or one if they are equal."""
    return list(dict.fromkeys(text.number(end, 2) for end in (ours.low, ours.high)))
