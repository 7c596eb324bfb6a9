"""The formats of files that airtoll imports."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from airtoll.errors import UsageError
from airtoll.store.importers import (
    flent,
    iperf2,
    iperf3,
    iperf3_text,
    irtt,
    irtt_text,
    netperf,
    ping,
    wireshark,
)
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import Format

FORMATS: Final[tuple[Format, ...]] = (
    iperf3.FORMAT,
    iperf3_text.FORMAT,
    iperf2.TEXT,
    iperf2.CSV,
    irtt.FORMAT,
    irtt_text.FORMAT,
    flent.FORMAT,
    netperf.FORMAT,
    ping.FORMAT,
    wireshark.FIELDS,
    wireshark.ANALYSIS,
    wireshark.STREAMS,
)
"""In the order of the documentation. No two formats recognise the same document."""


def format_of(document: Document) -> Format:
    """The format of a document. Raises UsageError if airtoll does not import it."""
    found = [each for each in FORMATS if each.recognises(document)]
    if len(found) > 1:
        tools = " and ".join(dict.fromkeys(each.tool for each in found))
        raise UsageError(f"{document.name}: contains the output of {tools}: expected one tool per file")
    if not found:
        for hint, is_of in _UNREAD.items():
            if is_of(document):
                raise UsageError(f"{document.name}: {hint}")
        tools = ", ".join(dict.fromkeys(each.tool for each in FORMATS))
        raise UsageError(
            f"{document.name}: is not a file that airtoll imports: expected output of one of {tools}"
        )
    (form,) = found
    if unexpected := document.repeated - form.repeatable:
        keys = ", ".join(sorted(unexpected))
        raise UsageError(f"{document.name}: an object repeats the keys {keys}: their values are ambiguous")
    return form


def tool_of(document: Document) -> str | None:
    """The first tool whose output a document looks like; None for other text."""
    return next((each.tool for each in FORMATS if each.recognises(document)), None)


def _contains(pattern: str) -> Callable[[Document], bool]:
    found = re.compile(pattern)
    return lambda document: document.json is None and any(found.match(line) for line in document.lines)


_UNREAD: Final[Mapping[str, Callable[[Document], bool]]] = {
    "contains rows of iperf without the lines that name the two hosts: import its complete output": _contains(
        r"\[ *\d+\] +\d+\.\d+- ?\d+\.\d+ +sec +[\d.]+ [KMGT]?Bytes +[\d.]+ [KMGT]?bits/sec"
    ),
    "contains the raw lines of irtt client -r: repeat the test with -o FILE, and import that file": _contains(
        r"\d+ \d+\.\d{6} \S+ \S+ \S+ [01] (?:[01]|NaN)$"
    ),
    "contains results of netperf without their names, which -P 0 omits: repeat the test without it": _contains(
        r" *\d+ +(?:\d+ +){2,3}\d+\.\d\d +\d+\.\d\d *$| *\d+ +\d+ +\d+\.\d\d +\d+ +\d+ +\d+\.\d\d *$|"
        r"[\d.,-]+,(?:10\^\d+bits|[KMG]?Bytes|Trans)/s(?:,|$)"
    ),
}
"""Outputs of the same tools that are not read, with the remedy."""
