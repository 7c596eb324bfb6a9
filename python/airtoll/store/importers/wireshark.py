"""Exports of Wireshark and tshark of one RTP stream, such as a video, captured at its receiver.

- FIELDS: `tshark -T fields -E header=y`, one row per packet, separated by tabs or commas.
- ANALYSIS: Wireshark's "Save one stream CSV" in Telephony > RTP > RTP Stream Analysis, one row per packet.
- STREAMS: the table of `tshark -q -z rtp,streams`, one row per stream.

Lost packets are gaps in the sequence numbers (RFC 3550, A.3). Jitter is the mean of the interarrival jitter
(RFC 3550, 6.4.1) over all packets except the first, as Wireshark computes it. For FIELDS it is computed here, from the
times of arrival, the timestamps and the clock rate, which only a static payload type implies.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS
from airtoll.probes.window import NS_PER_S
from airtoll.store.importers.files import Document
from airtoll.store.importers.reading import Asked, Format, Reading

_TOOL: Final = "wireshark"
_TIMES: Final = ("frame.time_epoch", "frame.time_relative")
_LONGEST_S: Final = 1e5
"""Bound of a stream, a day and more, because each second has a sample."""

_UDP_HEADER_B: Final = 8
_GAP: Final = 1 << 15
"""A larger step of a 16-bit sequence number goes backwards."""

_CLOCKS_HZ: Final = {
    **dict.fromkeys((25, 26, 28, 31, 32, 33, 34, 14), 90_000),
    **dict.fromkeys((0, 3, 4, 5, 7, 8, 9, 12, 13, 15, 18), 8_000),
    6: 16_000,
    10: 44_100,
    11: 44_100,
    16: 11_025,
    17: 22_050,
}
"""Clock rates of the static payload types (RFC 3551, tables 4 and 5)."""

_ANALYSIS: Final = ("Packet", "Sequence", "Delta (ms)", "Jitter (ms)")
_STREAMS: Final = re.compile(r"^=+ RTP Streams =+$")
_STREAM: Final = re.compile(
    r"^(?: *(?P<start>\d{1,9}\.\d{1,9}) +(?P<end>\d{1,9}\.\d{1,9}))? *(?P<address>\S+) +\d+ +\S+ +\d+ +0x[0-9A-Fa-f]+ +"
    r"\S+(?: +\S+)*? +(?P<packets>\d{1,15}) +(?P<lost>-?\d{1,15}) \(-?[\d.]+%\) +"
    r"(?P<rest>-?\d[-\d.]*(?: +-?\d[-\d.]*)*) *X?$"
)
_COLUMN: Final = re.compile(r"\b(Min|Mean|Max) (Delta|Jitter) ?\(ms\)")


@dataclass(frozen=True)
class _Stream:
    """One RTP stream at its receiver."""

    duration_s: float
    sent: int | None = None  # packets
    lost: int | None = None
    jitter_ms: float | None = None
    bit_per_s: Sequence[tuple[float, float, float]] = ()  # start and length in s, received payload of UDP
    is_ipv6: bool | None = None
    size_b: int | None = None  # payload of UDP, if equal in all packets
    started: datetime | None = None

    def reading(self, export: str, asked: Asked) -> Reading:
        """The stream as samples."""
        way = asked.forth
        receiver = ENDS[way][1]

        def sample(
            metric: str, unit: str, value: float, start_s: float = 0.0, dur_s: float = self.duration_s
        ) -> Sample:
            t_ns, dur_ns = round(start_s * NS_PER_S), round(dur_s * NS_PER_S)
            return Sample(_TOOL, metric, unit, receiver, way, t_ns, dur_ns, value)

        samples = [sample("throughput", "bit/s", rate, *span) for *span, rate in self.bit_per_s]
        if self.jitter_ms is not None:
            samples.append(sample("jitter", "ms", self.jitter_ms))
        if self.sent is not None and self.lost is not None:
            samples.append(sample("datagrams_lost", "1", float(self.lost)))
            samples.append(sample("datagrams_sent", "1", float(self.sent)))
        levels: dict[str, Any] = {"transport": "udp", "direction": way}
        if self.is_ipv6 is not None:
            levels["ip"] = "ipv6" if self.is_ipv6 else "ipv4"
        if self.size_b is not None:
            levels["packet_size"] = self.size_b
        facts = {"tool": "wireshark", "export": export}
        return Reading(
            tool=f"{_TOOL} {export}",
            started=self.started,
            duration_s=self.duration_s,
            levels=levels,
            measurements={"video": Measurement(samples, {}, facts)},
            probes=("video",),
        )


# Fields


def _separator(document: Document) -> str | None:
    """The separator of a table of fields; None for another document."""
    head = document.lines[0] if document.json is None else ""
    names = set(re.split(r'[,;\t"]+', head))
    found = next((each for each in "\t,;" if each in head), ",")
    return found if names & set(_TIMES) else None


def _is_fields(document: Document) -> bool:
    return _separator(document) is not None


@dataclass(frozen=True, slots=True)
class _Packet:
    line: int
    time_s: float
    size_b: int | None  # payload of UDP
    sequence: int | None
    timestamp: int | None
    payload_type: int | None
    stream: tuple[str, ...]
    address: str


def _read_fields(document: Document, asked: Asked) -> Sequence[Reading]:
    packets = list(_packets(document))
    streams = dict.fromkeys(packet.stream for packet in packets)
    if len(streams) > 1:
        _, second, *_ = streams
        line = next(packet.line for packet in packets if packet.stream == second)
        raise document.error(line, "packets of one stream: export each with a display filter (-Y)")
    if len(packets) < 2:
        raise document.truncated("at least two packets")
    started_s, ended_s = packets[0].time_s, packets[-1].time_s
    if not 0 < ended_s - started_s <= _LONGEST_S:
        raise document.error(
            packets[-1].line, f"a time after that of the first packet, by at most {_LONGEST_S:g} s"
        )
    sizes = {packet.size_b for packet in packets}
    size_b = sizes.pop() if len(sizes) == 1 else None
    lost, sent = _lost([packet.sequence for packet in packets if packet.sequence is not None])
    absolute = _TIMES[0] in document.lines[0]
    rates = list(_rates(packets))
    stream = _Stream(
        # The window of the throughput has whole seconds.
        duration_s=sum(length_s for _, length_s, _ in rates) or ended_s - started_s,
        sent=sent,
        lost=lost,
        jitter_ms=_jitter_ms(packets),
        bit_per_s=rates,
        is_ipv6=":" in packets[0].address if packets[0].address else None,
        size_b=size_b,
        started=datetime.fromtimestamp(started_s, UTC) if absolute else None,
    )
    if not stream.bit_per_s and stream.jitter_ms is None and stream.sent is None:
        raise document.error(1, "the fields udp.length, rtp.seq, or rtp.timestamp and rtp.p_type")
    return (stream.reading("fields", asked),)


def _packets(document: Document) -> Iterator[_Packet]:
    separator = _separator(document) or ","
    names = next(_rows(document, separator))[1]
    time = next(each for each in _TIMES if each in names)
    for line, values in _rows(document, separator):
        if line == 1:
            continue
        if len(values) != len(names):
            raise document.error(line, f"{len(names)} fields, as in line 1")
        row = dict(zip(names, values, strict=True))
        where = _Where(document, line, row)
        length = where.whole("udp.length")
        if length is not None and length < _UDP_HEADER_B:
            raise document.error(line, "udp.length of at least 8")
        yield _Packet(
            line,
            where.time(time),
            None if length is None else length - _UDP_HEADER_B,
            where.whole("rtp.seq"),
            where.whole("rtp.timestamp"),
            where.whole("rtp.p_type"),
            tuple(row.get(name, "") for name in ("rtp.ssrc", "udp.srcport", "udp.dstport")),
            row.get("ip.src") or row.get("ipv6.src") or "",
        )


@dataclass(frozen=True)
class _Where:
    """The values of a row, with the place for errors."""

    document: Document
    line: int
    row: Mapping[str, str]

    def time(self, name: str) -> float:
        """A time in seconds."""
        if not re.fullmatch(r"\d{1,10}(\.\d{1,9})?", self.row[name]):
            raise self.document.error(self.line, f"a number of seconds as {name}")
        return float(self.row[name])

    def whole(self, name: str) -> int | None:
        """A whole number; None if the table lacks the field or its value."""
        value = self.row.get(name, "")
        if value and not re.fullmatch(r"\d{1,10}", value):
            raise self.document.error(self.line, f"one whole number as {name}")
        return int(value) if value else None


def _rows(document: Document, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The lines with their fields, without empty lines."""
    for line, text in enumerate(document.lines, start=1):
        if text.strip():
            try:
                yield (
                    line,
                    [value.strip() for value in next(csv.reader([text], delimiter=separator, strict=True))],
                )
            except csv.Error:
                raise document.error(line, "separated fields") from None


def _lost(sequence: Sequence[int]) -> tuple[int | None, int | None]:
    """Lost and sent packets, from the sequence numbers in the order of arrival. They count modulo 2^16."""
    if not sequence:
        return None, None
    last = sequence[0]
    extended = [last]
    for number in sequence[1:]:
        step = (number - last) % (2 * _GAP)
        last += step if step < _GAP else step - 2 * _GAP
        extended.append(last)
    sent = max(extended) - min(extended) + 1
    return sent - len(set(extended)), sent


def _jitter_ms(packets: Sequence[_Packet]) -> float | None:
    """The mean of the jitter over all packets; None without timestamps of a known clock."""
    clock_hz = _CLOCKS_HZ.get(packets[0].payload_type if packets[0].payload_type is not None else -1)
    if clock_hz is None or any(packet.payload_type != packets[0].payload_type for packet in packets):
        return None
    jitter_s, total_s = 0.0, 0.0
    for before, packet in pairwise(packets):
        if before.timestamp is None or packet.timestamp is None:
            return None
        step = (packet.timestamp - before.timestamp + (1 << 31)) % (1 << 32) - (1 << 31)
        deviation_s = packet.time_s - before.time_s - step / clock_hz
        jitter_s += (abs(deviation_s) - jitter_s) / 16
        total_s += jitter_s
    return 1e3 * total_s / (len(packets) - 1)


def _rates(packets: Sequence[_Packet]) -> Iterator[tuple[float, float, float]]:
    """The received rate of each whole second, or of all packets if they take less; nothing without sizes."""
    if any(packet.size_b is None for packet in packets):
        return
    span_s = packets[-1].time_s - packets[0].time_s
    seconds = int(span_s)
    if seconds == 0:
        octets = sum(packet.size_b or 0 for packet in packets)
        yield 0.0, span_s, 8 * octets / span_s
        return
    octets_of = [0] * seconds
    for packet in packets:
        second = int(packet.time_s - packets[0].time_s)
        if 0 <= second < seconds:
            octets_of[second] += packet.size_b or 0
    for second, octets in enumerate(octets_of):
        yield float(second), 1.0, 8.0 * octets


# RTP stream analysis


def _head(document: Document) -> int | None:
    """The index of the line with the names of the columns."""
    if document.json is not None:
        return None
    for index, line in enumerate(document.lines[:5]):
        if all(name in line for name in _ANALYSIS):
            return index
    return None


def _is_analysis(document: Document) -> bool:
    return _head(document) is not None


def _read_analysis(document: Document, asked: Asked) -> Sequence[Reading]:
    head = _head(document) or 0
    rows = list(_rows(document, ","))
    names = next(values for line, values in rows if line == head + 1)
    if not set(_ANALYSIS) <= set(names):
        raise document.error(head + 1, f"the columns {', '.join(_ANALYSIS)}")
    sequence: list[int] = []
    elapsed_ms = jitters_ms = 0.0
    ended = False
    for line, values in rows:
        if line <= head + 1:
            continue
        if len(values) == 1 or values == names:  # the name of the next stream
            ended = ended or bool(sequence)
            continue
        if ended:
            raise document.error(line, "one stream: save each stream on its own")
        row = dict(zip(names, values, strict=False))
        numbers = [row.get(name, "") for name in _ANALYSIS]
        if not all(re.fullmatch(r"-?\d{1,12}(\.\d{1,12})?", number) for number in numbers):
            raise document.error(line, f"numbers as {', '.join(_ANALYSIS)}")
        sequence.append(int(float(numbers[1])))
        elapsed_ms += float(numbers[2])
        jitters_ms += float(numbers[3])
    lost, sent = _lost(sequence)
    if len(sequence) < 2 or elapsed_ms <= 0:
        raise document.truncated("at least two packets")
    stream = _Stream(elapsed_ms / 1e3, sent=sent, lost=lost, jitter_ms=jitters_ms / (len(sequence) - 1))
    return (stream.reading("analysis", asked),)


# Table of streams


def _is_streams(document: Document) -> bool:
    return document.json is None and any(_STREAMS.match(line) for line in document.lines)


def _read_streams(document: Document, asked: Asked) -> Sequence[Reading]:
    lines = iter(enumerate(document.lines, start=1))
    for _, line in lines:
        if _STREAMS.match(line):
            break
    number, head = next(lines, (len(document.lines), ""))
    columns = [f"{which} {what}" for which, what in _COLUMN.findall(head)]
    if "Mean Jitter" not in columns or "Start time" not in head:
        raise document.error(
            number, "the columns 'Start time' and 'Mean Jitter(ms)' of tshark -z rtp,streams"
        )
    readings: list[Reading] = []
    for number, line in lines:
        if line.startswith("==="):
            break
        found = _STREAM.match(line)
        values = found["rest"].split() if found else []
        if found is None or found["start"] is None or len(values) != len(columns):
            raise document.error(number, "a stream of tshark -z rtp,streams")
        duration_s = float(found["end"]) - float(found["start"])
        if readings or duration_s <= 0:
            raise document.error(
                number, "one stream: filter the capture (-2 -R) or export fields of each stream"
            )
        of = dict(zip(columns, map(_decimal, values), strict=True))
        # Without a clock, tshark prints jitters of 0 and a minimum of -1.
        jitter_ms = of["Mean Jitter"] if of.get("Max Jitter") else None
        packets, lost = int(found["packets"]), int(found["lost"])
        stream = _Stream(
            duration_s,
            sent=packets + lost,
            lost=lost,
            jitter_ms=jitter_ms,
            is_ipv6=":" in found["address"],
        )
        readings.append(stream.reading("streams", asked))
    else:
        raise document.truncated("the last line of tshark -z rtp,streams")
    return readings


def _decimal(text: str) -> float:
    return float(text) if re.fullmatch(r"-?\d{1,12}(\.\d{1,12})?", text) else 0.0


FIELDS: Final = Format(
    tool="Wireshark, tshark",
    files="`tshark -T fields -E header=y` with `frame.time_epoch` or `frame.time_relative` and any of `udp.length`, "
    "`rtp.seq`, `rtp.timestamp`, `rtp.p_type`, `rtp.ssrc`, `ip.src`, `ipv6.src`",
    imported="throughput, jitter and loss of one RTP stream; throughput of any UDP stream",
    recognises=_is_fields,
    read=_read_fields,
)
ANALYSIS: Final = Format(
    tool="Wireshark, tshark",
    files="the CSV of Telephony > RTP > RTP Stream Analysis, one stream",
    imported="jitter and loss",
    recognises=_is_analysis,
    read=_read_analysis,
)
STREAMS: Final = Format(
    tool="Wireshark, tshark",
    files="`tshark -q -z rtp,streams`, one stream",
    imported="jitter and loss",
    recognises=_is_streams,
    read=_read_streams,
)
