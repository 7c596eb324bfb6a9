"""Files from elsewhere: read whole, unpacked within a bound, parsed as JSON; every fault is one line."""

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
"""Of a file, packed or not: an hour of irtt at 20 ms takes half of it."""

_OPENERS: Final = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open))
"""By the first octets (RFC 1952, 2.3.1; bzip2), whatever the file's name says."""


@dataclass(frozen=True)
class Document:
    """A file's content: as it is on the disk, unpacked, and parsed."""

    name: str  # as messages show it
    content: bytes
    text: bytes
    json: Any


def read_document(path: Path) -> Document:
    """The JSON document in a file, packed by gzip or bzip2 or not. iperf3's stream of events counts as one.

    Raises UsageError for a file that cannot be read, is longer than MOST_BYTES, or holds something else.
    """
    name = one_line(str(path), most=4096)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):  # reading a device or a pipe need not end
            raise UsageError(f"{name}: is {'a directory' if stat.S_ISDIR(mode) else 'not a regular file'}")
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{name}: is longer than {MOST_BYTES >> 20} MiB")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{name}: is not the name of a file") from None
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
        raise UsageError(f"{name}: is longer than {MOST_BYTES >> 20} MiB when it is unpacked")
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
        raise UsageError(f"{name}: is cut off or no JSON: {one_line(str(error), most=100)}") from None


def _events(content: bytes, name: str) -> dict[str, Any]:
    """The report that a stream of events (iperf3 --json-stream) tells of, as iperf3 -J would have put it."""
    report: dict[str, Any] = {"intervals": []}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            event = from_json(line, allow_inf_nan=False)
        except ValueError:
            raise UsageError(f"{name}: line {number}: is cut off or no JSON") from None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str) or "data" not in event:
            raise UsageError(f"{name}: line {number}: is no event of iperf3 --json-stream")
        if event["event"] == "interval":
            report["intervals"].append(event["data"])
        else:
            report[event["event"]] = event["data"]
    return report
