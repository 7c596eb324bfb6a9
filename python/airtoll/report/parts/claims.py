"""The claims of a paper and of a study beside the same comparison in this result, with a verdict on each.

`airtoll.stats.matched` tests each claim over every pair of cells that have its conditions and are otherwise equal. The
family of Holm's correction consists of all claims of the table. The verdict follows in three steps:

1. The mean change over all pairs has an `ChangeOutcome`: as claimed, otherwise, no relevant difference, or open.
2. The outcome counts only if its parts share it (`Judged.is_shared`); else the verdict is "mixed".
3. A confirmed change has the size that the claim or the paper states; else the verdict is "other size".
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import fmean
from typing import Any, Final, Literal, get_args

from airtoll.published import Point, Publication, implied_points
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Part, Section, of_grids
from airtoll.report.parts.matching import ByRound, Change, MeanChange, change_of
from airtoll.report.parts.publications import is_of_paper
from airtoll.report.parts.statements import (
    Contrast,
    Ends,
    Source,
    Statement,
    Tested,
    is_average,
    of_publication,
    of_study,
)
from airtoll.stats import Interval, fixed_factors, holm
from airtoll.study.cell import Cell
from airtoll.study.claims import EQUAL_PERCENT, ORDERED, RELEVANT_PERCENT
from airtoll.study.factors import level_order

NOT_MEASURED: Final = "not measured"
UNTESTABLE: Final = "cannot be tested here"
ClaimResult = Literal[
    "confirmed",
    "other size",
    "mixed",
    "no relevant difference",
    "not confirmed",
    "opposite",
    "cannot be tested here",
    "not measured",
]
"""The verdict of a result on a claim; `docs/explanation/statistics.md` defines each."""

ChangeOutcome = Literal["claimed", "otherwise", "irrelevant", "open"]
"""The meaning of a change for a claim. open: the change is not resolved. A claim of equality has no irrelevant changes:
a change within its limit is the claimed one."""

CONTRADICTED: Final[tuple[ClaimResult, ...]] = ("opposite", "mixed", "other size")
"""The verdicts on claims that a result contradicts in direction or size, or under some conditions."""

LEADING: Final = 10
"""A report shows at most this many claims; the others are folded."""

SIZE_FACTOR: Final = 2.0
"""A change has another size than the published one if it is more than this many times larger or smaller."""


@dataclass(frozen=True)
class Judged:
    """A claim with its size in the paper, in the model and in this result, in percent or in display units."""

    statement: Tested
    sources: tuple[Source, ...]
    published: float | None
    model: float | None  # in lab sim, whose results are the model's, the change of this result
    measured: Change
    limit: float  # smaller changes count as equal, in the unit of `measured`
    times_printed: float | None = (
        None  # the measured values divided by the paper's values in the same conditions
    )
    p_holm: float | None = None  # of `measured`, corrected for all claims

    @property
    def places(self) -> tuple[str, ...]:
        """The places in the paper, or the title of a claim of the study."""
        return tuple(dict.fromkeys(source.place for source in self.sources))

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the claim in the paper or in the study."""
        return tuple(source.id for source in self.sources if source.id is not None)

    @property
    def size_published(self) -> str:
        """The size that the claim states, or that of the paper's values."""
        return self.statement.printed or self.measured.shown(self.published)

    @property
    def model_disagrees(self) -> bool:
        """Whether the model's sign differs from the claim's, or its change exceeds the limit of a claim of equality."""
        if self.model is None:
            return False
        if self.statement.direction == "equal":
            return abs(self.model) > self.limit
        return self.model == 0 or (self.model > 0) != (self.statement.direction == "higher")

    @property
    def disagreement(self) -> str:
        """Why the model disagrees, if the data of the paper have a reason."""
        return " ".join(dict.fromkeys(source.disagreement for source in self.sources if source.disagreement))

    @cached_property
    def verdict(self) -> ClaimResult:
        """Whether this result confirms the claim."""
        if self.measured.value is None:
            return UNTESTABLE if self.measured.identical else NOT_MEASURED
        outcome = self._outcome(self.measured, self.p_holm)
        if outcome == "open":
            return "not confirmed"
        if not self._is_shared(outcome):
            return "mixed"
        if outcome == "claimed":
            return "confirmed" if self._has_size() else "other size"
        return "opposite" if outcome == "otherwise" else "no relevant difference"

    @property
    def agreeing(self) -> int:
        """The number of pairs whose own change is the claimed one, significant or not."""
        return sum(self._estimate(pair) == "claimed" for pair in self.measured.pairs)

    @property
    def agreement(self) -> str:
        """The agreeing pairs of all pairs."""
        return f"{self.agreeing} of {self.measured.cells}" if self.measured.cells else text.MISSING

    @property
    def note(self) -> str:
        """The parts that do not share the verdict, or how the size differs from the published one."""
        if self.verdict == "mixed":
            outcome = self._outcome(self.measured, self.p_holm)
            differing = list(self._differing(outcome)) or [
                pair for pair in self.measured.pairs if self._estimate(pair) != outcome
            ]
            shown = [
                text.joined(f"{one.name}:", self.measured.shown(one.value)) for one in differing[:_NAMED]
            ]
            more = len(differing) - len(shown)
            return ", ".join([*shown, *([f"{more} more"] if more else [])])
        if self.verdict == "other size" and (times := self._times_published) is not None:
            return f"{times:.2g} times the published change"
        times = self.times_printed
        if self.verdict not in ("confirmed", "other size") or times is None:
            return ""
        near = 1 / SIZE_FACTOR <= times <= SIZE_FACTOR
        return "" if near else f"the values are {times:.2g} times the published ones"

    @property
    def words(self) -> str:
        """The verdict with its note."""
        return f"{self.verdict} ({self.note})" if self.note else self.verdict

    def _outcome(self, change: MeanChange, p: float | None) -> ChangeOutcome:
        """The outcome of a change with this corrected p-value."""
        ci = change.interval
        if change.value is None or ci is None:
            return "open"
        small = -self.limit <= ci.low and ci.high <= self.limit
        if small and self.statement.direction == "equal":
            return "claimed"
        if change.resolved(p) and (abs(change.value) >= self.limit or self.statement.direction != "equal"):
            return self._estimate(change)
        return "irrelevant" if small else "open"

    def _estimate(self, change: MeanChange) -> ChangeOutcome:
        """The outcome of a change if its value is exact."""
        value, direction = change.value or 0.0, self.statement.direction
        if direction == "equal":
            return "claimed" if abs(value) <= self.limit else "otherwise"
        if abs(value) < self.limit or value == 0:
            return "irrelevant"
        return "claimed" if (value > 0) == (direction == "higher") else "otherwise"

    def _is_shared(self, outcome: ChangeOutcome) -> bool:
        """Whether the parts of the mean change share its outcome.

        Most pairs have that outcome, no pair has another one that is significant, and each transport, IP version and
        PHY has it. A significant change below the limit decides nothing about a single pair.
        """
        pairs = self.measured.pairs
        most = 2 * sum(self._estimate(pair) == outcome for pair in pairs) > len(pairs)
        return most and not any(True for _ in self._differing(outcome))

    def _differing(self, outcome: ChangeOutcome) -> Iterator[MeanChange]:
        """The groups with another outcome than the mean, and the pairs with a significant other outcome."""
        yield from (group for group in self.measured.groups if self._estimate(group) != outcome)
        corrected = holm([pair.p for pair in self.measured.pairs])
        for pair, p in zip(self.measured.pairs, corrected, strict=True):
            if self._outcome(pair, p) in _CONTRARY[outcome]:
                yield pair

    def _has_size(self) -> bool:
        """Whether the interval contains a size that the claim states, or else one near the published size."""
        ci, size = self.measured.interval, self.statement.size
        if size is None and self._times_published is not None:
            published = abs(self.published or 0.0)
            size = Interval(published / SIZE_FACTOR, published * SIZE_FACTOR)
        if ci is None or size is None:
            return True
        low, high = (ci.low, ci.high) if self.statement.direction == "higher" else (-ci.high, -ci.low)
        return low <= size.high and high >= size.low

    @property
    def _times_published(self) -> float | None:
        """The change divided by the published one; None if no size was published, or if the claim states one."""
        if self.statement.size or self.statement.direction == "equal" or not self.published:
            return None
        times = (self.measured.value or 0.0) / self.published
        return times if times > 0 else None


_NAMED: Final = 3  # parts that a note names

_CONTRARY: Final[Mapping[ChangeOutcome, tuple[ChangeOutcome, ...]]] = {
    "claimed": ("otherwise",),
    "otherwise": ("claimed",),
    "irrelevant": ("claimed", "otherwise"),
}
"""The outcomes of a pair that contradict an outcome of the mean."""


@dataclass(frozen=True)
class Claims:
    """All claims of a paper and of a study's own tables that compare measurements, judged by a result."""

    data: ReportData
    publication: Publication | None = None
    with_model: bool = True  # whether to predict the changes, which takes simulations

    @staticmethod
    @lru_cache(maxsize=1)
    def of(data: ReportData, *, with_model: bool = True) -> "Claims":
        """The claims of the study and of the paper that it repeats."""
        return Claims(data, data.publication, with_model=with_model)

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """The study's claims, then those of the paper, in their order; claims that were not measured are last."""
        sources: dict[Tested, list[Source]] = defaultdict(list)  # a paper repeats its claims
        fixed = tuple(fixed_factors(run.run.cell for run in self.data.runs).items())
        for source, statement in self._stated():
            sources[statement.within(fixed)].append(source)
        found = [self._judged(statement, tuple(of)) for statement, of in sources.items()]
        corrected = holm([one.measured.p for one in found])
        judged = [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]
        return tuple(sorted(judged, key=lambda one: one.verdict == NOT_MEASURED))

    def _stated(self) -> Iterator[tuple[Source, Tested]]:
        yield from of_study(self.data.plan.claims, self._ends)
        if self.publication is not None:
            yield from of_publication(self.publication, self._ends)

    def count(self, verdict: ClaimResult) -> int:
        """The number of claims with this verdict."""
        return sum(one.verdict == verdict for one in self.judged)

    def grid(self) -> Grid:
        """The table of all claims; it has no rows if nothing is claimed."""
        return self._grid("claims", self._title, f"{self._counts(self.judged)}. {self._terms}", self.judged)

    def leading_grid(self) -> Grid:
        """The table of the `leading` claims."""
        further = self.further
        which = (
            f"The table has {len(self.leading)} of them: those of the study, then those that the result contradicts, "
            "then those about security, with the primary metric first. Claims that were not measured or cannot be "
            "tested are last."
        )
        note = f"{self._counts(self.judged)}. {which if further else self._terms}"
        return self._grid("claims", self._title, note, self.leading)

    def further_grid(self) -> Grid:
        """The table of the other claims."""
        title = self._counts(self.further, "further claim")
        return self._grid("further-claims", title, self._terms, self.further)

    @cached_property
    def leading(self) -> tuple[Judged, ...]:
        """At most `LEADING` claims: the first of all claims in the order of their importance."""
        return tuple(sorted(self.judged, key=self._rank)[:LEADING])

    @property
    def further(self) -> tuple[Judged, ...]:
        """The claims that are not `leading`, in the order of `judged`."""
        leading = {id(one) for one in self.leading}
        return tuple(one for one in self.judged if id(one) not in leading)

    def _rank(self, one: Judged) -> tuple[bool, ...]:
        metric = one.statement.metric
        return (
            one.verdict in (NOT_MEASURED, UNTESTABLE),
            not any(source.of_study for source in one.sources),
            one.verdict not in CONTRADICTED,
            not one.statement.compares("security"),
            metric != self.data.primary,
            not metric.main,
            one.verdict in ("not confirmed", "no relevant difference"),
        )

    @property
    def _title(self) -> str:
        origins = [
            *(("of the paper",) if self.publication is not None else ()),
            *(("of the study",) if self.data.plan.claims else ()),
        ]
        return f"Claims {text.listing(origins)}, and the verdicts of this result"

    def _counts(self, judged: Sequence[Judged], noun: str = "claim") -> str:
        """The number of claims, and of each verdict."""
        counts = Counter(one.verdict for one in judged)
        verdicts: tuple[ClaimResult, ...] = get_args(ClaimResult)
        listed = text.listing(f"{counts[verdict]} {verdict}" for verdict in verdicts if counts[verdict])
        return f"{text.counted(len(judged), noun)}: {listed}"

    @property
    def _terms(self) -> str:
        """The meaning of the columns and of the verdicts."""
        contrasts = any(isinstance(one.statement, Contrast) for one in self.judged)
        return (
            "A change is the mean over all pairs of cells that "
            "differ only in the compared levels, with its 95 % interval; p is corrected for all claims of the table "
            "(Holm). Pairs: how many of them have the claimed direction and a relevant size. Confirmed and opposite: "
            "the change is significant at 5 %, or exact (all runs give the same change), it is at least "
            f"{RELEVANT_PERCENT:g} % or the threshold of the claim, and its parts share it: most pairs, every pair "
            "whose change is significant, and each transport, IP version and PHY. Not confirmed: the change is not "
            "significant after the correction, or the interval of a claim of equality exceeds its limit. A claim of "
            f"equality is confirmed if the interval is within {EQUAL_PERCENT:g} % or the limit that the claim states, "
            "and its parts share that."
            + (_OF_CONTRASTS if contrasts else "")
            + "".join(sentence for verdict, sentence in _TERMS.items() if self.count(verdict))
        )

    def _grid(self, name: str, title: str, note: str, judged: Sequence[Judged]) -> Grid:
        modelled = not self.data.is_simulated and any(one.model is not None for one in self.judged)
        columns: dict[str, Callable[[Judged], str]] = {
            "Claim": lambda one: one.statement.words(self.data.fixed),
            "Place": lambda one: "; ".join(one.places),
            "Verdict": lambda one: one.words,
            "Claimed" if self.publication is None else "Published": lambda one: one.size_published,
            **({"Model": lambda one: one.measured.shown(one.model)} if modelled else {}),
            "This result": lambda one: one.measured.words(),
            "Pairs": lambda one: one.agreement,
            "p": lambda one: text.p_value(one.p_holm, one.measured.interval),
        }
        return Grid.of(name, title, note, judged, columns, words=3)

    def disagreements(self) -> Grid:
        """The claims about security whose sign the model does not predict, with the reason."""
        disagreeing = [one for one in self.of_security if one.model_disagrees]
        return Grid.of(
            "disagreements",
            "Claims about security that the model contradicts",
            f"The model predicts the claimed sign for {len(self.of_security) - len(disagreeing)} of "
            f"{text.counted(len(self.of_security), 'claim')} about security. For a claim of equality, the predicted "
            "change must be within the claim's limit.",
            disagreeing,
            {
                "Claim": lambda one: one.statement.words(self.data.fixed),
                "Why the model differs": self._reason,
                "Published": lambda one: one.size_published,
                "Model": lambda one: one.measured.shown(one.model),
            },
            words=2,
        )

    @property
    def of_security(self) -> tuple[Judged, ...]:
        """The claims about levels of security for which the model predicts a change."""
        return tuple(
            one for one in self.judged if one.model is not None and one.statement.compares("security")
        )

    def _reason(self, one: Judged) -> str:
        interval, model = one.measured.interval, one.model
        if one.disagreement or interval is None or model is None:
            return one.disagreement or text.MISSING
        if interval.contains(0) and interval.contains(model):
            return "The change is smaller than the scatter of the runs."
        return text.MISSING

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

    def _judged(self, tested: Tested, sources: tuple[Source, ...]) -> Judged:
        by_cell = self.data.by_round.get(tested.metric.name, {})
        values = {
            cell: each
            for cell, each in by_cell.items()
            if tested.names("crypto_at") or is_of_paper(self.data, cell, tested.metric.name)
        }
        in_sessions = self.data.in_sessions
        measured = change_of(
            tested,
            values,
            relative=tested.metric.relative,
            in_sessions=in_sessions,
            identical=self.data.identical,
        )
        model = measured if self.data.is_simulated else self._predicted(tested, values, measured)
        return Judged(
            tested,
            sources,
            published=_published(self._points, tested, in_percent=measured.in_percent),
            model=model.value if model.in_percent == measured.in_percent else None,
            measured=measured,
            limit=_limit(tested, values, in_percent=measured.in_percent),
            times_printed=_times_printed(self._points, tested, values),
        )

    def _predicted(self, tested: Tested, measured_in: Iterable[Cell], measured: Change) -> Change:
        """The change that the model predicts for the measured cells; no change without the model."""
        predicted = self.data.expected if self.with_model else {}
        expected = {cell: predicted.get((cell, tested.metric.name)) for cell in measured_in}
        values = {cell: {0: each.value} for cell, each in expected.items() if each is not None}
        in_sessions = self.data.in_sessions
        return change_of(tested, values, relative=measured.in_percent, in_sessions=in_sessions)


_OF_CONTRASTS: Final = (
    " A claim about a cost at two levels: by how much the cost, as a ratio, is larger at the first one."
)

_TERMS: Final[Mapping[ClaimResult, str]] = {
    "other size": " Other size: the direction is confirmed, but the interval contains no size that the claim states, "
    f"or none within a factor of {SIZE_FACTOR:g} of the published change.",
    "mixed": " Mixed: the change is significant, but not all of its parts share it; the parts follow in parentheses.",
    "no relevant difference": " No relevant difference: the change is below the threshold, significant or not.",
    UNTESTABLE: " Cannot be tested here: this lab gives the compared levels the same scenario, so that they are equal "
    "by construction.",
    NOT_MEASURED: " Not measured: this result lacks a level or the metric of the claim.",
}
"""The meaning of the verdicts that not every table has."""


def _limit(tested: Tested, values: ByRound, *, in_percent: bool) -> float:
    """The limit of equality or of relevance in the unit of the change; of a difference, a share of the mean value."""
    metric = tested.metric
    limit = tested.equal_percent if tested.direction == "equal" else tested.relevant_percent
    if in_percent or not metric.relative:
        return limit
    compared = [value for by_round in values.values() for value in by_round.values()]
    return abs(metric.display(fmean(compared))) * limit / 100 if compared else limit


def _times_printed(points: Iterable[Point], tested: Tested, values: ByRound) -> float | None:
    """The geometric mean of the measured values divided by the printed ones that the claim compares.

    None without such a pair of values, for metrics in percentage points, and for a value that is not above 0.
    """
    statement = tested if isinstance(tested, Statement) else tested.change
    if not tested.metric.relative:
        return None
    ratios = []
    for point in points:
        if point.metric != tested.metric.name or point.change is not None:
            continue
        if statement.pair_of(point.condition.given()) is None:
            continue
        printed = float(point.standard_value) / tested.metric.scale
        measured = [
            fmean(by_round.values())
            for cell, by_round in values.items()
            if by_round and point.condition.agrees(cell.model_dump()) and statement.pair_of(cell.model_dump())
        ]
        if measured and min(printed, *measured) > 0:
            ratios.append(math.log(fmean(measured) / printed))
    return math.exp(fmean(ratios)) if ratios else None


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


def _leading(data: ReportData) -> Iterator[Section]:
    if (grid := Claims.of(data).leading_grid()).rows:
        yield Section("claims", "", (grid,), heading=grid.title)


def _others(data: ReportData) -> Iterator[Section]:
    claims = Claims.of(data)
    yield from of_grids("claims", [claims.further_grid()], folded=True, anchor="further-claims")
    if (grid := claims.disagreements()).rows:
        title = f"{grid.title} ({len(grid.rows)})"
        yield Section("claims", title, (grid,), folded=True, anchor="disagreements")


def _every(data: ReportData) -> Iterator[Section]:
    yield from of_grids("claims", [Claims.of(data).grid()])


SECTIONS: Final = (
    Part(20, _leading),
    Part(21, _others, ("html",)),
    Part(35, _every, ("latex",)),
    Part(68, _others, ("markdown",)),  # which folds nothing
)
