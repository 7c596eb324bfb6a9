"""Times of the engine on this CPU by security level, as in Hayajneh et al., Tables I and II."""

from collections.abc import Sequence
from typing import Final

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.parts.averages import words
from airtoll.stats import METRICS, paired_ratio
from airtoll.stats.metrics import OF_ENGINE
from airtoll.study.cell import Cell

STANDARD: Final = ("ccmp", "enhanced1")
"""The levels that correspond to the paper's "standard", the reference of its parallel settings."""


def grids(data: ReportData) -> list[Grid]:
    """One table per measured time: rows are levels, with the speed-up against standard CCMP."""
    return [_grid(data, name) for name in OF_ENGINE if name in data.comparison.metrics]


def _grid(data: ReportData, name: str) -> Grid:
    metric, values = METRICS[name], data.by_round[name]
    flows: dict[Cell, list[Cell]] = {}
    for cell in data.means(name):
        flows.setdefault(cell.model_copy(update={"security": "open"}), []).append(cell)
    rows = []
    for cells in flows.values():
        standard = _standard(cells)
        first = values[standard]
        for cell in cells:
            rounds = sorted(first.keys() & values[cell].keys())
            ratio = paired_ratio([values[cell][n] for n in rounds], [first[n] for n in rounds])
            rows.append(
                (
                    data.flow(cell),
                    text.level(cell.security),
                    words(data.summaries[cell, name].summary, metric),
                    text.joined(text.number(ratio.ratio, 2), text.interval(ratio.ci95_t, 2))
                    if cell != standard
                    else "1",
                )
            )
    return Grid(
        name.replace("_", "-"),
        metric.title,
        f"{metric.definition[0].upper()}{metric.definition[1:]}. Speed-up: relative to the standard (CCMP if measured, "
        f"otherwise the first level); geometric mean over {data.units} with its 95 % confidence interval.",
        ("Flow", "Security", f"Time, {metric.display_unit}", "Speed-up [95 % CI]"),
        tuple(rows),
        words=2,
    )


def _standard(cells: Sequence[Cell]) -> Cell:
    by_level = {cell.security: cell for cell in cells}
    return next((by_level[level] for level in STANDARD if level in by_level), cells[0])
