"""Reads a capture that the medium wrote: its frames and exchanges, and the throughput of a saturated station."""

import struct
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

MANAGEMENT, CONTROL, DATA = 0, 1, 2
BEACON, BLOCK_ACK, PS_POLL, RTS, CTS, ACK = 8, 9, 10, 11, 12, 13
NULL, QOS = 4, 8  # bits of the subtype of Data frames
RETRY, POWER_MANAGEMENT = 0x08, 0x10  # bits of the Frame Control field

SIFS_US: Final = 16.0  # in the 5 GHz band (IEEE Std 802.11-2020, Table 17-21)
PIFS_US: Final = 25.0
SLOT_US: Final = 9.0

MEAN_SLOTS: Final = 7.5  # of the backoffs of a contention window of 15
BEACON_INTERVAL_US: Final = 102_400

BEGIN_NS: Final = 200_000_000
"""Time after the first exchange in which the station may not be saturated yet."""

_FILE_HEADER_B: Final = 24
_RECORD: Final = struct.Struct("<IIII")


@dataclass(frozen=True)
class Frame:
    """An MPDU with its FCS."""

    ns: int  # when its first bit was on the air, after the preamble
    octets: bytes

    @property
    def kind(self) -> tuple[int, int]:
        """Type and subtype."""
        return self.octets[0] >> 2 & 3, self.octets[0] >> 4

    @property
    def flags(self) -> int:
        """The second octet of the Frame Control field."""
        return self.octets[1]

    @property
    def receiver(self) -> str:
        return self.octets[4:10].hex(":")

    @property
    def sender(self) -> str | None:
        """Address 2; None in frames without it."""
        return None if self.kind in ((CONTROL, CTS), (CONTROL, ACK)) else self.octets[10:16].hex(":")

    @property
    def is_data(self) -> bool:
        """Whether the frame is a Data frame with a body."""
        kind, subtype = self.kind
        return kind == DATA and not subtype & NULL

    @property
    def qos_control(self) -> int | None:
        """The QoS Control field; None without one."""
        kind, subtype = self.kind
        return struct.unpack_from("<H", self.octets, 24)[0] if kind == DATA and subtype & QOS else None

    @property
    def tid(self) -> int | None:
        """The TID; None without a QoS Control field."""
        return None if self.qos_control is None else self.qos_control & 0x0F


@dataclass
class Exchange:
    """The MPDUs of a PPDU, and their answer."""

    mpdus: list[Frame]
    answer: Frame


def read(file: Path) -> Iterator[Frame]:
    """The frames of a capture with radiotap headers and time stamps in nanoseconds."""
    octets = file.read_bytes()
    at = _FILE_HEADER_B
    while at < len(octets):
        seconds, ns, kept, _ = _RECORD.unpack_from(octets, at)
        at += _RECORD.size
        (radiotap_b,) = struct.unpack_from("<H", octets, at + 2)
        yield Frame(seconds * 10**9 + ns, octets[at + radiotap_b : at + kept])
        at += kept


def exchanges(frames: Sequence[Frame]) -> list[Exchange]:
    """The exchanges of Data frames that an Ack or a BlockAck answered."""
    found: list[Exchange] = []
    mpdus: list[Frame] = []
    for frame in frames:
        if frame.is_data:
            if mpdus and mpdus[-1].sender != frame.sender:
                mpdus = []
            mpdus.append(frame)
            continue
        if mpdus and frame.kind in ((CONTROL, ACK), (CONTROL, BLOCK_ACK)):
            found.append(Exchange(mpdus, frame))
        mpdus = []
    return found


@dataclass(frozen=True)
class Steady:
    """A saturated station over an integral number of exchanges."""

    seconds: float
    datagrams: int
    exchanges: int
    mpdus: set[int]  # numbers of MPDUs per exchange
    beacons: int
    beacon_us: float  # airtime of a beacon and its PIFS
    slots: list[float] = field(repr=False)  # backoffs of exchanges that follow another directly

    def mbit_per_s(self, payload_b: int) -> float:
        """The throughput."""
        return self.datagrams * payload_b * 8 / self.seconds / 1e6

    def mbit_per_s_without_chance(self, payload_b: int) -> float:
        """The throughput without beacons, if the mean of the backoffs were `MEAN_SLOTS`."""
        drawn = sum(self.slots) / len(self.slots)
        excess_us = self.beacons * self.beacon_us + self.exchanges * (drawn - MEAN_SLOTS) * SLOT_US
        return self.datagrams * payload_b * 8 / (self.seconds * 1e6 - excess_us)


def steady(frames: Sequence[Frame], sender: str, cycle_less_backoff_us: float) -> Steady:
    """The longest time in which the air has only the station's saturated exchanges and beacons, without collisions."""

    def is_own(frame: Frame) -> bool:
        return frame.is_data and frame.sender == sender and len(frame.octets) > 1000

    def interrupts(frame: Frame) -> bool:
        # A retransmission follows a collision with a beacon. The capture has no PPDUs that collided.
        if is_own(frame):
            return bool(frame.flags & RETRY)
        return frame.kind[0] != CONTROL and frame.kind != (MANAGEMENT, BEACON)

    own = [one for one in exchanges(frames) if is_own(one.mpdus[0])]
    begin_ns = own[0].mpdus[0].ns + BEGIN_NS
    interruptions = [frame.ns for frame in frames if frame.ns > begin_ns and interrupts(frame)]
    since_ns, until_ns = max(
        pairwise([begin_ns, *interruptions, own[-1].mpdus[0].ns]), key=lambda span: span[1] - span[0]
    )
    beacons = [frame for frame in frames if frame.kind == (MANAGEMENT, BEACON)]
    own = [one for one in own if since_ns <= one.mpdus[0].ns < until_ns]
    starts = [one.mpdus[0].ns for one in own]
    beacons = [frame for frame in beacons if starts[0] <= frame.ns < starts[-1]]
    at = [frame.ns for frame in beacons]
    lengths = {len(one.mpdus) for one in own[:-1]}
    slots = [
        ((second - first) / 1e3 - cycle_less_backoff_us) / SLOT_US
        for (first, second), one in zip(pairwise(starts), own, strict=False)
        if bisect(at, first) == bisect(at, second) and len(one.mpdus) == max(lengths)
    ]
    return Steady(
        seconds=(starts[-1] - starts[0]) / 1e9,
        datagrams=sum(len(one.mpdus) for one in own[:-1]),
        exchanges=len(own) - 1,
        mpdus=lengths,
        beacons=len(beacons),
        beacon_us=PIFS_US + _ofdm_6_mbit_us(len(beacons[0].octets)) if beacons else 0.0,
        slots=slots,
    )


def _ofdm_6_mbit_us(octets: int) -> float:
    """Airtime of a PPDU at 6 Mbit/s (IEEE Std 802.11-2020, 17.4.3)."""
    return 20.0 + 4.0 * -(-(22 + 8 * octets) // 24)
