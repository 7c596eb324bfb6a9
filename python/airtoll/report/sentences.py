"""The sentences of a report: what was found, with its numbers and their intervals, and how."""

from collections.abc import Iterable
from dataclasses import dataclass

from airtoll.report import text
from airtoll.report.data import ReportData
from airtoll.stats import METRICS, Interval, PairedRow, span

_TRANSPORTS = ("udp", "tcp")  # UDP first: it shows the link's capacity, TCP also its own control loop


@dataclass(frozen=True)
class Findings:
    """What the top of a report says."""

    headline: str
    others: tuple[str, ...]  # the same for other transports and levels
    reaches: tuple["Reach", ...]  # how far each metric changes over all flows


@dataclass(frozen=True)
class Reach:
    """How far one metric changes over all flows."""

    what: str
    change: str
    flows: str


def find(data: ReportData) -> Findings:
    """The headline is the change of throughput in the flow with the largest packets, UDP over TCP."""
    comparison = data.comparison
    if not data.counting:
        return Findings(_nothing_counts(data), (), ())
    if len(comparison.levels) < 2:
        return Findings(_single_level(data), (), ())
    rows = [row for row in comparison.pairs if row.metric == "throughput" and row.ratio.percent is not None]
    leading = _leading(rows)
    sentences = [_throughput(data, row) for row in leading]
    if not sentences:
        sentences = [
            "No block has a pair of valid runs with a throughput, so security levels cannot be compared."
        ]
    return Findings(sentences[0], tuple(sentences[1:]), tuple(_reaches(data)))


def table_note(data: ReportData) -> str:
    """How to read the table."""
    note = "Mean over runs \N{PLUS-MINUS SIGN} half of its 95 % confidence interval (Student's t)."
    if len(data.comparison.levels) > 1:
        baseline = text.level(data.comparison.baseline or "")
        note += f" Differences and changes are means over pairs of runs within blocks, against {baseline}."
    return note


def subject(data: ReportData) -> str:
    """What was measured, in one sentence."""
    if not data.runs:
        return "Nothing was planned."
    levels = text.listing(text.level(level) for level in data.comparison.levels)
    fixed = ", ".join(word for name, word in data.fixed.items() if name not in (*text.IN_FLOW, "security"))
    count = len({run.run.cell.model_copy(update={"security": "open"}) for run in data.runs})
    flows = f"{text.counted(count, 'flow')} ({fixed})" if fixed else text.counted(count, "flow")
    return f"Security: {levels}, each on {flows}."


def run_counts(data: ReportData) -> str:
    """How many runs are planned, how many count, and why the others do not."""
    left_out = text.reasons(data.comparison.left_out)
    counting = f"{text.counted(len(data.runs), 'run')} planned, {len(data.counting)} counted"
    return f"{counting}; left out: {left_out}." if left_out else f"{counting}."


def method(data: ReportData) -> list[str]:
    """How the figures came about, from the plan."""
    m = data.method
    lines = [
        "Each block holds one run of every security level of an otherwise equal cell, in random order, so "
        "that levels are compared in pairs that are close in time.",
        f"{text.counted(m.repeats, 'replicate')} of each cell count"
        + (f"; {m.discard_first} before them are measured, kept and left out" if m.discard_first else "")
        + ".",
        f"Each probe measures for {m.duration:g} s after a warm-up of {m.warmup:g} s that does not count.",
        f"The order of runs comes from the seed {m.seed}.",
        "The run is the unit of replication: a run gives one number a metric, and intervals are over runs. "
        "Intervals hold one by one; they are not widened for the number of comparisons.",
        "Changes in percent are geometric means of ratios within blocks; their intervals are computed on "
        "logarithms.",
        "Invalid and discarded runs stay stored and take no part in any figure.",
    ]
    if data.quick:
        lines.append("The study was shortened by its [quick] table.")
    return lines


def verdicts(data: ReportData) -> list[str]:
    """How the runs ended, and each run that does not count for a reason of its own."""
    lines = [run_counts(data)]
    for run in data.runs:
        if run.record is not None and not run.record.verdict.valid:
            lines.append(f"{run.run.id}: {'; '.join(run.outcome.reasons)}")
    return lines


def _leading(rows: Iterable[PairedRow]) -> list[PairedRow]:
    """For each transport and level the flow with the largest packets, the first in the order of cells."""
    best: dict[tuple[str, str], PairedRow] = {}
    for row in rows:
        key = row.cell.transport, row.cell.security
        if key not in best or row.cell.packet_size > best[key].cell.packet_size:
            best[key] = row
    return sorted(best.values(), key=lambda row: _TRANSPORTS.index(row.cell.transport))


def _throughput(data: ReportData, row: PairedRow) -> str:
    cell, percent, ci = row.cell, row.ratio.percent, row.ratio.percent_ci95_t
    assert percent is not None
    what = f"{text.factor('transport', cell.transport)} throughput"
    where = f"at {text.factor('packet_size', cell.packet_size)} over {text.factor('ip', cell.ip)}"
    for name in data.varying:
        where += f", {text.factor(name, getattr(cell, name))}"
    who = text.level(cell.security)
    than = "" if row.baseline.security == "open" else f" against {text.level(row.baseline.security)}"
    if ci is None:
        amount = text.number(percent, 2, sign=True)
        return f"{who} changes {what} {where}{than} by {amount} %; one pair of runs has no interval."
    if ci.contains(0):
        amount = f"{text.number(percent, 2, sign=True)} % {text.interval(ci, 2, sign=True)}"
        return f"A cost of {who}{than} in {what} {where} is not resolved: {amount}."
    if percent < 0:
        amount = f"{text.number(-percent, 2)} % {text.interval(Interval(-ci.high, -ci.low), 2)}"
        return f"{who} costs {amount} of {what} {where}{than}."
    return f"{who} raises {what} {where} by {text.number(percent, 2)} % {text.interval(ci, 2)}{than}."


def _reaches(data: ReportData) -> list[Reach]:
    """Of the main metrics: in percent where every flow has a ratio, otherwise in their unit."""
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
            low, high = (text.number(end, 1 if percent else metric.decimals, sign=True) for end in ends)
            unit = "%" if percent else "points" if metric.display_unit == "%" else metric.display_unit
            reaches.append(
                Reach(
                    what=metric.title + (f", {text.level(security)}" if several else ""),
                    change=f"{low} {unit}" if low == high else f"{low} to {high} {unit}",
                    flows=f"over {text.counted(found.n, 'flow')}, resolved in {found.resolved}",
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
    shown = Interval(metric.display(ci.low), metric.display(ci.high)) if ci else None
    amount = text.joined(mean, metric.display_unit, text.interval(shown, metric.decimals))
    return f"With {level}, {data.flow(largest.cell)} carries {amount}. {tail}"


def _nothing_counts(data: ReportData) -> str:
    if not data.runs:
        return "The plan has no runs."
    if all(run.record is None for run in data.runs):
        return f"No run of {len(data.runs)} planned is finished: there is nothing to report yet."
    return f"No run counts, so there are no figures: {text.reasons(data.comparison.left_out)}."
