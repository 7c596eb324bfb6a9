"""All figures of a report, in the order of the page."""

from collections.abc import Iterator
from dataclasses import dataclass

from airtoll.report.charts.chart import Chart, Figure
from airtoll.report.material.data import ReportData
from airtoll.report.parts import changes, curves, explained, figures
from airtoll.report.parts.publications import BesidePublication


@dataclass(frozen=True)
class Drawn:
    """The figures by their section of the page."""

    main: tuple[Figure, ...]  # of main metrics: against an axis, curves, changes
    explained: tuple[Figure, ...]
    others: tuple[Figure, ...]  # of the other metrics

    @classmethod
    def of(cls, data: ReportData, paper: BesidePublication | None) -> "Drawn":
        """All figures of a result."""
        both = (*figures.measured(data, paper), *curves.figures(data), *changes.differences(data, paper))
        return cls(
            main=tuple(figure for figure in both if figure.main),
            explained=tuple(explained.waterfalls(data)),
            others=tuple(figure for figure in both if not figure.main),
        )

    @property
    def charts(self) -> Iterator[Chart]:
        """The charts of all figures."""
        for figure in (*self.main, *self.explained, *self.others):
            yield from figure.charts
