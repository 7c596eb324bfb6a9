"""The formats of files that airtoll imports."""

from collections.abc import Callable, Mapping
from typing import Final

from airtoll.errors import UsageError
from airtoll.store.importers import flent, iperf2, iperf3, iperf3_text, irtt, netperf, ping, wireshark
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import Format

FORMATS: Final[tuple[Format, ...]] = (
    iperf3.FORMAT,
    iperf3_text.FORMAT,
    iperf2.TEXT,
    iperf2.CSV,
    irtt.FORMAT,
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


def _begins(*words: str) -> Callable[[Document], bool]:
    return lambda document: document.json is None and any(line.startswith(words) for line in document.lines)


_UNREAD: Final[Mapping[str, Callable[[Document], bool]]] = {
    "is the text output of irtt: repeat the test with -o FILE, and import that file": _begins(
        "[Connecting] connecting to"
    ),
}
"""Outputs of the same tools that are not read, with the remedy."""
