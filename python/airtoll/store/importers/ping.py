"""The output of ping: Linux (iputils, busybox), macOS and BSD, and Windows in any language.

    64 bytes from 192.0.2.2: icmp_seq=1 ttl=64 time=2.31 ms            Linux, macOS, BSD
    Reply from 192.0.2.2: bytes=32 time=2ms TTL=64                     Windows

`airtoll.probes.ping` reads the lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from airtoll.probes.base import Measurement, Sample
from airtoll.probes.ping import REPLY, numbered_lines, reply_of_windows, round_trip_ms, statistics
from airtoll.probes.window import NS_PER_S
from airtoll.store.importers.files import Document, check_count
from airtoll.store.importers.reading import Asked, Format, Reading

_HEAD: Final = re.compile(r"^PING6?\b.*\bbytes\b|^Pinging .+ \d+ bytes of data:")
_SIZE: Final = re.compile(r"\b(\d{1,6})(?:\(\d+\))? (?:data bytes|bytes of data)")
_MESSAGE: Final = re.compile(
    r"(?:(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])|:[0-9a-fA-F]{0,4}:)[^=<]*: *[^\s:=<][^:=<]*[^\s:=<] *$",
    re.ASCII,
)
"""A message of a router in place of a reply, such as "Reply from 192.0.2.9: Destination host unreachable."."""

_ADDRESS: Final = re.compile(r"[(\[]([0-9a-fA-F]{0,4}[:.][0-9a-fA-F:.]{0,41})(?:%\w{1,16})?[)\]]")
_MEAN: Final = re.compile(r"^(?:rtt|round-trip) min/avg/max\S* = [\d.]+/(\d{1,9}\.\d{1,9})/")

_HALF: Final = 1 << 15
"""A larger step between the 16-bit numbers of two replies goes backwards."""

_INTERVAL_S: Final = 1.0
"""Time between two pings of every ping without options."""

_RESOLUTION_S: Final = 1e-3
"""Of the time in the statistics."""


@dataclass
class _Test:
    """The part of one run of ping that has been read."""

    line: int
    round_trips_ms: dict[int, float] = field(default_factory=dict)  # by the number of the ping
    last: int = 0  # number of the last reply
    hosts: set[str] = field(default_factory=set)  # that answered
    messages: int = 0  # of routers, in place of replies
    size_b: int | None = None
    is_ipv6: bool | None = None
    started: datetime | None = None
    sent: int | None = None
    received: int | None = None
    took_s: float | None = None  # from the first ping to the last reply
    mean_ms: float | None = None
    coarse: int = 0  # round trips shorter than the resolution


def _recognises(document: Document) -> bool:
    return document.json is None and any(
        _HEAD.match(line) or REPLY.match(line) or reply_of_windows(line) or _is_of_windows(line)
        for _, line in numbered_lines(document.lines)
    )


def _is_of_windows(line: str) -> bool:
    """Whether a line is the statistics of Windows, in any language. They may be all that is left of a lost ping."""
    return line.startswith("    ") and statistics(line) is not None


def _read(document: Document, asked: Asked) -> Sequence[Reading]:
    return [_reading(document, test, asked) for test in _tests(document)]


def _tests(document: Document) -> Sequence[_Test]:
    output = _Output(document)
    for number, line in numbered_lines(document.lines):
        output.take(number, line)
        check_count(len(output.tests), document.name)
    if not output.tests or output.tests[-1].sent is None:
        raise document.truncated("the statistics of ping")
    return output.tests


@dataclass
class _Output:
    """The part of the output of ping that has been read."""

    document: Document
    tests: list[_Test] = field(default_factory=list)

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if _HEAD.match(line):
            self._head(number, line)
        elif (totals := statistics(line)) is not None:
            test = self._open(number)
            test.sent, test.received, took_ms = totals
            test.took_s = None if took_ms is None else took_ms / 1e3
        elif self.tests and (found := _MEAN.match(line)):
            self.tests[-1].mean_ms = float(found[1])
        elif found := REPLY.match(line):
            _take_reply(self._open(number), found)
        elif found := reply_of_windows(line):
            _take_reply_of_windows(self._open(number), found)
        elif " bytes from " in line and "seq=" in line:
            raise self.document.error(number, "a reply as ping prints it (icmp_seq=N ttl=N time=N ms)")
        elif self.tests and _MESSAGE.search(line):
            self.tests[-1].messages += 1

    def _head(self, number: int, line: str) -> None:
        if self.tests and self.tests[-1].sent is None:
            raise self.document.error(number, "the statistics of the ping before this line")
        test = _Test(number)
        if size := _SIZE.search(line):
            test.size_b = int(size[1])
        if address := _ADDRESS.search(line):
            test.is_ipv6 = ":" in address[1]
        self.tests.append(test)

    def _open(self, number: int) -> _Test:
        """The ping that is not finished; a new one if its first line is in another language."""
        if not self.tests or self.tests[-1].sent is not None:
            self.tests.append(_Test(number))
        return self.tests[-1]


def _take_reply_of_windows(test: _Test, found: re.Match[str]) -> None:
    address, size, relation, _ = found.groups()
    test.is_ipv6 = ":" in address
    test.size_b = int(size) if size else test.size_b
    test.coarse += relation == "<"
    test.hosts.add(address)
    test.round_trips_ms[len(test.round_trips_ms)] = round_trip_ms(found)


def _take_reply(test: _Test, found: re.Match[str]) -> None:
    stamp, octets, address, number, time, _ = found.groups()
    numeric = _ADDRESS.search(address)
    test.hosts.add(numeric[1] if numeric else address)
    test.is_ipv6 = address.count(":") > 1
    if test.size_b is None:
        test.size_b = int(octets) - 8  # the header of ICMP
    if stamp is not None and test.started is None:
        test.started = datetime.fromtimestamp(float(stamp), UTC)
    # The number has 16 bits. A second reply to the same ping, marked (DUP!) or not, does not count.
    test.last += (
        (int(number) - test.last + _HALF) % (2 * _HALF) - _HALF if test.round_trips_ms else int(number)
    )
    test.round_trips_ms.setdefault(test.last, float(time))


def _reading(document: Document, test: _Test, asked: Asked) -> Reading:
    sent = test.sent or 0
    if sent < 1:
        raise document.error(test.line, "a ping that sent at least one packet")
    known = test.took_s is not None and sent > 1
    interval_s = max(test.took_s or 0.0, _RESOLUTION_S) / (sent - 1) if known else _INTERVAL_S
    numbers = test.round_trips_ms
    first, last = min(numbers, default=0), max(numbers, default=sent - 1)
    by_packet = bool(numbers) or test.mean_ms is None
    trips = sorted(numbers.items()) if by_packet else [(0, test.mean_ms)]
    # A single reply has no interval to the next one.
    covered_s = (interval_s if len(numbers) == 1 else 0.0) if by_packet else sent * interval_s
    dur_ns = round(covered_s * NS_PER_S)
    samples = [
        Sample(
            "ping", "rtt", "ms", asked.client, "both", round((at - first) * interval_s * NS_PER_S), dur_ns, ms
        )
        for at, ms in trips
    ]
    levels: dict[str, Any] = {}
    if test.is_ipv6 is not None:
        levels["ip"] = "ipv6" if test.is_ipv6 else "ipv4"
    if test.size_b and test.size_b > 0:
        levels["packet_size"] = test.size_b
    settings = {"round_trip": "of each ping" if by_packet else "mean of all pings"}
    facts = {
        "tool": "ping",
        "sent": sent,
        "received": len(numbers) if by_packet else test.received,
        "interval_s": round(interval_s, 3),
        "below_resolution": test.coarse,
        **settings,
    }
    return Reading(
        tool="ping",
        started=test.started,
        duration_s=max(last - first, 1) * interval_s,
        levels=levels,
        measurements={"rtt": Measurement(samples, {}, facts, tuple(_faults(test)) if by_packet else ())},
        probes=("rtt",),
        settings=settings,
    )


def _faults(test: _Test) -> Iterator[str]:
    replies, received = len(test.round_trips_ms), test.received or 0
    # Windows counts messages of routers as replies.
    if not replies <= received <= replies + test.messages:
        yield f"ping: the file has {replies} replies, but its statistics say {received}"
    if len(test.hosts) > 1:
        yield f"ping: {len(test.hosts)} hosts answered, such as {', '.join(sorted(test.hosts)[:2])}: ping one host"


FORMAT: Final = Format(
    tool="ping",
    files="Linux (iputils, also `-D`, `-q`; busybox), macOS, BSD; Windows in any language; several pings per file",
    imported="round-trip times",
    recognises=_recognises,
    read=_read,
)
