"""The claims of a paper and of a study beside the same comparison in this result: confirmed, not confirmed or opposite.

`airtoll.stats.matched` tests each claim over every pair of cells that have its conditions and are otherwise equal. The
family of Holm's correction consists of all claims of the table.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, get_args

from airtoll.published import Point, Publication, implied_points
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.parts.matching import Change, change_of
from airtoll.report.parts.statements import (
    Contrast,
    Ends,
    Statement,
    Tested,
    is_average,
    of_publication,
    of_study,
)
from airtoll.stats import Interval, holm
from airtoll.study.claims import EQUAL_PERCENT, ORDERED
from airtoll.study.factors import level_order

ClaimResult = Literal["confirmed", "other size", "not confirmed", "opposite", "not measured"]
"""The verdict of a result on a claim. confirmed, opposite: the corrected p-value is below 5 %. other size: the
direction is confirmed, but no size of the 95 % interval is one that the claim states. A claim that nothing differs is
confirmed if the change is within its limit."""


@dataclass(frozen=True)
class Judged:
    """A claim with its size in the paper, in the model and in this result, in percent or in display units."""

    statement: Tested
    places: tuple[str, ...]  # in the paper; the title of a claim of the study
    published: float | None
    model: float | None
    measured: Change
    p_holm: float | None = None  # of `measured`, corrected for all claims

    @property
    def verdict(self) -> ClaimResult:
        """Whether this result confirms the claim."""
        claim, change, ci = self.statement, self.measured.value, self.measured.interval
        if change is None:
            return "not measured"
        if ci is None:
            return "not confirmed"
        limit = claim.equal_percent
        if claim.direction == "equal" and self.measured.in_percent and ci.low > -limit and ci.high < limit:
            return "confirmed"
        if not self.measured.resolved(self.p_holm):
            return "not confirmed"
        if claim.direction == "equal" or (change > 0) != (claim.direction == "higher"):
            return "opposite"
        return "confirmed" if self._has_size(ci) else "other size"

    def _has_size(self, ci: Interval) -> bool:
        """Whether the interval contains a size that the claim states."""
        size = self.statement.size
        low, high = (ci.low, ci.high) if self.statement.direction == "higher" else (-ci.high, -ci.low)
        return size is None or (low <= size.high and high >= size.low)


@dataclass(frozen=True)
class Claims:
    """All claims of a paper and of a study's own tables that compare measurements, judged by a result."""

    data: ReportData
    publication: Publication | None = None

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """The study's claims, then those of the paper, in their order; claims that were not measured are last."""
        places: dict[Tested, list[str]] = defaultdict(list)  # a paper repeats its claims
        for place, statement in self._stated():
            places[statement].append(place)
        found = [self._judged(statement, tuple(dict.fromkeys(of))) for statement, of in places.items()]
        corrected = holm([one.measured.p for one in found])
        judged = [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]
        return tuple(sorted(judged, key=lambda one: one.measured.value is None))

    def _stated(self) -> Iterator[tuple[str, Tested]]:
        yield from of_study(self.data.plan.claims, self._ends)
        if self.publication is not None:
            yield from of_publication(self.publication, self._ends)

    def count(self, verdict: ClaimResult) -> int:
        """The number of claims with this verdict."""
        return sum(one.verdict == verdict for one in self.judged)

    def grid(self) -> Grid:
        """The table of claims, without rows if there are none."""
        verdicts: tuple[ClaimResult, ...] = get_args(ClaimResult)
        counts = text.listing(f"{count} {verdict}" for verdict in verdicts if (count := self.count(verdict)))
        modelled = any(one.model is not None for one in self.judged)
        origins = [
            *(("of the paper",) if self.publication is not None else ()),
            *(("of the study",) if self.data.plan.claims else ()),
        ]
        contrasts = any(isinstance(one.statement, Contrast) for one in self.judged)
        return Grid(
            "claims",
            f"Claims {text.listing(origins)}, and the verdicts of this result",
            f"{text.counted(len(self.judged), 'claim')}: {counts}. A change is the mean over all pairs of cells that "
            "differ only in the compared levels (Pairs), with its 95 % interval; p is corrected for all claims of the "
            "table (Holm). Confirmed and opposite: the change is significant at 5 %. Not confirmed: no difference was "
            "found; a change outside the interval would have been found. A claim of equality is confirmed if the "
            f"interval is within {EQUAL_PERCENT:g} % or the limit that the claim states."
            + (
                " A claim about a cost at two levels: by how much the cost, as a ratio, is larger at the first one."
                if contrasts
                else ""
            )
            + (
                " Other size: the direction is confirmed, but the interval contains no size that the claim states."
                if self.count("other size")
                else ""
            ),
            (
                *("Claim", "Place", "Verdict", "Claimed" if self.publication is None else "Published"),
                *(("Model",) if modelled else ()),
                *("This result", "Pairs", "p"),
            ),
            tuple(
                (
                    one.statement.words(self.data.fixed),
                    "; ".join(one.places),
                    one.verdict,
                    one.statement.printed or one.measured.shown(one.published),
                    *((one.measured.shown(one.model),) if modelled else ()),
                    one.measured.words(),
                    str(one.measured.cells),
                    text.p_value(one.p_holm),
                )
                for one in self.judged
            ),
            words=3,
        )

    @cached_property
    def _ends(self) -> Ends:
        found = {}
        for factor in ORDERED:
            levels = sorted({getattr(run.run.cell, factor) for run in self.data.counting}, key=level_order)
            if len(levels) > 1:
                found[factor] = (levels[0], levels[-1])
        return found

    @cached_property
    def _points(self) -> tuple[Point, ...]:
        if self.publication is None:
            return ()
        points = (
            *implied_points(self.publication),
            *self.publication.points,
        )  # printed values replace implied values
        return tuple(point for point in points if is_average(point))

    def _judged(self, tested: Tested, places: tuple[str, ...]) -> Judged:
        by_cell = self.data.by_round.get(tested.metric.name, {})
        values = {
            cell: each for cell, each in by_cell.items() if self.data.is_of_paper(cell, tested.metric.name)
        }
        in_sessions = self.data.in_sessions
        measured = change_of(tested, values, relative=tested.metric.relative, in_sessions=in_sessions)
        expected = {cell: self.data.expected.get((cell, tested.metric.name)) for cell in values}
        predicted = {cell: {0: each.value} for cell, each in expected.items() if each is not None}
        model = change_of(tested, predicted, relative=measured.in_percent, in_sessions=in_sessions)
        return Judged(
            tested,
            places,
            published=_published(self._points, tested, in_percent=measured.in_percent),
            model=model.value if model.in_percent == measured.in_percent else None,
            measured=measured,
        )


LevelSet = frozenset[tuple[str, Any]]
"""The levels of a printed value."""


def _published(points: Iterable[Point], tested: Tested, *, in_percent: bool) -> float | None:
    """The mean change between the printed values of the paper that belong to the claim."""
    values: dict[LevelSet, float] = {}
    to_open: dict[LevelSet, float] = {}  # as multiples of the open network
    for point in points:
        if point.metric == tested.metric.name:
            value = float(point.standard_value)
            levels = point.condition.given()
            if point.change is None:
                values[_key(levels)] = value / tested.metric.scale
            else:
                to_open[_key(levels)] = value
                to_open[_key({**levels, "security": "open"})] = 1.0
    change = _change_of(values, tested, in_percent=in_percent)
    if change is None and in_percent:
        change = _change_of(to_open, tested, in_percent=True)
    if change is None:
        return None
    return 100 * math.expm1(change) if in_percent else tested.metric.display(change)


def _key(levels: Mapping[str, Any]) -> LevelSet:
    return frozenset(levels.items())


def _change_of(values: Mapping[LevelSet, float], tested: Tested, *, in_percent: bool) -> float | None:
    """The mean change between values by levels, as a logarithm or in the metric's unit; None without a pair."""
    if isinstance(tested, Statement):
        return _mean_change([pair for _, pair in _value_pairs(values, tested)], in_percent=in_percent)
    larger, smaller = [], []
    for levels, pair in _value_pairs(values, tested.change):
        level = levels.get(tested.by)
        if level is not None and level == tested.larger:
            larger.append(pair)
        elif level is not None and tested.smaller in (None, level):
            smaller.append(pair)
    of_larger, of_smaller = (_mean_change(pairs, in_percent=in_percent) for pairs in (larger, smaller))
    return None if of_larger is None or of_smaller is None else tested.sign * (of_larger - of_smaller)


def _value_pairs(
    values: Mapping[LevelSet, float], statement: Statement
) -> Iterator[tuple[dict[str, Any], tuple[float, float]]]:
    """The levels of the subject with the values of the reference and of the subject, for each pair of conditions."""
    for key, value in values.items():
        levels = dict(key)
        pair = statement.pair_of(levels)
        if pair is not None and (reference := values.get(_key(pair))) is not None:
            yield levels, (reference, value)


def _mean_change(pairs: Sequence[tuple[float, float]], *, in_percent: bool) -> float | None:
    """The mean change from the first to the second value of each pair, as a logarithm or as a difference."""
    if not pairs or (in_percent and min(map(min, pairs)) <= 0):
        return None
    return fmean(math.log(b / a) if in_percent else b - a for a, b in pairs)
