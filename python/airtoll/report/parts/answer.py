"""The top of a report: at most three sentences that answer the study, and the ranges of all changes.

A change is the mean over all flows of a transport protocol, from the baseline to another security level. Its flows are
the pairs of cells of `airtoll.stats.matched`. The sentences name the largest resolved changes of the study's primary
metric, then the changes that were looked for and not found.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.rows import is_resolved, scaled
from airtoll.stats import (
    METRICS,
    Interval,
    Metric,
    PairedRow,
    aligned,
    holm,
    is_significant,
    matched_difference,
    matched_ratio,
    span,
)
from airtoll.stats.ratio import percent_interval
from airtoll.study.cell import Cell

MAX_SENTENCES: Final = 3

_MULTIPLE_PERCENT: Final = 100.0
"""From this change on, a factor reads better than a percentage."""


@dataclass(frozen=True)
class Amount:
    """A change in percent, or in the metric's display unit, with its 95 % interval."""

    value: float
    interval: Interval | None
    unit: str
    decimals: int = 2

    def words(self) -> str:
        """The size without its sign: "1.03 % [1.02, 1.04]", or "5.86 [3.55, 9.66]" for a multiple."""
        low_high = self.interval
        if self.is_multiple:
            ratio = text.number(1 + self.value / 100, 2)
            ends = low_high and Interval(1 + low_high.low / 100, 1 + low_high.high / 100)
            return text.joined(ratio, text.interval(ends, 2))
        if self.value < 0 and low_high is not None:
            low_high = Interval(-low_high.high, -low_high.low)
        if self.unit == "%":
            shown = text.percent(abs(self.value), sign=False)
            return text.joined(shown, "%", text.percent_interval(low_high, sign=False))
        shown = text.number(abs(self.value), self.decimals)
        return text.joined(shown, self.unit, text.interval(low_high, self.decimals))

    @property
    def is_multiple(self) -> bool:
        """Whether the change is shown as a factor."""
        return self.unit == "%" and self.value >= _MULTIPLE_PERCENT

    @property
    def limit(self) -> float | None:
        """The largest change that the interval does not exclude."""
        return None if self.interval is None else max(abs(self.interval.low), abs(self.interval.high))


@dataclass(frozen=True)
class SummaryChange:
    """The mean change of a metric from the baseline to a level, over the flows of one transport protocol."""

    metric: Metric
    level: str
    transport: str
    rows: tuple[PairedRow, ...]  # one per flow
    mean: Amount
    p: float | None
    p_holm: float | None = None  # `p`, corrected for all changes of the metric

    @property
    def is_resolved(self) -> bool:
        """Whether the mean change is significant."""
        return is_significant(self.p_holm, self.mean.interval)

    @property
    def is_partial(self) -> bool:
        """Whether the change of at least one flow is significant, but not the mean change."""
        return self.mean.interval is not None and not self.is_resolved and any(map(is_resolved, self.rows))

    @property
    def is_absent(self) -> bool:
        """Whether neither the mean change nor that of a single flow is significant."""
        return self.mean.interval is not None and not self.is_resolved and not self.is_partial

    @property
    def largest(self) -> tuple[PairedRow, Amount] | None:
        """The flow with the largest change in the direction of the mean, if it is resolved and not the only flow."""
        amounts = [(row, _amount_of(row, self.metric, self.mean.unit)) for row in self.rows]
        found = [
            (row, amount)
            for row, amount in amounts
            if amount is not None
            and amount.interval is not None
            and not amount.interval.contains(0)
            and amount.value * self.mean.value > 0
        ]
        if len(self.rows) < 2 or not found:
            return None
        return max(found, key=lambda one: abs(one[1].value))


@dataclass(frozen=True)
class Findings:
    """The content at the top of a report: at most `MAX_SENTENCES` sentences."""

    headline: str
    others: tuple[str, ...] = ()


def find(data: ReportData) -> Findings:
    """The findings of a result in the primary metric of its study."""
    if not data.counting:
        return Findings(_nothing_counts(data))
    if len(data.comparison.levels) < 2:
        return Findings(_single_level(data))
    metric = data.primary
    changes = _changes(data, metric)
    modes = _two_modes(data, metric)
    if not changes and modes:
        return Findings(modes)
    if not changes:
        return Findings(
            f"No block has a pair of valid runs with {text.within(metric.title)}, so security levels cannot be "
            "compared."
        )
    resolved = sorted((c for c in changes if c.is_resolved), key=lambda c: -abs(c.mean.value))
    unknown = [change for change in changes if change.mean.interval is None]
    absent = _absent(data, changes) or _absent_elsewhere(data)
    told = [_told(data, same) for same in _alike(resolved or unknown)]
    told += [_told_in_part(data, change) for change in changes if change.is_partial]
    last = [sentence for sentence in (modes, absent) if sentence]
    sentences = [*told[: MAX_SENTENCES - len(last)], *last]
    if not sentences:
        sentences = [f"All values of {text.within(metric.title)} are equal at every security level."]
    return Findings(sentences[0], tuple(sentences[1:]))


def ranges(data: ReportData) -> Grid:
    """The range of each main metric's change over all flows: one row per level, one column per metric."""
    metrics = [metric for metric in data.ranked_metrics if metric.main]
    rows = []
    for level in data.comparison.levels[1:]:
        pairs = [pair for pair in data.comparison.pairs if pair.cell.security == level and pair.difference.n]
        of_metric = ([pair for pair in pairs if pair.metric == metric.name] for metric in metrics)
        rows.append(
            (
                text.levels(data.same_as(level)),
                *(_range(m, of) for m, of in zip(metrics, of_metric, strict=True)),
            )
        )
    shown = [at for at in range(1, len(metrics) + 1) if any(row[at] != text.MISSING for row in rows)]
    baseline = text.level(data.comparison.baseline or "")
    return Grid(
        "ranges",
        "Ranges of the changes",
        f"Smallest and largest mean change against {baseline} over all flows; points are percentage points. Resolved: "
        "flows whose 95 % confidence interval excludes 0.",
        ("Security", *(metrics[at - 1].short for at in shown)),
        tuple((row[0], *(row[at] for at in shown)) for row in rows) if shown else (),
        words=1 + len(shown),
    )


def _changes(data: ReportData, metric: Metric) -> list[SummaryChange]:
    """The mean changes of the metric. Throughput that only follows the offered load is left out if there is other.

    A flow whose values have two modes is left out: its mean is the value of no run.
    """
    modes = set(_with_two_modes(data, metric))
    pairs = [
        pair
        for pair in data.comparison.pairs
        if pair.metric == metric.name and pair.difference.n and modes.isdisjoint({pair.cell, pair.baseline})
    ]
    if metric.name == "throughput":
        pairs = [pair for pair in pairs if data.is_saturated(pair)] or pairs
    groups: dict[tuple[str, str], list[PairedRow]] = defaultdict(list)
    for pair in pairs:
        groups[pair.cell.security, pair.cell.transport].append(pair)
    changes = [_mean_change(data, metric, *key, rows) for key, rows in groups.items()]
    corrected = holm([change.p for change in changes])
    return [replace(change, p_holm=p) for change, p in zip(changes, corrected, strict=True)]


def _with_two_modes(data: ReportData, metric: Metric) -> list[Cell]:
    """The cells whose values of the metric have two modes, in the order of cells."""
    found = (each for each in data.comparison.cells if each.metric == metric.name)
    return [each.cell for each in found if any(one.kind == "two modes" for one in each.instabilities)]


def _two_modes(data: ReportData, metric: Metric) -> str:
    """A sentence about the cells whose values of the metric have two modes; empty without such cells."""
    cells = _with_two_modes(data, metric)
    if not cells:
        return ""
    first = f"{data.flow(cells[0])} with {text.level(cells[0].security)}"
    more = f" and {text.counted(len(cells) - 1, 'other cell')}" if len(cells) > 1 else ""
    return f"{metric.title} of {first}{more} has two modes, so its mean is no finding: see the section on stability."


def _mean_change(
    data: ReportData, metric: Metric, level: str, transport: str, rows: Sequence[PairedRow]
) -> SummaryChange:
    values = data.by_round[metric.name]
    sets = aligned((values.get(row.baseline, {}), values.get(row.cell, {})) for row in rows)
    ratio = matched_ratio(sets, in_sessions=data.in_sessions)
    if metric.relative and ratio.percent is not None:
        amount = Amount(ratio.percent, ratio.percent_ci95_t, "%")
        return SummaryChange(metric, level, transport, tuple(rows), amount, ratio.log.p)
    difference = matched_difference(sets, in_sessions=data.in_sessions)
    mean = metric.display(difference.mean or 0.0)
    amount = Amount(mean, scaled(difference.ci95_t, metric), metric.change_unit, metric.decimals)
    return SummaryChange(metric, level, transport, tuple(rows), amount, difference.p)


def _amount_of(row: PairedRow, metric: Metric, unit: str) -> Amount | None:
    """The change of one flow in that unit; None if it has none."""
    if unit == "%":
        percent = row.ratio.percent
        return None if percent is None else Amount(percent, percent_interval(row.ratio.ci95_t), unit)
    if (mean := row.difference.mean) is None:
        return None
    return Amount(metric.display(mean), scaled(row.difference.ci95_t, metric), unit, metric.decimals)


def _alike(changes: Iterable[SummaryChange]) -> list[list[SummaryChange]]:
    """The changes, with those of the same transport and the same size together."""
    groups: dict[tuple[str, str, bool], list[SummaryChange]] = defaultdict(list)
    for change in changes:
        groups[change.transport, change.mean.words(), change.mean.value > 0].append(change)
    return list(groups.values())


def _told(data: ReportData, same: Sequence[SummaryChange]) -> str:
    """A sentence about changes of the same size."""
    change = same[0]
    mean, levels = change.mean, [level for one in same for level in data.same_as(one.level)]
    several = len(levels) > 1
    what = _what(data, change.metric, [change.transport])
    who = f"{text.levels(levels)} each" if several else text.levels(levels)
    where = _in_brackets(data, change.rows[0])
    if len(change.rows) > 1:
        where = f" on average over {len(change.rows)} flows"
    largest = change.largest
    if (
        largest is not None
        and largest[1].is_multiple == mean.is_multiple
        and largest[1].words() != mean.words()
    ):
        where += f", at most {largest[1].words()}{_in_brackets(data, largest[0])}"
    if mean.interval is None:
        verb = "change" if several else "changes"
        amount = f"{'+' if mean.value > 0 else text.MINUS}{mean.words()}"
        return f"{who} {verb} {what} by {amount}{where}; a single pair of runs has no interval."
    return f"{who} {_effect(change.metric, mean, what, several=several)}{where}."


def _told_in_part(data: ReportData, change: SummaryChange) -> str:
    """A sentence about the largest significant change of a single flow, where the mean change is not significant."""
    found = [
        (row, amount)
        for row in change.rows
        if is_resolved(row)
        and (amount := _amount_of(row, change.metric, change.mean.unit)) is not None
        and amount.interval is not None
    ]
    row, amount = max(found, key=lambda one: abs(one[1].value))
    levels = data.same_as(change.level)
    what = _what(data, change.metric, [change.transport])
    effect = _effect(change.metric, amount, what, several=len(levels) > 1)
    flows = text.counted(len(change.rows), "flow")
    return f"{text.levels(levels)} {effect}{_in_brackets(data, row)}, but not on average over {flows}."


def _effect(metric: Metric, amount: Amount, what: str, *, several: bool) -> str:
    """The change as a verb and its object, such as "costs 1.03 % [1.02, 1.04] of UDP throughput"."""
    if metric.name == "throughput" and amount.value < 0:
        return f"{'cost' if several else 'costs'} {amount.words()} of {what}"
    one, many = ("multiplies", "multiply") if amount.is_multiple else _VERBS[amount.value > 0]
    return f"{many if several else one} {what} by {amount.words()}"


_VERBS: Final = {True: ("raises", "raise"), False: ("lowers", "lower")}


def _in_brackets(data: ReportData, row: PairedRow) -> str:
    """The flow without its transport protocol, by the factors that vary; empty if no factor varies."""
    naming = [name for name in text.IN_FLOW if name not in data.fixed and name != "transport"]
    name = text.flow(row.cell, data.varying, naming)
    return f" ({name})" if name else ""


def _what(data: ReportData, metric: Metric, transports: Sequence[str]) -> str:
    """The metric, with the transport protocols unless they are all of the study."""
    title = text.within(metric.title)
    if set(transports) == {run.run.cell.transport for run in data.runs}:
        return title
    return f"{text.listing(text.factor('transport', name) for name in transports)} {title}"


def _absent(data: ReportData, changes: Sequence[SummaryChange]) -> str:
    """A sentence about the levels without a change of the primary metric; empty if each level has one."""
    absent = [change for change in changes if change.is_absent]
    if not (limit := _limit(absent)):
        return ""
    of_level: dict[str, list[str]] = defaultdict(list)
    for change in absent:
        of_level[change.level].append(change.transport)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for level, transports in of_level.items():
        groups[tuple(transports)] += data.same_as(level)
    clauses: list[str] = []
    for of_levels, levels in groups.items():
        what = _what(data, changes[0].metric, of_levels)
        have = "have" if len(levels) > 1 else "has"
        effect = "none" if clauses else "no measurable effect"
        clauses.append(f"{text.levels(levels)} {have} {effect} on {what}")
    return f"{text.listing(clauses)}; an effect above {limit} would have been seen."


def _absent_elsewhere(data: ReportData) -> str:
    """A sentence about the other main metrics that no level changes; empty if levels change all of them."""
    parts: list[str] = []
    for metric in data.metrics:
        changes = _changes(data, metric) if metric.main and metric != data.primary else []
        if all(change.is_absent for change in changes) and (limit := _limit(changes)):
            seen = limit if parts else f"an effect above {limit} would have been seen"
            parts.append(f"{text.within(metric.title)} ({seen})")
    if not parts:
        return ""
    levels = [level for shown in data.comparison.levels[1:] for level in data.same_as(shown)]
    who = f"{text.levels(levels)} has" if len(levels) == 1 else "No level has"
    effect = "no measurable effect" if len(levels) == 1 else "a measurable effect"
    return f"{who} {effect} on {text.listing(parts, 'or')}."


def _limit(changes: Iterable[SummaryChange]) -> str:
    """The largest change that no interval excludes, with two significant digits; empty if all intervals are 0."""
    largest: dict[str, float] = {}
    for change in changes:
        if change.mean.limit:
            largest[change.mean.unit] = max(largest.get(change.mean.unit, 0.0), change.mean.limit)
    shown = (f"{most:.2g} {unit}" if most < 100 else f"{most:.0f} {unit}" for unit, most in largest.items())
    return " or ".join(shown)


def _range(metric: Metric, rows: Sequence[PairedRow]) -> str:
    """The range of a metric's change: in percent if every flow has a ratio, otherwise in the metric's unit."""
    percent = metric.relative and all(row.ratio.percent is not None for row in rows)
    found = span(
        (row.ratio.percent, row.ratio.percent_ci95_t)
        if percent
        else (row.difference.mean, row.difference.ci95_t)
        for row in rows
    )
    if found is None:
        return text.MISSING
    decimals = min(metric.decimals, 2) if metric.display_unit == "%" else metric.decimals
    low, high = (
        text.percent(end, 1) if percent else text.number(metric.display(end), decimals, sign=True)
        for end in (found.low, found.high)
    )
    change = (
        f"{low} {'%' if percent else metric.change_unit}"
        if low == high
        else (f"{low} to {high} {'%' if percent else metric.change_unit}")
    )
    if found.resolved in (0, found.n):
        return f"{change}, {'resolved' if found.resolved else 'not resolved'}"
    return f"{change}, {found.resolved} of {found.n} resolved"


def _single_level(data: ReportData) -> str:
    level = text.level(data.comparison.levels[0])
    found = [c for c in data.comparison.cells if c.metric == "throughput" and c.summary.mean is not None]
    tail = "There is no other security level to compare it with."
    if not found:
        return f"{level} is the only security level. {tail}"
    largest = max(found, key=lambda c: (c.cell.transport == "udp", c.cell.packet_size))
    metric, ci = METRICS["throughput"], largest.summary.ci95_t
    assert largest.summary.mean is not None
    mean = text.number(metric.display(largest.summary.mean), metric.decimals)
    amount = text.joined(mean, metric.display_unit, text.interval(scaled(ci, metric), metric.decimals))
    return f"With {level}, {data.flow(largest.cell)} carries {amount}. {tail}"


def _nothing_counts(data: ReportData) -> str:
    if not data.runs:
        return "The plan has no runs."
    if all(run.record is None for run in data.runs):
        return f"None of {text.counted(len(data.runs), 'planned run')} is finished: there is nothing to report yet."
    return f"No run is counted, so there are no figures: {text.reasons(data.comparison.left_out)}."
