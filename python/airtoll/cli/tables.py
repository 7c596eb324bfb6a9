"""Borderless tables, and numbers rounded for reading."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from airtoll.cli.base import harmless

_WIDEST = 1000
"""Characters of the widest table: rich measures at most the width that it is told."""

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
