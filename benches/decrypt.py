"""Measure how fast captures are decrypted, compared with copying them and with airdecap-ng.

The capture is synthetic: `crates/wlan-decrypt/examples/make_capture.rs` makes it, including the handshakes. All
commands read it from the page cache and write to the same file system, in turns, after an uncounted warm-up round.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from page import machine, publish

ROOT = Path(__file__).resolve().parents[1]
AIRTOLL = str(Path(sys.executable).with_name("airtoll"))
OCTETS = 10**9
SMALL_OCTETS = 10**5
"""Size of a capture that takes hardly longer than starting the command."""
REPEATS = 5
AIRDECAP_REPEATS = 3
"""Fewer than `REPEATS`, because airdecap-ng is slow."""
PASSPHRASE, SSID = "a toll on the air", "airtoll"
DISKS = {"memory (tmpfs)": Path("/dev/shm"), "disk": Path("/var/tmp")}  # noqa: S108


@dataclass
class Run:
    """Elapsed time and CPU time of a command, in seconds."""

    elapsed: float
    user: float
    kernel: float


def introduction() -> str:
    """The title and the machine."""
    return (
        "# Speed of decrypting captures\n\n"
        "airtoll decrypts a capture at more than half of the speed of `cp`, and more than ten times as fast as\n"
        "airdecap-ng.\n\n"
        f"Made by `make bench-decrypt WRITE=docs/measurements/decrypt-speed.md` on {machine()}.\n"
        "Measurements are noisy: ratios apply to other machines too, absolute figures do not. "
        "[decrypt-a-capture.md](../how-to/decrypt-a-capture.md)\ndescribes `airtoll decrypt`."
    )


def run(command: Sequence[str | Path]) -> Run:
    """Run a command and measure it from start to exit."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    elapsed, after = time.perf_counter() - start, os.times()
    return Run(
        elapsed,
        after.children_user - before.children_user,
        after.children_system - before.children_system,
    )


def beside_cp_and_airdecap() -> str:
    """One capture copied, decrypted by airtoll and decrypted by airdecap-ng, on two file systems."""
    make = ("cargo", "run", "--release", "--quiet", "-p", "wlan-decrypt", "--example", "make_capture", "--")
    has_airdecap = shutil.which("airdecap-ng") is not None
    rows = []
    for name, parent in DISKS.items():
        with tempfile.TemporaryDirectory(prefix="airtoll-bench-", dir=parent) as folder:
            capture, small, out = (Path(folder, name) for name in ("some.pcap", "small.pcap", "out.pcap"))
            subprocess.run([*make, str(OCTETS), capture], cwd=ROOT, check=True)
            subprocess.run([*make, str(SMALL_OCTETS), small], cwd=ROOT, check=True)
            # airdecap-ng reads only time stamps in microseconds (pcap-savefile(5)). Their values do not matter here.
            with capture.open("r+b") as file:
                file.write((0xA1B2C3D4).to_bytes(4, "little"))
            ways: dict[str, list[str | Path]] = {
                "cp": ["cp", capture, out],
                "airtoll": [AIRTOLL, "decrypt", capture, "--psk", PASSPHRASE, "--out", out],
                "start": [AIRTOLL, "decrypt", small, "--psk", PASSPHRASE, "--out", out],
            }
            if has_airdecap:
                ways["airdecap-ng"] = ["airdecap-ng", "-e", SSID, "-p", PASSPHRASE, "-o", out, capture]
            runs: dict[str, list[Run]] = {way: [] for way in ways}
            for turn in range(REPEATS + 1):
                for way, command in ways.items():
                    if way == "airdecap-ng" and not 0 < turn <= AIRDECAP_REPEATS:
                        continue
                    # A virtual machine returns free memory to its host and regains it slowly. Copying the capture
                    # first keeps that cost, and the cost of pending writes, out of the measurement.
                    subprocess.run(["cp", capture, out], check=True)
                    out.unlink()
                    os.sync()
                    measured = run(command)
                    out.unlink()
                    if turn:
                        runs[way].append(measured)
            rows.append(row(name, capture.stat().st_size, runs))
    missing = "" if has_airdecap else "\n\nairdecap-ng is not installed here: apt-get install aircrack-ng."
    return (
        "## One capture\n\n"
        f"The capture has {OCTETS / 1e9:g} GB: four stations of one access point, CCMP, radiotap with FCS, three "
        "frames of 1500 octets for each\nframe of 40 to 200 octets. The time is that of the complete command, from "
        f"start to exit, including PBKDF2. Figures are medians\nof {REPEATS} interleaved runs (airdecap-ng: "
        f"{AIRDECAP_REPEATS}), with the lowest and highest in brackets. "
        "The goals are 60 % of the speed of\n`cp` and 20 times the speed of airdecap-ng.\n\n"
        "`cp` (GNU) lets the kernel copy (`copy_file_range`). tmpfs and ext4 share no blocks between files, so the "
        "kernel copies\nevery page once, and no octet reaches the program. If a program changes the octets, the kernel "
        'copies them twice: to the\nprogram and back. "Start of airtoll" is the time of the same command for '
        f"{SMALL_OCTETS / 1e6:g} MB: Python and option parsing.\n\n"
        "| files in | cp, s | airtoll, s | airtoll, GB/s | speed relative to cp | start of airtoll, s "
        "| CPU time of airtoll, s: user, kernel | airdecap-ng, s | compared with airdecap-ng |\n"
        "|---|---|---|---|---|---|---|---|---|\n" + "\n".join(rows) + missing
    )


def row(name: str, octets: int, runs: dict[str, list[Run]]) -> str:
    """One row of the table."""

    def elapsed(way: str) -> tuple[float, str]:
        times = [one.elapsed for one in runs[way]]
        middle = statistics.median(times)
        return middle, f"{middle:.2f} ({min(times):.2f} to {max(times):.2f})"

    (cp, cp_cell), (ours, our_cell) = elapsed("cp"), elapsed("airtoll")
    user, kernel = (
        statistics.median(getattr(one, kind) for one in runs["airtoll"]) for kind in ("user", "kernel")
    )
    beside = ("-", "-")
    if "airdecap-ng" in runs:
        theirs, their_cell = elapsed("airdecap-ng")
        beside = (their_cell, f"{theirs / ours:.1f} x as fast")
    cells = (
        name,
        cp_cell,
        our_cell,
        f"{octets / ours / 1e9:.2f}",
        f"{100 * cp / ours:.0f} %",
        f"{elapsed('start')[0]:.2f}",
        f"{user:.2f}, {kernel:.2f}",
        *beside,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    publish(__doc__.splitlines()[0], introduction(), (beside_cp_and_airdecap,))
