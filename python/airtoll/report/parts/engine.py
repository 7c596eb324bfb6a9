"""Times of the engine on this CPU by security level, as in Hayajneh et al., Tables I and II.

The rows of suites with lanes are followed by rows of the lanes as the paper prints them, marked as broken.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Part, of_grids
from airtoll.report.parts.averages import words
from airtoll.stats import METRICS, paired_ratio
from airtoll.stats.metrics import OF_ENGINE, OF_PRINTED_LANES
from airtoll.study.cell import Cell

STANDARD: Final = ("ccmp", "enhanced1")
"""The levels that correspond to the paper's "standard", the reference of its parallel settings."""

_TABLE: Final = {"mic_time": "Table I", "cipher_time": "Table II"}
"""The paper's tables of lanes."""


def grids(data: ReportData) -> list[Grid]:
    """One table per measured time: rows are levels, with the speed-up against standard CCMP."""
    return [_grid(data, name) for name in OF_ENGINE if name in data.comparison.metrics]


def _grid(data: ReportData, name: str) -> Grid:
    metric, values = METRICS[name], data.by_round[name]
    flows: dict[Cell, list[Cell]] = {}
    for cell in data.means(name):
        flows.setdefault(cell.model_copy(update={"security": "open"}), []).append(cell)
    rows = []
    printed = OF_PRINTED_LANES.get(name, "")
    printed_values = data.by_round.get(printed, {})
    for cells in flows.values():
        standard = _standard(cells)
        first = values[standard]
        for cell in cells:
            speed_up = _speed_up(values[cell], first) if cell != standard else "1"
            time = words(data.summaries[cell, name].summary, metric)
            rows.append((data.flow(cell), text.level(cell.security), time, speed_up))
        as_printed = [cell for cell in cells if cell in printed_values]
        for cell in as_printed:
            is_first = cell == as_printed[0]
            speed_up = "1" if is_first else _speed_up(printed_values[cell], printed_values[as_printed[0]])
            time = words(data.summaries[cell, printed].summary, metric)
            _, _, lanes = text.level(cell.security).partition(", ")
            level = f"{lanes or text.level(cell.security)} as printed (broken)"
            rows.append((data.flow(cell), level, time, speed_up))
    return Grid(
        name.replace("_", "-"),
        metric.title,
        f"{metric.definition[0].upper()}{metric.definition[1:]}. Speed-up: relative to the standard (CCMP if measured, "
        f"otherwise the first level); geometric mean over {data.units} with its 95 % confidence interval."
        + (_broken(_TABLE[name]) if printed_values else ""),
        ("Flow", "Security", f"Time, {metric.display_unit}", "Speed-up [95 % CI]"),
        tuple(rows),
        words=2,
    )


def _broken(table: str) -> str:
    return (
        f" Broken: the lanes as Hayajneh et al. print them, for comparison with their {table}. An attacker can forge "
        "their frames, so they protect no traffic. Their program is simpler than the engine, so their speed-up is "
        "relative to their own first row."
    )


def _speed_up(times: Mapping[int, float], standard: Mapping[int, float]) -> str:
    replicates = sorted(standard.keys() & times.keys())
    ratio = paired_ratio([times[n] for n in replicates], [standard[n] for n in replicates])
    return text.joined(text.number(ratio.ratio, 2), text.interval(ratio.ci95_t, 2))


def _standard(cells: Sequence[Cell]) -> Cell:
    by_level = {cell.security: cell for cell in cells}
    return next((by_level[level] for level in STANDARD if level in by_level), cells[0])


SECTIONS: Final = (Part(52, lambda data: of_grids("averages", grids(data)), ("html", "markdown", "latex")),)
