"""The formats of files that airtoll imports."""

from typing import Final

from airtoll.errors import UsageError
from airtoll.store.importers import flent, iperf2, iperf3, irtt, netperf, ping, wireshark
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import Format

FORMATS: Final[tuple[Format, ...]] = (
    iperf3.FORMAT,
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
        tools = ", ".join(dict.fromkeys(each.tool for each in FORMATS))
        raise UsageError(
            f"{document.name}: is not a file that airtoll imports: expected output of one of {tools}"
        )
    return found[0]
