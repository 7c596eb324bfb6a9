"""The sections of a report: a title and a body, which every writer shows in its own form."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid

Writer = Literal["html", "markdown", "latex", "terminal", "figures"]
"""The writers of sections; `figures` writes SVG and PDF files."""


@dataclass(frozen=True)
class Chart:
    """One Vega-Lite chart and its text alternative."""

    id: str
    title: str
    description: str  # for readers who cannot see the chart
    spec: dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """Charts that belong together, and their caption."""

    kind: ClassVar = "figure"
    title: str
    caption: str
    charts: tuple[Chart, ...]
    main: bool = True  # False: the metric is not a main metric; the page folds the figure away


@dataclass(frozen=True)
class Lines:
    """A list of sentences."""

    kind: ClassVar = "lines"
    lines: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True)
class Drawn:
    """A part of the HTML page with a form of its own: the macro of `own.html.j2` that draws it, and its arguments."""

    kind: ClassVar = "drawn"
    macro: str
    values: Mapping[str, Any]


Block = Grid | Figure | Lines | Drawn | str
"""A part of a section; text is a paragraph."""


@dataclass(frozen=True)
class Section:
    """One section of a report. The page shows all sections of a chapter under one heading."""

    chapter: str
    title: str  # may be empty
    body: tuple[Block, ...]
    heading: str = ""  # of the chapter, if it is not the chapter's name
    folded: bool = False
    opened: bool = False  # whether the page unfolds it at first
    anchor: str = ""

    @property
    def grids(self) -> Iterator[Grid]:
        """The tables of the section."""
        return (block for block in self.body if isinstance(block, Grid))

    @property
    def figures(self) -> Iterator[Figure]:
        """The figures of the section."""
        return (block for block in self.body if isinstance(block, Figure))


@dataclass(frozen=True)
class Part:
    """A function that makes sections of a result, or none, with their place in the report and their writers.

    A module of the package `parts` names its own in `SECTIONS`.
    """

    place: int
    of: Callable[[ReportData], Iterable[Section]]
    writers: tuple[Writer, ...] = ("html", "markdown")


def of_grids(chapter: str, grids: Iterable[Grid], **options: Any) -> Iterator[Section]:
    """One section per table that has rows, with its title."""
    return (Section(chapter, grid.title, (grid,), **options) for grid in grids if grid.rows)
