"""Checks that compare numbers and claims with each other."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Generic, NamedTuple

from airtoll.published import arithmetic
from airtoll.published.arithmetic import PrintedRange, shown, span, standard_span, to_standard
from airtoll.published.claims import better_of, in_words, phy_rate_mbps, streams_needed
from airtoll.published.implied import implied_points
from airtoll.published.load import AnyOperand, names, published
from airtoll.published.outcome import Finding, listing
from airtoll.published.publication import ComparisonClaim, Operand, Ordering, Point, Publication, Trend
from airtoll.published.words import METRICS, Condition
from airtoll.study.phys import PHYS


class Pair(NamedTuple, Generic[AnyOperand]):
    """Two numbers that differ in exactly one factor, with their difference in the unit of their metric."""

    a: AnyOperand
    b: AnyOperand
    factor: str
    difference: PrintedRange


def check_orderings(publication: Publication) -> Iterator[Finding]:
    """Check claims that a level is better everywhere against every pair of values."""
    pairs = list(_value_pairs(publication))
    for claim in publication.claims:
        if isinstance(claim, Ordering):
            yield from _ordering(publication, claim, pairs)


def check_trends(publication: Publication) -> Iterator[Finding]:
    """Check claims that a metric rises or falls with packet size against the values at several sizes."""
    values = _values(publication)
    for claim in publication.claims:
        if isinstance(claim, Trend) and claim.over == "packet_size":
            yield from _trend(claim, values)


def check_largest(publication: Publication) -> Iterator[Finding]:
    """Check differences called the largest over the packet sizes against all differences of the same factor."""
    pairs: list[Pair[Any]] = [*_value_pairs(publication), *_claimed_pairs(publication)]
    for claim in publication.claims:
        if isinstance(claim, ComparisonClaim) and claim.called == "largest" and claim.difference is not None:
            yield from _largest(publication, claim, pairs)


def check_repeated(publication: Publication) -> Iterator[Finding]:
    """Find comparisons that are printed more than once with different digits or as different statistics."""
    told: dict[frozenset[str], list[ComparisonClaim]] = defaultdict(list)
    for claim in publication.claims:
        if isinstance(claim, ComparisonClaim):
            told[frozenset(claim.of)].append(claim)
    for claims in told.values():
        yield from _otherwise(claims)


def check_quotes(publication: Publication) -> Iterator[Finding]:
    """Check numbers quoted from other works against the quotes of the same work in other publications."""
    for ours in publication.points:
        theirs = [
            (point, name)
            for name in names()
            if name != publication.name
            for point in published(name).points
            if _quote_the_same(ours, point) and _told_otherwise(ours, point)
        ]
        if theirs:
            each = listing(f"{_quoted(point)} in {name} ({point.condition.text()})" for point, name in theirs)
            yield Finding(
                verdict="contradicts",
                about=(ours.id, *(f"{name}:{point.id}" for point, name in theirs)),
                place=ours.place,
                text=f"{ours.source}: {_quoted(ours)} here ({ours.condition.text()}), {each}",
            )


def check_percents(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    """Find which value a publication's percentages refer to, and whether they are rounded or truncated."""
    percents = [f for f in findings if f.unit == "%" and len(f.outcomes) == 2 and f.fits]
    best = [next((o for o in f.outcomes if o.printed_as), None) for f in percents]
    known = [(f, o) for f, o in zip(percents, best, strict=True) if o is not None]
    if not known:
        return
    ways = {o.convention for _, o in known}
    odd = [(f, o) for f, o in known if o.of_baseline is False]
    text = f"all {len(known)} percentages are relative to the {listing(sorted(ways))} value"
    if odd:
        far, by = max(odd, key=lambda pair: pair[1].value)
        opposite = next(o for o in far.outcomes if o is not by)
        text += (
            f"; for {len(odd)} of them this is the secured level, so they are not increases over open: "
            f"{far.printed} % is {shown(opposite.value, far.printed)} % of open"
        )
    yield Finding(
        verdict="contradicts" if odd or len(ways) > 1 else "holds",
        about=tuple(f.about[0] for f, _ in odd or known),
        text=text,
    )
    cut = [f for f, o in known if o.printed_as == "cut"]
    if cut:
        yield Finding(
            verdict="contradicts",
            about=tuple(f.about[0] for f in cut),
            text=f"{len(cut)} of {len(known)} percentages are truncated instead of rounded",
        )


def check_points_as_percents(publication: Publication, findings: tuple[Finding, ...]) -> Iterator[Finding]:
    """Find differences in percentage points that are printed as percent, beside relative percentages."""
    points = [f for f in findings if "percentage points" in f.text]
    relative = [f for f in findings if f.unit == "%" and len(f.outcomes) == 2]
    if points and relative:
        yield Finding(
            verdict="contradicts",
            about=tuple(f.about[0] for f in points),
            text=f"{len(points)} differences of {publication.number(points[0].about[1]).metric} are stated in percent "
            f"but are percentage points, beside {len(relative)} relative percentages",
        )


def check_uncertainties(publication: Publication) -> Iterator[Finding]:
    """Find uncertainties that are the same percentage of every value."""
    told: dict[str, list[Point]] = defaultdict(list)
    for point in publication.points:
        if point.uncertainty is not None:
            told[point.metric].append(point)
    for metric, points in told.items():
        shares = [
            arithmetic.combined(lambda u, v: 100 * u / v, span(p.uncertainty), span(p.value))
            for p in points
            if p.uncertainty is not None
        ]
        low, high = max(s.low for s in shares), min(s.high for s in shares)
        if len(points) > 2 and low <= high:
            share = " to ".join(dict.fromkeys((shown(low), shown(high))))
            text = f"all {len(points)} uncertainties of {metric} may be the same share of their values, {share} %"
            # One digit matches nearly any percentage. With several digits, the uncertainty is not a spread of runs.
            telling = all(
                len(p.uncertainty.as_tuple().digits) > 1 for p in points if p.uncertainty is not None
            )
            yield Finding(
                verdict="contradicts" if telling else "implied",
                about=tuple(point.id for point in points),
                place=points[0].place,
                text=f"{text}: if so, they are not intervals of the runs" if telling else text,
            )


def check_streams(publication: Publication) -> Iterator[Finding]:
    """Compute how many spatial streams the highest throughput requires."""
    own = [
        p
        for p in publication.points
        if p.metric == "throughput"
        and not p.quoted
        and p.change is None
        and p.condition.phy is not None
        and PHYS[p.condition.phy].is_ht
        and p.condition.bandwidth
    ]
    if not own:
        return
    point = max(own, key=lambda p: p.standard_value)
    phy, bandwidth = str(point.condition.phy), int(point.condition.bandwidth or 0)
    crossings = 2 if point.condition.topology == "through-ap" else 1
    on_air = standard_span(point).low * crossings
    need = streams_needed(on_air, phy, bandwidth)
    twice = " crosses the air twice and" if crossings == 2 else ""
    yield Finding(
        verdict="implied",
        about=(point.id,),
        place=point.place,
        text=f"{in_words(point)}{twice} requires at least {need} spatial streams: one {phy} stream at {bandwidth} MHz "
        f"has {shown(phy_rate_mbps(phy, bandwidth, 1))} Mbit/s",
    )


def _values(publication: Publication) -> list[Point]:
    own = [p for p in publication.points if not p.quoted and p.change is None]
    return [*own, *(p for p in implied_points(publication) if not p.quoted)]


def _differing(a: Operand, b: Operand) -> str | None:
    """The single factor in which two numbers of the same kind differ; None unless exactly one factor differs."""
    if (a.metric, a.statistic, a.over, a.subject) != (b.metric, b.statistic, b.over, b.subject):
        return None
    x, y = a.condition.given(), b.condition.given()
    factors = [name for name in x if name in y and x[name] != y[name]]
    return factors[0] if x.keys() == y.keys() and len(factors) == 1 else None


def _value_pairs(publication: Publication) -> Iterator[Pair[Point]]:
    for a, b in combinations(_values(publication), 2):
        if (factor := _differing(a, b)) is not None:
            yield Pair(a, b, factor, _apart(publication, a, b))


def _apart(publication: Publication, a: Point, b: Point) -> PrintedRange:
    """The difference of two points: the printed one if both points are implied by it."""
    if a.implied is not None and b.implied is not None and a.implied.claim == b.implied.claim:
        claim = publication.claim(a.implied.claim)
        if isinstance(claim, ComparisonClaim) and claim.difference is not None and claim.unit is not None:
            return to_standard(span(claim.difference), claim.unit, a)
    return arithmetic.difference(standard_span(a), standard_span(b))


def _claimed_pairs(publication: Publication) -> Iterator[Pair[Operand]]:
    """Pairs of numbers whose difference is printed, but not the numbers."""
    for claim in publication.claims:
        if isinstance(claim, ComparisonClaim) and claim.difference is not None and claim.unit is not None:
            a, b = (publication.number(name) for name in claim.of)
            if isinstance(a, Point) or a.source is not None or (factor := _differing(a, b)) is None:
                continue
            around = span(claim.difference, approximate=claim.approximate)
            yield Pair(a, b, factor, to_standard(around, claim.unit, a))


def _ordering(publication: Publication, claim: Ordering, pairs: list[Pair[Point]]) -> Iterator[Finding]:
    right, alike, wrong = 0, 0, []
    for a, b, factor, difference in pairs:
        if factor != claim.factor or a.metric != claim.metric:
            continue
        levels = {p.condition.given()[factor]: p for p in (a, b)}
        size = a.condition.packet_size
        if (
            set(levels) != {claim.better, claim.worse}
            or not claim.where.agrees(a.condition.given())
            or not claim.where.agrees(b.condition.given())
            or (claim.up_to is not None and size is not None and size > claim.up_to)
        ):
            continue
        if difference.low == 0:
            alike += 1
        elif better_of(a, b) is levels[claim.better]:
            right += 1
        else:
            wrong.append((levels[claim.better], levels[claim.worse]))
    total = right + alike + len(wrong)
    if not total:
        return
    where = f" ({claim.where.text()})" if claim.where.given() else ""
    text = f"{claim.better} better than {claim.worse} in {claim.metric}{where}: "
    if not wrong:
        text += f"true for {right} of {_counted(total)}" + (f", equal in {alike}" if alike else "")
    else:
        told = listing(
            f"{claim.better} {_number(x)} and {claim.worse} {_number(y)} "
            f"({x.condition.text(publication.condition)})"
            for x, y in wrong
        )
        text += f"contradicted by {told} ({len(wrong)} of {_counted(total)})"
    yield Finding(
        verdict="contradicts" if wrong else "holds",
        about=(claim.id, *(p.id for pair in wrong for p in pair)),
        place=claim.place,
        text=text,
    )


def _counted(pairs: int) -> str:
    return f"{pairs} pair{'' if pairs == 1 else 's'}"


def _number(point: Point) -> str:
    return in_words(point) if point.implied is None else f"{shown(point.value)} {point.unit} (implied)"


def _trend(claim: Trend, values: list[Point]) -> Iterator[Finding]:
    right, wrong = 0, []
    for a, b in combinations(values, 2):
        if a.metric != claim.metric or _differing(a, b) != "packet_size":
            continue
        if not claim.where.agrees(a.condition.given()):
            continue
        small, large = sorted((a, b), key=lambda p: p.condition.packet_size or 0)
        rises = standard_span(large).high >= standard_span(small).low
        falls = standard_span(large).low <= standard_span(small).high
        if rises if claim.way == "rises" else falls:
            right += 1
        else:
            wrong.append((small, large))
    if not right and not wrong:
        return
    text = f"{claim.metric} {claim.way} with packet size: "
    if not wrong:
        text += f"true for {_counted(right)}"
    else:
        told = listing(
            f"{_number(x)} at {x.condition.packet_size} B and {_number(y)} at {y.condition.packet_size} B"
            for x, y in wrong
        )
        text += f"contradicted by {told} ({len(wrong)} of {_counted(right + len(wrong))})"
    yield Finding(
        verdict="contradicts" if wrong else "holds",
        about=(claim.id, *(p.id for pair in wrong for p in pair)),
        place=claim.place,
        text=text,
    )


def _largest(publication: Publication, claim: ComparisonClaim, pairs: list[Pair[Any]]) -> Iterator[Finding]:
    a, b = (publication.number(name) for name in claim.of)
    factor = _differing(a, b)
    if factor is None or claim.difference is None or claim.unit is None or a.source is not None:
        return
    printed = to_standard(span(claim.difference, approximate=claim.approximate), claim.unit, a)
    levels = {x.condition.given()[factor] for x in (a, b)}
    common = {k: v for k, v in a.condition.given().items() if k not in (factor, "packet_size")}
    rivals = [
        pair
        for pair in pairs
        if pair.factor == factor
        and pair.a.metric == a.metric
        and {x.condition.given()[factor] for x in (pair.a, pair.b)} == levels
        and {pair.a.id, pair.b.id} != set(claim.of)
        and _agree(common, pair.a)
    ]
    larger = [pair for pair in rivals if pair.difference.low > printed.high]
    if larger:
        unit, base = METRICS[a.metric].unit, publication.condition
        told = listing(f"{shown(p.difference.value)} {unit} ({_apart_from(p, factor, base)})" for p in larger)
        yield Finding(
            verdict="contradicts",
            about=(claim.id, *(x.id for pair in larger for x in (pair.a, pair.b))),
            place=claim.place,
            text=f"{claim.difference:f} {claim.unit} between {' and '.join(sorted(map(str, levels)))} is called the "
            f"largest difference; the text has larger differences: {told}",
        )


def _agree(common: dict[str, object], of: Operand) -> bool:
    return of.condition.agrees(common)


def _apart_from(pair: Pair[Any], factor: str, base: Condition) -> str:
    of: Operand = pair.a
    return of.condition.model_copy(update={factor: None}).text(base)


def _otherwise(claims: list[ComparisonClaim]) -> Iterator[Finding]:
    about = tuple(claim.id for claim in claims)
    of = " and ".join(claims[0].of)
    for field in ("difference", "percent", "ratio"):
        told = [(c, getattr(c, field)) for c in claims if getattr(c, field) is not None]
        spans = [span(value, approximate=c.approximate) for c, value in told]
        if any(not a.overlaps(b) for a, b in combinations(spans, 2)):
            unit = {"percent": " %", "ratio": ""}.get(field, f" {told[0][0].unit}")
            each = listing(f"{value:f}{unit} ({claim.place})" for claim, value in told)
            yield Finding(
                verdict="contradicts",
                about=about,
                place=told[-1][0].place,
                text=f"the {'percentage' if field == 'percent' else field} of {of} is given as {each}",
            )
    called = [claim for claim in claims if claim.called]
    if len({claim.called for claim in called}) > 1:
        each = listing(f"called the {claim.called} ({claim.place})" for claim in called)
        yield Finding(
            verdict="contradicts",
            about=about,
            place=called[-1].place,
            text=f"the difference of {of} is {each}",
        )


def _quote_the_same(ours: Point, theirs: Point) -> bool:
    return (
        ours.source is not None
        and ours.source == theirs.source
        and ours.metric == theirs.metric
        and ours.change is not None
        and theirs.change is not None
        and ours.condition.agrees(theirs.condition.given())
    )


def _told_otherwise(ours: Point, theirs: Point) -> bool:
    """Whether the two quotes give different values of the same statistic, or the same value as different statistics."""
    agree = standard_span(ours).overlaps(standard_span(theirs))
    return agree is not (ours.statistic == theirs.statistic)


def _quoted(point: Point) -> str:
    statistic = {"at-least": "at least ", "mean": "a mean of ", "maximum": "at most "}.get(
        point.statistic or "", ""
    )
    return f"{statistic}{in_words(point)}"
