"""Sealing and opening whole MPDUs in batches (IEEE 802.11-2020 clause 12).

    ccmp = Protection("ccmp", key)
    mpdus = ccmp.seal(frames, range(1, 1 + len(frames)))
    for frame in Protection("ccmp", key).open(mpdus, window=ReplayWindow()):
        if isinstance(frame, Refused):
            print(frame.reason, frame.message)

A *frame* is a MAC header and its plaintext, an *MPDU* what goes over the air, both without FCS. How long the header
is follows from its Frame Control.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from airtoll import _rust

_MAX_PN: Final = (1 << 48) - 1


def suites() -> list[str]:
    """The names of all cipher suites: those of the security levels, `enhanced1` to `enhanced8` by their lanes, BIP."""
    return _rust.suites()


def backends() -> list[str]:
    """What this CPU can run CCMP, GCMP and Enhanced CCMP on, the slowest first; the last is the default."""
    return _rust.backends()


@dataclass(frozen=True, slots=True)
class Refused:
    """An MPDU that did not open, and why. Nothing of its plaintext is given."""

    reason: str
    """short, long, not_protected, bad_header, key_mismatch, icv, mic or replay: stable, for programs."""
    message: str
    """One line, for people."""


class ReplayWindow:
    """The receiver's replay counters of one key: one a TID and one for management frames (12.5.3.4.4)."""

    def __init__(self, start: int = 0) -> None:
        """Counters that stand at `start`: 0 for a new pairwise key, the Key RSC for a group key.

        Raises ValueError unless `start` is in 0 to 2^48 - 1.
        """
        self._counters = _rust.ReplayWindow(_packet_number("start", start))


class Protection:
    """One key of one cipher suite, expanded; it can be used by several threads at once.

    The copy in Rust is wiped when the object goes; the `bytes` that were given are the caller's.
    """

    def __init__(
        self,
        suite: str,
        key: bytes,
        *,
        backend: str | None = None,
        authenticator: str | None = None,
        spp_amsdu: bool = False,
    ) -> None:
        """Take a key: 5 octets (wep40), 13 (wep104), 16 or 32.

        The 32 octets of tkip are the temporal key (16), then the Michael keys of the access point's frames (8) and of
        the station's (8) (12.8.1); which of the two a frame needs follows from its FromDS bit. Frames with four
        addresses have that bit in both directions: the first key is that of the `authenticator`, a MAC address such as
        "02:00:00:00:00:01", and without it these frames are refused.

        `backend` is one of `backends()`, for the suites that have a choice: ccmp, ccmp256, gcmp, gcmp256 and enhanced.
        For these suites, `spp_amsdu` says that both stations are capable of SPP A-MSDUs (9.4.2.24.4): the MIC then
        covers A-MSDU Present of QoS Control (12.5.3.3.3).

        Raises ValueError, in one line, for an unknown suite, a key of another length, an `authenticator` that is no
        MAC address, an argument that the suite does not have, and a backend that does not exist or that this CPU cannot
        run.
        """
        self._key = _rust.Protection(suite, key, backend, authenticator, spp_amsdu)
        self.suite = suite
        self.backend: str | None = self._key.backend
        """What it runs on; None where there is no choice."""
        self.overhead_b: int = self._key.overhead_b
        """Octets that sealing adds to a frame."""

    def __repr__(self) -> str:
        return f"Protection({self.suite!r}, backend={self.backend!r})"

    def seal(self, frames: Iterable[bytes], pns: Iterable[int], key_id: int | None = None) -> list[bytes]:
        """Seal each frame, a whole MSDU or management frame, under its packet number (of WEP: the IV).

        No packet number may be used twice under one key. `key_id` is 0 to 3, and 0 unless given; BIP has 4 and 5, and
        takes 4. The Protected bit is set as the suite wants it.

        Raises ValueError, and seals nothing, if a frame cannot be protected by this suite, or a number does not fit 48
        bits (24 for WEP); the message says which.
        """
        numbers = [_packet_number(f"pns[{at}]", pn) for at, pn in enumerate(pns)]
        return self._key.seal(list(frames), numbers, self._key_id(key_id))

    def open(
        self, mpdus: Iterable[bytes], key_id: int | None = None, *, window: ReplayWindow | None = None
    ) -> list[bytes | Refused]:
        """Open each MPDU: the frame that it protects, with the Protected bit clear, or why it was refused.

        With a window, packet numbers are checked against replay and the counters move, in the order of the list and for
        frames that opened only. A fragment sealed by TKIP opens with its part of the MIC, which is not verified.

        Raises ValueError for a `key_id` that the suite does not have, and for a window with WEP, which has no replay
        protection.
        """
        counters = None if window is None else window._counters
        verdicts = self._key.open(list(mpdus), self._key_id(key_id), counters)
        return [verdict if isinstance(verdict, bytes) else Refused(*verdict) for verdict in verdicts]

    def _key_id(self, key_id: int | None) -> int:
        if key_id is None:
            return 4 if self.suite.startswith("bip-") else 0
        if not 0 <= key_id <= 0xFF:
            raise ValueError(f"key_id: {key_id} is out of range")
        return key_id


def _packet_number(name: str, value: int) -> int:
    if not 0 <= value <= _MAX_PN:
        raise ValueError(f"{name}: {value} is no packet number, which has 48 bits")
    return value
