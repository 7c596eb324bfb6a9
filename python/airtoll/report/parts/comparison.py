"""The comparison of every flow and metric, in the form of each writer."""

from collections.abc import Iterator
from typing import Final

from airtoll.report.material import rows, text
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Drawn, Part, Section, of_grids
from airtoll.report.parts import answer, changes, figures, sentences, stability


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
    table = rows.build(data)
    for metric in data.ranked_metrics:
        means = table.means()
        level = {"Security": means.pop("Security")} if "Security" in means else {}
        columns: rows.RowColumns = {"Flow": lambda row: data.short_flow(row.baseline.cell), **level, **means}
        if table.levels and metric.relative:
            columns["Change [95 % CI]"] = lambda row: text.joined(row.change, row.change_ci)
        elif table.levels:
            head = f"Change, {metric.change_unit} [95 % CI]"
            columns[head] = lambda row: text.joined(row.difference, row.difference_ci)
        if table.levels:
            columns["p (Holm)"] = lambda row: row.p_holm
        found = (row for row in table.rows if row.metric == metric and metric.main)
        title, note = f"{metric.title}, {metric.display_unit}", sentences.table_note(data)
        yield Grid.of(metric.name, title, note, found, columns, words=1 + len(level))


def _full(data: ReportData) -> Iterator[Section]:
    return of_grids("comparison", [rows.build(data).full(sentences.table_note(data))])


def _narrow(data: ReportData) -> Iterator[Section]:
    yield Section("comparison", "", (rows.build(data).narrow(data.study),))


SECTIONS: Final = (
    Part(30, lambda data: of_grids("comparison", [answer.ranges(data)])),
    Part(31, _page, ("html",)),
    Part(31, _full, ("markdown",)),
    Part(31, lambda data: of_grids("comparison", of_metrics(data)), ("latex",)),
    Part(31, _narrow, ("terminal",)),
    Part(32, lambda data: of_grids("comparison", [rows.tests(data)], folded=True)),
    Part(36, _others, ("html", "figures")),
)
