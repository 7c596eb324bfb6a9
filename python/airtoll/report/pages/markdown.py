"""The report as Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence

from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.material.section import Lines, Section
from airtoll.report.parts import answer, sentences


def markdown(data: ReportData, sections: Iterable[Section]) -> str:
    """The content of the page for a text editor or a wiki, without the charts and the facts of single runs."""
    found = answer.find(data)
    parts = [f"# {in_markdown(data.title)}", "", f"**{in_markdown(found.headline)}**", ""]
    parts += _list(found.others)
    parts += ["", in_markdown(" ".join(sentences.lede(data))), ""]
    parts += (line for section in sections for line in _section(section))
    parts += [
        "## Reproduce",
        "",
        f"The result directory has the study file, the plan and every run. `airtoll verify DIR` checks it. "
        f"Seed {data.method.seed} gives the same plan again.",
    ]
    return "\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    """The lines of a section; one that has only a table has the title of the table."""
    match section.body:
        case (Grid() as grid,) if section.title.startswith(grid.title) or not section.title:
            yield from grid_lines(grid)
            return
    yield from (f"## {in_markdown(section.title)}", "")
    for block in section.body:
        match block:
            case Grid():
                yield from grid_lines(block, level=3)
            case Lines():
                yield from (f"### {in_markdown(block.title)}", "") if block.title else ()
                yield from (*_list(block.lines), "")
            case str():
                yield from (in_markdown(block), "")


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
