"""Tables of text, which HTML, Markdown, CSV and LaTeX each print in their own form."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

_Item = TypeVar("_Item")

FOLDED_ABOVE: Final = 40
"""A grid with more rows scrolls within its frame."""


@dataclass(frozen=True)
class Grid:
    """One table of a report; `name` names its files and its anchor on the page."""

    kind: ClassVar = "grid"
    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1  # the number of text columns, from the left; the others hold numbers

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        note: str,
        items: Iterable[_Item],
        columns: Mapping[str, Callable[[_Item], str]],
        *,
        words: int = 1,
        first: Iterable[tuple[str, ...]] = (),
    ) -> "Grid":
        """A table with one row per item, after the rows `first`; each column has a function of the item."""
        rows = (tuple(text_of(item) for text_of in columns.values()) for item in items)
        return cls(name, title, note, tuple(columns), (*first, *rows), words)

    @property
    def is_long(self) -> bool:
        """Whether the table scrolls within its frame."""
        return len(self.rows) > FOLDED_ABOVE


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The first characters of a field that spreadsheets take for a formula (OWASP, CSV Injection)."""


def csv_text(lines: Iterable[Iterable[Any]]) -> str:
    """CSV as in RFC 4180, except that lines end with LF alone; None is an empty field.

    Text that a spreadsheet would execute as a formula has an apostrophe before it. Numbers remain unchanged.
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(map(_inert, line) for line in lines)
    return buffer.getvalue()


def _inert(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\n")  # Python quotes only one of the two, and spreadsheets end a row at both
    return f"'{text}" if text.startswith(_FORMULA) else text
