"""iperf's report for people.

    [  3] local 192.0.2.1 port 50182 connected with 192.0.2.2 port 5001
    [ ID] Interval       Transfer     Bandwidth
    [  3]  0.0- 1.0 sec  3.99 MBytes  33.4 Mbits/sec
    [  3]  0.0-10.0 sec  34.2 MBytes  28.7 Mbits/sec

A rate has the printed precision, some three digits. The sums of all streams ([SUM]) are not read but computed here,
because iperf 2.0.5 prints them without jitter and iperf 2.0.13 adds both directions of `-d`. A line that does not begin
with `[` is a header, a note or the prompt of a shell.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from airtoll.errors import UsageError
from airtoll.store.importers.files import Document, check_count
from airtoll.store.importers.iperf2 import table
from airtoll.store.importers.iperf2.tests import End, IperfRow, IperfStream, Test
from airtoll.store.importers.reading import Asked, Reading
from airtoll.study.factors import Transport

_COMMAND: Final = re.compile(r"""(?:^|[\s"\\/$#>%])iperf(?:\.exe)?"? +(-.*)$""")
_CLIENT: Final = re.compile(r"^Client connecting to \S+, (TCP|UDP) port \d+")
_SERVER: Final = re.compile(r"^Server listening on (TCP|UDP) port (\d{1,5})\b")
_SIZE: Final = re.compile(
    r"^(?:Sending (\d{1,9}) byte datagrams(?:, IPG target: (\d{1,9}\.\d\d) us)?|Write buffer size: +(\d{1,9}) Byte\b|"
    r"Receiving (\d{1,9}) byte datagrams)"
)
_CONNECTED: Final = re.compile(
    r"^\[ *(\*?)(\d{1,9})\] local (\S+) port (\d{1,5}) connected with (\S+) port (\d{1,5})\b(.*)$"
)
_STARTED: Final = re.compile(r" on ([12]\d{3}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? \((\w+)\)")
_ROW: Final = re.compile(
    r"^\[ *(\*?)(\d{1,9})\] +(\d{1,7}\.\d{1,9})- ?(\d{1,7}\.\d{1,9}) sec +"
    r"(\d{1,15}(?:\.(\d{1,9}))?) ([KMGT]?)(Byte|bit)s? +"
    r"(\d{1,15}(?:\.\d{1,9})?) ([KMGT]?)(bit|Byte)s/sec(.*)$"
)
_RECEIVED: Final = re.compile(r"^ +(\d{1,9}\.\d{1,9}) ms +(-?\d{1,15})/ *(\d{1,15}) \(")
_WRITTEN: Final = re.compile(r"^ +\d+/\d+ +(\d{1,15})\b")
_KEYED: Final = re.compile(r"^\[\S{1,128}\((\*?\d{1,9})\)\](?= )")
"""The number of a stream after the key of `--permit-key`."""

_OTHER: Final = re.compile(
    r"^\[ ?ID\]|^\[ ?CT\]|^\[SUM|^\[FD\d+\]|^\[drop\]|"
    r"^\[ *\*?\d+\] (?:[A-Z]|.* datagrams? received out-of-order$|.*-PDF:|[\d.]+- ?[\d.]+ +trip-time |"
    r".* sec +L2 processing detected errors)"
)
"""Lines that begin with `[` and that are not read."""

_UNREAD: Final = {
    re.compile(
        r"^Bounce-?back test |^\[.*\] local .*\(bb "
    ): "is a bounce-back test, whose rate is that of its "
    "requests: measure round trips with irtt, or with TCP_RR of netperf",
    re.compile(
        r"^\[ ?ID\] Burst "
    ): "has bursts (--burst-period) in place of intervals: import the client's file",
    re.compile(r"^TCP three-way-handshake \(3WHS\) only"): "is a test without data (--connect-only)",
}
"""Tests that are not read, by a line of their header."""

_FAILED: Final = re.compile(r"^(?:tcp |udp |listener )?(?:connect|bind) failed: (.+)$")
_POWER: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def recognises(document: Document) -> bool:
    """Whether this looks like a report of iperf 2, which names TCP or UDP where iperf3 does not, or only its error."""
    begins = (_CLIENT, _SERVER, _FAILED)
    return (
        document.json is None
        and any(each.match(line) for line in document.lines for each in begins)
        and not table.recognises(document)
    )


def read(document: Document, asked: Asked) -> Sequence[Reading]:
    """The tests in a report, in order. Raises UsageError with the line that is not as expected."""
    _refuse_unread(document)
    report = _Report(document)
    # iperf 2.1 starts its threads before it prints a header.
    for line in document.lines:
        if _ROW.match(line):
            break
        report.header(line.rstrip())
    for number, line in enumerate(document.lines, start=1):
        report.take(number, _KEYED.sub(r"[\1]", line.rstrip()))
        check_count(len(report.tests), document.name)
    report.close()
    return [test.reading(asked) for test in report.tests]


def _refuse_unread(document: Document) -> None:
    for number, line in enumerate(document.lines, start=1):
        for pattern, why in _UNREAD.items():
            if pattern.match(line):
                raise UsageError(f"{document.name}: line {number}: {why}")
    has_streams = any(_CONNECTED.match(_KEYED.sub(r"[\1]", line)) for line in document.lines)
    if not has_streams and any(line.startswith("[SUM-") for line in document.lines):
        raise UsageError(
            f"{document.name}: has only the sums of all streams: repeat the test without --sum-only"
        )


@dataclass
class _Report:
    """The part of a report that has been read."""

    document: Document
    tests: list[Test] = field(default_factory=list)
    options: Mapping[str, str] = field(default_factory=dict)  # of the last command in the file
    transport: Transport = "tcp"
    port: int | None = None  # on which this end listens
    size_b: int | None = None
    gap_us: float | None = None  # between datagrams
    end: End | None = None
    streams: dict[str, IperfStream] = field(default_factory=dict)  # by the name in their rows
    unfinished: set[int] = field(default_factory=set)  # streams of the last test without a total, by `id`

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if found := _ROW.match(line):
            self._row(number, found)
        elif found := _CONNECTED.match(line):
            self._connected(number, found)
        elif found := _COMMAND.search(line):
            if self.tests:
                self.port, self.size_b, self.gap_us, self.end = None, None, None, None
            self.options = _options(found[1])
        elif (found := _FAILED.match(line)) and not self.tests:
            raise UsageError(f"{self.document.name}: line {number}: the test failed: {found[1]}")
        elif not self.header(line) and line.startswith("[") and not _OTHER.match(line):
            raise self.document.error(number, "a connection, an interval or a total of iperf 2")

    def header(self, line: str) -> bool:
        """Read a line of a header. Returns False for another line."""
        if found := _CLIENT.match(line) or _SERVER.match(line):
            self.transport = "udp" if found[1] == "UDP" else "tcp"
            if found.re is _SERVER:
                self.port = int(found[2])
        elif found := _SIZE.match(line):
            self.size_b = int(found[1] or found[3] or found[4])
            self.gap_us = float(found[2]) if found[2] else None
        return found is not None

    def close(self) -> None:
        """Check that the report has tests and that every test is complete."""
        if not self.tests:
            raise self.document.truncated("'[ ID] local ADDRESS port N connected with ADDRESS port N'")
        for test in self.tests:
            test.check(self.document)

    def _connected(self, number: int, found: re.Match[str]) -> None:
        star, name, address, port, other, other_port, rest = found.groups()
        local, peer = (address.partition("%")[0], int(port)), (other.partition("%")[0], int(other_port))
        incoming = local[1] == self.port
        self.end = self.end or ("server" if incoming else "client")
        test = self._test(rest)
        connector, acceptor = (peer, local) if incoming else (local, peer)
        # -R and --full-duplex send against the connection. The star marks a connection that the server opened for -d.
        against = "(reverse)" in rest and not star
        backwards = incoming != (self.end == "server")
        for reverse in (False, True) if "(full-duplex)" in rest else (against,):
            stream = IperfStream(
                f"[{name}]",
                number,
                sends=incoming == reverse,
                forth=backwards == reverse,
                connection=(connector, acceptor),
            )
            test.streams.append(stream)
            self.unfinished.add(id(stream))
            self.streams[("*" if reverse and not against else "") + name] = stream

    def _test(self, rest: str) -> Test:
        """The test of a new connection: a new one if the last one is finished."""
        if self.unfinished:
            return self.tests[-1]
        test = Test(self.transport, self.end)
        self.streams = {}
        if found := _STARTED.search(rest):
            with suppress(ValueError):
                test.started = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
                test.facts["time_zone"] = found[2]
        if self.end == "server":
            test.buffer_b = self.size_b
        if self.end == "client":
            test.size_b = self.size_b or _octets(self.options.get("l", ""))
            if self.size_b is not None and self.gap_us:
                test.offered_mbps = 8 * self.size_b / self.gap_us
            if self.options.get("t", "").isdecimal():
                test.settings["duration_s"] = float(self.options["t"])
            test.settings |= {
                key: self.options[key[1:]] for key in ("-b", "-w", "-M") if key[1:] in self.options
            }
        self.tests.append(test)
        return test

    def _row(self, number: int, found: re.Match[str]) -> None:
        star, name, start, end, amount, decimals, power, kind, rate, prefix, unit, rest = found.groups()
        stream = self.streams.get(star + name) or self.streams.get(name)
        if stream is None:
            raise self.document.error(
                number, f"'[{name:>3}] local ADDRESS port N connected with' before this line"
            )
        of_amount = 1024 ** _POWER[power] if kind == "Byte" else 1000 ** _POWER[power] / 8
        base, bits = (1000, 1) if unit == "bit" else (1024, 8)
        received = _RECEIVED.match(rest)
        written = _WRITTEN.match(rest) if stream.sends and self.transport == "tcp" else None
        row = IperfRow(
            number,
            float(start),
            float(end),
            float(rate) * bits * base ** _POWER[prefix],
            float(received[1]) if received else None,
            int(received[2]) if received else None,
            int(received[3]) if received else None,
            int(written[1]) if written else None,
            float(amount) * of_amount,
            0.5 * 10.0 ** -len(decimals or "") * of_amount,
        )
        stream.add(row, self.document)
        (self.unfinished.add if stream.total is None else self.unfinished.discard)(id(stream))


def _options(text: str) -> Mapping[str, str]:
    """The options of a command by their letter: `-l 1408`, `-l1408`. An option without a value has an empty one."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return {
        word[1]: word[2:] or ("" if after.startswith("-") else after)
        for word, after in zip(words, [*words[1:], "-"], strict=True)
        if re.match(r"-[A-Za-z]", word)
    }


def _octets(size: str) -> int | None:
    """A size as JPerf writes it (8.0K, 1470.0B) and iperf reads it. The meaning of a small k depends on the version."""
    found = re.fullmatch(r"(\d{1,9})(?:\.0+)?([KM]?)B?", size)
    return None if found is None else int(found[1]) * 1024 ** _POWER[found[2]]
