"""Reads foreign files: unpacks them within a size limit and parses them as JSON. Every error is one line."""

import bz2
import gzip
import io
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from airtoll.errors import UsageError
from airtoll.study.quantity import one_line

MOST_BYTES: Final = 256 << 20
"""Size limit of a file, packed and unpacked. An hour of irtt at 20 ms takes half of it."""

_OPENERS: Final = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open))
"""Decompressors by magic number (RFC 1952, 2.3.1; bzip2), independent of the file's name."""


@dataclass(frozen=True)
class Document:
    """A file's content: verbatim, unpacked, and parsed."""

    name: str  # in messages
    content: bytes
    text: bytes
    json: Any


def read_document(path: Path) -> Document:
    """The JSON document in a file, which may be compressed by gzip or bzip2. Accepts iperf3's event streams.

    Raises UsageError if the file cannot be read, is longer than MOST_BYTES, or is not JSON.
    """
    name = one_line(str(path), most=4096)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):  # reading a device or a pipe may never end
            raise UsageError(f"{name}: is {'a directory' if stat.S_ISDIR(mode) else 'not a regular file'}")
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{name}: is longer than {MOST_BYTES >> 20} MiB")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{name}: is not a valid file name") from None
    text = _unpacked(content, name)
    return Document(name, content, text, _parsed(text, name))


def _unpacked(content: bytes, name: str) -> bytes:
    opener = next((opener for magic, opener in _OPENERS if content.startswith(magic)), None)
    if opener is None:
        return content
    try:
        with opener(io.BytesIO(content)) as file:
            unpacked = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{name}: cannot be unpacked: {one_line(str(error))}") from None
    if len(unpacked) > MOST_BYTES:
        raise UsageError(f"{name}: is longer than {MOST_BYTES >> 20} MiB after unpacking")
    return unpacked


def _parsed(content: bytes, name: str) -> Any:
    if not content.strip():
        raise UsageError(f"{name}: is empty")
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError as error:
        first, _, rest = content.lstrip().partition(b"\n")
        if rest.strip() and b'"event"' in first:
            return _events(content, name)
        raise UsageError(f"{name}: is truncated or not JSON: {one_line(str(error), most=100)}") from None


def _events(content: bytes, name: str) -> dict[str, Any]:
    """Convert a stream of events (iperf3 --json-stream) to the report of iperf3 -J."""
    report: dict[str, Any] = {"intervals": []}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            event = from_json(line, allow_inf_nan=False)
        except ValueError:
            raise UsageError(f"{name}: line {number}: is truncated or not JSON") from None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str) or "data" not in event:
            raise UsageError(f"{name}: line {number}: is not an event of iperf3 --json-stream")
        if event["event"] == "interval":
            report["intervals"].append(event["data"])
        else:
            report[event["event"]] = event["data"]
    return report
