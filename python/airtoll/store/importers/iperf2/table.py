"""iperf's CSV report (`-y C`): one row per interval and stream, and one over the whole test.

    time, address, port, address, port, stream, start-end, octets, bit/s
    time, address, port, address, port, stream, start-end, octets, bit/s, jitter, lost, sent, lost in %, out of order

iperf 2.0 puts its own address first. iperf 2.1 puts the client's first and gives rows of a client's datagrams 14 fields
too, with -1 datagrams in the total. The time is that of the end of an interval, in the host's local time; iperf 2.1
without `-i` writes 1970. With `-e`, iperf 2.1.9 adds the time zone and six fields. iperf 2.2 also adds a line with the
names of the fields, and its interval is two fields.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from airtoll.store.importers.files import Document, check_count
from airtoll.store.importers.iperf2.tests import End, IperfRow, IperfStream, Port, Test
from airtoll.store.importers.reading import Asked, Reading

_BEGINS: Final = re.compile(r"^(?:[+-]\d{4}:)?\d{14}(?:\.\d+)?,")
_HEAD: Final = (
    "time",
    "srcaddress",
    "srcport",
    "dstaddr",
    "dstport",
    "transferid",
    "istart",
    "iend",
    "bytes",
    "speed",
)
_COUNTS: Final = ("jitter", "errors", "datagrams", "errpercent", "outoforder")
_LENGTHS: Final = {9: _HEAD, 14: (*_HEAD, *_COUNTS), 15: (*_HEAD, *map(str, range(6)))}
"""The fields of a row without a line of names, by their number. The start and the end of an interval are one field."""

_ONE_DIRECTION: Final = "one direction: import the text output of --full-duplex"

_TIME: Final = re.compile(r"(?:([+-])(\d\d)(\d\d):)?(\d{14})(?:\.\d+)?")
_VALUES: Final = {
    "time": _TIME.pattern,
    **dict.fromkeys(("srcaddress", "dstaddr"), r"[\w.:%-]+"),
    **dict.fromkeys(("srcport", "dstport"), r"\d{1,5}"),
    "transferid": r"-?\d{1,9}",
    **dict.fromkeys(("istart", "iend"), r"\d{1,7}\.\d+"),
    **dict.fromkeys(("bytes", "speed"), r"\d{1,18}"),
    "jitter": r"-?(?:\d{1,9}\.\d+|nan)",
    **dict.fromkeys(("errors", "datagrams", "outoforder"), r"-?\d{1,15}"),
}
"""The fields that are read."""

_NOTE: Final = re.compile(r"^\[ *\*?\d+\] [A-Z]")
"""A warning about a stream."""

_PORT: Final = 5001
"""iperf's own port. With another one, the end with the lower port is taken as the server."""


def recognises(document: Document) -> bool:
    """Whether a line begins with iperf's time stamp."""
    return document.json is None and any(_BEGINS.match(line) for line in document.lines)


def read(document: Document, asked: Asked) -> Sequence[Reading]:
    """The tests in a table, in order. Raises UsageError with the line that is not as expected."""
    rows = list(_rows(document))
    _refuse_both_directions(document, rows)
    table = _Table(
        document,
        senders=frozenset(row.ends for row in rows if row.sent == -1 or row.sends),
        datagrams=frozenset(row.ends for row in rows if row.sent is not None),
        left=Counter(row.ends for row in rows),
    )
    for row in rows:
        table.take(row)
        check_count(len(table.tests), document.name)
    table.close()
    return [test.reading(asked) for test in table.tests]


@dataclass(frozen=True)
class _Fields:
    """The fields of one row."""

    line: int
    time: datetime | None  # of the end of the interval, without time zone
    first: Port
    second: Port
    stream: int
    start_s: float
    end_s: float
    octets: int
    bit_per_s: int
    jitter_ms: float | None
    lost: int | None
    sent: int | None  # datagrams; -1: not known
    disordered: int | None
    sends: bool | None  # whether the reporting end sends; None: the row does not say
    has_zone: bool

    @property
    def ends(self) -> frozenset[Port]:
        return frozenset((self.first, self.second))

    @property
    def server(self) -> Port:
        """The end that the other one connected to."""
        own = [port for port in (self.first, self.second) if port[1] == _PORT]
        return own[0] if len(own) == 1 else min(self.first, self.second, key=lambda port: port[1])


def _refuse_both_directions(document: Document, rows: Sequence[_Fields]) -> None:
    """Refuse rows of both directions of one connection, whose fields do not say which end reports them."""
    orders: set[tuple[Port, Port]] = set()
    sends = {row.ends for row in rows if row.sent == -1}
    for row in rows:
        # iperf 2.0 prints the server's total of datagrams with the addresses in the other order.
        if row.sent is not None and row.ends not in sends:
            continue
        if (row.second, row.first) in orders:
            raise document.error(row.line, _ONE_DIRECTION)
        orders.add((row.first, row.second))


def _rows(document: Document) -> Iterator[_Fields]:
    """The rows of single streams. IperfStream -1 is the sum of all."""
    heads: dict[int, tuple[str, ...]] = {}  # by the number of fields: both directions have lines of names
    for number, line in enumerate(document.lines, start=1):
        values = line.rstrip().split(",")
        if values[: len(_HEAD)] == list(_HEAD):
            heads[len(values)] = tuple(values)
            if "bbcnt" in values:
                raise document.error(number, "a test of throughput, not a bounce-back test")
        elif _BEGINS.match(line):
            row = _named(values, heads)
            if not row:
                expected = " or ".join(map(str, heads)) or "9, 14 or 15"
                raise document.error(number, f"{expected} fields of iperf -y C")
            if row["dstport"] == "0":  # iperf 2.1 prints no peer of the second direction
                raise document.error(number, _ONE_DIRECTION)
            for name in (*_HEAD, *_counts(row)):
                if re.fullmatch(_VALUES[name], row.get(name, "")) is None:
                    raise document.error(number, f"the field {name} of iperf -y C", row.get(name))
            if row["transferid"] != "-1":
                yield _fields(number, row)
        elif line.startswith("[") and not _NOTE.match(line):
            raise document.error(number, "a row of iperf -y C")


def _named(values: list[str], heads: Mapping[int, tuple[str, ...]]) -> dict[str, str]:
    """The fields of a row by their names; none for a wrong number of fields."""
    if heads:
        names = heads.get(len(values), ())
    else:
        names = _LENGTHS.get(len(values), ())
        values = [*values[:6], *"".join(values[6:7]).partition("-")[::2], *values[7:]]
    return dict(zip(names, values, strict=True)) if len(names) == len(values) else {}


def _counts(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in _COUNTS if name in row and name in _VALUES)


def _fields(number: int, row: Mapping[str, str]) -> _Fields:
    jitter = row.get("jitter", "").lstrip("-")
    lost, sent, disordered = (
        int(row[name]) if name in row else None for name in ("errors", "datagrams", "outoforder")
    )
    return _Fields(
        number,
        _time(row["time"]),
        (row["srcaddress"], int(row["srcport"])),
        (row["dstaddr"], int(row["dstport"])),
        int(row["transferid"]),
        float(row["istart"]),
        float(row["iend"]),
        int(row["bytes"]),
        int(row["speed"]),
        float(jitter) if jitter not in ("", "nan") else None,
        lost,
        sent,
        disordered,
        sends=True if "writecnt" in row else False if "readcnt" in row else None,
        has_zone=row["time"][0] in "+-",
    )


def _time(stamp: str) -> datetime | None:
    """The time, which is UTC if the stamp has no zone; None if iperf did not know it."""
    found = _TIME.fullmatch(stamp)
    if found is None:
        return None
    sign, hours, minutes, digits = found.groups()
    east = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        time = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC) - east
    except (ValueError, OverflowError):
        return None
    return time if 1971 <= time.year < 3000 else None


@dataclass
class _Table:
    """The part of a table that has been read."""

    document: Document
    senders: frozenset[frozenset[Port]]  # connections whose sender reports without counts of the receiver
    datagrams: frozenset[frozenset[Port]]  # connections over UDP
    left: Counter[frozenset[Port]]  # rows of each connection that are not read yet
    tests: list[Test] = field(default_factory=list)
    streams: dict[frozenset[Port], IperfStream] = field(default_factory=dict)  # of the last test
    unfinished: int = 0  # streams of the last test whose last row is not read yet
    last: _Fields | None = None

    def take(self, row: _Fields) -> None:
        """Read one row."""
        stream = self.streams.get(row.ends)
        if stream is None:
            stream = self._stream(row)
        # iperf 2.0 prints the server's totals with the server's address first.
        counted = row.sent is not None and row.ends not in self.senders
        counts = (row.jitter_ms, row.lost, row.sent) if counted else (None, None, None)
        stream.add(IperfRow(row.line, row.start_s, row.end_s, float(row.bit_per_s), *counts), self.document)
        if counted and row.start_s == 0 and row.end_s > 0:
            self.tests[-1].size_b = _size_b(row)
        self.left[row.ends] -= 1
        self.unfinished -= not self.left[row.ends]
        self.last = row

    def close(self) -> None:
        """Check that every test is complete, and find out which end is the client."""
        for test in self.tests:
            test.check(self.document)
        if not self.tests:
            return
        # The client opened the first connection. A table does not say who recorded it.
        client = self.tests[0].streams[0].connection[0][0]
        for test in self.tests:
            for stream in test.streams:
                stream.forth = stream.connection[0][0] == client

    def _stream(self, row: _Fields) -> IperfStream:
        connector = row.second if row.server == row.first else row.first
        udp = row.ends in self.datagrams
        # Rows that only a sender writes, or over TCP perhaps a server of iperf 2.1.
        sends = row.ends in self.senders or (
            row.sends is None and row.first == connector and row.sent is None
        )
        if self._is_new(row):
            known = udp or row.sends is not None
            end: End | None = "server" if not sends else "client" if known else None
            self.tests.append(Test("udp" if udp else "tcp", end))
            self.streams = {}
            if row.time is not None:
                self.tests[-1].started = row.time - timedelta(seconds=row.end_s)
                self.tests[-1].facts["time_zone"] = "UTC" if row.has_zone else "unknown, taken as UTC"
        stream = IperfStream(
            f"[{row.stream}]", row.line, sends=sends, forth=True, connection=(connector, row.server)
        )
        self.tests[-1].streams.append(stream)
        self.streams[row.ends] = stream
        self.unfinished += 1
        return stream

    def _is_new(self, row: _Fields) -> bool:
        """Whether the stream of a row belongs to a new test."""
        if self.last is None:
            return True
        if self.unfinished:
            return False
        if row.time is None or self.last.time is None:
            raise self.document.error(
                row.line, "the time of each row, to tell parallel streams from successive tests (iperf -i 1)"
            )
        # Times are whole seconds, and streams of one test do not end together.
        return row.time - timedelta(seconds=row.end_s) > self.last.time - timedelta(
            seconds=self.last.end_s / 2
        )


def _size_b(total: _Fields) -> int | None:
    """The size of the received datagrams, if the counts agree with the octets. iperf may count a late one as lost."""
    received = (total.sent or 0) - (total.lost or 0)
    for datagrams in (received, received + (total.disordered or 0)):
        if datagrams > 0 and total.octets % datagrams == 0:
            return total.octets // datagrams
    return None
