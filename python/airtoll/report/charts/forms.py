"""The form of a study's figures: the x axis, the charts of a figure and the meaning of colours."""

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
    "offered": "Offered load per sender, Mbit/s",
    "security": "Security",
}

FEW: Final = 3
"""With at most this many levels on the axis, security levels are bars, as in Hayajneh et al., Figures 5 to 7."""

SERIES_COLOURS: Final = ("#c27a00", "#2f6fb5", "#6d8f33", "#a13d63")
"""Colours of series that are not security levels; distinguishable on light and dark backgrounds."""


def axis(data: ReportData) -> Axis:
    """The first of packet size, rate and load that varies; security if that factor has few levels and security many."""
    cells = {run.run.cell for run in data.runs}
    against: tuple[Axis, ...] = ("packet_size", "rate", "offered")
    counts: dict[Axis, int] = {name: len({getattr(cell, name) for cell in cells}) for name in against}
    first: Axis = next((name for name in against if counts[name] > 1), "packet_size")
    return "security" if len(data.comparison.levels) > 2 and counts[first] <= FEW else first


def tick(name: Axis, cell: Cell) -> str:
    """The axis label of a cell's level."""
    level = getattr(cell, name)
    return text.factor(name, level) if isinstance(level, str) else f"{level:g}"


def in_order(ticks: Iterable[str]) -> list[str]:
    """The labels in numerical order."""
    return sorted(set(ticks), key=text.natural)


@dataclass(frozen=True)
class Colouring:
    """The factor that the colours of a figure show."""

    factor: Literal["security", "stack"]
    title: str
    levels: tuple[str, ...]  # in words
    range: str | Sequence[str]  # a Vega range: colours, or the name of a range of the page
    fill: str | Sequence[str]  # the same range, with the first level hollow

    def of(self, cell: Cell) -> str:
        """The cell's level as text."""
        return text.factor(self.factor, getattr(cell, self.factor))


def by_security(data: ReportData) -> Colouring:
    """The default: security levels in the page's colours."""
    levels = tuple(text.level(level) for level in data.comparison.levels)
    return Colouring("security", "Security", levels, "category", "ordinal")


def by_stack(data: ReportData) -> Colouring | None:
    """Stacks of the hosts as colours, security levels as separate charts; None if there is only one stack."""
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
    """The title of the chart that a cell belongs to."""
    names = ["transport", *data.varying]
    if colouring.factor != "security":
        names.append("security")
    if "packet_size" not in data.fixed and against == "security":
        names.insert(1, "packet_size")
    shown = (name for name in names if name not in (against, colouring.factor))
    return ", ".join(text.factor(name, getattr(cell, name)) for name in shown)
