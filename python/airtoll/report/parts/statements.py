"""The claims of a paper and of a study as comparisons of cells, which `claims` tests.

A `Statement` compares two conditions that differ in at least one factor. A `Contrast` compares two such changes, at
different levels of a second factor.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import Any, Final, Literal

from airtoll.published import (
    AgreementClaim,
    ComparisonClaim,
    MeasuredClaim,
    Operand,
    Point,
    Publication,
    Same,
)
from airtoll.report.material import text
from airtoll.stats import METRICS, Interval, Metric
from airtoll.study import claims
from airtoll.study.claims import END, EQUAL_PERCENT, RELEVANT_PERCENT, ClaimTable
from airtoll.study.factors import FACTORS

ClaimDirection = Literal["higher", "lower", "equal"]
_OPPOSITE: Final[Mapping[ClaimDirection, ClaimDirection]] = {"higher": "lower", "lower": "higher"}

Ends = Mapping[str, tuple[Any, Any]]
"""The lowest and the highest level of an ordered factor in a result; without the factor if it has a single level."""

FactorLevels = tuple[tuple[str, Any], ...]
"""Factors with their levels."""


@dataclass(frozen=True)
class Statement:
    """A claim as a comparison: the metric at the subject's levels is higher, lower or equal, against the reference."""

    metric: Metric
    compared: tuple[tuple[str, Any, Any], ...]  # factor, level of the subject, level of the reference
    common: FactorLevels
    direction: ClaimDirection
    printed: str = ""  # the size of the effect, if the claim states it
    size: Interval | None = (
        None  # of the change without its sign, in percent or points, if the claim states it
    )
    equal_percent: float = EQUAL_PERCENT
    relevant_percent: float = RELEVANT_PERCENT
    up_to_b: int | None = None  # largest packet size
    is_trend: bool = False

    def pair_of(self, levels: Mapping[str, Any]) -> dict[str, Any] | None:
        """The levels of the reference that belong to these levels of the subject; None if they are another's."""
        if not self.compared or any(levels.get(name, level) != level for name, level in self.common):
            return None
        if any(levels.get(name) != level for name, level, _ in self.compared):
            return None
        size_b = levels.get("packet_size")
        if self.up_to_b is not None and (size_b is None or size_b > self.up_to_b):
            return None
        return {**levels, **{name: level for name, _, level in self.compared}}

    def compares(self, factor: str) -> bool:
        """Whether the claim is about levels of the factor."""
        return any(name == factor for name, _, _ in self.compared)

    def names(self, factor: str) -> bool:
        """Whether the claim states a level of the factor."""
        return self.compares(factor) or any(name == factor for name, _ in self.common)

    def within(self, fixed: FactorLevels) -> "Statement":
        """The statement in a result whose cells all have these levels, which it need not state."""
        return replace(self, common=tuple(one for one in self.common if one not in fixed))

    def where(self, fixed: Mapping[str, str], *more: str) -> str:
        """The cells of the statement in parentheses, without the factors that are `fixed` in the study."""
        named = [text.factor(name, level) for name, level in self.common if name not in fixed]
        named += [f"up to {self.up_to_b} B"] if self.up_to_b is not None else []
        return f" ({', '.join([*named, *more])})" if named or more else ""

    @property
    def sides(self) -> tuple[str, str]:
        """The levels of the subject and of the reference as text."""
        subject = " ".join(text.factor(name, level) for name, level, _ in self.compared)
        return subject, " ".join(text.factor(name, level) for name, _, level in self.compared)

    def words(self, fixed: Mapping[str, str]) -> str:
        """The statement as a sentence, without the factors that are `fixed` in the study."""
        if self.is_trend:
            over = "offered load" if any(name == "offered" for name, _, _ in self.compared) else "packet size"
            way = "rises" if self.direction == "higher" else "falls"
            return f"{self.metric.title} {way} with {over}{self.where(fixed)}"
        subject, reference = self.sides
        if self.direction == "equal" and self.equal_percent != EQUAL_PERCENT:
            limit = f"within {self.equal_percent:g} %"
            return (
                f"{self.metric.title} with {subject} is {limit} of that with {reference}{self.where(fixed)}"
            )
        if self.direction == "equal":
            return f"{self.metric.title} is equal with {subject} and with {reference}{self.where(fixed)}"
        return (
            f"{self.metric.title} is {self.direction} with {subject} than with {reference}{self.where(fixed)}"
        )


@dataclass(frozen=True)
class Contrast:
    """A claim that a cost is larger at one level of a second factor than at another, or equal at both.

    `change` compares the worse level (its subject) with the better one. Its cost is positive where the worse level is
    worse.
    """

    change: Statement
    by: str
    larger: Any  # level of `by`; None if the result has a single level of it
    smaller: Any  # None: all other levels
    absolute: bool = False  # costs as differences in the metric's unit, not as ratios
    direction: ClaimDirection = "higher"
    equal_percent: float = EQUAL_PERCENT
    relevant_percent: float = RELEVANT_PERCENT
    printed: str = ""
    size: Interval | None = None

    @property
    def metric(self) -> Metric:
        """The metric of the cost."""
        return self.change.metric

    @property
    def sign(self) -> int:
        """1 if a cost is a rise of the metric, otherwise -1."""
        return 1 if self.metric.better == "lower" else -1

    def compares(self, factor: str) -> bool:
        """Whether the claim is about levels of the factor."""
        return self.by == factor or self.change.compares(factor)

    def names(self, factor: str) -> bool:
        """Whether the claim states a level of the factor."""
        return self.by == factor or self.change.names(factor)

    def within(self, fixed: FactorLevels) -> "Contrast":
        """The claim in a result whose cells all have these levels, which it need not state."""
        return replace(self, change=self.change.within(fixed))

    def words(self, fixed: Mapping[str, str]) -> str:
        """The claim as a sentence, without the factors that are `fixed` in the study."""
        worse, better = self.change.sides
        cost = f"The cost of {worse} against {better} in {text.within(self.metric.title)}"
        if self.larger is None:
            return f"{cost} depends on the {self.by.replace('_', ' ')}{self.change.where(fixed)}"
        larger = text.factor(self.by, self.larger)
        if self.smaller is not None:
            smaller = text.factor(self.by, self.smaller)
        else:
            several = FACTORS[self.by].several
            smaller = f"other {several[0].lower()}{several[1:]}"
        unit = (f"in {self.metric.change_unit}",) if self.absolute and self.metric.relative else ()
        if self.direction == "equal":
            limit = () if self.equal_percent == EQUAL_PERCENT else (f"within {self.equal_percent:g} %",)
            return (
                f"{cost} is equal with {larger} and with {smaller}{self.change.where(fixed, *unit, *limit)}"
            )
        return f"{cost} is larger with {larger} than with {smaller}{self.change.where(fixed, *unit)}"


Tested = Statement | Contrast


@dataclass(frozen=True)
class Source:
    """The place where a claim is stated."""

    place: str  # in the paper; for a claim of the study, its title
    id: str | None  # None only for a claim of the study
    disagreement: str = ""  # a sentence that explains why the model's sign differs, if it does
    of_study: bool = False  # the study states it, not a paper


def of_study(tables: Iterable[ClaimTable], ends: Ends) -> Iterator[tuple[Source, Tested]]:
    """The claims of a study's own tables."""
    for table in tables:
        yield Source(table.title or "study file", table.id, of_study=True), _of_form(table.form(), ends)


def of_publication(publication: Publication, ends: Ends) -> Iterator[tuple[Source, Tested]]:
    """The claims of a paper that compare measurements."""
    reasons = {each.id: each.text for each in publication.disagreements}
    for claim in publication.claims:
        if isinstance(claim, MeasuredClaim):
            source = Source(claim.place, claim.id, reasons.get(claim.disagreement or "", ""))
            yield from ((source, tested) for tested in _tested(publication, claim, ends))


def _tested(publication: Publication, claim: MeasuredClaim, ends: Ends) -> Iterator[Tested]:
    """The comparisons of measurements that a paper's claim makes; none if it is about other quantities."""
    match claim:
        case claims.OrderingForm() | claims.EqualityForm() | claims.TrendForm() | claims.InteractionForm():
            if claim.metric in METRICS:
                yield _of_form(claim, ends)
        case ComparisonClaim() | AgreementClaim() | Same():
            for first, second in pairwise(publication.number(name) for name in claim.of):
                if is_average(first) and is_average(second) and first.metric == second.metric:
                    statement = _of_numbers(claim, first, second)
                    yield statement
                    if isinstance(claim, ComparisonClaim) and claim.called == "largest":
                        yield from _peaks(statement)


def is_average(number: Operand) -> bool:
    """Whether the paper measured the number, in one cell or as the mean of several, as opposed to an extreme."""
    is_mean = not number.over or number.statistic in (None, "mean")
    return number.metric in METRICS and is_mean and number.source is None


def _of_form(form: claims.Form, ends: Ends) -> Tested:
    metric = METRICS[form.metric]
    where = form.where.given()
    match form:
        case claims.OrderingForm():
            size = _size(form)
            made = _statement(
                metric,
                {**where, form.factor: form.better},
                {**where, form.factor: form.worse},
                metric.better,
                printed="" if size is None else _size_words(metric, size, form),
                size=_of_worse(metric, size) if size and form.percent_of == "better" else size,
                up_to_b=form.up_to,
            )
            return replace(made, relevant_percent=_relevant(form, form.at_least, form.at_most))
        case claims.EqualityForm():
            subject, reference = ({**where, form.factor: level} for level in form.of)
            made = _statement(metric, subject, reference, "equal", up_to_b=form.up_to)
            return replace(made, equal_percent=form.within)
        case claims.TrendForm():
            low, high = ends.get(form.over, (None, None))
            direction: ClaimDirection = "higher" if form.way == "rises" else "lower"
            compared = ((form.over, high, low),) if low != high else ()
            return Statement(
                metric,
                compared,
                tuple(where.items()),
                direction,
                relevant_percent=_relevant(form),
                is_trend=True,
            )
        case claims.InteractionForm():
            change = _statement(
                metric,
                {**where, form.factor: form.worse},
                {**where, form.factor: form.better},
                _OPPOSITE[metric.better],
                up_to_b=form.up_to,
            )
            low, high = ends.get(form.by, (None, None))
            larger, smaller = (
                {END[0]: low, END[1]: high}[level] if level in END else level
                for level in (form.larger, form.smaller)
            )
            direction = "equal" if form.alike else "higher"
            return Contrast(
                change,
                form.by,
                larger,
                smaller,
                form.absolute,
                direction,
                equal_percent=form.within,
                relevant_percent=_relevant(form),
            )


def _relevant(
    form: claims.OrderingForm | claims.TrendForm | claims.InteractionForm, *sizes: float | None
) -> float:
    """The smallest relevant change: stated by the claim, or the default, or a smaller size that the claim states."""
    if form.relevant is not None:
        return form.relevant
    return min(RELEVANT_PERCENT, *(size for size in (RELEVANT_PERCENT, *sizes) if size))


def _size(form: claims.OrderingForm) -> Interval | None:
    if form.at_least is None and form.at_most is None:
        return None
    return Interval(form.at_least or 0.0, inf if form.at_most is None else form.at_most)


def _of_worse(metric: Metric, size: Interval) -> Interval:
    """A size in percent of the better level's value, as a size in percent of the worse level's value."""
    if not metric.relative:
        return size

    def converted(percent: float) -> float:
        share = percent / 100
        if metric.better == "lower":
            return 100.0 if share == inf else 100 * share / (1 + share)
        return inf if share >= 1 else 100 * share / (1 - share)

    return Interval(converted(size.low), converted(size.high))


def _size_words(metric: Metric, size: Interval, form: claims.OrderingForm) -> str:
    unit = "%" if metric.relative else metric.change_unit
    if metric.relative and form.percent_of == "better":
        unit = f"% of {text.factor(form.factor, form.better)}"
    if size.low == 0:
        return f"at most {size.high:g} {unit}"
    if size.high == inf:
        return f"at least {size.low:g} {unit}"
    return f"{size.low:g} to {size.high:g} {unit}"


def _statement(
    metric: Metric,
    subject: Mapping[str, Any],
    reference: Mapping[str, Any],
    direction: ClaimDirection,
    *,
    printed: str = "",
    size: Interval | None = None,
    up_to_b: int | None = None,
) -> Statement:
    compared = tuple(
        (name, level, reference[name])
        for name, level in subject.items()
        if name in reference and level != reference[name]
    )
    differing = {name for name, _, _ in compared}
    common = {name: level for name, level in {**subject, **reference}.items() if name not in differing}
    return Statement(
        metric, compared, tuple(common.items()), direction, printed=printed, size=size, up_to_b=up_to_b
    )


def _of_numbers(claim: ComparisonClaim | AgreementClaim | Same, first: Operand, second: Operand) -> Statement:
    metric = METRICS[first.metric]
    direction: ClaimDirection = metric.better  # the text names the better number first
    printed = ""
    if isinstance(first, Point) and isinstance(second, Point):  # even if the words contradict the numbers
        direction = "higher" if first.standard_value > second.standard_value else "lower"
    elif isinstance(claim, ComparisonClaim):
        if claim.better == second.id:
            direction = _OPPOSITE[metric.better]
        if claim.difference is not None:
            sign = "+" if direction == "higher" else text.MINUS
            about = "about" if claim.approximate else ""
            printed = text.joined(about, f"{sign}{claim.difference} {claim.unit}")
    if isinstance(claim, Same) or (isinstance(claim, AgreementClaim) and claim.agree):
        direction = "equal"
    given = first.condition.given(), second.condition.given()
    return _statement(metric, *given, direction, printed=printed)


def _peaks(largest: Statement) -> Iterator[Contrast]:
    """A difference that the paper calls the largest over the packet sizes: larger at its size than at the others."""
    common = dict(largest.common)
    size_b = common.pop("packet_size", None)
    if size_b is None:
        return
    compared = largest.compared
    if largest.direction == largest.metric.better:  # the subject of a cost is the worse side
        compared = tuple((name, reference, subject) for name, subject, reference in compared)
    change = Statement(largest.metric, compared, tuple(common.items()), _OPPOSITE[largest.metric.better])
    yield Contrast(change, "packet_size", size_b, None, absolute=True)
