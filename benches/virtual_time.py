"""Measure what virtual time costs in real time, and how well its figures agree with lab sim.

`make bench-virtual` prints the table of docs/measurements/virtual-time.md; WRITE=FILE writes the page. Each cell runs
alone, on one core, with TCP or UDP for several seconds of virtual time.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from airtoll.guest import recipe
from airtoll.labs.namespace import machine_facts
from airtoll.stats.metrics import per_run
from airtoll.store import Result

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))

SECONDS = 3.0
WARMUP_S = 0.5

STUDY = """
title = "Virtual time"
[lab]
name = "{lab}"
clock = "virtual"
{link}
[factors]
security = ["open", "ccmp"]
transport = ["udp", "tcp"]
ip = ["ipv4"]
{factors}
[method]
repeats = 1
duration = "{seconds} s"
warmup = "{warmup} s"
probes = ["throughput"]
"""


@dataclass(frozen=True)
class Air:
    """A PHY and packet sizes, in a lab."""

    name: str
    factors: str
    lab: str = "air"

    def link(self) -> str:
        """Settings of the link. hostapd of lab linux sends beacons; the other labs do so only if told."""
        return "[link]\nbeacon_interval = 100" if self.lab == "linux" else ""


AIRS = (
    Air(
        "802.11a, 54 Mbit/s",
        'phy = ["ofdm"]\nrate = ["54 Mbit/s"]\npacket_size = ["128 B", "1408 B"]',
    ),
    Air(
        "802.11ac, 80 MHz, MCS 9",
        'phy = ["vht"]\nrate = ["mcs9"]\nbandwidth = ["80 MHz"]\npacket_size = ["128 B", "1408 B"]',
    ),
    Air(
        "802.11ac, 80 MHz, MCS 9, 3 streams, short GI",
        'phy = ["vht"]\nrate = ["mcs9"]\nbandwidth = ["80 MHz"]\nstreams = [3]\ngi = ["short"]\n'
        'packet_size = ["128 B", "1408 B"]',
    ),
    Air(
        "802.11a, 54 Mbit/s",
        'phy = ["ofdm"]\nrate = ["54 Mbit/s"]\npacket_size = ["1472 B"]',
        "linux",
    ),
    Air(
        "802.11n, 40 MHz, MCS 7",
        'phy = ["ht"]\nrate = ["mcs7"]\nbandwidth = ["40 MHz"]\npacket_size = ["1472 B"]',
        "linux",
    ),
    Air(
        "802.11ac, 80 MHz, MCS 9",
        'phy = ["vht"]\nrate = ["mcs9"]\nbandwidth = ["80 MHz"]\npacket_size = ["1472 B"]',
        "linux",
    ),
    Air(
        "802.11ac, 80 MHz, MCS 9, 2 streams",
        'phy = ["vht"]\nrate = ["mcs9"]\nbandwidth = ["80 MHz"]\nstreams = [2]\npacket_size = ["1472 B"]',
        "linux",
    ),
)

PAGE = """# Speed of virtual time

Real time per second of [virtual time](../explanation/virtual-time.md), with one guest on one core, and throughput
beside lab `sim`. `make bench-virtual` measures this table. Lab `linux` sends beacons, so its rows compare with lab
`sim` with the same beacons. The real time includes the start of the guest and of the tools, about one second per run,
and grows with other load on the machine. The throughput does not depend on the load.

{machine}, {kernel}; {seconds:g} s measured after {warmup:g} s of warm-up.

{table}
"""


def run(study: Path, out: Path, *options: str) -> Result:
    """Perform the study into the directory."""
    done = subprocess.run(
        [AIRTOLL, "run", str(study), "--out", str(out), *options], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return Result.open(out)


def throughputs_mbps(result: Result) -> dict[str, float]:
    """Throughput of each run, by the run's id."""
    return {run: value / 1e6 for run, metric, value in per_run(result.samples()) if metric == "throughput"}


def rows(air: Air, directory: Path) -> list[list[str]]:
    """One row per cell."""
    study = directory / "study.toml"
    text = STUDY.format(lab=air.lab, link=air.link(), factors=air.factors, seconds=SECONDS, warmup=WARMUP_S)
    study.write_text(text, encoding="utf-8")
    measured = run(study, directory / "virtual", "--workers", "1")
    simulated = throughputs_mbps(run(study, directory / "sim", "--lab", "sim", "--clock", "real"))
    found = throughputs_mbps(measured)
    lines = []
    for record in sorted(measured.records(), key=lambda record: record.run.id.split("-", 1)[1]):
        cell, machine = record.run.cell, record.hosts["machine"]
        mine, other = found[record.run.id], simulated[record.run.id]
        host_s, virtual_s = (machine[key] for key in ("guest_host_s", "guest_virtual_s"))
        assert isinstance(host_s, float)
        assert isinstance(virtual_s, float)
        flow = f"{cell.transport.upper()} {cell.packet_size} B, {cell.security}"
        lines.append(
            [
                *(
                    air.lab,
                    air.name,
                    flow,
                    f"{mine:.2f}",
                    f"{other:.2f}",
                    f"{100 * (mine / other - 1):+.2f} %",
                ),
                *(f"{host_s / virtual_s:.1f}", "valid" if record.verdict.valid else "invalid"),
            ]
        )
    return lines


def main() -> None:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the page to this file")
    arguments = parser.parse_args()
    kernel = recipe.needed()
    heads = ["lab", "air", "flow", "Mbit/s", "lab sim", "difference", "real s per virtual s", "verdict"]
    table = [heads, ["---"] * len(heads)]
    for air in AIRS:
        with tempfile.TemporaryDirectory() as name:
            table += rows(air, Path(name))
    lines = "\n".join(f"| {' | '.join(row)} |" for row in table)
    facts = machine_facts()
    page = PAGE.format(
        machine=f"{facts['processor']}, {os.cpu_count()} cores",
        kernel=f"{kernel.package} {kernel.version}",
        seconds=SECONDS,
        warmup=WARMUP_S,
        table=lines,
    )
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
