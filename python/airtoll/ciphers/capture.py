"""Decryption of capture files: protected Data frames to Ethernet frames, like airdecap-ng."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from airtoll import _rust
from airtoll.errors import UsageError

MAX_SECRET_B = 1024
"""The maximum size of a file with a passphrase."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """The user's secrets of the networks in a capture."""

    wep_keys: Sequence[bytes] = ()
    """Tried on every WEP frame."""
    passphrase: bytes | None = field(default=None, repr=False)
    """A passphrase of 8 to 63 octets, or the PSK itself in 64 hexadecimal digits."""
    pmks: Sequence[bytes] = field(default=(), repr=False)
    """Pairwise master keys of any network."""
    ssid: bytes | None = None
    """The network of the passphrase; None: all networks whose SSIDs are in the capture."""

    @property
    def learns(self) -> bool:
        """Whether these secrets derive keys from handshakes."""
        return self.passphrase is not None or bool(self.pmks)


@dataclass(frozen=True, slots=True)
class Station:
    """The outcome of the frames of one link: of a station with its access point, of an access point's group addressed
    frames, or of two stations that exchange frames directly (TDLS, or an independent BSS).
    """

    bssid: str
    station: str | None
    """None: the group addressed frames of the access point."""
    peer: str | None
    """The other station of direct frames; None: the frames pass the access point."""
    ssid: bytes | None
    akm: str | None
    """Key management from message 2: hostapd's name or the suite selector; None without a message 2."""
    cipher: str | None
    """The cipher of the last key learned."""
    messages: tuple[int, ...]
    """The messages of 4-way handshakes that were seen, 1 to 4."""
    keys: int
    """The number of keys learned."""
    finding: str
    """Why the keys are known or unknown: a stable name."""
    decrypted: int
    without_key: int
    """Frames before a key was learned, or of a cipher without a given key."""
    wrong_key: int
    other: int
    """Retransmissions, fragments and frames without a packet."""


@dataclass(frozen=True, slots=True)
class Decrypted:
    """The outcome of the frames of a capture."""

    frames: int
    """The number of records in the capture."""
    decrypted: int
    ethernet_frames: int
    """Ethernet frames written to the output; with A-MSDUs more than `decrypted`. If 0, no output is written."""
    not_decrypted: Mapping[str, int]
    """Frames that were not decrypted, by reason. Reasons are stable names; `airtoll decrypt` describes them."""
    broken: str | None
    """Where the capture is truncated, if it is; the counts are of the frames before that point."""
    stations: Sequence[Station] = ()
    """The stations by address; empty if the secrets derive no keys from handshakes."""
    other_stations: Sequence[int] = (0, 0, 0, 0)
    """The frames of stations beyond the maximum number in `stations`: decrypted, without a key, wrong key, other."""
    ssids: Sequence[bytes] = ()
    """The SSIDs of the networks in the capture; empty if the secrets derive no keys from handshakes."""

    @property
    def data_frames(self) -> int:
        """The number of Data frames with a body."""
        others = ("not_data", "cut_short", "damaged", "other_link_type")
        return self.frames - sum(self.not_decrypted.get(reason, 0) for reason in others)


def parse_wep_key(text: str) -> bytes:
    """Parse a WEP key in hexadecimal digits, with or without colons. Raises UsageError if it is invalid."""
    key = _parse_hex("--key", text, "1f2e3d4c5b or 1f:2e:3d:4c:5b")
    if len(key) not in (5, 13):
        raise UsageError(
            f"--key: {len(key)} octets; a WEP key has 5 (WEP-40, 10 digits) or 13 (WEP-104, 26 digits)"
        )
    return key


def parse_pmk(text: str) -> bytes:
    """Parse a PMK in hexadecimal digits. Raises UsageError if it is invalid."""
    pmk = _parse_hex("--pmk", text, "f42c6fc5...")
    if len(pmk) not in (32, 48, 64):
        raise UsageError(f"--pmk: {len(pmk)} octets; a PMK has 32, or 48 or 64 with SHA-384 or SHA-512")
    return pmk


def _parse_hex(option: str, text: str, example: str) -> bytes:
    if not re.fullmatch(r"[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2})*", text):
        raise UsageError(f"{option}: expected pairs of hexadecimal digits, such as {example}")
    return bytes.fromhex(text.replace(":", ""))


def parse_passphrase(text: bytes, source: str) -> bytes:
    """Check a passphrase, or a PSK in 64 hexadecimal digits, like wpa_supplicant. Raises UsageError if invalid."""
    try:
        _rust.check_passphrase(text)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None
    return text


def read_passphrase(path: Path) -> bytes:
    """Read a passphrase from a file of one line. Raises UsageError if the file is unreadable or invalid."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_SECRET_B + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    line = text.removesuffix(b"\n").removesuffix(b"\r")
    if b"\n" in line or len(text) > MAX_SECRET_B:
        raise UsageError(f"{path}: more than one line; expected a passphrase of 8 to 63 characters")
    return parse_passphrase(line, str(path))


_ESCAPES: Final = {b"\\": b"\\", b'"': b'"', b"n": b"\n", b"r": b"\r", b"t": b"\t", b"e": b"\x1b"}
"""The escapes of wpa_supplicant (`printf_encode`), besides `\\xHH`."""


def parse_ssid(text: bytes) -> bytes:
    """Parse an SSID with the escapes of `shown_ssid`. Raises UsageError if an escape or the length is invalid."""

    def octets(escape: re.Match[bytes]) -> bytes:
        if digits := escape["digits"]:
            return bytes.fromhex(digits.decode())
        if (octet := _ESCAPES.get(escape["letter"])) is None:
            named = os.fsdecode(escape[0])
            raise UsageError(f"--ssid: unknown escape {named}; use \\\\ for a backslash, \\xHH for an octet")
        return octet

    ssid = re.sub(rb"\\(?:x(?P<digits>[0-9A-Fa-f]{2})|(?P<letter>.?))", octets, text, flags=re.DOTALL)
    if not 1 <= len(ssid) <= 32:
        raise UsageError(f"--ssid: an SSID has 1 to 32 octets, not {len(ssid)} (IEEE 802.11-2020 9.4.2.2)")
    return ssid


def shown_ssid(ssid: bytes) -> str:
    """An SSID, which may contain any octets, as printable text with escapes that `parse_ssid` reads."""
    letters = {octet[0]: "\\" + letter.decode() for letter, octet in _ESCAPES.items()}
    shown = ""
    for character in ssid.decode("utf-8", "surrogateescape"):
        octets = character.encode("utf-8", "surrogateescape")
        if len(octets) == 1 and octets[0] in letters:
            shown += letters[octets[0]]
        elif character.isprintable():
            shown += character
        else:
            shown += "".join(f"\\x{octet:02x}" for octet in octets)
    return shown


def decrypt_capture(
    capture: Path, out: Path, secrets: Secrets, progress: Callable[[int], object] = lambda _: None
) -> Decrypted:
    """Decrypt a pcap or pcapng capture, also one that gzip or Zstandard compressed, into a pcap capture of Ethernet
    frames.

    `progress` is called repeatedly with the number of octets of the file read so far. An existing `out` is replaced at
    the end and stays unchanged if an error occurs. Raises UsageError if the capture contains no 802.11 frames, if a
    file cannot be read or written, or if `out` is a link.
    """
    try:
        frames, decrypted, written, reasons, broken, stations, others, ssids = _rust.decrypt_capture(
            capture, out, secrets.wep_keys, secrets.passphrase, secrets.pmks, secrets.ssid, progress
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    rows = [_station(one) for one in stations]
    return Decrypted(frames, decrypted, written, reasons, broken, rows, others, ssids)


def _station(one: _rust.CaptureStation) -> Station:
    return Station(
        bssid=one.bssid,
        station=one.station,
        peer=one.peer,
        ssid=one.ssid,
        akm=one.akm,
        cipher=one.cipher,
        messages=tuple(one.messages),
        keys=one.keys,
        finding=one.finding,
        decrypted=one.decrypted,
        without_key=one.without_key,
        wrong_key=one.wrong_key,
        other=one.other,
    )
