"""Reads and parses users' TOML files. Every error is one line with the file and the location in it."""

import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from airtoll.errors import UsageError
from airtoll.study.quantity import one_line

_MOST_BYTES: Final = 1 << 20
_MOST_DEPTH: Final = 100
"""Limit of nested tables and lists, and of the parts of a dotted key. tomllib takes the square of these parts."""

_PART: Final = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"?+|'[^'\n]*+'?+)[ \t]*+"""
_DOTTED: Final = rf"(?:{_PART}\.[ \t]*+)"
_TOKEN: Final = re.compile(
    rf"\"{{3}}(?:[^\\]|\\.)*?(?:\"{{3}}|\Z)|'{{3}}.*?(?:'{{3}}|\Z)|#[^\n]*+|({_DOTTED}{{{_MOST_DEPTH}}})|{_DOTTED}*+{_PART}",
    re.DOTALL,
)
"""A string of several lines, a comment, the beginning of a key with too many parts, or another key or value."""


def read_toml(path: Path, what: str) -> tuple[str, dict[str, Any]]:
    """The file's text and keys. Raises UsageError; `what` describes the expected file ("a study file")."""
    text = read_text(path, what)
    return text, parse_toml(text, one_line(str(path), most=4096), what)


def parse_toml(
    text: str, file: str, what: str, parse_float: Callable[[str], float] = float
) -> dict[str, Any]:
    """The keys of a text. Raises UsageError; `file` and `what` are for its message."""
    if len(text) > _MOST_BYTES:
        raise _too_long(file, what)
    for token in _TOKEN.finditer(text):
        if token[1]:
            line = text.count("\n", 0, token.start()) + 1
            raise UsageError(f"{file}: line {line}: a key has more than {_MOST_DEPTH} parts")
    try:
        keys = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise _too_deep(file, what) from None
    except ValueError as error:  # TOMLDecodeError, or an integer beyond Python's limit of digits
        place, reason = _place(str(error), text)
        raise UsageError(f"{file}: {place}not TOML: {one_line(reason, most=200)}") from None
    parts: list[Any] = [keys]
    for _ in range(_MOST_DEPTH + 2):
        nested = (
            part.values() if isinstance(part, dict) else part
            for part in parts
            if isinstance(part, dict | list)
        )
        parts = [part for each in nested for part in each]
    if parts:
        raise _too_deep(file, what)
    return keys


def _too_deep(file: str, what: str) -> UsageError:
    return UsageError(f"{file}: is nested too deeply for {what}")


def read_text(path: Path, what: str) -> str:
    """The text of a file. Raises UsageError; `what` describes the expected file."""
    file = one_line(str(path), most=4096)
    try:
        status = path.stat()
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{file}: is a directory; expected {what}")
        if not stat.S_ISREG(mode):  # reading a device or a pipe may never end
            raise UsageError(f"{file}: is not a regular file; expected {what}")
        if status.st_size > _MOST_BYTES:
            raise _too_long(file, what)
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{file}: is not a valid file name") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}: line {line}: is not UTF-8; expected {what} in UTF-8") from None


def _too_long(file: str, what: str) -> UsageError:
    return UsageError(f"{file}: is longer than {_MOST_BYTES >> 20} MiB; expected {what}")


def _place(message: str, text: str) -> tuple[str, str]:
    """Split a message of tomllib into 'line 3, column 5: ' (empty if it has no location) and the reason."""
    if match := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL):
        return f"line {match[2]}, column {match[3]}: ", match[1]
    if message.startswith("Exceeds the limit"):
        return "", "a number has too many digits"
    reason = message.removesuffix(" (at end of document)")
    if reason == message:
        return "", message
    lines = text.split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}: ", f"{reason} at the end of the file"
