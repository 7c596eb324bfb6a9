"""Sealing and opening complete MPDUs in batches (IEEE 802.11-2020 clause 12).

    ccmp = Protection("ccmp", key)
    mpdus = ccmp.seal(frames, range(1, 1 + len(frames)))
    for frame in Protection("ccmp", key).open(mpdus, window=ReplayWindow()):
        if isinstance(frame, Refused):
            print(frame.reason, frame.message)

A *frame* is a MAC header with plaintext, an *MPDU* is its protected form on the air, both without FCS. The Frame
Control field determines the length of the header.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from airtoll import _rust
from airtoll.ciphers.parts import SUITES

_MAX_PN: Final = (1 << 48) - 1


def suites() -> list[str]:
    """The names of all cipher suites: the security levels, `enhanced1` to `enhanced8` (number of lanes), and BIP."""
    return list(SUITES)


def backends() -> list[str]:
    """The backends of CCMP, GCMP and Enhanced CCMP that this CPU supports, slowest first; the last is the default."""
    return _rust.backends()


@dataclass(frozen=True, slots=True)
class Refused:
    """An MPDU that was refused, with the reason and without any plaintext."""

    reason: str
    """A stable name for programs: short, long, not_protected, bad_header, key_mismatch, icv, mic or replay."""
    message: str
    """One line for people."""


class ReplayWindow:
    """The receiver's replay counters of one key: one per TID and one for management frames (12.5.3.4.4)."""

    def __init__(self, start: int = 0) -> None:
        """Start all counters at `start`: 0 for a new pairwise key, the Key RSC for a group key.

        Raises ValueError unless `start` is in 0 to 2^48 - 1.
        """
        self._counters = _rust.ReplayWindow(_packet_number("start", start))


class Protection:
    """One expanded key of one cipher suite; several threads may use it at once.

    The Rust copy of the key is wiped when the object is deleted; the caller's `bytes` are not.
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
        """Expand a key of 5 octets (wep40), 13 (wep104), 16 or 32.

        The 32 octets of a TKIP key are the temporal key (16), the Michael key of frames from the access point (8) and
        the Michael key of frames from the station (8) (12.8.1). The FromDS bit of a frame selects the Michael key.
        Frames with four addresses have FromDS set in both directions: the first Michael key belongs to the
        `authenticator`, a MAC address such as "02:00:00:00:00:01". Without `authenticator` these frames are refused.

        `backend` is one of `backends()`, for ccmp, ccmp256, gcmp, gcmp256 and enhanced. For these suites, `spp_amsdu`
        means that both stations support SPP A-MSDUs (9.4.2.24.4): the MIC then covers the A-MSDU Present bit of QoS
        Control (12.5.3.3.3).

        Raises ValueError with a message of one line for an unknown suite, a wrong key length, an invalid MAC address,
        an argument that the suite does not support, and a backend that is unknown or not supported by this CPU.
        """
        self._key = _rust.Protection(suite, key, backend, authenticator, spp_amsdu)
        self.suite = suite
        self.backend: str | None = self._key.backend
        """The backend in use; None if the suite has only one."""
        self.overhead_b: int = self._key.overhead_b
        """The number of octets that sealing adds to a frame."""

    def __repr__(self) -> str:
        return f"Protection({self.suite!r}, backend={self.backend!r})"

    def seal(self, frames: Iterable[bytes], pns: Iterable[int], key_id: int | None = None) -> list[bytes]:
        """Seal each frame, a complete MSDU or management frame, with its packet number (WEP: the IV).

        A packet number must not be used twice with one key. `key_id` is 0 to 3, default 0; for BIP it is 4 to 7,
        default 4. The Protected bit is set as the suite requires.

        Raises ValueError, and seals nothing, if this suite cannot protect a frame or if a packet number exceeds 48 bits
        (WEP: 24 bits). The message names the frame or the number.
        """
        numbers = [_packet_number(f"pns[{at}]", pn) for at, pn in enumerate(pns)]
        return self._key.seal(list(frames), numbers, self._key_id(key_id))

    def open(
        self, mpdus: Iterable[bytes], key_id: int | None = None, *, window: ReplayWindow | None = None
    ) -> list[bytes | Refused]:
        """Open each MPDU: return its frame with the Protected bit cleared, or the reason for the refusal.

        With a window, packet numbers are checked for replay in the order of the list, and only frames that open advance
        the counters. A fragment sealed by TKIP opens with its part of the MIC, which is not verified.

        Raises ValueError for a `key_id` that the suite does not have, and for a window with WEP, which has no replay
        protection.
        """
        counters = None if window is None else window._counters
        verdicts = self._key.open(list(mpdus), self._key_id(key_id), counters)
        return [verdict if isinstance(verdict, bytes) else Refused(*verdict) for verdict in verdicts]

    def _key_id(self, key_id: int | None) -> int:
        if key_id is None:
            return 4 if SUITES[self.suite].is_bip else 0
        if not 0 <= key_id <= 0xFF:
            raise ValueError(f"key_id: {key_id} is out of range")
        return key_id


def _packet_number(name: str, value: int) -> int:
    if not 0 <= value <= _MAX_PN:
        raise ValueError(f"{name}: {value} is not a packet number of 48 bits")
    return value
