"""Reads foreign files: unpacks and decodes them within limits, as JSON or as lines. Every error is one line.

    octets -> unpacked -> text (UTF-8, UTF-16 or UTF-32, or octets of a code page) -> JSON documents, or lines

A file may contain several JSON documents with any text before, between and after them: warnings of a tool, prompts of a
shell, fences of Markdown.
"""

import bz2
import codecs
import gzip
import io
import json
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from airtoll.errors import UsageError
from airtoll.study.quantity import one_line

MOST_BYTES: Final = 256 << 20
"""Size limit of a file, packed and unpacked. An hour of irtt at 20 ms takes half of it."""

_MOST_RATIO: Final = 100
"""Limit of the unpacked size by the packed one, above 16 MiB. bzip2 reaches a quarter of it with a file of flent."""

_ALWAYS_UNPACKED: Final = 16 << 20

MOST_LINES: Final = 2_000_000
"""Limit of a text. ping prints half of it per day at 0.1 s, and a video of 6 Mbit/s has as many packets per hour."""

MOST_VALUES: Final = 4_000_000
"""Limit of the JSON in a file. Three hours of iperf3 at 0.1 s, or one of irtt at 20 ms, have fewer."""

_ALWAYS_VALUES: Final = 500_000

_MOST_VALUES_PER_BYTE: Final = 2
"""Limit of the JSON by the packed size, above 500,000 values. Reports of iperf3, irtt and flent have at most 0.4."""

MOST_RUNS: Final = 9999
"""Limit of the tests in a file, and of the runs of a result, whose names have four digits for their position."""

MOST_CHARACTERS: Final = 16 << 10
"""Limit of a line of text. netperf's longest has a third of it."""

_OPENERS: Final = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open))
"""Decompressors by magic number (RFC 1952, 2.3.1; bzip2), independent of the file's name."""


_CAPTURES: Final = tuple(
    bytes.fromhex(magic) for magic in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")
)
"""Magic numbers of pcap (both byte orders, us and ns) and pcapng."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Encodings by byte order mark. The mark of UTF-32 begins with that of UTF-16."""

_INVISIBLE: Final = re.compile("[\ufeff\u200e\u200f\u202a-\u202e]")
"""Byte order marks, which `>>` of PowerShell also writes inside a file, and marks of the direction of text."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Control characters that are not in text. Form feed and escape may be in the output of a terminal."""

_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)[^`]*$", re.ASCII)

_OBJECT: Final = re.compile(r'^[ \t]*(?=\{\s*["}])', re.MULTILINE)
"""The beginning of a JSON object on a line of its own. A `[` also begins lines of iperf 2."""

_ARRAY: Final = re.compile(r"\s*\[\s*(?=\{)")
_NEXT: Final = re.compile(r"\s*,\s*(?=\{)")
_END: Final = re.compile(r"\s*\]")


class RepeatedKeys(dict[str, Any]):
    """A JSON object in which a key is repeated. As a dict, it has the last value of each key."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


@dataclass(frozen=True)
class Document:
    """One JSON document of a file, or the complete file if it is text."""

    name: str  # of the file, in messages
    text: str
    json: Any = None  # None: the document is not JSON
    repeated: frozenset[str] = frozenset()  # keys that have several values in one object

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines of a text file, without line ends, fences and `^C`. Raises UsageError for a binary file.

        If all lines are quoted (`> `) or indented, as in mail and Markdown, these characters are removed.
        """
        ends = self.text.count("\n") + self.text.count("\r") - self.text.count("\r\n")
        if ends > MOST_LINES:
            raise UsageError(f"{self.name}: has {ends} lines: expected at most {MOST_LINES}")
        lines = re.split(r"\r\n|\n|\r", self.text)
        for number, line in enumerate(lines, start=1):
            if len(line) > MOST_CHARACTERS:
                raise UsageError(f"{self.name}: line {number}: is longer than {MOST_CHARACTERS} characters")
            if _CONTROL.search(line):
                raise UsageError(f"{self.name}: line {number}: contains binary data")
        # A terminal shows Ctrl-C in front of the next line of the tool.
        lines = [line.removeprefix("^C") for line in lines]
        filled = [line for line in lines if line.strip(" \t>")]
        if filled and all(line.startswith(">") for line in filled):
            lines = [line.removeprefix(">") for line in lines]
            filled = [line.removeprefix(">") for line in filled]
        margin = min((len(line) - len(line.lstrip(" \t")) for line in filled), default=0)
        lines = [line[margin:] for line in lines]
        return ["" if _FENCE.match(line) else line for line in lines]

    def error(self, line: int, expected: str, part: str | None = None) -> UsageError:
        """The error for a line, by its number from 1, that is not as expected, or for a part of the line."""
        shown = one_line(" ".join((part or self.lines[line - 1]).split()), most=60)
        got = f"got {shown!r}" if shown else "got an empty line"
        return UsageError(f"{self.name}: line {line}: expected {expected}, {got}")

    def truncated(self, expected: str) -> UsageError:
        """The error for a file that ends before something."""
        return UsageError(f"{self.name}: line {len(self.lines)}: is truncated: expected {expected}")


@dataclass(frozen=True)
class File:
    """A file's content: verbatim, and as documents."""

    name: str  # in messages
    content: bytes
    modified: datetime  # UTC
    documents: Sequence[Document]  # at least one
    rest: Document | None = None  # the text beside JSON documents, if there is any


def read_file(path: Path) -> File:
    """The documents in a file, which may be compressed by gzip or bzip2.

    Raises UsageError if the file cannot be read, exceeds a limit, is empty, or contains incomplete JSON.
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
    text = decoded(_unpacked(content, name), name)
    if not text.strip():
        raise UsageError(f"{name}: is empty")
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    most_values = min(MOST_VALUES, max(_ALWAYS_VALUES, _MOST_VALUES_PER_BYTE * len(content)))
    return File(name, content, modified, *_documents(text, name, most_values))


def _unpacked(content: bytes, name: str) -> bytes:
    opener = next((opener for magic, opener in _OPENERS if content.startswith(magic)), None)
    if opener is None:
        return content
    most = min(MOST_BYTES, max(_ALWAYS_UNPACKED, _MOST_RATIO * len(content)))
    try:
        with opener(io.BytesIO(content)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{name}: cannot be unpacked: {one_line(str(error))}") from None
    if len(unpacked) > most:
        ratio = f", over {_MOST_RATIO} times its size" if most < MOST_BYTES else ""
        raise UsageError(f"{name}: is longer than {most >> 20} MiB after unpacking{ratio}")
    return unpacked


def check_count(tests: int, name: str) -> None:
    """Raise UsageError if a file contains more tests than a result has runs."""
    if tests > MOST_RUNS:
        raise UsageError(
            f"{name}: contains more than {MOST_RUNS} tests: a result has at most {MOST_RUNS} runs"
        )


def decoded(content: bytes, name: str) -> str:
    """The text of a file: UTF-8, or UTF-16 and UTF-32 with a byte order mark, or UTF-16 without one.

    Other bytes are decoded as Latin-1. The importers read only ASCII characters, which have the same bytes in every
    code page of Windows, and no other character of a code page has a byte of a digit, `=`, `<` or `:`.
    """
    if content.startswith(_CAPTURES):
        raise UsageError(f"{name}: is a capture: export its fields with tshark, and import the export")
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), None)
    if encoding is None:
        # Every second byte of ASCII text in UTF-16 is 0.
        even, odd = content[:200:2].count(0), content[1:200:2].count(0)
        if 4 * max(even, odd) > len(content[:200]) and min(even, odd) == 0:
            encoding = "utf-16-le" if odd else "utf-16-be"
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        if encoding is not None:
            raise UsageError(f"{name}: is truncated or not {encoding.upper()} text") from None
        text = content.decode("latin-1")
    return _INVISIBLE.sub("", text)


def _documents(text: str, name: str, most_values: int) -> tuple[Sequence[Document], Document | None]:
    """The JSON documents in a text, with the text beside them; or the text, if it contains no JSON."""
    spans = [(0, 0)]

    def values() -> Iterator[_Value]:
        for value in _values(text, name, most_values):
            spans.append(value[:2])
            yield value

    documents: list[Document] = []
    for document in _reports(values(), text, name):
        documents.append(document)
        check_count(len(documents), name)
    if not documents:
        return [Document(name, text)], None
    spans.append((len(text), len(text)))
    beside = "\n".join(text[end:start] for (_, end), (start, _) in pairwise(spans))
    return documents, Document(name, beside) if beside.strip(" \t\r\n,[]") else None


_Value = tuple[int, int, Any, frozenset[str]]
"""A JSON value in a text: begin, end, the value, its repeated keys."""


def _values(text: str, name: str, most: int) -> Iterator[_Value]:
    """The JSON objects that begin a line, in order. An array of objects counts as its objects."""
    repeated: set[str] = set()

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        repeated.update(key for key, value in pairs if value != made[key])
        return RepeatedKeys(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=object_of, parse_constant=_no_number)
    array = _ARRAY.match(text)
    found = array or _OBJECT.search(text)
    if found and sum(text.count(sign, found.end()) for sign in ",{[") > most:
        raise UsageError(f"{name}: contains more than {most} JSON values")
    while found:
        repeated.clear()
        try:
            value, at = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            raise _not_json(text, found.end(), name) from None
        yield found.end(), at, value, frozenset(repeated)
        found = _NEXT.match(text, at) if array else None
        if array and not found:
            if not _END.match(text, at):
                raise _not_json(text, array.end(), name)
            array = None
        found = found or _OBJECT.search(text, at)


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _not_json(text: str, begins: int, name: str) -> UsageError:
    """The error for JSON that does not end or is not JSON, by the line on which it begins."""
    return UsageError(f"{name}: line {text.count(chr(10), 0, begins) + 1}: is truncated or not JSON")


def _reports(values: Iterable[_Value], text: str, name: str) -> Iterator[Document]:
    """The documents: each object, and one report of iperf3 -J for each stream of events (--json-stream).

    With --json-stream-full-output, a report follows the events of the same test. It replaces them.
    """
    events: list[_Value] = []

    def streamed() -> Iterator[Document]:
        if events:
            report = _report([value for *_, value, _ in events], name)
            keys = frozenset().union(*(keys for *_, keys in events))
            yield Document(name, text[events[0][0] : events[-1][1]], report, keys)
        events.clear()

    for each in values:
        start, end, value, keys = each
        kind = value.get("event")
        if isinstance(kind, str) and "data" in value:
            if kind == "start":
                yield from streamed()
            events.append(each)
            continue
        if events and not _is_same_test(events[0][2]["data"], value.get("start")):
            yield from streamed()
        events.clear()
        yield Document(name, text[start:end], value, keys)
    yield from streamed()


def _is_same_test(first: Any, second: Any) -> bool:
    return (
        isinstance(first, dict) and isinstance(second, dict) and first.get("cookie") == second.get("cookie")
    )


def _report(events: Sequence[Any], name: str) -> dict[str, Any]:
    """Convert the events of one test to the report of iperf3 -J."""
    report: dict[str, Any] = {"intervals": []}
    for event in events:
        if event["event"] == "interval":
            report["intervals"].append(event["data"])
        else:
            report[event["event"]] = event["data"]
    if "end" not in report and "error" not in report:
        raise UsageError(f"{name}: is truncated: the events of iperf3 --json-stream have no end")
    return report
