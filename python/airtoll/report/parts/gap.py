"""The gap between the air alone and each published value, with the part of each mechanism."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from airtoll.prediction import MECHANISMS, Gap
from airtoll.report.material import text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Part, Section, of_grids
from airtoll.report.parts.publications import Beside, BesidePublication, condition, shown


@dataclass(frozen=True)
class _Row:
    one: Beside
    gap: Gap

    def share(self, change: float | None) -> str:
        """A change in percent of the published value; that of a change against open in percentage points."""
        if change is None:
            return text.MISSING
        whole = 1.0 if self.gap.target.to_open else self.gap.target.value
        return text.number(100 * change / whole, 1, sign=True)


def grid(paper: BesidePublication) -> Grid:
    """The table of all published values that the medium predicts."""
    data = paper.data
    rows = [_Row(one, paper.gaps[one.point.id]) for one in paper.beside if one.point.id in paper.gaps]
    used = {name for row in rows for name in row.gap.parts}
    rest = "Chance" if data.is_simulated else "Measurement"
    columns: dict[str, Callable[[_Row], str]] = {
        "Figure": lambda row: row.one.point.figure or row.one.point.place,
        "Condition": lambda row: condition(data, row.one),
        "Metric": lambda row: f"{row.one.metric.short}, {row.gap.target.unit}",
        "Published": lambda row: shown(row.one, row.one.published),
        "Air alone": lambda row: shown(row.one, row.gap.air),
        "Air alone, %": lambda row: row.share(row.gap.air - row.one.published),
        **{f"{name[0].upper()}{name[1:]}, %": partial(_part, name) for name in MECHANISMS if name in used},
        f"{rest}, %": lambda row: row.share(row.one.measured - row.gap.model),
        "Not explained, %": lambda row: row.share(row.one.measured - row.one.published),
    }
    of_rest = (
        "Chance: other seeds and durations than those of the model."
        if data.is_simulated
        else "Measurement: the measured value against the model."
    )
    return Grid.of(
        "gap",
        "Where the gap to the paper comes from",
        "The steps from the air alone to the value of this result, in percent of the published value (a change against "
        "open: in percentage points). Air alone: the deviation in virtual time without noise, with cards and hosts "
        "that take no time, and without a window of TCP. Then the difference that each mechanism of the study makes. "
        f"{of_rest} The steps add up to the part that is not explained.",
        rows,
        columns,
        words=3,
    )


def _part(name: str, row: _Row) -> str:
    return row.share(row.gap.parts.get(name))


def _section(data: ReportData) -> Iterator[Section]:
    if (paper := BesidePublication.of(data)) and (found := grid(paper)).rows:
        yield from of_grids("published", [found])


SECTIONS: Final = (Part(62, _section, ("html", "markdown", "latex")),)
