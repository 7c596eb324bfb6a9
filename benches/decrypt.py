"""How fast captures are decrypted, beside copying them and beside airdecap-ng.

The capture is synthetic: `crates/wlan-link/examples/make_capture.rs` makes it, with the handshakes in it. All ways
read it from the page cache and write to the same file system, in turns.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from page import publish

from airtoll.labs.namespace import machine_facts

ROOT = Path(__file__).resolve().parents[1]
AIRTOLL = str(Path(sys.executable).with_name("airtoll"))
OCTETS = 10**9
REPEATS = 5
PASSPHRASE, SSID = "a toll on the air", "airtoll"
DISKS = {"memory (tmpfs)": Path("/dev/shm"), "disk": Path("/var/tmp")}  # noqa: S108


def introduction() -> str:
    """What was measured where."""
    machine = machine_facts()
    return (
        "# Speed of decrypting captures\n\n"
        f"Made by `make bench-decrypt WRITE=docs/decrypt.md` on {machine['processor']}, {machine['cores']} cores, "
        f"Linux {machine['kernel']}.\nMachines are noisy: ratios carry over to others, absolute figures do not. What "
        "`airtoll decrypt` does stands in\n[decrypting.md](decrypting.md)."
    )


def seconds(command: Sequence[str | Path]) -> float:
    """How long a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def beside_cp_and_airdecap() -> str:
    """One capture, three ways, on two file systems."""
    make = ("cargo", "run", "--release", "--quiet", "-p", "wlan-link", "--example", "make_capture", "--")
    has_airdecap = shutil.which("airdecap-ng") is not None
    rows = []
    for name, parent in DISKS.items():
        with tempfile.TemporaryDirectory(prefix="airtoll-bench-", dir=parent) as folder:
            capture, out = Path(folder, "some.pcap"), Path(folder, "out.pcap")
            subprocess.run([*make, str(OCTETS), capture], cwd=ROOT, check=True)
            ways: dict[str, list[str | Path]] = {
                "cp": ["cp", capture, out],
                "airtoll": [AIRTOLL, "decrypt", capture, "--psk", PASSPHRASE, "--out", out],
            }
            took: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(REPEATS):
                for way, command in ways.items():
                    took[way].append(seconds(command))
                    out.unlink()
                    # What the kernel still has to write must not slow the next one down.
                    os.sync()
            theirs = None
            if has_airdecap:
                # Its reader knows times in microseconds only (pcap-savefile(5)); which they are does not matter here.
                with capture.open("r+b") as file:
                    file.write((0xA1B2C3D4).to_bytes(4, "little"))
                theirs = seconds(["airdecap-ng", "-e", SSID, "-p", PASSPHRASE, "-o", out, capture])
            rows.append(row(name, capture.stat().st_size, took, theirs))
    missing = "" if has_airdecap else "\n\nairdecap-ng is not installed here: apt-get install aircrack-ng."
    return (
        "## One capture\n\n"
        f"{OCTETS / 1e9:g} GB: four stations of one access point, CCMP, radiotap with FCS; three frames of 1500 octets "
        "to one\nof 40 to 200. The whole command, from start to exit, PBKDF2 included; the median of "
        f"{REPEATS} runs in turns, airdecap-ng once.\nTo be at least 60 % of the speed of `cp`, and 20 times "
        "airdecap-ng's.\n\n"
        "| files in | cp, s | airtoll, s (lowest to highest) | GB/s | of cp's speed | airdecap-ng, s | airtoll is |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + missing
    )


def row(name: str, octets: int, took: dict[str, list[float]], theirs: float | None) -> str:
    """One line of the table."""
    cp, ours = statistics.median(took["cp"]), statistics.median(took["airtoll"])
    spread = f"{ours:.2f} ({min(took['airtoll']):.2f} to {max(took['airtoll']):.2f})"
    beside = ("-", "-") if theirs is None else (f"{theirs:.1f}", f"{theirs / ours:.0f} x as fast")
    cells = (name, f"{cp:.2f}", spread, f"{octets / ours / 1e9:.2f}", f"{100 * cp / ours:.0f} %", *beside)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    publish(__doc__.splitlines()[0], introduction(), (beside_cp_and_airdecap,))
