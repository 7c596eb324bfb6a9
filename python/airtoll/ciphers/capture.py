"""Capture files decrypted: from protected Data frames to the Ethernet frames within, as airdecap-ng does it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airtoll import _rust
from airtoll.errors import UsageError


@dataclass(frozen=True, slots=True)
class Decrypted:
    """What became of the frames of a capture."""

    frames: int
    """Records of the capture."""
    decrypted: int
    ethernet_frames: int
    """Written to the output: more than were decrypted where these held A-MSDUs. If 0 there is no output."""
    not_decrypted: Mapping[str, int]
    """The others by reason, a stable name; see `airtoll decrypt` for what each means."""
    broken: str | None
    """Where the capture breaks off, if it does; the counts are about what comes before."""

    @property
    def data_frames(self) -> int:
        """Frames that are known to be Data frames with a body."""
        others = ("not_data", "cut_short", "damaged", "other_link_type")
        return self.frames - sum(self.not_decrypted.get(reason, 0) for reason in others)


def parse_wep_key(text: str) -> bytes:
    """A WEP key in hexadecimal digits, octets separated by colons or not; UsageError if it is none."""
    if not re.fullmatch(r"[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2})*", text):
        raise UsageError("--key: not pairs of hexadecimal digits, as in 1f2e3d4c5b or 1f:2e:3d:4c:5b")
    key = bytes.fromhex(text.replace(":", ""))
    if len(key) not in (5, 13):
        raise UsageError(
            f"--key: {len(key)} octets; a WEP key has 5 (WEP-40, 10 digits) or 13 (WEP-104, 26 digits)"
        )
    return key


def decrypt_capture(
    capture: Path, out: Path, keys: Sequence[bytes], progress: Callable[[int], object] = lambda _: None
) -> Decrypted:
    """Decrypt a pcap or pcapng capture with WEP keys into a pcap capture of Ethernet frames.

    `progress` is told now and then how many octets of the capture were read. An `out` that is there is replaced, when
    all is done: whatever goes wrong before, it stays as it was. Raises UsageError if the capture holds no 802.11 frames
    or one of the files cannot be used.
    """
    try:
        frames, decrypted, written, reasons, broken = _rust.decrypt_capture(capture, out, keys, progress)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return Decrypted(frames, decrypted, written, reasons, broken)
