"""In which form a study's figures are drawn: against what, in which charts, and what colour tells."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.study.cell import Cell

Axis = Literal["packet_size", "rate", "offered", "security"]

TITLES: Final[dict[Axis, str]] = {
    "packet_size": "Packet size, B",
    "rate": "PHY rate",
    "offered": "Offered by each sender, Mbit/s",
    "security": "Security",
}

FEW: Final = 3
"""Levels on an axis with which several security levels are bars of their own, as in Hayajneh et al., Figures 5 to 7."""

SERIES_COLOURS: Final = ("#c27a00", "#2f6fb5", "#6d8f33", "#a13d63")
"""Of series that are not levels; told apart on light and dark paper alike."""


def axis(data: ReportData) -> Axis:
    """The first of packet size, rate and load that varies; security where it has levels and they have few."""
    cells = {run.run.cell for run in data.runs}
    against: tuple[Axis, ...] = ("packet_size", "rate", "offered")
    counts: dict[Axis, int] = {name: len({getattr(cell, name) for cell in cells}) for name in against}
    first: Axis = next((name for name in against if counts[name] > 1), "packet_size")
    return "security" if len(data.comparison.levels) > 2 and counts[first] <= FEW else first


def tick(name: Axis, cell: Cell) -> str:
    """The level on the axis, as its labels have it."""
    level = getattr(cell, name)
    return text.factor(name, level) if isinstance(level, str) else f"{level:g}"


def in_order(ticks: Iterable[str]) -> list[str]:
    """Levels by their number."""
    return sorted(set(ticks), key=text.natural)


@dataclass(frozen=True)
class Colouring:
    """What the colours of a figure tell, and hence what its charts differ in."""

    factor: Literal["security", "stack"]
    title: str
    levels: tuple[str, ...]  # in words
    range: str | Sequence[str]  # of Vega: colours, or the name of the page's own
    fill: str | Sequence[str]  # the same, with the first level hollow

    def of(self, cell: Cell) -> str:
        """The cell's level in words."""
        return text.factor(self.factor, getattr(cell, self.factor))


def by_security(data: ReportData) -> Colouring:
    """The usual one: security in the page's colours."""
    levels = tuple(text.level(level) for level in data.comparison.levels)
    return Colouring("security", "Security", levels, "category", "ordinal")


def by_stack(data: ReportData) -> Colouring | None:
    """Hosts' stacks in colour and security levels in charts of their own; None where there is one stack."""
    if "stack" not in data.varying:
        return None
    names = list(dict.fromkeys(sorted(run.run.cell.stack for run in data.runs)))
    colours = [SERIES_COLOURS[place % len(SERIES_COLOURS)] for place in range(len(names))]
    return Colouring(
        "stack",
        "TCP/IP stack",
        tuple(text.factor("stack", name) for name in names),
        colours,
        ["transparent", *colours[1:]],
    )


def panel(data: ReportData, cell: Cell, against: Axis, colouring: Colouring) -> str:
    """The chart of a figure that a cell belongs to, by its title."""
    names = ["transport", *data.varying]
    if colouring.factor != "security":
        names.append("security")
    if "packet_size" not in data.fixed and against == "security":
        names.insert(1, "packet_size")
    shown = (name for name in names if name not in (against, colouring.factor))
    return ", ".join(text.factor(name, getattr(cell, name)) for name in shown)
