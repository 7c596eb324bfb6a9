"""Borderless tables, and numbers rounded for reading."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from airtoll.cli.base import harmless

_WIDEST = 1000
"""Characters of the widest table: rich measures at most the width that it is told."""

_FIRST, _HEADING, _GAP = 30, 12, 2
"""Characters of the first column and of a heading in a table in parts, and between two columns."""

NONE = "\N{EN DASH}"
"""The placeholder for a missing value."""


class _Console(Console):
    """A console that prints only harmless text and whole figures, and reports a closed pipe like other output."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.width < 1:  # COLUMNS=0
            self.width = 80

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print. A table of figures that is wider than the terminal keeps its width: terminals wrap lines."""
        width = self.width
        for table in objects:
            if isinstance(table, Table):
                for column in table.columns:
                    # Figures and words have no place for a line break.
                    column.no_wrap = column.no_wrap or not any(" " in str(cell) for cell in column.cells)
                unlimited = self.options.update(max_width=_WIDEST)
                self.width = max(self.width, self.measure(table, options=unlimited).minimum)
        super().print(*objects, **settings)
        self.width = width

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The parts of the output. Those with a control code are rich's own, such as the moves of a progress bar."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=harmless(part.text))

    def on_broken_pipe(self) -> None:
        """Raise the error, which ends the command."""
        raise BrokenPipeError


def plain_console(*, stderr: bool = False, soft_wrap: bool = False, width: int | None = None) -> Console:
    """A console that prints text verbatim: rich would take brackets in paths, titles and messages for markup."""
    return _Console(
        stderr=stderr, soft_wrap=soft_wrap, width=width, highlight=False, markup=False, emoji=False
    )


def plain_table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    """A table of the rows, with a header if there are headings; numbers are right-aligned."""
    table = Table(box=None, pad_edge=False, show_header=bool(headings))
    for number in range(max(map(len, [headings, *rows]), default=0)):
        unit = not headings and number == 2
        table.add_column(
            headings[number] if headings else "",
            justify="left" if number == 0 or unit else "right",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*row)
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table of long rows: as wide as the terminal, at least 200 columns elsewhere."""
    width = console.width
    if not console.is_terminal:
        console.width = max(width, 200)
    console.print(table, soft_wrap=False)
    console.width = width


def print_in_parts(
    console: Console, headings: Sequence[str], rows: Sequence[tuple[str, ...]], words: int
) -> None:
    """Print a table in parts that fit the width of the console. Each part repeats the first columns.

    `words` is the number of columns with text, from the left.
    """
    heads = ["\n".join(textwrap.wrap(heading, _HEADING, break_long_words=False)) for heading in headings]
    first = [textwrap.wrap(row[0], _FIRST) for row in rows]
    texts = [("\n".join(lines), *row[1:]) for lines, row in zip(first, rows, strict=True)]
    widths = [
        max(len(line) for text in (head, *column) for line in text.split("\n")) + _GAP
        for head, column in zip(heads, zip(*texts, strict=True), strict=True)
    ]
    repeated = words if sum(widths[:words]) <= console.width / 2 else 1
    left = list(range(repeated, len(heads)))
    while left:
        taken = max(
            [n for n in range(1, len(left) + 1) if _sum(widths, repeated, left[:n]) <= console.width],
            default=1,
        )
        shown = [*range(repeated), *left[:taken]]
        left = left[taken:]
        table = plain_table(
            tuple(heads[at] for at in shown), [tuple(row[at] for at in shown) for row in texts]
        )
        console.print(table)
        if left:
            console.print()


def _sum(widths: Sequence[int], repeated: int, others: Sequence[int]) -> int:
    return sum(widths[:repeated]) + sum(widths[at] for at in others) - _GAP


def figure(value: Any) -> str:
    """A value of an answer as text."""
    match value:
        case None:
            return NONE
        case float():
            return f"{value:.4f}" if abs(value) < 10 else f"{value:.3f}"
        case dict() | list():
            return json.dumps(value)
        case _:
            return str(value)
