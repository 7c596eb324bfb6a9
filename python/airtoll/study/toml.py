"""Reads and parses users' TOML files. Every error is one line with the file and the location in it."""

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from airtoll.errors import UsageError
from airtoll.study.quantity import one_line


def read_toml(path: Path, what: str) -> tuple[str, dict[str, Any]]:
    """The file's text and keys. Raises UsageError; `what` describes the expected file ("a study file")."""
    file = one_line(str(path), most=4096)
    text = _read(path, file, what)
    return text, _parse(text, file, what)


def _read(path: Path, file: str, what: str) -> str:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{file}: is a directory; expected {what}")
        if not stat.S_ISREG(mode):  # reading a device or a pipe may never end
            raise UsageError(f"{file}: is not a regular file; expected {what}")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{file}: is not a valid file name") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}: line {line}: is not UTF-8; TOML files are written in UTF-8") from None


def _parse(text: str, file: str, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{file}: is nested too deeply for {what}") from None
    except ValueError as error:  # TOMLDecodeError, or an integer beyond Python's limit of digits
        place, reason = _place(str(error), text)
        raise UsageError(f"{file}: {place}not TOML: {one_line(reason, most=200)}") from None


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
