"""iperf 1.7 to 2.2, and JPerf, which runs iperf and shows its output: text and CSV.

    lines --text, table--> Test (streams with rows) --tests--> Reading

- `text`: the report for people, of client or server, with or without `-e`.
- `table`: the report of `-y C`.
- `tests`: the types of both, and how the rows of a test become samples.

A file may contain several tests one after the other, such as the log of a server, both halves of `-r`, or the output
window of JPerf. Parallel streams and both directions of `-d` are one test.
"""

from typing import Final

from airtoll.store.importers.iperf2 import table, text
from airtoll.store.importers.reading import Format

TEXT: Final = Format(
    tool="iperf 2, JPerf",
    files="text of client or server, iperf 1.7 to 2.2; TCP, UDP, `-P`, `-d`, `-r`, `-R`, `--full-duplex`, `-i`, `-e`, "
    "`-f`; several tests per file; the output window of JPerf",
    imported="throughput; for UDP jitter and loss; with `-e` retransmits",
    recognises=text.recognises,
    read=text.read,
)
CSV: Final = Format(
    tool="iperf 2, JPerf",
    files="`-y C`, also with `-e`, of client or server; several tests per file",
    imported="the same, with exact octets",
    recognises=table.recognises,
    read=table.read,
)
