"""Measure what virtual time costs in real time, and how well its figures agree with lab sim.

`make bench-virtual` prints the table of docs/measurements/virtual-time.md; WRITE=FILE writes the page. Each cell runs
alone, on one core, with TCP or UDP for several seconds of virtual time.

The second table compares UDP in lab linux with the closed form of a saturated station. Its figures come from the
capture of the air.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "guest"))

from air_capture import BEACON_INTERVAL_US, read, steady
from page import processor

from airtoll.guest import recipe
from airtoll.labs.emulated import air_scenario
from airtoll.labs.sim import closed_forms
from airtoll.stats.metrics import per_run
from airtoll.store import Result
from airtoll.study.link import LinkSettings

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))

SECONDS = 3.0
WARMUP_S = 0.5

STATION = "02:00:00:00:00:02"

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
    Air(
        "802.11ac, 80 MHz, MCS 9, 2 stations",
        'phy = ["vht"]\nrate = ["mcs9"]\nbandwidth = ["80 MHz"]\npacket_size = ["1472 B"]\n'
        'topology = ["stations"]\nstations = [2]',
        "linux",
    ),
)

PAGE = """# Speed of virtual time

A second of virtual time takes about a second at 54 Mbit/s and up to 25 s with short packets at 1300
Mbit/s. The throughput is that of lab `sim` within 3 %.

Real time per second of [virtual time](../explanation/virtual-time.md), with one guest on one core, and throughput
beside lab `sim`. `make bench-virtual` measures this table. Lab `linux` sends beacons, so its rows compare with lab
`sim` with the same beacons. The real time includes the start of the guest and of the tools, about one second per run,
and grows with other load on the machine. The throughput does not depend on the load.

{machine}, {kernel}; {seconds:g} s measured after {warmup:g} s of warm-up.

{table}

## Closed forms

UDP 1472 B of a saturated station in lab `linux`, from the capture of the air, beside the closed form
of `airtoll model` with the airtime of the same beacons. The column "without chance" is the difference if the mean of
the drawn backoffs were 7.5 slots. `tests/guest/test_medium.py` requires 0.1 % in this column, and 0.4 % from iperf3.

{closed}
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


def closed_form_rows(air: Air, directory: Path) -> list[list[str]]:
    """One row per security level: the capture of the air beside the closed form."""
    study = directory / "study.toml"
    text = STUDY.format(lab=air.lab, link=air.link(), factors=air.factors, seconds=SECONDS, warmup=WARMUP_S)
    study.write_text(text.replace('["udp", "tcp"]', '["udp"]'), encoding="utf-8")
    result = run(study, directory / "captured", "--workers", "1", "--pcap")
    by_iperf3 = throughputs_mbps(result)
    lines = []
    for record in sorted(result.records(), key=lambda record: record.run.id.split("-", 1)[1]):
        cell = record.run.cell
        form = closed_forms(air_scenario(cell, LinkSettings())).values["single_station"]
        frames = list(read(directory / "captured" / "runs" / record.run.id / "raw" / "air.pcap"))
        found = steady(frames, STATION, form["cycle_us"] - form["backoff_us"])
        size_b = int(cell.packet_size)
        expected = form["throughput_mbps"] * (1 - found.beacon_us / BEACON_INTERVAL_US)
        without_chance = found.mbit_per_s_without_chance(size_b) / form["throughput_mbps"]
        on_air = found.mbit_per_s(size_b)
        lines.append(
            [
                *(air.name, str(cell.security), f"{on_air:.3f}", f"{expected:.3f}"),
                f"{100 * (on_air / expected - 1):+.3f} %",
                f"{100 * (without_chance - 1):+.3f} %",
                f"{100 * (by_iperf3[record.run.id] / expected - 1):+.3f} %",
            ]
        )
    return lines


def table_of(heads: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def main() -> None:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="write the page to this file")
    arguments = parser.parse_args()
    kernel = recipe.needed()
    heads = ["lab", "air", "flow", "Mbit/s", "lab sim", "difference", "real s per virtual s", "verdict"]
    table: list[list[str]] = []
    closed: list[list[str]] = []
    for air in AIRS:
        with tempfile.TemporaryDirectory() as name:
            table += rows(air, Path(name))
            if air.lab == "linux" and "stations" not in air.factors:
                closed += closed_form_rows(air, Path(name))
    closed_heads = ["air", "security", "air, Mbit/s", "closed form", "difference", "without chance", "iperf3"]
    page = PAGE.format(
        machine=f"{processor()}, {os.cpu_count()} cores",
        kernel=f"{kernel.package} {kernel.version}",
        seconds=SECONDS,
        warmup=WARMUP_S,
        table=table_of(heads, table),
        closed=table_of(closed_heads, closed),
    )
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
