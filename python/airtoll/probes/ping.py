"""Round-trip time by the ping of a station that runs no agent (macOS, Windows).

The echo requests have as many octets as the messages of pingpong, but they follow one another at the shortest interval
that ping allows: 0.1 s on macOS, 1 s on Windows. Linux, macOS and BSD print fractions of a millisecond; Windows prints
whole milliseconds, and `<1ms` counts as 0.5 ms, the middle of the interval.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv6Address
from typing import Final

from airtoll.errors import AirtollError
from airtoll.host import Host, OperatingSystem, last_words
from airtoll.probes import process
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.window import NS_PER_S, Window
from airtoll.study.factors import Ip

REPLY: Final = re.compile(
    r"^(?:\[(\d{1,10}\.\d{1,6})\] )?(\d{1,6}) \S{1,20} \S{1,20} (\S.*?) ?[:,] (?:icmp_)?(?:seq|req)=(\d{1,9})"
    r"(?: (?:ttl|hlim|ident)=\d+)* \S{1,20}=(\d{1,9}(?:\.\d{1,9})?) ms(.*)$"
)
"""A reply as Linux, macOS and BSD print it: time of day, octets, address, number, milliseconds, remarks. iputils
translates the words."""

SUMMARY: Final = re.compile(
    r"^(\d{1,9}) [^\d,%]{3,60}, (\d{1,9}) [^\d,%]{2,60}(?:,.*?(?:, [^\d,%]{1,20} (\d{1,12}) ?ms)?(?:, pipe \d+)? *)?$"
)
"""The statistics of the same: sent, received, milliseconds."""

# Windows translates all words, its units and the spaces between them. ASCII stays: digits, `=`, `<`, `TTL=`.
_IPV4_REPLY: Final = re.compile(
    r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3})(?![\d.])[^=<]{1,80}= ?(\d{1,6})[^\d=<]{1,40}([=<]) ?(\d{1,9})[^\d=<]{1,20}"
    r"TTL=\d{1,3}\W*$",
    re.ASCII,
)
_IPV6_REPLY: Final = re.compile(
    r"(?<![\w:.])((?:[0-9a-fA-F]{0,4}:){2,8}[0-9a-fA-F.]{0,15})(?:%\w{1,16})?(?![\w.])[^=<]{0,60}:[^=<\d]{1,40}()([=<])"
    r" ?(\d{1,9}) ?[^\s\d=<>,;:/]{1,12}\W*$",
    re.ASCII,
)
_NUMBER: Final = re.compile(r"= ?(\d{1,9})(?!\d)", re.ASCII)
LONGEST: Final = 300
"""Limit of a line. The forms are so general that the time to match them grows with the square of the length."""


def numbered_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines that are short enough for ping, with their numbers from 1. The functions below accept only these."""
    return ((number, line) for number, line in enumerate(lines, start=1) if len(line) <= LONGEST)


def reply_of_windows(line: str) -> re.Match[str] | None:
    """A reply as Windows prints it in any language: address, octets (IPv4), "=" or "<", milliseconds."""
    if "=" not in line and "<" not in line:
        return None
    found = _IPV4_REPLY.search(line)
    if found is None and (found := _IPV6_REPLY.search(line)) is not None:
        try:
            IPv6Address(found[1].rstrip(":") if found[1].count("::") == 0 else found[1].removesuffix(":"))
        except ValueError:
            return None
    return found


def round_trip_ms(reply: re.Match[str]) -> float:
    """The round-trip time in a reply of Windows."""
    return int(reply[4]) / 2 if reply[3] == "<" else float(reply[4])


def statistics(line: str) -> tuple[int, int, int | None] | None:
    """Sent, received and milliseconds in the statistics of ping; None for another line.

    Windows prints an indented line with three numbers in any language: sent, received, and the lost rest.
    """
    if found := SUMMARY.match(line):
        return int(found[1]), int(found[2]), int(found[3]) if found[3] else None
    if line.count("=") == 3:
        sent, received, lost = ([int(number) for number in _NUMBER.findall(line)] + [0, 0, 0])[:3]
        if sent > 0 and sent == received + lost:
            return sent, received, None
    return None


INTERVAL_S: Final[Mapping[OperatingSystem, float]] = {"linux": 0.1, "macos": 0.1, "windows": 1.0}
"""The time between two requests: macOS refuses shorter ones to users, and Windows has no option for it."""


def command(system: OperatingSystem, address: str, ip: Ip, size_b: int, count: int) -> list[str]:
    """The command that sends this number of echo requests."""
    if system == "windows":
        return ["ping", f"-{ip[-1]}", "-n", f"{count}", "-l", f"{size_b}", "-w", "1000", address]
    program = "ping6" if system == "macos" and ip == "ipv6" else "ping"
    return [program, "-n", "-c", f"{count}", "-i", f"{INTERVAL_S[system]:g}", "-s", f"{size_b}", address]


def measure(host: Host, address: str, ip: Ip, size_b: int, window: Window) -> Measurement:
    """Ping the address from the host over the window. Raises AirtollError with ping's own words if it fails."""
    interval_s = INTERVAL_S[host.os]
    count = math.ceil(window.closes_s / interval_s)
    argv = command(host.os, address, ip, size_b, count)
    who = f"ping on {host.name}"
    with process.started(host, argv) as client:
        stdout, stderr = process.finish(client, count * interval_s + 2 * process.GRACE_S, who)
    text = stdout.decode(errors="replace")
    if (totals := _totals(text)) is None:
        raise AirtollError(f"{who}: {last_words(stderr, stdout)}")
    sent, received = totals
    samples = parse(text, interval_s, window)
    answered = any(sample.phase == "measure" for sample in samples)
    facts = {
        "tool": "ping",
        "version": None,
        "client": argv,
        "sent": sent,
        "received": received,
        "interval_s": interval_s,
    }
    faults = [] if answered else [f"{who}: no reply"]
    return Measurement(samples, {"ping.txt": stdout}, facts, faults)


def _totals(text: str) -> tuple[int, int] | None:
    """The numbers of requests and replies in the statistics of ping; None if its output is incomplete."""
    for _, line in numbered_lines(text.splitlines()):
        if (found := statistics(line)) is not None:
            return found[:2]
    return None


def parse(text: str, interval_s: float, window: Window) -> Sequence[Sample]:
    """One sample per reply. Windows does not number its replies: a lost one moves those after it ahead."""
    trips: dict[int, float] = {}
    for _, line in numbered_lines(text.splitlines()):
        if (found := REPLY.match(line)) is not None:
            trips.setdefault(int(found[4]), float(found[5]))  # a duplicate has the same number
        elif (found := reply_of_windows(line)) is not None:
            trips[len(trips)] = round_trip_ms(found)
    first = 1 if trips and min(trips) > 0 else 0  # Linux begins at 1, macOS at 0
    samples = []
    for number, trip_ms in sorted(trips.items()):
        at_s = (number - first) * interval_s
        if (phase := window.phase(at_s)) is not None:
            times = round(at_s * NS_PER_S), round(interval_s * NS_PER_S)
            samples.append(Sample("ping", "rtt", "ms", "sta", "both", *times, trip_ms, phase))
    return samples
