"""Reads foreign files: unpacks them within a size limit, as JSON or as lines of text. Every error is one line."""

import bz2
import codecs
import gzip
import io
import re
import stat
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from airtoll.errors import UsageError
from airtoll.study.quantity import one_line

MOST_BYTES: Final = 256 << 20
"""Size limit of a file, packed and unpacked. An hour of irtt at 20 ms takes half of it."""

MOST_CHARACTERS: Final = 16 << 10
"""Limit of a line of text. netperf's longest has a third of it."""

_OPENERS: Final = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open))
"""Decompressors by magic number (RFC 1952, 2.3.1; bzip2), independent of the file's name."""


_CAPTURES: Final = tuple(
    bytes.fromhex(magic) for magic in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")
)
"""Magic numbers of pcap (both byte orders, us and ns) and pcapng."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Control characters that are not in text. Form feed and escape may be in the output of a terminal."""


@dataclass(frozen=True)
class Document:
    """A file's content: verbatim, unpacked, and parsed if it is JSON."""

    name: str  # in messages
    content: bytes
    text: bytes
    modified: datetime  # UTC
    json: Any = None  # None: the file is not JSON

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines of a text file, without line ends. Raises UsageError for a binary file.

        Text is UTF-8, or UTF-16 with a byte order mark, as PowerShell writes it. Other bytes are decoded as Latin-1:
        the importers read only ASCII characters, and a localised word does not make a file unreadable.
        """
        if self.text.startswith(_CAPTURES):
            raise UsageError(
                f"{self.name}: is a capture: export its fields with tshark, and import the export"
            )
        wide = self.text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        try:
            text = self.text.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError:
            text = self.text.decode("latin-1")
        lines = re.split(r"\r\n|\n|\r", text)
        for number, line in enumerate(lines, start=1):
            if len(line) > MOST_CHARACTERS:
                raise UsageError(f"{self.name}: line {number}: is longer than {MOST_CHARACTERS} characters")
            if _CONTROL.search(line):
                raise UsageError(f"{self.name}: line {number}: contains binary data")
        return lines

    def error(self, line: int, expected: str) -> UsageError:
        """The error for a line, by its number from 1, that is not as expected."""
        shown = one_line(" ".join(self.lines[line - 1].split()), most=60)
        got = f"got {shown!r}" if shown else "got an empty line"
        return UsageError(f"{self.name}: line {line}: expected {expected}, {got}")

    def truncated(self, expected: str) -> UsageError:
        """The error for a file that ends before something."""
        return UsageError(f"{self.name}: line {len(self.lines)}: is truncated: expected {expected}")


def read_document(path: Path) -> Document:
    """The document in a file, which may be compressed by gzip or bzip2. Accepts iperf3's event streams as JSON.

    Raises UsageError if the file cannot be read, is longer than MOST_BYTES, is empty, or begins as JSON but is not.
    """
    name = one_line(str(path), most=4096)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a device or a pipe may never end
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise UsageError(f"{name}: is {kind}")
        if status.st_size > MOST_BYTES:
            raise UsageError(f"{name}: is longer than {MOST_BYTES >> 20} MiB")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{name}: is not a valid file name") from None
    text = _unpacked(content, name)
    if not text.strip():
        raise UsageError(f"{name}: is empty")
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return Document(name, content, text, modified, _json(text, name))


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


def _json(content: bytes, name: str) -> Any:
    """The parsed JSON, or None if the file does not begin as JSON. A `[` also begins lines of iperf 2."""
    if not content.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError as error:
        first, _, rest = content.lstrip().partition(b"\n")
        if rest.strip() and b'"event"' in first:
            return _events(content, name)
        if first.startswith(b"["):
            return None
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
