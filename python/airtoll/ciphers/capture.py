"""Decryption of capture files: protected Data frames to Ethernet frames, like airdecap-ng."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
    """A passphrase of 8 to 63 characters, or the PSK itself in 64 hexadecimal digits."""
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
    """The outcome of the frames between an access point and a station, or of its group addressed frames."""

    bssid: str
    station: str | None
    """None: the group addressed frames of the access point."""
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
    """Frames before a key was learned."""
    wrong_key: int
    other: int


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
        raise UsageError(f"--pmk: {len(pmk)} octets; a PMK has 32, or with the larger groups of OWE 48 or 64")
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


def parse_ssid(text: bytes) -> bytes:
    """Check an SSID. Raises UsageError if its length is invalid."""
    if not 1 <= len(text) <= 32:
        raise UsageError(f"--ssid: an SSID has 1 to 32 octets, not {len(text)} (IEEE 802.11-2020 9.4.2.2)")
    return text


def decrypt_capture(
    capture: Path, out: Path, secrets: Secrets, progress: Callable[[int], object] = lambda _: None
) -> Decrypted:
    """Decrypt a pcap or pcapng capture into a pcap capture of Ethernet frames.

    `progress` is called repeatedly with the number of octets read so far. An existing `out` is replaced at the end and
    stays unchanged if an error occurs. Raises UsageError if the capture contains no 802.11 frames or if a file cannot
    be read or written.
    """
    try:
        frames, decrypted, written, reasons, broken, stations, ssids = _rust.decrypt_capture(
            capture, out, secrets.wep_keys, secrets.passphrase, secrets.pmks, secrets.ssid, progress
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    return Decrypted(frames, decrypted, written, reasons, broken, [_station(one) for one in stations], ssids)


def _station(one: _rust.CaptureStation) -> Station:
    return Station(
        bssid=one.bssid,
        station=one.station,
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
