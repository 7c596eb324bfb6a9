"""Columns of a flat table, and Parquet files of them. `airtoll._rust` encodes and decodes the files."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airtoll import _rust

ColumnValue = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """One column: little-endian values of the type `kind`, with zeros in rows without a value."""

    name: str
    kind: str  # String, Int64, UInt64, Float64, Boolean, or the name of a type that cannot be read
    data: bytes  # 8 bytes per number, 4 bytes per text (an index into `words`), 1 byte per truth value
    words: Sequence[str] = ()  # the distinct texts
    present: bytes | None = None  # one byte per row, 0 if the row has no value; None if every row has one

    @classmethod
    def of(cls, name: str, values: Sequence[ColumnValue], kind: str | None = None) -> "Column":
        """A column of these values, whose type is derived from them if `kind` is None.

        Numbers of both types become floats. Any other mixture of types becomes text.
        """
        kind = kind or kind_of(values)
        missing = None in values
        present = bytes(value is not None for value in values) if missing else None
        if kind == "String":
            codes: dict[str, int] = {}
            texts = ("" if value is None else str(value) for value in values)
            data = array("I", (codes.setdefault(text, len(codes)) for text in texts))
            return cls(name, kind, data.tobytes(), list(codes), present)
        if kind == "Boolean":
            return cls(name, kind, bytes(bool(value) for value in values), (), present)
        code = {"Int64": "q", "UInt64": "Q", "Float64": "d"}[kind]
        numbers: list[Any] = [value or 0 for value in values]
        return cls(name, kind, array(code, numbers).tobytes(), (), present)


def kind_of(values: Sequence[ColumnValue]) -> str:
    """The type of a column with these values; `String` if no row has a value."""
    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return "Boolean"
    if types == {int}:
        return "UInt64" if any(value is not None and value >= 1 << 63 for value in values) else "Int64"  # type: ignore[operator]
    return "Float64" if types and types <= {int, float} else "String"


def write(columns: Sequence[Column]) -> bytes:
    """The content of a Parquet file, compressed with zstd. Raises ValueError if the columns are inconsistent."""
    return _rust.write_parquet(
        [(each.name, each.kind, each.data, list(each.words), each.present) for each in columns]
    )


def read(content: bytes) -> list[Column]:
    """The columns of a Parquet file. Raises ValueError with one line if the content is invalid."""
    return [Column(*each) for each in _rust.read_parquet(content)]
