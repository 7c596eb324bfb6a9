"""`airtoll decrypt`: a capture decrypted, and what became of every frame of it."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from airtoll.ciphers import Decrypted, decrypt_capture, parse_wep_key
from airtoll.errors import AirtollError, StoppedError, UsageError

REASONS: Final = {
    "not_data": "not a data frame with a body: beacons, acknowledgements, Null",
    "not_encrypted": "not encrypted",
    "no_wep_key": "WEP, and no WEP key given",
    "other_cipher": "another cipher: TKIP, CCMP or GCMP",
    "wrong_key": "ICV or MIC wrong: another key, or damaged",
    "forged": "MIC wrong behind a right ICV: forged",
    "retransmission": "retransmission of a frame decrypted already",
    "fragment": "fragment, decrypted and counted with the last one of its frame",
    "no_msdu": "decrypted, but no packet in it",
    "cut_short": "cut short by the capture's snap length",
    "damaged": "damaged: too short, wrong FCS, no 802.11 header",
    "other_link_type": "not 802.11: of another interface of the capture",
}
"""Why a frame was not decrypted, in words."""


def decrypt_file(capture: Path, keys: Sequence[str], out: Path | None, *, as_json: bool) -> None:
    """Decrypt, print the counts, and say in an error what they do not."""
    if not keys:
        raise UsageError("no key given: --key HEX is needed")
    wep_keys = [parse_wep_key(key) for key in keys]
    target = out or _beside(capture)
    # As Ctrl-C does, it leaves no temporary file behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with _showing_progress(capture) as progress:
            decrypted = decrypt_capture(capture, target, wep_keys, progress)
    except KeyboardInterrupt:
        raise StoppedError("interrupted; no output is written") from None
    written = target if decrypted.ethernet_frames else None
    if as_json:
        typer.echo(json.dumps(_as_json(capture, decrypted, written), indent=2))
    else:
        _print(decrypted, written)
    if decrypted.broken:
        raise UsageError(f"{capture}: {decrypted.broken}")
    if written is None:
        raise AirtollError(f"{capture}: nothing decrypted, so no output is written")


def _beside(capture: Path) -> Path:
    """Where the output goes unless the user says: there is a place for it only beside a file."""
    if os.path.isdir(capture):
        raise UsageError(f"{capture}: Is a directory")
    if os.path.exists(capture) and not os.path.isfile(capture):
        raise UsageError(f"{capture}: not a regular file, so --out FILE is needed")
    return capture.with_name(f"{capture.stem}-dec.pcap")


@contextmanager
def _showing_progress(capture: Path) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; on stderr, for stdout is for the counts."""
    console = Console(stderr=True)
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    size = os.path.getsize(capture) if os.path.isfile(capture) else None
    with progress:
        task = progress.add_task(capture.name, total=size)
        yield lambda octets: progress.update(task, completed=octets)


def _print(decrypted: Decrypted, written: Path | None) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_row(str(decrypted.frames), "frames")
    table.add_row(str(decrypted.data_frames), "data frames")
    table.add_row(str(decrypted.decrypted), "decrypted")
    for reason, words in REASONS.items():
        if count := decrypted.not_decrypted.get(reason):
            table.add_row(str(count), words)
    console = Console(highlight=False)
    console.print(table)
    if written:
        console.print(f"{written}: {decrypted.ethernet_frames} Ethernet frames", markup=False, soft_wrap=True)


def _as_json(capture: Path, decrypted: Decrypted, written: Path | None) -> dict[str, object]:
    return {
        "capture": str(capture),
        "out": str(written) if written else None,
        "frames": decrypted.frames,
        "data_frames": decrypted.data_frames,
        "decrypted": decrypted.decrypted,
        "ethernet_frames": decrypted.ethernet_frames,
        "not_decrypted": {reason: decrypted.not_decrypted.get(reason, 0) for reason in REASONS},
        "broken": decrypted.broken,
    }
