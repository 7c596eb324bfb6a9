"""The report as Markdown."""

import re
from collections.abc import Iterable, Sequence

from airtoll.report.material import facts
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.pages.tables import Tables
from airtoll.report.parts import answer, extremes, sentences


def markdown(data: ReportData, tables: Tables, surroundings: facts.Environment) -> str:
    """The content of the page for a text editor or a wiki, without the charts and the facts of single runs."""
    found = answer.find(data)
    parts = [f"# {in_markdown(data.title)}", "", f"**{in_markdown(found.headline)}**", ""]
    parts += _list(found.others)
    parts += ["", in_markdown(" ".join(sentences.lede(data))), ""]
    for grid in tables.grids:
        parts += grid_lines(grid)
    if largest := extremes.by_metric(data):
        parts += ["## The largest differences", ""]
        for title, lines in largest.items():
            parts += [f"### {in_markdown(title)}", "", *_list(lines), ""]
    parts += ["## Method", "", *_list(sentences.method(data))]
    parts += [f"- {m.title}: {m.definition}." for m in data.recorded_metrics]
    parts += ["", "## Environment", ""]
    for title, shared in surroundings.shared.items():
        if shared:
            parts += [
                f"### {in_markdown(title)}",
                "",
                *_md_table(("Fact", "Value"), tuple(shared.items())),
                "",
            ]
    parts += ["## Verdicts", "", *_list(sentences.verdicts(data)), ""]
    parts += [
        "## Reproduce",
        "",
        f"The result directory has the study file, the plan and every run. `airtoll verify DIR` checks it. "
        f"Seed {data.method.seed} gives the same plan again.",
    ]
    return "\n".join(parts) + "\n"


def grid_lines(grid: Grid, level: int = 2) -> list[str]:
    """The lines of a section with one table, with a heading of that level."""
    note = [in_markdown(grid.note), ""] if grid.note else []
    return [f"{'#' * level} {in_markdown(grid.title)}", "", *_md_table(grid.columns, grid.rows), "", *note]


def _list(lines: Iterable[str]) -> list[str]:
    return [f"- {in_markdown(line)}" for line in lines]


def in_markdown(words: str) -> str:
    """Text from files, escaped for Markdown and HTML."""
    plain = " ".join(words.split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", plain)


def _md_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    def line(words: Iterable[str]) -> str:
        return f"| {' | '.join(words)} |"

    return [
        line(map(in_markdown, columns)),
        line(["---"] * len(columns)),
        *(line(map(in_markdown, row)) for row in cells),
    ]
