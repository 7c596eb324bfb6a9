"""Tables of text, which HTML, Markdown, CSV and LaTeX each print in their own form."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

FOLDED_ABOVE: Final = 40
"""A grid with more rows scrolls within its frame."""


@dataclass(frozen=True)
class Grid:
    """One table of a report; `name` names its files and its anchor on the page."""

    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1  # the number of text columns, from the left; the others hold numbers

    @property
    def is_long(self) -> bool:
        """Whether the table scrolls within its frame."""
        return len(self.rows) > FOLDED_ABOVE


def csv_text(lines: Iterable[Iterable[Any]]) -> str:
    """CSV as in RFC 4180, except that lines end with LF alone; None is an empty field."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()
