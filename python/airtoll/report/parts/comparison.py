"""The comparison of every flow and metric, in the form of each writer."""

from collections.abc import Iterator
from typing import Final

from airtoll.report.material import rows, text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Drawn, Part, Section, of_grids
from airtoll.report.parts import answer, changes, figures, sentences, stability

_CHANGE: Final = "Change [95 % CI]"


def _page(data: ReportData) -> Iterator[Section]:
    table = rows.build(data)
    if not table.rows:
        yield Section("comparison", "", ("No counted run has a value, so there is nothing to compare.",))
        return
    note, unstable = sentences.table_note(data), bool(stability.unstable(data))
    drawn = Drawn("flows", {"table": table, "note": note, "unstable": unstable})
    yield Section("comparison", "Every flow" if answer.ranges(data).rows else "", (drawn,))


def _others(data: ReportData) -> Iterator[Section]:
    """The metrics that are not main metrics."""
    if titles := [text.within(metric.title) for metric in data.metrics if not metric.main]:
        shown = (each for each in (*figures.measured(data), *changes.differences(data)) if not each.main)
        drawn = Drawn("comparison", {"table": rows.build(data), "main": False})
        title = f"Other metrics: {text.listing(titles)}"
        yield Section("comparison", title, (drawn, *shown), folded=True)


def of_metrics(data: ReportData) -> Iterator[Grid]:
    """The means and changes of each main metric, one row per flow and level."""
    comparison = rows.build(data)
    several = len(comparison.levels) > 1
    baseline = text.level(comparison.baseline or "")
    for metric in data.ranked_metrics:
        lines = []
        for row in comparison.rows:
            if row.metric != metric or not metric.main:
                continue
            line = [
                data.short_flow(row.baseline.cell),
                text.joined(row.mean(row.baseline), row.ci(row.baseline)),
            ]
            if comparison.levels:
                change = (
                    (row.change, row.change_ci) if metric.relative else (row.difference, row.difference_ci)
                )
                line[1:1] = [row.level] if several else []
                line += [
                    text.joined(row.mean(row.other), row.ci(row.other)),
                    text.joined(*change),
                    row.p_holm,
                ]
            lines.append(tuple(line))
        columns = ["Flow", *(["Security"] if several else []), baseline]
        if comparison.levels:
            other = "Mean" if several else text.level(comparison.levels[0])
            change_of = _CHANGE if metric.relative else f"Change, {metric.change_unit} [95 % CI]"
            columns += [other, change_of, "p (Holm)"]
        title, note = f"{metric.title}, {metric.display_unit}", sentences.table_note(data)
        yield Grid(metric.name, title, note, tuple(columns), tuple(lines), words=2 if several else 1)


def _narrow(data: ReportData) -> Iterator[Section]:
    """The main metrics, for a terminal."""
    table = rows.build(data)
    yield Section("comparison", "", (Grid("comparison", data.study, "", table.columns, table.cells),))


SECTIONS: Final = (
    Part(30, lambda data: of_grids("comparison", [answer.ranges(data)])),
    Part(31, _page, ("html",)),
    Part(
        31,
        lambda data: of_grids("comparison", [rows.build(data).full(sentences.table_note(data))]),
        ("markdown",),
    ),
    Part(31, lambda data: of_grids("comparison", of_metrics(data)), ("latex",)),
    Part(31, _narrow, ("terminal",)),
    Part(32, lambda data: of_grids("comparison", [rows.tests(data)], folded=True)),
    Part(36, _others, ("html", "figures")),
)
