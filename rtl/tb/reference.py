"""A model of ccmp_core, from the engine of airtoll.ciphers and an independent parser of MAC headers.

`Reference` stores keys like the core and computes the expected verdict and output of every MPDU. The environment's
SUITE names the cipher suite of 16-octet keys: ccmp, enhanced1 to enhanced8, or paper2 to paper8 (see paper_lanes).
"""

import os
from dataclasses import dataclass, field

from frames import header_octets
from paper_lanes import PaperLanes

from airtoll.ciphers import Protection, Refused, ReplayWindow

SUITE = os.environ.get("SUITE", "ccmp")

SEALED_OR_OPENED, SHORT, LONG, NOT_PROTECTED, BAD_HEADER = range(5)
NO_KEY, KEY_MISMATCH, EXHAUSTED, BAD_MIC, REPLAYED = range(5, 10)

LAST_PN = 2**48 - 1


@dataclass
class Key:
    """A temporal key of 16 or 32 octets, with its packet numbers."""

    octets: bytes
    key_id: int = 0
    sent: int = 0
    received: int = 0
    protection: Protection | PaperLanes = field(init=False)
    window: ReplayWindow = field(init=False)

    def __post_init__(self) -> None:
        if len(self.octets) == 32:
            self.protection = Protection("ccmp256", self.octets)
        elif SUITE.startswith("paper"):
            self.protection = PaperLanes(self.octets, int(SUITE.removeprefix("paper")))
        else:
            self.protection = Protection(SUITE, self.octets)
        self.window = ReplayWindow(self.received)

    @property
    def mic_octets(self) -> int:
        """MIC length of CCMP-128 or CCMP-256."""
        return 8 if len(self.octets) == 16 else 16

    def packet(self, number: int) -> bytes:
        """The words that install the key with this number, in the format of key_table."""
        head = number | self.key_id << 8 | (len(self.octets) == 32) << 16
        words = (
            head,
            self.sent & 0xFFFFFFFF,
            self.sent >> 32,
            self.received & 0xFFFFFFFF,
            self.received >> 32,
        )
        return b"".join(word.to_bytes(4, "little") for word in words) + self.octets


def header_kind(mpdu: bytes) -> str:
    """The kind of a MAC header: a kind of mac_header in frames.py, or other."""
    octets = header_octets(mpdu) if len(mpdu) >= 2 else None
    if octets is None:
        return "other"
    fc0, fc1 = mpdu[0], mpdu[1]
    if not fc0 & 0x08:
        return "management" if octets == 24 else "management +HTC"
    qos, four, htc = fc0 & 0x80, fc1 & 3 == 3, fc1 & 0x80
    return f"{'QoS ' if qos else ''}data{' A4' if four else ''}{' +HTC' if qos and htc else ''}"


class Reference:
    """The model of the core."""

    def __init__(self, max_octets: int) -> None:
        self.keys: dict[int, Key] = {}
        self._max_octets = max_octets

    def take(self, mpdu: bytes, number: int, *, open_it: bool) -> tuple[int, bytes | None]:
        """Process an MPDU: the verdict, and the octets that leave."""
        key = self.keys.get(number)
        verdict = self._refusal(mpdu, key, open_it=open_it)
        if verdict != SEALED_OR_OPENED or key is None:
            return verdict, None
        return self._open(mpdu, key) if open_it else self._seal(mpdu, key)

    def _refusal(self, mpdu: bytes, key: Key | None, *, open_it: bool) -> int:
        """The first reason, in the core's order, to reject a frame before sealing or opening it."""
        head = mpdu.ljust(64, b"\0")
        header = header_octets(head)
        start = header or 0
        least = start + (8 + key.mic_octets if open_it and key else 0)
        reasons = (
            (len(mpdu) < 24, SHORT),
            (header is None, BAD_HEADER),
            (open_it and not head[1] & 0x40, NOT_PROTECTED),
            (len(mpdu) > self._max_octets, LONG),
            (key is None, NO_KEY),
            (len(mpdu) < least, SHORT),
            (open_it and not head[start + 3] & 0x20, BAD_HEADER),
        )
        return next((verdict for applies, verdict in reasons if applies), SEALED_OR_OPENED)

    @staticmethod
    def _seal(mpdu: bytes, key: Key) -> tuple[int, bytes | None]:
        if key.sent == LAST_PN:
            return EXHAUSTED, None
        key.sent += 1
        return SEALED_OR_OPENED, key.protection.seal([mpdu], [key.sent], key.key_id)[0]

    @staticmethod
    def _open(mpdu: bytes, key: Key) -> tuple[int, bytes | None]:
        opened = key.protection.open([mpdu], key.key_id, window=key.window)[0]
        if isinstance(opened, Refused):
            return {"key_mismatch": KEY_MISMATCH, "mic": BAD_MIC, "replay": REPLAYED}[opened.reason], None
        return SEALED_OR_OPENED, opened
