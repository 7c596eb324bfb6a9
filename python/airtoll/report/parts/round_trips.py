"""The tools that measured the round-trip times, and the cross-check of one tool by another."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Part, of_grids
from airtoll.report.parts.averages import words
from airtoll.stats import METRICS, aligned, matched_ratio
from airtoll.stats.paired import Pairs

_CHECKED = METRICS["rtt"]
_CHECK = METRICS["rtt_sockperf"]


def tool_sentences(data: ReportData) -> Iterator[str]:
    """Which tool measured the round-trip times, by IP version; nothing for lab sim and for imported results."""
    by_tool: dict[str, set[str]] = defaultdict(set)
    for run in data.counting:
        tool = run.record.probes.get("rtt", {}).get("tool") if run.record and "rtt" in run.values else None
        if isinstance(tool, str):
            by_tool[tool].add(run.run.cell.ip)
    if len(by_tool) == 1:
        yield f"All round-trip times are by {next(iter(by_tool))}, the same tool for every cell."
    elif by_tool:
        each = (
            f"{tool} for {text.listing(text.factor('ip', ip) for ip in sorted(ips))}"
            for tool, ips in sorted(by_tool.items())
        )
        yield (
            f"Round-trip times are by two tools: {text.listing(each)}. A difference between cells of different tools "
            "includes the difference between the tools."
        )


def cross_check(data: ReportData) -> Grid:
    """The round-trip times of the cells that both tools measured, and the ratio of the tools within rounds."""
    both = [data.by_round.get(metric.name, {}) for metric in (_CHECKED, _CHECK)]
    cells = [
        row.cell
        for row in data.comparison.cells  # in the order of reports
        if row.metric == _CHECK.name and all(row.cell in values for values in both)
    ]
    sets = aligned((both[0][cell], both[1][cell]) for cell in cells)
    rows = []
    for cell, of_tools in zip(cells, sets, strict=True):
        rows.append(
            (
                data.flow(cell),
                text.level(cell.security),
                *(words(data.summaries[cell, metric.name].summary, metric) for metric in (_CHECKED, _CHECK)),
                _change(data, [of_tools]),
            )
        )
    return Grid(
        "cross-check",
        "Round-trip time by another tool",
        f"sockperf measures {text.counted(len(rows), 'cell')} once more, as a cross-check: its round-trip times differ "
        f"by {_change(data, sets)} from those of the other tables (mean over the cells, 95 % interval).",
        ("Flow", "Security", "RTT, ms", "By sockperf, ms", "Difference [95 % CI]"),
        tuple(rows),
        words=2,
    )


def _change(data: ReportData, sets: Sequence[Pairs]) -> str:
    """The mean change from the first to the second values, with its interval."""
    ratio = matched_ratio(sets, in_sessions=data.in_sessions)
    return text.joined(text.signed_percent(ratio.percent, 1), text.percent_interval(ratio.percent_ci95_t))


SECTIONS: Final = (Part(35, lambda data: of_grids("comparison", [cross_check(data)], folded=True)),)
