"""Capture files decrypted: from protected Data frames to the Ethernet frames within, as airdecap-ng does it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airtoll import _rust
from airtoll.errors import UsageError

MAX_SECRET_B = 1024
"""What a file with a passphrase may hold, at most."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a user knows of the networks in a capture."""

    wep_keys: Sequence[bytes] = ()
    """Tried on every WEP frame."""
    passphrase: bytes | None = field(default=None, repr=False)
    """8 to 63 characters, or 64 hexadecimal digits: the PSK that they make with an SSID."""
    pmks: Sequence[bytes] = field(default=(), repr=False)
    """Pairwise master keys, of any network."""
    ssid: bytes | None = None
    """The network that the passphrase is of; without it all whose SSIDs are in the capture."""

    @property
    def learns(self) -> bool:
        """Whether handshakes tell keys to whoever has these."""
        return self.passphrase is not None or bool(self.pmks)


@dataclass(frozen=True, slots=True)
class Station:
    """What became of the frames between an access point and a station, or of those to a group."""

    bssid: str
    station: str | None
    """None: the group addressed frames of the access point."""
    ssid: bytes | None
    akm: str | None
    """Key management, by hostapd's name, or its selector, where a message 2 said so."""
    cipher: str | None
    """Of the key that was learned last."""
    messages: tuple[int, ...]
    """Messages 1 to 4 of 4-way handshakes that were seen."""
    keys: int
    """Keys that were learned."""
    finding: str
    """Why they are known, or why not: a stable name."""
    decrypted: int
    without_key: int
    """Frames before a key was learned."""
    wrong_key: int
    other: int


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
    stations: Sequence[Station] = ()
    """By address; none without anything to learn keys with."""
    ssids: Sequence[bytes] = ()
    """Of the networks in the capture, likewise."""

    @property
    def data_frames(self) -> int:
        """Frames that are known to be Data frames with a body."""
        others = ("not_data", "cut_short", "damaged", "other_link_type")
        return self.frames - sum(self.not_decrypted.get(reason, 0) for reason in others)


def parse_wep_key(text: str) -> bytes:
    """A WEP key in hexadecimal digits, octets separated by colons or not; UsageError if it is none."""
    key = _parse_hex("--key", text, "1f2e3d4c5b or 1f:2e:3d:4c:5b")
    if len(key) not in (5, 13):
        raise UsageError(
            f"--key: {len(key)} octets; a WEP key has 5 (WEP-40, 10 digits) or 13 (WEP-104, 26 digits)"
        )
    return key


def parse_pmk(text: str) -> bytes:
    """A PMK in hexadecimal digits; UsageError if it is none."""
    pmk = _parse_hex("--pmk", text, "f42c6fc5...")
    if len(pmk) not in (32, 48, 64):
        raise UsageError(
            f"--pmk: {len(pmk)} octets; a PMK has 32, or with OWE as many as the hash of its group: 48 or 64"
        )
    return pmk


def _parse_hex(option: str, text: str, example: str) -> bytes:
    if not re.fullmatch(r"[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2})*", text):
        raise UsageError(f"{option}: not pairs of hexadecimal digits, as in {example}")
    return bytes.fromhex(text.replace(":", ""))


def parse_passphrase(text: bytes, source: str) -> bytes:
    """A passphrase, or a PSK in 64 hexadecimal digits, as wpa_supplicant takes them; UsageError if it is neither."""
    try:
        _rust.check_passphrase(text)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None
    return text


def read_passphrase(path: Path) -> bytes:
    """The passphrase that is the one line of a file; UsageError if there is none."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_SECRET_B + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    line = text.removesuffix(b"\n").removesuffix(b"\r")
    if b"\n" in line or len(text) > MAX_SECRET_B:
        raise UsageError(f"{path}: more than one line; a passphrase is one of 8 to 63 characters")
    return parse_passphrase(line, str(path))


def parse_ssid(text: bytes) -> bytes:
    """An SSID; UsageError if it is none."""
    if not 1 <= len(text) <= 32:
        raise UsageError(f"--ssid: an SSID has 1 to 32 octets, not {len(text)} (IEEE 802.11-2020 9.4.2.2)")
    return text


def decrypt_capture(
    capture: Path, out: Path, secrets: Secrets, progress: Callable[[int], object] = lambda _: None
) -> Decrypted:
    """Decrypt a pcap or pcapng capture into a pcap capture of Ethernet frames.

    `progress` is told now and then how many octets of the capture were read. An `out` that is there is replaced, when
    all is done: whatever goes wrong before, it stays as it was. Raises UsageError if the capture holds no 802.11 frames
    or one of the files cannot be used.
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
