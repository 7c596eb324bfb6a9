"""Headings and rows of words: what HTML, Markdown, CSV and LaTeX show in their own way."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

FOLDED_ABOVE: Final = 40
"""Rows; a longer grid scrolls within its frame."""


@dataclass(frozen=True)
class Grid:
    """One table of a report; `name` is that of its files and its place on the page."""

    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1  # columns from the left that hold words; the others hold numbers

    @property
    def is_long(self) -> bool:
        """Whether it scrolls within its frame."""
        return len(self.rows) > FOLDED_ABOVE


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """CSV (RFC 4180 but for line feeds alone); None is empty."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()
