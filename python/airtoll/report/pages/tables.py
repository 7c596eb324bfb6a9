"""The tables of a report, made once for HTML, Markdown and papers, in the order of the report."""

from collections.abc import Iterator
from dataclasses import dataclass

from airtoll.report.material import rows
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.parts import (
    answer,
    averages,
    curves,
    engine,
    explained,
    factors,
    hardware,
    round_trips,
    sentences,
    stability,
)
from airtoll.report.parts.claims import Claims
from airtoll.report.parts.publications import BesidePublication


@dataclass(frozen=True)
class Tables:
    """All tables of a report; a table without rows is not shown."""

    ranges: Grid
    comparison: rows.Table
    full: Grid  # the comparison with all metrics and intervals
    tests: Grid
    factors: tuple[Grid, ...]
    cross_check: Grid
    averages: tuple[Grid, ...]
    curves: Grid
    engine: tuple[Grid, ...]
    predictions: Grid
    splits: Grid
    claims: Grid  # at most `LEADING`
    further_claims: Grid
    disagreements: Grid
    published: Grid | None
    hardware: tuple[Grid, ...]
    stability: Grid

    @classmethod
    def of(cls, data: ReportData, paper: BesidePublication | None) -> "Tables":
        """The tables of a result; `paper` is the paper that its study repeats."""
        comparison = rows.build(data)
        claims = Claims(data, paper.publication if paper else None)
        return cls(
            ranges=answer.ranges(data),
            comparison=comparison,
            full=comparison.full(sentences.table_note(data)),
            tests=rows.tests(data, comparison),
            factors=tuple(factors.grids(data)),
            cross_check=round_trips.cross_check(data),
            averages=tuple(averages.grids(data, paper.printed_averages if paper else {})),
            curves=curves.grid(data),
            engine=tuple(engine.grids(data)),
            predictions=explained.predictions(data, comparison),
            splits=explained.splits(data),
            claims=claims.leading_grid(),
            further_claims=claims.further_grid(),
            disagreements=claims.disagreements(),
            published=paper.grid() if paper else None,
            hardware=tuple(hardware.shipped_grids()) if data.publication == hardware.PAPER else (),
            stability=stability.grid(data),
        )

    @property
    def grids(self) -> Iterator[Grid]:
        """The tables that have rows."""
        published = () if self.published is None else (self.published,)
        before = (
            self.claims,
            self.ranges,
            self.full,
            self.tests,
            *self.factors,
            self.cross_check,
            *self.averages,
            self.curves,
            *self.engine,
            self.predictions,
            self.splits,
        )
        after = (*self.hardware, self.further_claims, self.disagreements, self.stability)
        return (grid for grid in (*before, *published, *after) if grid.rows)
