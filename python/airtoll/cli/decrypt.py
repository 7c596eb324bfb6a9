"""`airtoll decrypt`: decrypts a capture and counts its frames by outcome."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from airtoll.ciphers import (
    Decrypted,
    Secrets,
    Station,
    decrypt_capture,
    parse_passphrase,
    parse_pmk,
    parse_ssid,
    parse_wep_key,
    read_passphrase,
    shown_ssid,
)
from airtoll.cli.base import echo
from airtoll.cli.json_output import print_json
from airtoll.errors import AirtollError, StoppedError, UsageError

REASONS: Final = {
    "not_data": "not a data frame with a body: beacon, acknowledgement, Null, ...",
    "not_encrypted": "not encrypted",
    "no_wep_key": "WEP, but no WEP key given",
    "other_cipher": "another cipher: TKIP, CCMP or GCMP",
    "no_key_yet": "no usable handshake before the frame",
    "wrong_key": "wrong ICV or MIC: wrong key, or damaged frame",
    "forged": "wrong MIC with a correct ICV: forged",
    "retransmission": "retransmission of a frame that is already decrypted",
    "fragment": "fragment, decrypted and counted with the last fragment of its frame",
    "incomplete_fragment": "fragment of a frame whose other fragments are missing",
    "no_msdu": "decrypted, but contains no packet",
    "cut_short": "truncated by the capture's snap length",
    "damaged": "damaged: too short, wrong FCS or no 802.11 header",
    "other_link_type": "not 802.11: from another interface of the capture",
}
"""Why a frame was not decrypted."""


STATION_FINDINGS: Final = {
    "learned": "key learned",
    "no_handshake": "no 4-way handshake",
    "half_handshake": "incomplete 4-way handshake: message 2 and message 1 or 3 are required",
    "wrong_passphrase": "MIC mismatch in the handshake: wrong passphrase or PMK",
    "no_ssid": "hidden SSID: --ssid is required",
    "other_network": "another network",
    "not_of_passphrase": "PMK not derived from a passphrase: --pmk is required",
    "unknown_suites": "unsupported key management or cipher",
    "direct": "direct frames (TDLS or ad hoc): no key from a handshake with an access point",
}
"""Why a station's keys are known or unknown."""

COMPRESSED: Final = (".gz", ".zst", ".zstd")
"""The suffixes of compressed captures."""

MAX_NAMED: Final = 3
"""The number of stations that one line names."""


def read_secrets(
    keys: Sequence[str], psk: str | None, psk_file: Path | None, ssid: str | None, pmks: Sequence[str]
) -> Secrets:
    """The secrets in the options. Raises UsageError if options conflict or no secret is given."""
    if psk is not None and psk_file is not None:
        raise UsageError("--psk and --psk-file are mutually exclusive")
    if not (keys or pmks or psk is not None or psk_file is not None):
        raise UsageError("no key given: use --key HEX for WEP, --psk PASSPHRASE for all other ciphers")
    passphrase = None
    if psk is not None:
        passphrase = parse_passphrase(os.fsencode(psk), "--psk")
    elif psk_file is not None:
        passphrase = read_passphrase(psk_file)
    if ssid is not None and passphrase is None:
        raise UsageError("--ssid requires a passphrase: use --psk or --psk-file")
    return Secrets(
        wep_keys=[parse_wep_key(key) for key in keys],
        passphrase=passphrase,
        pmks=[parse_pmk(pmk) for pmk in pmks],
        ssid=None if ssid is None else parse_ssid(os.fsencode(ssid)),
    )


def decrypt_file(capture: Path, secrets: Secrets, out: Path | None, *, as_json: bool) -> None:
    """Decrypt a capture and print the counts. Raises AirtollError if it is truncated or no frame was decrypted."""
    target = out or _beside(capture)
    # Only a named output may be a link: decrypt_capture follows none.
    followed = target if out is None else _followed(out)
    try:
        with _showing_progress(capture) as progress:
            decrypted = decrypt_capture(capture, followed, secrets, progress)
    except KeyboardInterrupt:
        raise StoppedError("interrupted; no output is written") from None
    written = target if decrypted.ethernet_frames else None
    if as_json:
        print_json(_as_json(capture, decrypted, written, secrets))
    else:
        _print(decrypted, written)
    if decrypted.broken:
        raise UsageError(f"{capture}: {decrypted.broken}")
    if written is None:
        raise AirtollError(f"{capture}: {_why_nothing(decrypted, secrets)}; no output is written")


def _followed(out: Path) -> Path:
    """The file to which the path leads, if the system follows its link for this user.

    Linux follows no links of other users in /tmp (proc(5), protected_symlinks), but reads them. Another user may also
    exchange a link, so the last step decides.
    """
    target = out.resolve()
    try:
        return target if target.is_file() and out.samefile(target) else out
    except OSError:
        return out


def _why_nothing(decrypted: Decrypted, secrets: Secrets) -> str:
    """Why no frame was decrypted, and what to do, in one clause."""
    nothing = "nothing decrypted"
    if not secrets.learns:
        return nothing
    found: dict[str, list[Station]] = {}
    for station in decrypted.stations:
        found.setdefault(station.finding, []).append(station)

    what = "passphrase" if secrets.passphrase is not None else "PMK"
    which = f"SSID {_shown(secrets.ssid)} or {what}" if secrets.ssid is not None else what
    clauses = {
        "learned": f"{nothing}: no frame that can be decrypted follows the handshake of ",
        "wrong_passphrase": f"wrong {which}: MIC mismatch in the handshake of ",
        "no_ssid": "the SSID is not in the capture: use --ssid SSID; handshake of ",
        "not_of_passphrase": "no passphrase for this PMK (SAE, OWE or 802.1X): use --pmk; handshake of ",
        "unknown_suites": "unsupported key management or cipher of ",
        "half_handshake": "incomplete 4-way handshake (message 2 and message 1 or 3 are required) of ",
        "other_network": f"no handshake of SSID {_shown(secrets.ssid)}, only of ",
    }
    for finding, clause in clauses.items():
        if stations := [one for one in found.get(finding, ()) if one.station]:
            return clause + _named(stations)
    return "no 4-way handshake in the capture"


def _named(stations: Sequence[Station]) -> str:
    """The first few stations, with their networks."""
    names = [
        f"{station.station} with {station.bssid}"
        + (f" (SSID {_shown(station.ssid)})" if station.ssid is not None else "")
        for station in stations[:MAX_NAMED]
    ]
    more = len(stations) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _shown(ssid: bytes | None) -> str:
    return f'"{shown_ssid(ssid or b"")}"'


def _beside(capture: Path) -> Path:
    """The default output path, beside the capture.

    Raises UsageError if the capture is not a regular file, or if the output is a link: the folder may be a stranger's.
    """
    if os.path.isdir(capture):
        raise UsageError(f"{capture}: Is a directory")
    if os.path.exists(capture) and not os.path.isfile(capture):
        raise UsageError(f"{capture}: not a regular file, so --out FILE is required")
    name = capture.stem if capture.suffix.lower() in COMPRESSED else capture.name
    beside = capture.with_name(f"{Path(name).stem}-dec.pcap")
    if beside.is_symlink():
        raise UsageError(f"{beside}: is a link: give --out FILE")
    return beside


@contextmanager
def _showing_progress(capture: Path) -> Iterator[Callable[[int], None]]:
    """A progress bar if stderr is a terminal; stdout is for the counts."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    # Importing rich takes longer than decrypting a hundred megabytes.
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from airtoll.cli.tables import plain_console

    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=plain_console(stderr=True),
        transient=True,
    )
    size = os.path.getsize(capture) if os.path.isfile(capture) else None
    with progress:
        task = progress.add_task(capture.name, total=size)
        yield lambda octets: progress.update(task, completed=octets)


def _print(decrypted: Decrypted, written: Path | None) -> None:
    rows = [
        (decrypted.frames, "frames"),
        (decrypted.data_frames, "data frames"),
        (decrypted.decrypted, "decrypted"),
    ]
    counts = decrypted.not_decrypted
    rows += [(counts[reason], words) for reason, words in REASONS.items() if counts.get(reason)]
    width = max(len(str(count)) for count, _ in rows)
    for count, words in rows:
        echo(f"{count:{width}}  {words}")
    if decrypted.stations:
        echo("")
        for line in _station_lines(decrypted):
            echo(line)
    if written:
        echo(f"{written}: {decrypted.ethernet_frames} Ethernet frames")


def _station_lines(decrypted: Decrypted) -> Iterator[str]:
    """One aligned line per station: keys learned, frames decrypted, frames not decrypted. The columns of frames add up
    to the encrypted data frames.
    """
    counted = ("decrypted", "no key", "wrong key", "other")
    rows: list[tuple[str, ...]] = [("access point", "station", "SSID", "cipher", "keys", *counted, "")]
    for one in decrypted.stations:
        words = STATION_FINDINGS[one.finding]
        if one.station is None and not one.keys:
            words = "group key not learned"
        frames = (one.keys, one.decrypted, one.without_key, one.wrong_key, one.other)
        ssid = "-" if one.ssid is None else _shown(one.ssid)
        station = f"{one.station} - {one.peer}" if one.peer else one.station or "(group)"
        rows.append((one.bssid, station, ssid, one.cipher or "-", *map(str, frames), words))
    if any(decrypted.other_stations):
        of_others = (0, *decrypted.other_stations)
        rows.append(
            ("(others)", "(others)", "-", "-", *map(str, of_others), "too many stations for one line each")
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if 4 <= at < 9 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _as_json(
    capture: Path, decrypted: Decrypted, written: Path | None, secrets: Secrets
) -> dict[str, object]:
    counts: dict[str, object] = {
        "capture": str(capture),
        "out": str(written) if written else None,
        "frames": decrypted.frames,
        "data_frames": decrypted.data_frames,
        "decrypted": decrypted.decrypted,
        "ethernet_frames": decrypted.ethernet_frames,
        "not_decrypted": {reason: decrypted.not_decrypted.get(reason, 0) for reason in REASONS},
        "broken": decrypted.broken,
    }
    if secrets.learns:
        counts["stations"] = [
            asdict(station) | {"ssid": None if station.ssid is None else shown_ssid(station.ssid)}
            for station in decrypted.stations
        ]
        counts["other_stations"] = dict(
            zip(("decrypted", "without_key", "wrong_key", "other"), decrypted.other_stations, strict=True)
        )
    return counts
