"""iperf3's report for people, of client or server.

    [  5] local 192.0.2.3 port 40000 connected to 192.0.2.2 port 5201
    [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
    [  5]   0.00-1.00   sec  5.00 MBytes  41.9 Mbits/sec    0    100 KBytes
    - - - - - - - - - - - - - - - - - - - - - - - - -
    [ ID] Interval           Transfer     Bitrate         Retr
    [  5]   0.00-1.00   sec  5.00 MBytes  41.9 Mbits/sec    0             sender
    [  5]   0.00-1.00   sec  5.00 MBytes  41.9 Mbits/sec                  receiver

The text becomes the report of `iperf3 -J`, which the module `iperf3` reads. Rates have the printed digits. Sums of
streams ([SUM]) are computed here. A line may begin with a time (`--timestamps`) or a title (`-T`). The server's report
of the same test (`--get-server-output`) is not read.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from airtoll.errors import UsageError
from airtoll.store.importers import iperf3
from airtoll.store.importers.files import Document, check_count
from airtoll.store.importers.reading import Asked, Format, Reading

_BEGIN: Final = re.compile(r"(?:^|\s)(Connecting to host \S|Accepted connection from )")
_LOCAL: Final = re.compile(r"\[ *\d+\] local (\S+) port \d{1,5} connected to \S+ port \d{1,5}")
_HEAD: Final = re.compile(r"\[ ?ID\](?:\[Role\])? +Interval\b(.*)$")
_RULE: Final = re.compile(r"(?:^|\s)(?:- ){5}")
_ROW: Final = re.compile(
    r"\[ *(\d{1,9}|SUM)\](?:\[([TR])X-[CS]\])? +(\d{1,7}\.\d{1,9})- ?(\d{1,7}\.\d{1,9}) +sec +"
    r"\d{1,15}(?:\.\d{1,9})? [KMGT]?Bytes +(\d{1,15}(?:\.\d{1,9})?) ([KMGT]?)(bit|Byte)s/sec(.*)$"
)
_COUNTS: Final = re.compile(r"^ +(\d{1,9}\.\d{1,9}|-?nan) ms +(-?\d{1,20}|Unknown)/(\d{1,20})\b")
_COUNT: Final = re.compile(r"^ +(\d{1,15})\b(?! ms)")
_TEST: Final = re.compile(
    r"Starting Test: protocol: (TCP|UDP|SCTP), (\d{1,3}) streams, (\d{1,9}) byte blocks, omitting (\d{1,6}) seconds"
    r"(?:, (\d{1,6}) second test)?"
)
_TIME: Final = re.compile(r"^ *Time: \w{3}, (\d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d) (?:GMT|UTC)")
_FAILED: Final = re.compile(r"iperf3: (?:error - )?(?!interrupt|getsockopt|warning|OUT OF ORDER)(.+)$")
_REORDERED: Final = re.compile(r" sec +\d+ datagrams received out-of-order$")
_POWER: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}

_Row = dict[str, Any]
"""A row as an object of the report of `iperf3 -J`, with the keys `role` and `stream` in addition."""


@dataclass
class _Test:
    """The part of one test that has been read."""

    is_client: bool
    addresses: list[str] = field(default_factory=list)
    head: str = ""
    is_reverse: bool = False
    rows: list[_Row] = field(default_factory=list)
    totals: dict[str, list[_Row]] = field(default_factory=lambda: defaultdict(list))  # sender, receiver, ""
    settings: dict[str, Any] = field(default_factory=dict)  # test_start
    start: dict[str, Any] = field(default_factory=dict)
    ends: bool = False  # whether the rows that follow are totals


def _is_text(document: Document) -> bool:
    return document.json is None and any(_LOCAL.search(line) for line in document.lines)


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    readings: list[Reading] = []
    for test in _tests(document):
        if not test.totals:
            raise document.truncated("the totals of iperf3 after a line of dashes")
        for reading in iperf3.read(replace(document, json=_report(test)), asked):
            # Without -V, the text has only the time of the last interval.
            unsaid = set() if "duration" in test.settings else {"duration_s"}
            settings = {name: value for name, value in reading.settings.items() if name not in unsaid}
            readings.append(replace(reading, settings=settings))
    return readings


def _tests(document: Document) -> Sequence[_Test]:
    tests: list[_Test] = []
    after_rule = is_of_server = False
    preamble: dict[str, Any] = {}
    for number, line in enumerate(document.lines, start=1):
        is_of_server = line.strip() == "Server output:" or (
            is_of_server and not re.search(r"\bConnecting to host \S|\biperf Done\.", line)
        )
        if is_of_server:
            continue
        if found := _BEGIN.search(line):
            tests.append(_Test(found[1].startswith("Connecting"), start=preamble))
            preamble = {}
        elif line.lstrip().startswith("iperf 3."):
            preamble["version"] = line.strip()
        elif (found := _TIME.match(line)) and (stamp := _stamp(found[1])):
            (tests[-1].start if tests and not tests[-1].rows else preamble)["timestamp"] = {"timesecs": stamp}
        elif (found := _FAILED.search(line)) and (not tests or not tests[-1].totals):
            raise UsageError(f"{document.name}: line {number}: the test failed: {found[1]}")
        elif found := _LOCAL.search(line):
            if not tests:
                tests.append(_Test(is_client=True))  # the first lines are missing
            tests[-1].addresses.append(found[1])
        elif tests:
            _take(tests[-1], document, number, line, after_rule=after_rule)
        check_count(len(tests), document.name)
        after_rule = _RULE.search(line) is not None or (after_rule and "Summary Results" in line)
    return tests


def _take(test: _Test, document: Document, number: int, line: str, *, after_rule: bool) -> None:
    """Read one line after the first one of a test."""
    if found := _HEAD.search(line):
        test.ends = test.ends or (after_rule and bool(test.rows))
        test.head = test.head or found[1]
    elif found := _ROW.search(line):
        if found[1] != "SUM":
            row, mark = _row(found)
            (test.totals[mark] if test.ends or mark else test.rows).append(row)
    elif re.search(r"\[ *\d+\](?:\[[TR]X-[CS]\])? +\d+\.\d+-", line) and not _REORDERED.search(line):
        raise document.error(number, "an interval or a total of iperf3")
    elif found := _TEST.search(line):
        test.settings |= {"protocol": found[1], "blksize": int(found[3]), "omit": int(found[4])}
        if found[5]:
            test.settings["duration"] = float(found[5])
    elif "Reverse mode" in line:
        test.is_reverse = True


def _stamp(text: str) -> int | None:
    """Seconds since 1970 of a time in UTC."""
    try:
        return int(datetime.strptime(text, "%d %b %Y %H:%M:%S").replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _row(found: re.Match[str]) -> tuple[_Row, str]:
    """A row, and the end that it is about if it is a total."""
    stream, role, start, end, rate, prefix, unit, rest = found.groups()
    base, bits = (1000, 1) if unit == "bit" else (1024, 8)
    bit_per_s = float(rate) * bits * base ** _POWER[prefix]
    row: _Row = {
        "stream": stream,
        "role": role,
        "start": float(start),
        "end": float(end),
        "bits_per_second": bit_per_s,
        "bytes": round(bit_per_s * (float(end) - float(start)) / 8),
        "omitted": "(omitted)" in rest,
    }
    if counts := _COUNTS.match(rest):
        row |= {"lost_packets": None if counts[2] == "Unknown" else int(counts[2]), "packets": int(counts[3])}
        row["jitter_ms"] = None if "nan" in counts[1] else float(counts[1])
    elif count := _COUNT.match(rest):
        row["retransmits"] = int(count[1])
    mark = re.search(r"\b(sender|receiver)\s*$", rest)
    return row, mark[1] if mark else ""


def _report(test: _Test) -> dict[str, Any]:
    """The report of `iperf3 -J`."""
    is_udp = "Datagrams" in test.head
    sends = _sends(test)
    settings = {
        "protocol": "UDP" if is_udp else "TCP",
        "blksize": None,
        "omit": max((row["end"] for row in test.rows if row["omitted"]), default=0.0),
    }
    lasts = [row["end"] for row in test.rows if not row["omitted"]]
    # The receiver's total at a client includes the time in which the sender's buffer empties.
    if not (test.is_client and lasts):
        lasts += [row["end"] for rows in test.totals.values() for row in rows]
    roles = dict.fromkeys(row["role"] for row in test.rows)
    parts = [[row for row in test.rows if row["role"] == role] for role in roles]
    settings |= {
        "num_streams": len({row["stream"] for row in parts[0]}) if parts else 1,
        "duration": float(max(1, round(max(lasts, default=0.0)))),
        "reverse": int(test.is_client != sends) if len(roles) < 2 else 0,
        **test.settings,
    }
    totals = {
        mark: rows for mark, rows in test.totals.items() if test.is_client or mark != "receiver" or not sends
    }
    end: dict[str, Any] = {}
    for role, suffix in zip(roles, ("", "_bidir_reverse"), strict=False):
        for mark, key in (("sender", "sum_sent"), ("receiver", "sum_received"), ("", "sum")):
            rows = [row for row in totals.get(mark, []) if row["role"] == role]
            if rows:
                end[key + suffix] = _sum(rows)
    return {
        "start": {
            "version": "iperf 3 (unknown version)",
            "timestamp": None,
            "test_start": settings,
            "connected": [{"local_host": address} for address in test.addresses],
            "connecting_to": {} if test.is_client else None,
            **test.start,
        },
        "intervals": list(_intervals(parts, sends=sends)),
        "end": end,
    }


def _sends(test: _Test) -> bool:
    """Whether the reporting end sends, in the first of its directions."""
    if test.rows and test.rows[0]["role"] is not None:
        return bool(test.rows[0]["role"] == "T")
    if test.is_client:
        return not test.is_reverse
    is_sender = "Retr" in test.head or ("Datagrams" in test.head and "Jitter" not in test.head)
    return is_sender or set(test.totals) == {"sender"}


def _intervals(parts: Sequence[Sequence[_Row]], *, sends: bool) -> Iterator[dict[str, Any]]:
    """The intervals of all streams together."""
    grouped: list[dict[tuple[bool, float, float], list[_Row]]] = []
    for rows in parts:
        by_time: dict[tuple[bool, float, float], list[_Row]] = defaultdict(list)
        for row in rows:
            by_time[not row["omitted"], row["start"], row["end"]].append(row)
        grouped.append(by_time)
    for time in sorted(dict.fromkeys(time for by_time in grouped for time in by_time)):
        names = ("sum", "sum_bidir_reverse")
        sums = {name: _sum(of[time]) for name, of in zip(names, grouped, strict=False) if time in of}
        if "sum" in sums:
            sums["sum"]["sender"] = sends
            yield sums


def _sum(rows: Sequence[_Row]) -> _Row:
    """Several streams in one interval as one row. The jitter is the mean, as iperf3 computes it."""
    row = {**rows[0], "start": min(row["start"] for row in rows), "end": max(row["end"] for row in rows)}
    for key in ("bits_per_second", "bytes", "retransmits", "lost_packets", "packets", "jitter_ms"):
        values = [each[key] for each in rows if each.get(key) is not None]
        if len(values) == len(rows):
            row[key] = sum(values) / (len(rows) if key == "jitter_ms" else 1)
    return row


FORMAT: Final = Format(
    tool="iperf3",
    files="text of client or server; TCP, UDP, `-R`, `--bidir`, `-P`, `-O`, `-V`, `-f`, `--timestamps`; several tests "
    "per file",
    imported="throughput with the printed digits, retransmits; for UDP jitter and loss",
    recognises=_is_text,
    read=_read,
)
