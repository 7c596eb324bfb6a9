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
from typing import Any, Final, Literal

from airtoll.published import Point, Publication, implied_points
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.parts.statements import (
    Contrast,
    Ends,
    Statement,
    Tested,
    is_average,
    of_publication,
    of_study,
)
from airtoll.stats import (
    Interval,
    MatchedMean,
    Metric,
    holm,
    interaction_difference,
    interaction_ratio,
    matched_difference,
    matched_ratio,
)
from airtoll.study.cell import Cell
from airtoll.study.claims import EQUAL_PERCENT, ORDERED
from airtoll.study.factors import level_order

ClaimResult = Literal["confirmed", "other size", "not confirmed", "opposite", "not measured"]
"""The verdict of a result on a claim. confirmed, opposite: the corrected p-value is below 5 %. other size: the
direction is confirmed, but no size of the 95 % interval is one that the claim states. A claim that nothing differs is
confirmed if the change is within its limit."""

_SIGNIFICANT: Final = 0.05


@dataclass(frozen=True)
class Judged:
    """A claim with its size in the paper, in the model and in this result, in percent or in display units."""

    statement: Tested
    places: tuple[str, ...]  # in the paper; the title of a claim of the study
    published: float | None
    model: float | None
    cells: int  # pairs of cells; of an interaction, pairs of such pairs
    change: float | None
    interval: Interval | None  # 95 %, not corrected
    p: float | None
    in_percent: bool
    p_holm: float | None = None  # `p`, corrected for all claims

    @property
    def verdict(self) -> ClaimResult:
        """Whether this result confirms the claim."""
        direction, ci = self.statement.direction, self.interval
        if self.change is None:
            return "not measured"
        if ci is None:
            return "not confirmed"
        resolved = self.p_holm < _SIGNIFICANT if self.p_holm is not None else not ci.contains(0)
        limit = self.statement.equal_percent
        if direction == "equal" and self.in_percent and ci.low > -limit and ci.high < limit:
            return "confirmed"
        if not resolved:
            return "not confirmed"
        if direction == "equal" or (self.change > 0) != (direction == "higher"):
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
        corrected = holm([one.p for one in found])
        judged = [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]
        return tuple(sorted(judged, key=lambda one: one.change is None))

    def _stated(self) -> Iterator[tuple[str, Tested]]:
        yield from of_study(self.data.plan.claims, self._ends)
        if self.publication is not None:
            yield from of_publication(self.publication, self._ends)

    def count(self, verdict: ClaimResult) -> int:
        """The number of claims with this verdict."""
        return sum(one.verdict == verdict for one in self.judged)

    def grid(self) -> Grid:
        """The table of claims, without rows if there are none."""
        verdicts: tuple[ClaimResult, ...] = (
            *("confirmed", "other size", "not confirmed", "opposite", "not measured"),
        )
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
                " Other size: the direction is confirmed, but the interval has no size that the claim states."
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
        measured = self._values.get(tested.metric.name, {})
        sets = tuple(_sets(tested, measured))
        mean, in_percent = _tested(
            tested,
            [_by_round(measured, of_set) for of_set in sets],
            relative=tested.metric.relative,
        )
        predicted = {
            cell: {0: expected.value}
            for cell in {cell for of_set in sets for pair in of_set for cell in pair}
            if (expected := self.data.expected.get((cell, tested.metric.name))) is not None
        }
        complete = [of_set for of_set in sets if all(cell in predicted for pair in of_set for cell in pair)]
        model, model_in_percent = _tested(
            tested, [_by_round(predicted, of_set) for of_set in complete], relative=in_percent
        )
        ci = mean.ci95_t

        def shown(value: float) -> float:
            return 100 * math.expm1(value) if in_percent else tested.metric.display(value)

        return Judged(
            tested,
            places,
            published=_published(self._points, tested, in_percent=in_percent),
            model=None if model.mean is None or model_in_percent != in_percent else shown(model.mean),
            cells=mean.cells,
            change=None if mean.mean is None else shown(mean.mean),
            interval=None if ci is None else Interval(shown(ci.low), shown(ci.high)),
            p=mean.p,
            in_percent=in_percent,
        )

    @cached_property
    def _values(self) -> Mapping[str, Mapping[Cell, Mapping[int, float]]]:
        """The values of the counted runs, by metric, cell and round."""
        found: dict[str, dict[Cell, dict[int, float]]] = {}
        for run in self.data.counting:
            for name, value in run.values.items():
                found.setdefault(name, {}).setdefault(run.run.cell, {})[run.run.replicate] = value
        return found


_CellPair = tuple[Cell, Cell]
"""The cell of the reference, and that of the subject."""

Levels = frozenset[tuple[str, Any]]
"""The levels of a printed value."""

_Values = tuple[list[float | None], list[float | None]]


def _sets(tested: Tested, measured: Iterable[Cell]) -> Iterator[tuple[_CellPair, ...]]:
    """The pairs of cells that a claim compares; of an interaction, the pair at the larger level comes first."""
    known = set(measured)
    if isinstance(tested, Statement):
        yield from ((pair,) for pair in _cell_pairs(tested, measured, known))
        return
    groups: dict[Cell, dict[Any, _CellPair]] = defaultdict(dict)
    for pair in _cell_pairs(tested.change, measured, known):
        # Cells that differ only in the second factor are one group, with any of its levels.
        group = pair[1].model_copy(update={tested.by: None})
        groups[group][getattr(pair[1], tested.by)] = pair
    for pairs in groups.values():
        first = pairs.pop(tested.larger, None)
        others = [pair for level, pair in pairs.items() if tested.smaller in (None, level)]
        if first is not None and others:
            yield (first, *others)


def _cell_pairs(statement: Statement, measured: Iterable[Cell], known: set[Cell]) -> Iterator[_CellPair]:
    for cell in measured:
        pair = statement.pair_of(cell.model_dump())
        if pair is not None and (reference := Cell.model_validate(pair)) in known:
            yield reference, cell


def _by_round(values: Mapping[Cell, Mapping[int, float]], of_set: Sequence[_CellPair]) -> tuple[_Values, ...]:
    """The values of the pairs of cells of one set, by round."""
    rounds = sorted({one for pair in of_set for cell in pair for one in values[cell]})
    return tuple(
        ([values[a].get(one) for one in rounds], [values[b].get(one) for one in rounds]) for a, b in of_set
    )


def _tested(tested: Tested, sets: Sequence[Sequence[_Values]], *, relative: bool) -> tuple[MatchedMean, bool]:
    """The mean change of a claim. The second value says whether it is the logarithm of a ratio.

    With `relative` it is, unless a value has no logarithm or the claim is about absolute costs.
    """
    if isinstance(tested, Statement):
        pairs = [pair for (pair,) in sets]
        if relative and (ratio := matched_ratio(pairs)).reason is None:
            return ratio.log, True
        return matched_difference(pairs), False
    costs = [(_signed(tested, first), [_signed(tested, each) for each in rest]) for first, *rest in sets]
    if relative and not tested.absolute and (of_costs := interaction_ratio(costs)).reason is None:
        return of_costs.log, True
    return interaction_difference(costs), False


def _signed(contrast: Contrast, pair: _Values) -> _Values:
    """The values in the order in which a cost is a rise."""
    return pair if contrast.sign > 0 else (pair[1], pair[0])


def _published(points: Iterable[Point], tested: Tested, *, in_percent: bool) -> float | None:
    """The mean change between the printed values of the paper that belong to the claim."""
    values: dict[Levels, float] = {}
    to_open: dict[Levels, float] = {}  # as multiples of the open network
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


def _key(levels: Mapping[str, Any]) -> Levels:
    return frozenset(levels.items())


def _change_of(values: Mapping[Levels, float], tested: Tested, *, in_percent: bool) -> float | None:
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
    values: Mapping[Levels, float], statement: Statement
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


def _shown(one: Judged, value: float | None) -> str:
    if value is None or one.in_percent:
        return text.signed_percent(value, 1)
    metric: Metric = one.statement.metric
    return f"{text.number(value, metric.decimals, sign=True)} {metric.change_unit}"


def _interval(one: Judged) -> str:
    if one.in_percent:
        return text.percent_interval(one.interval)
    return text.interval(one.interval, one.statement.metric.decimals, sign=True)
