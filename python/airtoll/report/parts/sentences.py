"""The sentences of a report: the findings, with their values and intervals, and the method."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.rows import is_resolved, scaled
from airtoll.report.parts import round_trips
from airtoll.stats import METRICS, Interval, Metric, PairedRow, span
from airtoll.study.cell import Method
from airtoll.study.probes import PROBES

_TRANSPORTS = ("udp", "tcp")  # UDP first: it shows the link's capacity, TCP also its own control loop


@dataclass(frozen=True)
class Findings:
    """The content at the top of a report."""

    headline: str
    others: tuple[str, ...]  # the headline's sentence for other transports and levels
    reaches: tuple["Reach", ...]  # the range of each metric's change over all flows

    def by_metric(self) -> dict[str, dict[str, "Reach"]]:
        """The reaches by the metric's short title and then by level."""
        found: dict[str, dict[str, Reach]] = {}
        for reach in self.reaches:
            found.setdefault(reach.metric.short, {})[reach.level] = reach
        return found


@dataclass(frozen=True)
class Reach:
    """The range of one metric's change over all flows."""

    metric: Metric
    level: str
    change: str
    n: int  # number of flows
    resolved: int  # flows whose interval excludes 0
    by_holm: int  # flows significant after Holm's correction
    named: bool  # whether to name the level, because there are several

    @property
    def flows(self) -> str:
        """The number of flows, and of flows in which the change is resolved."""
        return f"{text.counted(self.n, 'flow')}, resolved in {self.resolved}; {self.by_holm} by Holm"

    @property
    def what(self) -> str:
        """The metric, and the level if there are several."""
        return f"{self.metric.title}, {self.level}" if self.named else self.metric.title


def find(data: ReportData) -> Findings:
    """The findings of a result.

    The headline is the largest resolved throughput change of the flows with the largest and fastest packets, UDP
    before TCP. If every sender offers less than the link carries, throughput is only the load, and the headline is a
    delay instead.
    """
    comparison = data.comparison
    if not data.counting:
        return Findings(_nothing_counts(data), (), ())
    if len(comparison.levels) < 2:
        return Findings(_single_level(data), (), ())
    metric = _headline_metric(data)
    rows = [row for row in comparison.pairs if row.metric == metric.name and row.ratio.percent is not None]
    alike: dict[tuple[str, str, str], list[PairedRow]] = defaultdict(list)
    for row in _leading(data, rows):
        shown = text.percent(row.ratio.percent), text.percent_interval(row.ratio.percent_ci95_t)
        alike[row.cell.transport, *shown].append(row)
    sentences = [_change(data, metric, *same) for same in alike.values()]
    if not sentences:
        sentences = [
            f"No block has a pair of valid runs that measured {text.within(metric.title)}, so security levels cannot "
            "be compared."
        ]
    return Findings(sentences[0], tuple(sentences[1:]), tuple(_reaches(data)))


def table_note(data: ReportData) -> str:
    """How to read the table."""
    note = "Mean over runs \N{PLUS-MINUS SIGN} half of the 95 % confidence interval (Student's t)."
    if len(data.comparison.levels) > 1:
        baseline = text.level(data.comparison.baseline or "")
        note += f" Differences and changes are means over pairs of runs within blocks, against {baseline}."
    return note


def subject(data: ReportData) -> str:
    """One sentence about the security levels and the flows."""
    if not data.runs:
        return "No runs are planned."
    levels = text.listing(text.level(level) for level in data.comparison.levels)
    fixed = ", ".join(word for name, word in data.fixed.items() if name not in (*text.IN_FLOW, "security"))
    count = len({run.run.cell.model_copy(update={"security": "open"}) for run in data.runs})
    flows = f"{text.counted(count, 'flow')} ({fixed})" if fixed else text.counted(count, "flow")
    return f"Security: {levels}, each on {flows}."


def run_counts(data: ReportData) -> str:
    """The number of runs planned and counted, and the reasons why the others are not counted."""
    left_out = text.reasons(data.comparison.left_out)
    parts = [f"{text.counted(len(data.runs), 'run')} planned, {len(data.counting)} counted"]
    parts += [f"left out: {left_out}"] if left_out else []
    parts += [f"{unneeded} not needed"] if (unneeded := data.counts.get("not needed", 0)) else []
    return f"{'; '.join(parts)}."


def method(data: ReportData) -> list[str]:
    """How the figures were measured and computed, from the plan."""
    lines = [
        *(_imported(data) if data.lab == "imported" else _planned(data)),
        "The run is the unit of replication: each run gives one value per metric, and intervals are over runs. "
        "Intervals and equivalence verdicts apply to each change separately; they are not adjusted for the number of "
        "comparisons. p-values are adjusted by Holm's method over all changes of a metric, which share one figure.",
        "Changes in percent are geometric means of ratios within blocks; their intervals are computed on "
        "logarithms.",
        "Invalid and discarded runs are stored, but no figure includes them.",
    ]
    if data.quick:
        lines.append("The study was shortened by its [quick] table.")
    return lines


def _planned(data: ReportData) -> Iterator[str]:
    """The procedure of a study that airtoll ran."""
    m = data.method
    yield (
        "Each block contains one run of every security level of an otherwise equal cell, in random order, so "
        "that the runs of a pair are close in time."
    )
    yield _replicates(m)
    yield (
        f"Probes, in this order: {text.listing(map(_measured, m.probes))}. Each probe "
        f"measures for {m.duration:g} s after a warm-up of {m.warmup:g} s that is not counted."
    )
    yield from round_trips.tool_sentences(data)
    yield from _loads(data)
    yield from _profiles(data)
    yield from _stacks(data)
    yield f"Seed {m.seed} determines the order of runs."


def _imported(data: ReportData) -> Iterator[str]:
    """The origin of imported runs, whose order and offered load airtoll did not choose."""
    discarded = data.counts["discarded"]
    yield (
        f"{text.counted(len(data.runs), 'test')} recorded by other tools, one per run"
        f"{f', of which {discarded} are discarded as warm-up' if discarded else ''}. The order of the runs, their "
        "warm-up and their load are those of the measurement. The runs of a block are compared with each other."
    )


def _measured(probe: str) -> str:
    """A phrase for the measurements of the probe of that name."""
    return (probe in PROBES and PROBES[probe].measures) or probe


def _replicates(m: Method) -> str:
    kept = f", after {text.counted(m.discard_first, 'discarded replicate')}" if m.discard_first else ""
    if m.stop == "fixed":
        return f"{text.counted(m.repeats, 'replicate')} of each cell{kept}."
    until = (
        f"the {m.confidence:g} % interval of its mean extends at most {m.within:g} % of the mean to each side"
        if m.stop == "precision"
        else f"its last two replicates differ by at most {m.within:g} % of the larger"
    )
    return (
        f"Each cell is measured until {until}, with {m.least_repeats} to {m.repeats} replicates{kept}. The first "
        "metric of the cell decides. All levels of a block continue until each has enough replicates; further runs "
        "are not needed."
    )


def _loads(data: ReportData) -> Iterator[str]:
    """The offered load of UDP, and the meaning of packet size over TCP."""
    cells = {run.run.cell for run in data.runs}
    offered = {cell.offered for cell in cells if cell.transport == "udp"}
    if "max" in offered:
        yield (
            "UDP offers the mean TCP throughput of the same cell, which is measured first."
            if data.method.udp_load == "tcp"
            else "UDP offers 1.25 times the capacity of the open link, the same load for every level of a block."
        )
    if loads := sorted(load for load in offered if load != "max"):
        shown = text.listing(f"{load:g}" for load in loads)
        yield f"Each sender offers {shown} Mbit/s of UDP payload."
    for size in sorted({cell.tcp_size for cell in cells if cell.transport == "tcp"}, reverse=True):
        yield (
            "For TCP, the packet size is the size of one write to the socket; TCP chooses the length of segments."
            if size == "write"
            else "For TCP, the packet size is the payload of a segment (MSS)."
        )


def _profiles(data: ReportData) -> Iterator[str]:
    """The security profiles of the study's own tables, with the keys that [link] and hostapd's rules supply."""
    link, profiles = data.plan.link, data.plan.profiles
    if not profiles:
        return
    each = (
        f"{name}{f' ({profile.title})' if profile.title else ''}: {profile.on(link).words()}"
        for name, profile in profiles.items()
    )
    yield f"Security profiles of the study, in hostapd's words. {'; '.join(each)}."


def _stacks(data: ReportData) -> Iterator[str]:
    """Which operating systems the stack settings imitate, and the limits of that imitation."""
    stacks = data.plan.stacks
    if not stacks:
        return
    systems = "; ".join(f"{name}: {stack.system}" for name, stack in stacks.items())
    yield (
        "Operating systems are imitated by settings of the hosts' TCP/IP stack; other differences between the systems "
        f"are not measured. {systems}."
    )


def verdicts(data: ReportData) -> list[str]:
    """The number of runs by outcome, and every invalid run with its reasons."""
    return [
        run_counts(data),
        *(f"{run.run.id}: {'; '.join(run.outcome.reasons)}" for run in data.runs if run.is_invalid),
    ]


def _headline_metric(data: ReportData) -> Metric:
    limited = all(run.run.cell.offered != "max" for run in data.runs)
    delays = [metric for metric in data.metrics if metric.main and metric.display_unit == "ms"]
    return delays[0] if limited and delays else METRICS["throughput"]


def _leading(data: ReportData, rows: Iterable[PairedRow]) -> list[PairedRow]:
    """Per transport and level, the flow with the largest packets, IPv4 before IPv6, then the highest throughput.

    Resolved changes come first, the largest before the others.
    """
    throughput = data.means("throughput")
    best: dict[tuple[str, str], tuple[tuple[float, bool, float], PairedRow]] = {}
    for row in rows:
        key = row.cell.transport, row.cell.security
        size = row.cell.packet_size, row.cell.ip == "ipv4", throughput.get(row.baseline, 0.0)
        if key not in best or size > best[key][0]:
            best[key] = size, row
    return sorted((row for _, row in best.values()), key=_importance)


def _importance(row: PairedRow) -> tuple[bool, int, float]:
    """A sort key: the most important change is the least."""
    ci = row.ratio.percent_ci95_t
    resolved = ci is not None and not ci.contains(0)
    return not resolved, _TRANSPORTS.index(row.cell.transport), -abs(row.ratio.log.mean or 0.0) * resolved


def _change(data: ReportData, metric: Metric, row: PairedRow, *same: PairedRow) -> str:
    """A sentence about a change, and about the levels that have the same change."""
    told = _told(data, metric, row)
    if not same:
        return told
    levels = text.listing(text.level(other.cell.security) for other in same)
    return f"{told} The change is the same with {levels}."


def _told(data: ReportData, metric: Metric, row: PairedRow) -> str:
    cell, percent, ci = row.cell, row.ratio.percent, row.ratio.percent_ci95_t
    assert percent is not None
    of_throughput = metric.name == "throughput"
    transport = text.factor("transport", cell.transport)
    what = f"{transport} throughput" if of_throughput else text.within(metric.title)
    where = f"at {text.factor('packet_size', cell.packet_size)} over {text.factor('ip', cell.ip)}"
    for name in data.varying:
        where += f", {text.factor(name, getattr(cell, name))}"
    who = text.level(cell.security)
    than = "" if row.baseline.security == "open" else f" against {text.level(row.baseline.security)}"
    if ci is None:
        amount = text.signed_percent(percent)
        return f"{who} changes {what} {where}{than} by {amount}; a single pair of runs has no interval."
    if ci.contains(0):
        amount = f"{text.signed_percent(percent)} {text.percent_interval(ci)}"
        return f"{who} has no measurable effect on {what} {where}{than}: {amount}."
    below = Interval(-ci.high, -ci.low)
    size, shown = (percent, ci) if percent > 0 else (-percent, below)
    amount = f"{text.percent(size, sign=False)} % {text.percent_interval(shown, sign=False)}"
    if of_throughput and percent < 0:
        return f"{who} costs {amount} of {what} {where}{than}."
    verb = "raises" if percent > 0 else "lowers"
    return f"{who} {verb} {what} {where} by {amount}{than}."


def _reaches(data: ReportData) -> list[Reach]:
    """The ranges of the main metrics: in percent if every flow has a ratio, otherwise in the metric's unit."""
    reaches = []
    several = len(data.comparison.levels) > 2
    for security in data.comparison.levels[1:]:
        for metric in data.metrics:
            rows = [
                p
                for p in data.comparison.pairs
                if (p.metric, p.cell.security) == (metric.name, security) and p.difference.n
            ]
            percent = metric.relative and all(row.ratio.percent is not None for row in rows)
            found = span(
                (r.ratio.percent, r.ratio.percent_ci95_t)
                if percent
                else (r.difference.mean, r.difference.ci95_t)
                for r in rows
            )
            if not metric.main or found is None:
                continue
            ends = (
                (found.low, found.high)
                if percent
                else (metric.display(found.low), metric.display(found.high))
            )
            points = metric.display_unit == "%"
            decimals = min(metric.decimals, 2) if points else metric.decimals
            low, high = (
                text.percent(end, 1) if percent else text.number(end, decimals, sign=True) for end in ends
            )
            unit = "%" if percent else metric.change_unit
            reaches.append(
                Reach(
                    metric=metric,
                    level=text.level(security),
                    named=several,
                    change=f"{low} {unit}" if low == high else f"{low} to {high} {unit}",
                    n=found.n,
                    resolved=found.resolved,
                    by_holm=sum(map(is_resolved, rows)),
                )
            )
    return reaches


def _single_level(data: ReportData) -> str:
    level = text.level(data.comparison.levels[0])
    found = [c for c in data.comparison.cells if c.metric == "throughput" and c.summary.mean is not None]
    tail = "There is no other security level to compare it with."
    if not found:
        return f"Only {level} was measured. {tail}"
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
