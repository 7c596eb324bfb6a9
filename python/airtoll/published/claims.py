"""Recomputation of each claim from its points."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

from airtoll.published import arithmetic
from airtoll.published.arithmetic import PrintedRange, printed_as, shown, span, standard_span, to_standard
from airtoll.published.implied import implied_points, implies
from airtoll.published.outcome import ClaimOutcome, ClaimVerdict, Finding, listing
from airtoll.published.publication import (
    AgreementClaim,
    ComparisonClaim,
    Convention,
    FrameRate,
    Operand,
    PhyRate,
    Point,
    Publication,
    Same,
)
from airtoll.published.words import METRICS
from airtoll.study.phys import PHYS

CONVENTIONS: Final[tuple[Convention, ...]] = ("larger", "smaller")


def check_claims(publication: Publication) -> Iterator[Finding]:
    """Check every claim about particular numbers."""
    for claim in publication.claims:
        match claim:
            case ComparisonClaim():
                yield from _comparison(publication, claim)
            case Same():
                yield from _same(publication, claim)
            case AgreementClaim():
                yield _agreement(publication, claim)
            case PhyRate():
                yield _phy_rate(publication, claim)
            case FrameRate():
                yield _frame_rate(publication, claim)


def in_words(number: Operand) -> str:
    """A number as the paper prints it: "673 Mbps", "about 20 % higher"."""
    if not isinstance(number, Point):
        return "an unprinted number"
    unit = {"1": "", "x": " times"}.get(number.unit, f" {number.unit}")
    about = "about " if number.approximate else ""
    change = f" {number.change}" if number.change and number.unit == "%" else ""
    return f"{about}{number.value:f}{unit}{change}"


def better_of(a: Point, b: Point) -> Point:
    """The better of two points of one metric."""
    sign = 1 if METRICS[a.metric].better == "higher" else -1
    return a if sign * a.standard_value >= sign * b.standard_value else b


def _comparison(publication: Publication, claim: ComparisonClaim) -> Iterator[Finding]:
    a, b = (publication.number(name) for name in claim.of)
    if not (isinstance(a, Point) and isinstance(b, Point)):
        if implies(publication, claim):
            yield _implied(publication, claim)
        return
    if claim.difference is not None and claim.unit is not None:
        yield _difference(claim, a, b, claim.difference, claim.unit)
    if claim.percent is not None:
        yield _percent(claim, a, b, claim.percent)
    if claim.ratio is not None or (claim.difference is None and claim.percent is None):
        yield _ratio(claim, a, b)
    if claim.better is not None and (better := better_of(a, b)).id != claim.better:
        yield Finding(
            verdict="contradicts",
            about=(claim.id, *claim.of),
            place=claim.place,
            text=f"calls {claim.better} better, but the better of {in_words(a)} and {in_words(b)} is {better.id}",
        )


def _difference(claim: ComparisonClaim, a: Point, b: Point, digits: Decimal, digits_unit: str) -> Finding:
    spans = standard_span(a), standard_span(b)
    apart = arithmetic.difference(*spans)
    unit = METRICS[a.metric].unit
    printed = to_standard(span(digits, approximate=claim.approximate, cut=True), digits_unit, a)
    outcome = _outcome(apart, printed, digits)
    points = " percentage points" if unit == "%" else f" {digits_unit}"
    is_ = "is" if outcome.fits else "is not"
    text = f"{digits:f}{points} {is_} the difference of {in_words(a)} and {in_words(b)}"
    if not outcome.fits:
        text += f": {shown(apart.value)} {unit}"
    elif unit == "%":
        text += f"; it is {shown(arithmetic.percent(*spans, 'larger').value)} % of the larger"
    return _finding(claim, (outcome,), digits, digits_unit, text)


def _percent(claim: ComparisonClaim, a: Point, b: Point, digits: Decimal) -> Finding:
    printed = span(digits, approximate=claim.approximate, cut=True)
    baseline = _baseline(a, b)
    outcomes = tuple(
        _outcome(
            arithmetic.percent(standard_span(a), standard_span(b), convention),
            printed,
            digits,
            convention,
            None if baseline is None else baseline == convention,
        )
        for convention in CONVENTIONS
    )
    each = listing(f"{shown(o.value, digits)} % of the {o.convention}" for o in outcomes)
    text = f"{digits:f} % for {in_words(a)} and {in_words(b)}: {each} value"
    best = [o for o in outcomes if o.printed_as] or [o for o in outcomes if o.fits]
    if best:
        text += f"; printed relative to the {' or the '.join(o.convention for o in best)}"
        if best[0].printed_as == "cut":
            text += ", truncated"
    else:
        base = 100 * _printed_difference(claim, a, b) / digits
        text += (
            f"; the printed percentage matches neither, it is that of {shown(base)} {METRICS[a.metric].unit}"
        )
    return _finding(claim, outcomes, digits, "%", text)


def _printed_difference(claim: ComparisonClaim, a: Point, b: Point) -> Decimal:
    if claim.difference is None or claim.unit is None:
        return arithmetic.difference(standard_span(a), standard_span(b)).value
    return to_standard(span(claim.difference), claim.unit, a).value


def _ratio(claim: ComparisonClaim, a: Point, b: Point) -> Finding:
    ratio = arithmetic.ratio(standard_span(a), standard_span(b))
    of = f"{in_words(a)} and {in_words(b)}"
    if claim.ratio is None:
        return _finding(
            claim,
            (),
            None,
            "1",
            f"{a.metric} {of} differ by a factor of {shown(ratio.value)}; the paper prints no ratio",
        )
    outcome = _outcome(ratio, span(claim.ratio, approximate=claim.approximate, cut=True), claim.ratio)
    is_ = "is" if outcome.fits else "is not"
    text = f"{claim.ratio:f} {is_} the ratio of {of}: {shown(ratio.value)}"
    if outcome.fits and outcome.printed_as is None:
        text += ", within the precision of the printed digits"
    return _finding(claim, (outcome,), claim.ratio, "1", text)


def _implied(publication: Publication, claim: ComparisonClaim) -> Finding:
    """Both operands in both conventions, the literal convention first."""
    metric = publication.number(claim.of[0]).metric
    unit = METRICS[metric].unit
    parts = []
    for other in (False, True):
        points = [
            p for p in implied_points(publication, other=other) if p.implied and p.implied.claim == claim.id
        ]
        values = listing(
            f"{p.condition.text(publication.condition)} {shown(p.value)} ({shown(s.low)} to {shown(s.high)})"
            for p in points
            for s in [standard_span(p)]
        )
        convention = points[0].implied.convention if points[0].implied else ""
        parts.append(f"{values} {unit} relative to the {convention} value")
    return Finding(
        verdict="implied",
        about=(claim.id, *claim.of),
        place=claim.place,
        printed=claim.percent,
        unit="%",
        text=f"a difference of {claim.difference} {claim.unit} that is {claim.percent} % {claim.wording} implies "
        f"{parts[0]} (as worded), or {parts[1]}",
    )


def _same(publication: Publication, claim: Same) -> Iterator[Finding]:
    numbers = [publication.number(name) for name in claim.of]
    literal, other = ({p.id: p for p in implied_points(publication, other=o)} for o in (False, True))
    first = [number if isinstance(number, Point) else literal.get(number.id) for number in numbers]
    if any(point is None for point in first):
        return
    points = [point for point in first if point is not None]
    unit = METRICS[points[0].metric].unit
    spans = [standard_span(point) for point in points]
    agree = all(a.overlaps(b) for a in spans for b in spans)
    told = listing(_told(point) for point in points)
    verdict: ClaimVerdict = "holds" if agree else "contradicts"
    if claim.almost:
        verdict, text = "implied", f"{told} are almost the same"
    else:
        text = f"{told} describe the same quantity {'and agree within rounding' if agree else 'but do not agree'}"
    if opposite := [f"{shown(other[point.id].value)} {unit}" for point in points if point.implied]:
        text += f" ({listing(opposite)} in the other convention)"
    if claim.why:
        text += f": {claim.why}"
    yield Finding(verdict=verdict, about=(claim.id, *claim.of), place=claim.place, text=text)


def _told(point: Point) -> str:
    if point.implied is None:
        return in_words(point)
    return f"an implied {shown(point.value)} {METRICS[point.metric].unit} (of the {point.implied.convention})"


def _agreement(publication: Publication, claim: AgreementClaim) -> Finding:
    a, b = (publication.point(name) for name in claim.of)
    spans = [_with_uncertainty(a), _with_uncertainty(b)]
    agree = spans[0].overlaps(spans[1])
    text = (
        f"{in_words(a)} +-{a.uncertainty} and {in_words(b)} +-{b.uncertainty} "
        f"{'overlap' if agree else 'do not overlap'}; the text says that they {'agree' if claim.agree else 'differ'}"
    )
    return Finding(
        verdict="holds" if agree == claim.agree else "contradicts",
        about=(claim.id, *claim.of),
        place=claim.place,
        text=text,
    )


def _with_uncertainty(point: Point) -> PrintedRange:
    around = point.uncertainty or Decimal(0)
    return PrintedRange(point.value, point.value - around, point.value + around)


_SYMBOL_US: Final = Fraction(36, 10)


def phy_rate_mbps(phy: str, bandwidth_mhz: int, streams: int) -> Decimal:
    """The highest rate of a PHY with MCSs, with short guard interval: data subcarriers times bits per 3.6 us."""
    declared = PHYS[phy]
    bits = Fraction(*declared.bits_per_subcarrier[-1])
    rate = declared.data_subcarriers[bandwidth_mhz] * bits * streams / _SYMBOL_US
    return Decimal(rate.numerator) / Decimal(rate.denominator)


def streams_needed(throughput_mbps: Decimal, phy: str, bandwidth_mhz: int) -> int:
    """The smallest number of spatial streams whose PHY rate is at least the throughput."""
    return ceil(throughput_mbps / phy_rate_mbps(phy, bandwidth_mhz, 1))


def _phy_rate(publication: Publication, claim: PhyRate) -> Finding:
    point = publication.point(claim.of)
    rate = phy_rate_mbps(claim.phy, claim.bandwidth, claim.streams)
    printed = standard_span(point)
    fits = printed.low <= rate and (rate <= printed.high or point.statistic == "at-least")
    least = " or more" if point.statistic == "at-least" else ""
    streams = f"{claim.streams} spatial stream{'s' if claim.streams > 1 else ''}"
    text = (
        f"{in_words(point)}{least} as the highest rate: {streams} of {claim.phy} at {claim.bandwidth} MHz have "
        f"{shown(rate)} Mbit/s"
    )
    if fits and point.standard_value != rate and not least:
        text += ", within the precision of the printed digits"
    return Finding(
        verdict="holds" if fits else "contradicts",
        about=(claim.id, claim.of),
        place=claim.place,
        printed=point.value,
        unit=point.unit,
        text=text,
    )


def _frame_rate(publication: Publication, claim: FrameRate) -> Finding:
    point = publication.point(claim.of)
    rate = Decimal(10) ** 6 / point.standard_value  # of us
    return Finding(
        verdict="implied",
        about=(claim.id, claim.of),
        place=claim.place,
        printed=point.value,
        unit=point.unit,
        text=f"{in_words(point)} per frame allows {shown(rate)} frames per second",
    )


def _baseline(a: Point, b: Point) -> Convention | None:
    """Whether the open value is the larger or the smaller one; None unless exactly one of the two is open."""
    levels = (a.condition.security, b.condition.security)
    if levels.count("open") != 1:
        return None
    of_open, other = (a, b) if levels[0] == "open" else (b, a)
    return "larger" if of_open.standard_value >= other.standard_value else "smaller"


def _outcome(
    computed: PrintedRange,
    printed: PrintedRange,
    digits: Decimal,
    convention: Convention | None = None,
    of_baseline: bool | None = None,
) -> ClaimOutcome:
    return ClaimOutcome(
        convention=convention or "value",
        of_baseline=of_baseline,
        value=computed.value,
        low=computed.low,
        high=computed.high,
        fits=computed.overlaps(printed),
        printed_as=printed_as(computed.value, digits),
    )


def _finding(
    claim: ComparisonClaim, outcomes: tuple[ClaimOutcome, ...], printed: Decimal | None, unit: str, text: str
) -> Finding:
    return Finding(
        verdict="holds" if not outcomes or any(outcome.fits for outcome in outcomes) else "contradicts",
        about=(claim.id, *claim.of),
        place=claim.place,
        printed=printed,
        unit=unit,
        outcomes=outcomes,
        text=text,
    )
