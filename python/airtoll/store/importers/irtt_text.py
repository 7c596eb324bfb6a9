"""irtt's report for people (`irtt client`, `irtt report`).

    [Connecting] connecting to 192.0.2.2
    [192.0.2.2:2112] [Connected] connection established
    seq=0 rtt=1.31ms rd=642µs sd=668µs ipdv=n/a

                            Min    Mean  Median     Max  Stddev
                            ---    ----  ------     ---  ------
                    RTT  1.22ms  1.29ms  1.31ms  1.35ms  42.1µs
              send IPDV  8.71µs  31.2µs  24.9µs  76.3µs  30.1µs

                    duration: 3.01s (wait 4.05ms)
       packets sent/received: 16/16 (0.00% loss)

Times have three digits. With `-q`, there is no line per datagram: then the median counts. The text has the sum of all
send times only. The interval between two datagrams is computed from it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.irtt import MISSED_MOST_PERCENT
from airtoll.probes.window import NS_PER_S
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import Asked, Format, Reading

_BEGIN: Final = re.compile(r"^\[Connecting\] connecting to ")
_CONNECTED: Final = re.compile(r"^\[(\S+)\] \[Connected\] ")
_FAILED: Final = re.compile(
    r"^(?:Error: |Terminated due to |\[(?!Connecting|MultipleServerAddresses)[A-Z]\w+\] )(.+)$"
)
_TRIP: Final = re.compile(r"^seq=(\d{1,10}) rtt=(\S+)(?: rd=(\S+))?(?: sd=(\S+))? ipdv=\S+(?: \(LATE\))?$")
_TABLE: Final = re.compile(r"^ *(RTT|send delay|receive delay|send IPDV|receive IPDV)  +(\S+(?: +\S+){4})$")
_TOTALS: Final = re.compile(r"^ *packets sent/received: (\d{1,15})/(\d{1,15}) \(")
_FACT: Final = re.compile(
    r"^ *(duration|server packets received|\*{3} DUPLICATES|late \(out-of-order\) pkts|bytes sent/received|"
    r"packet length|timer stats): (.+)$"
)
_PART: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(ns|us|ms|s|m|h|[^\x00-\x7f]{1,3}s)")
"""A part of a duration as Go prints it: 1m0.5s, 401.4ms. The micro sign has several octets in some encodings."""

_MICRO_MS: Final = Decimal("0.001")
_UNITS_MS: Final = {
    "ns": Decimal("0.000001"),
    "us": _MICRO_MS,
    "ms": Decimal(1),
    "s": Decimal(1_000),
    "m": Decimal(60_000),
    "h": Decimal(3_600_000),
}
_LONGEST_MS: Final = Decimal(10**9)
"""Bound of times, so that times in ns fit into 64 bits."""

_MEAN: Final = 1
_MEDIAN: Final = 2
"""Columns of the table."""

_RESOLUTION_S: Final = 1e-6
_WAYS: Final[tuple[tuple[Way, str], ...]] = (("up", "send"), ("down", "receive"))


@dataclass
class _Test:
    """The part of one test that has been read."""

    address: str = ""
    trips: dict[int, tuple[str, str | None, str | None]] = field(default_factory=dict)  # rtt, rd, sd
    table: dict[str, Sequence[str]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    totals: tuple[int, int] | None = None  # datagrams sent; answers, with duplicates

    def count(self, name: str) -> int:
        """The number at the start of a line of the summary; 0 without the line."""
        found = re.match(r"(\d{1,15})\b", self.facts.get(name, ""))
        return int(found[1]) if found else 0


def _recognises(document: Document) -> bool:
    return document.json is None and any(
        _BEGIN.match(line) or _CONNECTED.match(line) or _TOTALS.match(line) for line in document.lines
    )


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    return [_Summary(document, *found).reading(asked) for found in _tests(document)]


def _tests(document: Document) -> Iterator[tuple[int, _Test]]:
    """Each test, with the line of its totals."""
    test = _Test()
    at = 0
    for number, line in enumerate(document.lines, start=1):
        text = line.rstrip()
        begins = _BEGIN.match(text) is not None
        if test.totals is not None and (begins or _CONNECTED.match(text) or text.lstrip().startswith("Min ")):
            yield at, test
            test = _Test()
        elif begins and (test.trips or test.address):
            raise document.error(number, "the summary of the test before this line")
        if found := _CONNECTED.match(text):
            test.address = found[1]
        elif (found := _FAILED.match(text)) is not None:
            raise UsageError(f"{document.name}: line {number}: the test failed: {found[1]}")
        elif found := _TRIP.match(text):
            test.trips[int(found[1])] = (found[2], found[3], found[4])
        elif found := _TABLE.match(text):
            test.table[found[1]] = found[2].split()
        elif found := _TOTALS.match(text):
            test.totals = (int(found[1]), int(found[2]))
            at = number
        elif found := _FACT.match(text):
            test.facts[found[1]] = found[2]
        elif text.startswith("seq="):
            raise document.error(number, "a round trip as irtt prints it (seq=N rtt=TIME ipdv=TIME)")
    if test.totals is None:
        raise document.truncated("the summary of irtt client, which -s does not print")
    yield at, test


@dataclass(frozen=True)
class _Summary:
    """A complete test, with its place for errors."""

    document: Document
    line: int
    test: _Test

    def time_ms(self, text: str) -> float:
        """A duration in milliseconds."""
        rest = text.removeprefix("-")
        parts = _PART.findall(rest)
        total_ms = sum(
            (Decimal(number) * _UNITS_MS.get(unit, _MICRO_MS) for number, unit in parts), Decimal(0)
        )
        if not parts or "".join(map("".join, parts)) != rest or total_ms > _LONGEST_MS:
            raise self.document.error(self.line, "times such as 1.5ms in the lines before", text)
        return float(-total_ms if text.startswith("-") else total_ms)

    def reading(self, asked: Asked) -> Reading:
        """The test as samples."""
        test = self.test
        sent, answers = test.totals or (0, 0)
        received = answers - test.count("*** DUPLICATES")
        if sent < 1:
            raise self.document.error(self.line, "at least one datagram")
        took, _, wait = test.facts.get("duration", "").partition(" (wait ")
        if not took:
            raise self.document.truncated("the duration of the test")
        took_s = max(self.time_ms(took) - (self.time_ms(wait.rstrip(")")) if wait else 0.0), 0.0) / 1e3
        interval_s = max(took_s / max(sent - 1, 1), _RESOLUTION_S)
        by_datagram = bool(test.trips)
        settings = {"round_trip": "of each datagram" if by_datagram else "median of all datagrams"}
        levels: dict[str, Any] = {"transport": "udp"}
        if test.address:
            levels["ip"] = "ipv6" if test.address.startswith("[") else "ipv4"
        if size_b := self._size_b(sent):
            levels["packet_size"] = size_b
        duration_s = sent * interval_s
        samples = [
            *(self._trips(asked, interval_s) if by_datagram else self._medians(asked, duration_s)),
            *self._variations(duration_s),
            *self._counts(sent, received, duration_s),
        ]
        facts = {
            "tool": "irtt",
            "version": None,
            "clocks": "shared" if asked.shared_clocks else "not known to be shared",
            "interval_ms": round(1e3 * interval_s, 3),
            **settings,
        }
        return Reading(
            tool="irtt",
            started=None,
            duration_s=duration_s,
            levels=levels,
            measurements={"irtt": Measurement(samples, {}, facts, tuple(self._faults(received)))},
            probes=("irtt",),
            settings=settings,
        )

    def _size_b(self, sent: int) -> int | None:
        """The size of a datagram. irtt 0.9.2 prints only the octets of all datagrams."""
        if size_b := self.test.count("packet length"):
            return size_b
        size_b, rest = divmod(self.test.count("bytes sent/received"), sent)
        return None if rest else size_b

    def _trips(self, asked: Asked, interval_s: float) -> Iterator[Sample]:
        for number, (round_trip, receive, send) in sorted(self.test.trips.items()):
            t_ns = round(number * interval_s * NS_PER_S)
            trip_ms = max(0.0, self.time_ms(round_trip))
            yield Sample("irtt", "rtt", "ms", "sta", "both", t_ns, round(1e6 * trip_ms), trip_ms)
            for (way, _), delay in zip(_WAYS, (send, receive), strict=True):
                if asked.shared_clocks and delay is not None:
                    yield self._delay(way, delay, t_ns)

    def _medians(self, asked: Asked, duration_s: float) -> Iterator[Sample]:
        if "RTT" in self.test.table:
            median_ms = self.time_ms(self.test.table["RTT"][_MEDIAN])
            yield Sample("irtt", "rtt", "ms", "sta", "both", 0, round(duration_s * NS_PER_S), median_ms)
        for way, name in _WAYS:
            if asked.shared_clocks and f"{name} delay" in self.test.table:
                yield self._delay(way, self.test.table[f"{name} delay"][_MEDIAN], 0)

    def _delay(self, way: Way, delay: str, t_ns: int) -> Sample:
        delay_ms = self.time_ms(delay)
        where = (ENDS[way][1], way, t_ns, max(0, round(1e6 * delay_ms)))
        return Sample("irtt", "delay_idle", "ms", *where, delay_ms)

    def _variations(self, duration_s: float) -> Iterator[Sample]:
        """The mean of the absolute differences, which irtt computes before it rounds."""
        for way, name in _WAYS:
            if (row := self.test.table.get(f"{name} IPDV")) is not None:
                dur_ns = round(duration_s * NS_PER_S)
                yield Sample("irtt", "ipdv", "ms", ENDS[way][1], way, 0, dur_ns, self.time_ms(row[_MEAN]))

    def _counts(self, sent: int, received: int, duration_s: float) -> Iterator[Sample]:
        counts: dict[str, tuple[int, int]] = {"both": (sent, sent - received)}
        if arrived := self.test.count("server packets received"):
            counts |= {"up": (sent, sent - arrived), "down": (arrived, arrived - received)}
        ends: Mapping[str, str] = {"both": "sta", "up": ENDS["up"][1], "down": ENDS["down"][1]}
        dur_ns = round(duration_s * NS_PER_S)
        for way, (total, lost) in counts.items():
            for metric, count in (("datagrams_sent", total), ("datagrams_lost", lost)):
                yield Sample("irtt", metric, "1", ends[way], way, 0, dur_ns, float(count))
        late = float(self.test.count("late (out-of-order) pkts"))
        yield Sample("irtt", "datagrams_late", "1", "sta", "both", 0, dur_ns, late)

    def _faults(self, received: int) -> Iterator[str]:
        if received < 1:
            yield "irtt: no datagram came back"
        elif self.test.trips and len(self.test.trips) != received:
            yield f"irtt: the file has {len(self.test.trips)} round trips, but its summary says {received}"
        found = re.search(r"\((\d{1,3}\.\d\d)%\) missed", self.test.facts.get("timer stats", ""))
        if found and float(found[1]) > MISSED_MOST_PERCENT:
            yield f"irtt: {float(found[1]):.1f} % of the send times were missed: the datagrams were not paced"


FORMAT: Final = Format(
    tool="irtt",
    files="text of `irtt client`, also with `-q`, and of `irtt report`; several tests per file",
    imported="the same, with three digits; with `-q` the median of the round-trip times",
    recognises=_recognises,
    read=_read,
)
