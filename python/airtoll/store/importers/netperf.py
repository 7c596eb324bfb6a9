"""netperf 2.2 to 2.7: the classic tables, and the omni output as CSV (`-o`) and as keywords (`-k`).

    TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 (192.0.2.2) port 0 AF_INET
    Recv   Send    Send
    Socket Socket  Message  Elapsed
    Size   Size    Size     Time     Throughput
    bytes  bytes   bytes    secs.    10^6bits/sec

    131072  16384  16384    10.02      28.75

netperf prints the rate that the receiver measured. A file may contain the tables of several tests; with `-P 0` a
further test has no title and no head. netperf prints no time, so the tests have the order of the file.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.window import NS_PER_S
from airtoll.store.importers.files import Document, check_count
from airtoll.store.importers.reading import OTHER_WAY, Asked, Format, Reading
from airtoll.study.cell import ProbeName

Keys = Mapping[str, str]
"""The results of one test by netperf's keywords (`netperf -t omni -- -k '?'`)."""

_TITLE: Final = re.compile(r"^(?:MIGRATED )?(TCP|UDP|OMNI|SCTP|DCCP) (.+?) TEST (?:from|to)\b(.*)$")
_FAILED: Final = re.compile(
    r"^(?:establish[_ ]control|netperf: |send_omni: |send_tcp|send_udp|recv_response)(.*)$"
)
_UNITS: Final = re.compile(r"^bytes .*?(?:per sec|(10\^[0369]bits|[KMG]?Bytes)/s)")
_KEY: Final = re.compile(r"^([A-Z][A-Z0-9_]+)=(.*)$")
_NOTE: Final = re.compile(
    r"^(?:!!!|Interim result|catcher: |NETPERF_[A-Z_]+\[\d+\]=)|^ *\d+\.\d\d,[^,]+/s,\d+\.\d+,\d+\.\d+$|^\s*$"
)
"""Lines without results: warnings, and the interim results of `-D`, which have another form with `-k` and with `-o`."""

_DETAIL: Final = re.compile(r"^(?:Alignment |Maximum\s*$)")
"""The first line of the tables of `-v 2` after the results. Each has one row."""

_BEGINS_WITH_NUMBER: Final = re.compile(r"\s*-?\d[\d.]*(?:\s|$)")
_NUMBER: Final = r"(\d{1,15}(?:\.\d{1,9})?)"

_LARGEST: Final = 1e9
"""Bound of times and rates, so that times in ns fit into 64 bits."""

_BIT_PER_S: Final = {
    **{f"10^{power}bits": 10.0**power for power in (0, 3, 6, 9)},
    **{f"{prefix}Bytes": 8.0 * 1024**power for power, prefix in enumerate(("", "K", "M", "G"))},
}

_DIRECTIONS: Final = {
    "TCP STREAM": "Send",
    "TCP SENDFILE": "Send",
    "TCP MAERTS": "Receive",
    "UDP STREAM": "Send",
    "UDP UNIDIRECTIONAL SEND": "Send",  # the title of UDP_STREAM in netperf 2.4
    "TCP REQUEST/RESPONSE": "Send|Recv",
    "UDP REQUEST/RESPONSE": "Send|Recv",
}
"""The tests that are read, by the words of their titles, with netperf's word for their direction."""

_COLUMNS: Final = {
    "Protocol": "PROTOCOL",
    "Direction": "DIRECTION",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Remote Send Size": "REMOTE_SEND_SIZE",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Initial Burst Requests": "BURST_SIZE",
    "Local Send Calls": "LOCAL_SEND_CALLS",
    "Local Recv Calls": "LOCAL_RECV_CALLS",
    "Remote Send Calls": "REMOTE_SEND_CALLS",
    "Remote Recv Calls": "REMOTE_RECV_CALLS",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
}
"""The keywords of the columns of `-o` that are read."""


def _recognises(document: Document) -> bool:
    return document.json is None and any(
        _TITLE.match(line) or line.startswith(("THROUGHPUT=", "establish control:"))
        for line in document.lines
    )


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    readings: list[Reading] = []
    for block in _blocks(document):
        readings.append(_Results(document, *block).reading(asked))
        check_count(len(readings), document.name)
    return readings


@dataclass(frozen=True)
class _Title:
    """The first line of a test."""

    words: str = ""  # TCP STREAM, OMNI Send
    line: int = 0
    is_ipv6: bool | None = None
    burst: int = 0  # further transactions at the same time

    @classmethod
    def of(cls, found: re.Match[str], line: int) -> "_Title":
        rest = found[3]
        family = re.search(r"\bAF_INET(6?)\b", rest)
        burst = re.search(r"first burst (\d{1,6})", rest)
        return cls(
            f"{found[1]} {found[2]}",
            line,
            None if family is None else family[1] == "6",
            int(burst[1]) if burst else 0,
        )

    @property
    def keys(self) -> Keys:
        """The keywords that the title implies."""
        keys = {"BURST_SIZE": str(self.burst)}
        if self.words in _DIRECTIONS:
            keys |= {"PROTOCOL": self.words[:3], "DIRECTION": _DIRECTIONS[self.words]}
        return keys


def _blocks(document: Document) -> Iterator[tuple[int, _Title, Keys]]:
    """The results of each test, with its title and the line on which they begin."""
    lines = _Lines(document)
    title = _Title()
    last = 0  # line of the last results
    details = 0  # rows of -v 2 that follow
    while (line := lines.next()) is not None:
        at = lines.at
        if found := _TITLE.match(line):
            title = _Title.of(found, at)
        elif found := _FAILED.match(line):
            raise UsageError(f"{document.name}: line {at}: the test failed: {found[1].strip(': ')}")
        elif _DETAIL.match(line) and last > title.line:
            details += 1
        elif _KEY.match(line):
            last = at
            yield at, title, {**title.keys, **_keywords(lines, line)}
        elif line.startswith("bytes ") and (units := _UNITS.match(line)):
            yield from ((row, title, {**title.keys, **keys}) for row, keys in _table(lines, title, units[1]))
            if lines.at == at:
                raise document.truncated("the results of a netperf test")
            last = lines.at
        elif line.startswith("bytes ") and last < title.line:
            raise document.error(at, "a rate in bits, bytes or transactions per second (without -f u)")
        elif "Throughput," in line or line.endswith(",Throughput"):
            last = at
            yield from ((at, title, {**title.keys, **keys}) for at, keys in _columns(lines, line))
        elif _BEGINS_WITH_NUMBER.match(line) and details:
            details -= 1
        elif _BEGINS_WITH_NUMBER.match(line):
            raise document.error(at, _expected(line, title, last))


def _expected(line: str, title: _Title, last: int) -> str:
    """The expected line in place of a number that is not in a table that is read."""
    is_result = all(_BEGINS_WITH_NUMBER.match(word) for word in line.split()[:5])
    if not is_result or (last >= title.line and last > 0):
        return "the title, the head or the results of a netperf test"
    if len(line.split()) == 1:
        return "a table (without -v 0)"
    return (
        "keywords (-k) or CSV (-o), because the columns of -O vary"
        if title.words
        else "a head (without -P 0)"
    )


class _Lines:
    """The lines of a document, without notes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.at = 0  # number of the last line

    def next(self, wanted: Callable[[str], object] = lambda _: True) -> str | None:
        """The next line, if it is wanted; None at the end."""
        at = self.at
        while at < len(self.document.lines) and _NOTE.match(self.document.lines[at]):
            at += 1
        if at == len(self.document.lines) or not wanted(self.document.lines[at]):
            return None
        self.at = at + 1
        return self.document.lines[at].rstrip()


def _keywords(lines: _Lines, first: str) -> Keys:
    """The keywords of one test, up to the first one that is repeated."""
    keys: dict[str, str] = {}
    line: str | None = first
    while line is not None and (found := _KEY.match(line)):
        keys[found[1]] = found[2].strip()
        line = lines.next(lambda text: (found := _KEY.match(text)) is not None and found[1] not in keys)
    return keys


def _columns(lines: _Lines, first: str) -> Iterator[tuple[int, Keys]]:
    """The rows of a CSV table, each of one test."""
    names = next(csv.reader([first]))
    while (line := lines.next(lambda text: "," in text and not _TITLE.match(text))) is not None:
        values = next(csv.reader([line]))
        if len(values) != len(names):
            raise lines.document.error(lines.at, f"{len(names)} fields of netperf -o")
        pairs = zip(names, values, strict=True)
        yield lines.at, {_COLUMNS[name]: value.strip() for name, value in pairs if name in _COLUMNS}


def _table(lines: _Lines, title: _Title, unit: str | None) -> Iterator[tuple[int, Keys]]:
    """The rows of a classic table, one or two per test."""
    if title.words not in _DIRECTIONS:
        expected = f"a test that is one of {', '.join(_DIRECTIONS)}"
        raise lines.document.error(title.line or lines.at, expected)
    if (
        _DIRECTIONS[title.words] == "Send|Recv"
        and " Trans." not in lines.document.lines[max(lines.at - 3, 0)]
    ):
        raise lines.document.error(lines.at, "a rate of transactions (without -f)")
    while (line := lines.next(_BEGINS_WITH_NUMBER.match)) is not None:
        at = lines.at
        if _DIRECTIONS[title.words] == "Send|Recv":
            _, _, request, response, elapsed, rate = _numbers(
                lines, line, 6, "the sizes, time and rate of transactions"
            )
            _numbers(lines, lines.next(), 2, "the socket sizes of the server")
            units = {"THROUGHPUT_UNITS": "Trans/s", "REQUEST_SIZE": request, "RESPONSE_SIZE": response}
            yield at, {"ELAPSED_TIME": elapsed, "THROUGHPUT": rate, **units}
            continue
        units = {"THROUGHPUT_UNITS": f"{unit}/s"}
        if title.words.startswith("UDP"):
            _, size, _, sent, _, _ = _numbers(lines, line, 6, "the datagrams sent")
            _, elapsed, received, rate = _numbers(lines, lines.next(), 4, "the datagrams received")
            units |= {"LOCAL_SEND_CALLS": sent, "REMOTE_RECV_CALLS": received}
        else:
            _, _, size, elapsed, rate = _numbers(lines, line, 5, "the sizes, time and throughput of a stream")
        end = "REMOTE" if title.words == "TCP MAERTS" else "LOCAL"
        yield at, {f"{end}_SEND_SIZE": size, "ELAPSED_TIME": elapsed, "THROUGHPUT": rate, **units}


def _numbers(lines: _Lines, line: str | None, count: int, what: str) -> Sequence[str]:
    """The first numbers of a line."""
    if line is None:
        raise lines.document.truncated(what)
    found = re.match(r"\s*" + r"\s+".join([_NUMBER] * count) + r"(?:\s|$)", line)
    if found is None:
        raise lines.document.error(lines.at, what)
    return found.groups()


@dataclass(frozen=True)
class _Results:
    """The results of one test, with its place for errors."""

    document: Document
    line: int
    title: _Title
    keys: Keys

    def number(self, name: str) -> float | None:
        """A value; None if it is missing or -1, with which netperf marks an unknown value."""
        value = self.keys.get(name, "")
        return float(value) if re.fullmatch(_NUMBER, value) else None

    def needed(self, name: str) -> float:
        """A value above 0. Raises UsageError if it is missing."""
        value = self.number(name)
        if not value or value > _LARGEST:
            raise self.document.error(self.line, f"results of netperf with a value of {name}")
        return value

    def sample(self, metric: str, unit: str, endpoint: str, way: str, value: float) -> Sample:
        """A value of the whole test."""
        dur_ns = round(self.needed("ELAPSED_TIME") * NS_PER_S)
        return Sample("netperf", metric, unit, endpoint, way, 0, dur_ns, value)

    def reading(self, asked: Asked) -> Reading:
        """The test as samples."""
        protocol, direction = self.keys.get("PROTOCOL", ""), self.keys.get("DIRECTION", "")
        if protocol not in ("TCP", "UDP") or direction not in _DIRECTIONS.values():
            expected = "a TCP or UDP test with DIRECTION Send, Receive or Send|Recv (-k PROTOCOL,DIRECTION)"
            raise self.document.error(self.line, expected)
        levels: dict[str, Any] = {"transport": protocol.lower()}
        if self.title.is_ipv6 is not None:
            levels["ip"] = "ipv6" if self.title.is_ipv6 else "ipv4"
        settings: dict[str, Any] = {"test": self.title.words or f"{protocol} {direction}"}
        probe: ProbeName
        if direction == "Send|Recv":
            probe, faults = "rtt", tuple(self._faults())
            samples = list(self._round_trips(asked, levels, settings))
        else:
            way: Way = asked.forth if direction == "Send" else OTHER_WAY[asked.forth]
            probe, faults = "throughput", ()
            samples = list(self._stream(direction, way, levels))
        return Reading(
            tool="netperf",
            started=None,
            duration_s=self.needed("ELAPSED_TIME"),
            levels=levels,
            measurements={probe: Measurement(samples, {}, {"tool": "netperf", **settings}, faults)},
            probes=(probe,),
            settings=settings,
        )

    def _round_trips(
        self, asked: Asked, levels: dict[str, Any], settings: dict[str, Any]
    ) -> Iterator[Sample]:
        if self.keys.get("THROUGHPUT_UNITS") != "Trans/s":
            raise self.document.error(self.line, "a rate of transactions in Trans/s")
        rate_hz, median_us, p99_us = (
            self.needed("THROUGHPUT"),
            self.number("P50_LATENCY"),
            self.number("P99_LATENCY"),
        )
        size = self.number("REQUEST_SIZE")
        if size and size == self.number("RESPONSE_SIZE"):
            levels["packet_size"] = int(size)
        settings["round_trip"] = (
            "median of netperf's histogram" if median_us else "mean: 1 / transactions per second"
        )
        yield self.sample("rtt", "ms", asked.client, "both", median_us / 1e3 if median_us else 1e3 / rate_hz)
        if p99_us:
            yield self.sample("rtt_p99", "ms", asked.client, "both", p99_us / 1e3)

    def _faults(self) -> Iterator[str]:
        if burst := self.number("BURST_SIZE"):
            yield f"netperf: {burst + 1:g} transactions at a time: their rate is not a round-trip time"

    def _stream(self, direction: str, way: Way, levels: dict[str, Any]) -> Iterator[Sample]:
        sender, receiver = ENDS[way]
        of_sender, of_receiver = ("LOCAL", "REMOTE") if direction == "Send" else ("REMOTE", "LOCAL")
        unit = re.sub(r"/s(ec)?$", "", self.keys.get("THROUGHPUT_UNITS", ""))
        if unit not in _BIT_PER_S:
            raise self.document.error(self.line, f"a THROUGHPUT in {', '.join(_BIT_PER_S)} per second")
        levels["direction"] = way
        if size := self.number(f"{of_sender}_SEND_SIZE"):
            levels["packet_size"] = int(size)
        yield self.sample(
            "throughput", "bit/s", receiver, way, _BIT_PER_S[unit] * (self.number("THROUGHPUT") or 0.0)
        )
        retransmits = self.number(f"{of_sender}_TRANSPORT_RETRANS")
        if retransmits is not None:
            yield self.sample("retransmits", "1", sender, way, retransmits)
        sent, received = self.number(f"{of_sender}_SEND_CALLS"), self.number(f"{of_receiver}_RECV_CALLS")
        if levels["transport"] == "udp" and sent and received is not None:
            yield self.sample("datagrams_lost", "1", receiver, way, sent - received)
            yield self.sample("datagrams_sent", "1", receiver, way, sent)


FORMAT: Final = Format(
    tool="netperf",
    files="the tables of `TCP_STREAM`, `TCP_MAERTS`, `TCP_SENDFILE`, `UDP_STREAM`, `TCP_RR` and `UDP_RR`, also with "
    "`-c -C`, `-i`, `-f`, `-D`, `-v 2`; omni output as CSV (`-o`) or keywords (`-k`); several tests per file",
    imported="throughput; for UDP loss; for `TCP_RR` and `UDP_RR` round-trip times; with `-o all` and `-k all` "
    "retransmits",
    recognises=_recognises,
    read=_read,
)
