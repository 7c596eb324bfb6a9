"""The claims of a paper beside the same comparison in this result: confirmed, not confirmed or opposite.

A claim compares two conditions that differ in at least one factor. `airtoll.stats.matched` tests it over every pair of
cells that have these conditions and are otherwise equal. The family of Holm's correction consists of all claims of the
paper.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from typing import Any, Final, Literal

from airtoll.published import (
    AgreementClaim,
    ComparisonClaim,
    Condition,
    Operand,
    Ordering,
    Point,
    Publication,
    Same,
    Trend,
    implied_points,
)
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.stats import METRICS, Interval, MatchedMean, Metric, holm, matched_difference, matched_ratio
from airtoll.study.cell import Cell

ClaimDirection = Literal["higher", "lower", "equal"]
ClaimResult = Literal["confirmed", "not confirmed", "opposite", "not measured"]
"""The verdict of a result on a claim. confirmed, opposite: the corrected p-value is below 5 %. A claim that nothing
differs is confirmed if the change is within `EQUAL_PERCENT`."""

EQUAL_PERCENT: Final = 5.0
_SIGNIFICANT: Final = 0.05
_OPPOSITE: Final[Mapping[ClaimDirection, ClaimDirection]] = {"higher": "lower", "lower": "higher"}


@dataclass(frozen=True)
class Statement:
    """A claim as a comparison: the metric under `subject` is higher, lower or equal, compared with `reference`."""

    metric: Metric
    subject: Condition
    reference: Condition
    direction: ClaimDirection
    printed: str = ""  # the size of the effect, if the claim states it
    up_to_b: int | None = None  # largest packet size
    is_trend: bool = False  # over packet size

    @cached_property
    def differing(self) -> dict[str, tuple[Any, Any]]:
        """The factors that differ, with the level of the subject and that of the reference."""
        subject, reference = self.subject.given(), self.reference.given()
        return {
            name: (level, reference[name])
            for name, level in subject.items()
            if name in reference and level != reference[name]
        }

    @cached_property
    def common(self) -> Condition:
        """The levels that both conditions have."""
        differing = self.differing
        both = {**self.subject.given(), **self.reference.given()}
        return Condition.model_validate({name: both[name] for name in both if name not in differing})

    def pair_of(self, levels: Mapping[str, Any]) -> dict[str, Any] | None:
        """The levels of the reference that belong to these levels of the subject; None if they are another's."""
        differing = self.differing
        if not differing or not self.common.agrees(levels):
            return None
        if any(levels.get(name) != level for name, (level, _) in differing.items()):
            return None
        size_b = levels.get("packet_size")
        if self.up_to_b is not None and (size_b is None or size_b > self.up_to_b):
            return None
        return {**levels, **{name: level for name, (_, level) in differing.items()}}

    def words(self, fixed: Mapping[str, str]) -> str:
        """The statement as a sentence, without the factors that are `fixed` in the study."""
        common = self.common.given()
        where = [text.factor(name, level) for name, level in common.items() if name not in fixed]
        if self.up_to_b is not None:
            where.append(f"up to {self.up_to_b} B")
        of = f" ({', '.join(where)})" if where else ""
        if self.is_trend:
            return f"{self.metric.title} {'rises' if self.direction == 'higher' else 'falls'} with packet size{of}"
        subject, reference = (
            " ".join(text.factor(name, levels[at]) for name, levels in self.differing.items())
            for at in (0, 1)
        )
        if self.direction == "equal":
            return f"{self.metric.title} is equal with {subject} and with {reference}{of}"
        return f"{self.metric.title} is {self.direction} with {subject} than with {reference}{of}"


@dataclass(frozen=True)
class Judged:
    """A statement with its size in the paper, in the model and in this result, in percent or in display units."""

    statement: Statement
    places: tuple[str, ...]  # in the paper
    published: float | None
    model: float | None
    cells: int  # pairs of cells
    change: float | None
    interval: Interval | None  # 95 %, not corrected
    p: float | None
    in_percent: bool
    p_holm: float | None = None  # `p`, corrected for all claims

    @property
    def verdict(self) -> ClaimResult:
        """Whether this result confirms the statement."""
        direction, ci = self.statement.direction, self.interval
        if self.change is None:
            return "not measured"
        if ci is None:
            return "not confirmed"
        resolved = self.p_holm < _SIGNIFICANT if self.p_holm is not None else not ci.contains(0)
        if direction == "equal":
            if self.in_percent and ci.low > -EQUAL_PERCENT and ci.high < EQUAL_PERCENT:
                return "confirmed"
            return "opposite" if resolved else "not confirmed"
        if not resolved:
            return "not confirmed"
        return "confirmed" if (self.change > 0) == (direction == "higher") else "opposite"


@dataclass(frozen=True)
class Claims:
    """All claims of a paper that compare measurements, judged by a result."""

    data: ReportData
    publication: Publication

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """The claims in the order of the data file; claims that the result did not measure are last."""
        places: dict[Statement, list[str]] = defaultdict(list)  # a paper repeats its claims
        for place, statement in statements(self.publication, *self._sizes):
            places[statement].append(place)
        found = [self._judged(statement, tuple(dict.fromkeys(of))) for statement, of in places.items()]
        corrected = holm([one.p for one in found])
        judged = [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]
        return tuple(sorted(judged, key=lambda one: one.change is None))

    def count(self, verdict: ClaimResult) -> int:
        """The number of claims with this verdict."""
        return sum(one.verdict == verdict for one in self.judged)

    def grid(self) -> Grid:
        """The table of claims."""
        counts = text.listing(
            f"{count} {verdict}"
            for verdict in ("confirmed", "not confirmed", "opposite", "not measured")
            if (count := self.count(verdict))
        )
        modelled = any(one.model is not None for one in self.judged)
        return Grid(
            "claims",
            "Claims of the paper, and the verdicts of this result",
            f"{text.counted(len(self.judged), 'claim')}: {counts}. A change is the mean over all pairs of cells that "
            "differ only in the compared levels (Pairs), with its 95 % interval; p is corrected for all claims of the "
            "table (Holm). Confirmed and opposite: the change is significant at 5 %. Not confirmed: no difference was "
            "found; a change outside the interval would have been found. A claim of equality is confirmed if the "
            f"interval is within {EQUAL_PERCENT:g} %.",
            (
                *("Claim", "Place", "Verdict", "Published"),
                *(("Model",) if modelled else ()),
                *("This result", "Pairs", "p"),
            ),
            tuple(
                (
                    one.statement.words(self.data.fixed),
                    "; ".join(one.places),
                    one.verdict,
                    one.statement.printed or _shown(one, one.published),
                    *((_shown(one, one.model),) if modelled else ()),
                    text.joined(_shown(one, one.change), _interval(one)),
                    str(one.cells),
                    text.p_value(one.p_holm),
                )
                for one in self.judged
            ),
            words=3,
        )

    @cached_property
    def _sizes(self) -> tuple[int | None, int | None]:
        sizes = {run.run.cell.packet_size for run in self.data.counting}
        return (min(sizes), max(sizes)) if len(sizes) > 1 else (None, None)

    @cached_property
    def _points(self) -> tuple[Point, ...]:
        points = (
            *implied_points(self.publication),
            *self.publication.points,
        )  # printed values replace implied values
        return tuple(point for point in points if _is_average(point))

    def _judged(self, statement: Statement, places: tuple[str, ...]) -> Judged:
        metric = statement.metric
        pairs = tuple(self._pairs(statement))
        mean, in_percent = self._measured(metric, pairs)

        def shown(value: float) -> float:
            return 100 * math.expm1(value) if in_percent else metric.display(value)

        expected = (
            [self.data.expected.get((cell, metric.name)) for cell in (reference, subject)]
            for subject, reference in pairs
        )
        modelled = [(a.value, b.value) for a, b in expected if a is not None and b is not None]
        ci = mean.ci95_t
        return Judged(
            statement,
            places,
            published=_published(self._points, statement, in_percent=in_percent),
            model=_mean_change(modelled, metric.scale, in_percent=in_percent),
            cells=mean.cells,
            change=None if mean.mean is None else shown(mean.mean),
            interval=None if ci is None else Interval(shown(ci.low), shown(ci.high)),
            p=mean.p,
            in_percent=in_percent,
        )

    def _measured(self, metric: Metric, pairs: Iterable[tuple[Cell, Cell]]) -> tuple[MatchedMean, bool]:
        """The change, as a logarithm if it is a ratio, which the second value says."""
        values = self._values.get(metric.name, {})
        sets = []
        for subject, reference in pairs:
            rounds = sorted(values[subject].keys() | values[reference].keys())
            a, b = ([values[cell].get(one) for one in rounds] for cell in (reference, subject))
            sets.append((a, b))
        ratio = matched_ratio(sets)
        if metric.relative and ratio.reason is None:
            return ratio.log, True
        return matched_difference(sets), False

    def _pairs(self, statement: Statement) -> Iterator[tuple[Cell, Cell]]:
        """The cells of the subject, each with its cell of the reference."""
        measured = self._values.get(statement.metric.name, {})
        for cell in measured:
            pair = statement.pair_of(cell.model_dump())
            if pair is not None and (reference := Cell.model_validate(pair)) in measured:
                yield cell, reference

    @cached_property
    def _values(self) -> Mapping[str, Mapping[Cell, Mapping[int, float]]]:
        """The values of the counted runs, by metric, cell and round."""
        found: dict[str, dict[Cell, dict[int, float]]] = {}
        for run in self.data.counting:
            for name, value in run.values.items():
                found.setdefault(name, {}).setdefault(run.run.cell, {})[run.run.replicate] = value
        return found


def statements(
    publication: Publication, smallest_b: int | None, largest_b: int | None
) -> Iterator[tuple[str, Statement]]:
    """The claims that compare measurements, each with its place in the paper.

    `smallest_b` and `largest_b` are the smallest and the largest packet size of the result; None without several.
    """
    for claim in publication.claims:
        match claim:
            case Ordering() if claim.metric in METRICS:
                metric = METRICS[claim.metric]
                subject, reference = (
                    Condition.model_validate({**claim.where.given(), claim.factor: level})
                    for level in (claim.better, claim.worse)
                )
                yield claim.place, Statement(metric, subject, reference, metric.better, up_to_b=claim.up_to)
            case Trend() if claim.metric in METRICS:
                metric = METRICS[claim.metric]
                subject, reference = (
                    claim.where.model_copy(update={"packet_size": size_b})
                    for size_b in (largest_b, smallest_b)
                )
                direction: ClaimDirection = "higher" if claim.way == "rises" else "lower"
                yield claim.place, Statement(metric, subject, reference, direction, is_trend=True)
            case ComparisonClaim() | AgreementClaim() | Same():
                for first, second in pairwise(publication.number(name) for name in claim.of):
                    if _is_average(first) and _is_average(second) and first.metric == second.metric:
                        yield claim.place, _of_numbers(claim, first, second)
            case _:
                pass  # arithmetic of the paper


def _is_average(number: Operand) -> bool:
    """Whether the paper measured the number, in one cell or as the mean of several, as opposed to an extreme."""
    is_mean = not number.over or number.statistic in (None, "mean")
    return number.metric in METRICS and is_mean and number.source is None


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
    return Statement(metric, first.condition, second.condition, direction, printed)


def _published(points: Iterable[Point], statement: Statement, *, in_percent: bool) -> float | None:
    """The mean change between the printed values of the paper that belong to the statement."""
    values: dict[Condition, float] = {}
    to_open: dict[Condition, float] = {}  # as multiples of the open network
    for point in points:
        if point.metric == statement.metric.name:
            value = float(point.standard_value)
            if point.change is None:
                values[point.condition] = value / statement.metric.scale
            else:
                to_open[point.condition] = value
                to_open[point.condition.model_copy(update={"security": "open"})] = 1.0
    pairs = _pairs_of(values, statement)
    if not pairs and in_percent:
        pairs = _pairs_of(to_open, statement)
    return _mean_change(pairs, statement.metric.scale, in_percent=in_percent)


def _pairs_of(values: Mapping[Condition, float], statement: Statement) -> list[tuple[float, float]]:
    """The values of the reference and of the subject, for each pair of conditions of the statement."""
    found = []
    for condition, value in values.items():
        pair = statement.pair_of(condition.given())
        if pair is not None and (reference := values.get(Condition.model_validate(pair))) is not None:
            found.append((reference, value))
    return found


def _mean_change(pairs: Sequence[tuple[float, float]], scale: float, *, in_percent: bool) -> float | None:
    """The mean change from the first to the second value of each pair, in percent or in display units."""
    if not pairs or (in_percent and min(map(min, pairs)) <= 0):
        return None
    if in_percent:
        return 100 * math.expm1(fmean(math.log(b / a) for a, b in pairs))
    return scale * fmean(b - a for a, b in pairs)


def _shown(one: Judged, value: float | None) -> str:
    if value is None or one.in_percent:
        return text.signed_percent(value, 1)
    metric = one.statement.metric
    return f"{text.number(value, metric.decimals, sign=True)} {metric.change_unit}"


def _interval(one: Judged) -> str:
    if one.in_percent:
        return text.percent_interval(one.interval)
    return text.interval(one.interval, one.statement.metric.decimals, sign=True)
