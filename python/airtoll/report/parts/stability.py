"""Unstable cells and the reasons: a section of the report, and a mark beside each figure."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Part, Section, of_grids
from airtoll.stats import METRICS, CellSummary
from airtoll.stats.stability import InstabilityKind

KINDS: Final[dict[InstabilityKind, str]] = {
    "spread": "spread of 10 % or more",
    "two modes": "two modes",
    "outlier": "outlying value",
    "too few": "too few runs",
    "drift": "drift",
    "spread of the papers": "spread above the papers' 3 %",
}


def unstable(data: ReportData) -> list[CellSummary]:
    """The cells that are unstable in a main metric."""
    return [cell for cell in data.comparison.cells if cell.instabilities and METRICS[cell.metric].main]


def grid(data: ReportData) -> Grid:
    """A table with one row per sign of instability."""
    found = unstable(data)
    order = list(KINDS)
    lines = [(order.index(each.kind), cell, each.detail) for cell in found for each in cell.instabilities]
    kinds = Counter(each.kind for cell in found for each in cell.instabilities)
    asked = sum(cell.summary.n > 1 and METRICS[cell.metric].main for cell in data.comparison.cells)
    named = "; ".join(f"{title}: {kinds[kind]}" for kind, title in KINDS.items() if kinds[kind])
    return Grid(
        "stability",
        "Stability",
        f"{len(found)} of {text.counted(asked, 'figure')} with at least two runs {'is' if len(found) == 1 else 'are'} "
        "unstable"
        + (f" ({named})." if found else ".")
        + " Spread and outlying values by the criteria of pyperf: a standard deviation of at least 10 % of the mean, a "
        "value 50 % off the mean. 3 % of the mean is the limit of Kolahi et al. Two modes: a gap ten times as wide as "
        "the values on either side, as if a setting of the link had changed between runs. Drift: values rise or fall "
        "with the order of runs (p < 0.01). Unstable values are not left out.",
        ("Flow", "Security", "Metric", "Reason"),
        tuple(
            (
                data.flow(cell.cell),
                text.level(cell.cell.security),
                METRICS[cell.metric].title,
                detail[0].upper() + detail[1:],
            )
            for _, cell, detail in sorted(lines, key=lambda line: line[0])
        ),
        words=4,
    )


def details(cell: CellSummary | None) -> str:
    """The signs of instability of a figure, in one line; empty if it is stable."""
    return "" if cell is None else "; ".join(each.detail for each in cell.instabilities)


def _page(data: ReportData) -> Iterator[Section]:
    signs = grid(data)
    if count := len(signs.rows):
        yield Section("stability", "", (signs.note,))
        title, body = text.counted(count, "sign"), (replace(signs, note=""),)
        yield Section("stability", title, body, folded=True, opened=count <= _OPENED)


_OPENED: Final = 12  # with more signs, the page folds the table

SECTIONS: Final = (
    Part(70, _page, ("html",)),
    Part(70, lambda data: of_grids("stability", [grid(data)]), ("markdown",)),
)
