"""Measure the emulated air on this machine against its limits; prints Markdown.

    make bench                                         prints to the terminal
    make bench WRITE=docs/measurements/benchmarks.md   also updates the documentation

1. Throughput: one saturated station, UDP over IPv4 in 1500-byte MSDUs, compared with the closed form of the medium.
2. Added delay: round trip of datagrams on the idle link, minus the medium's share in closed form.
3. Duration of the quickstart study and of `airtoll --help`.

Every figure is the median of several runs.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from idle_link import median_round_trip_us
from page import machine, publish

from airtoll.labs.air import Air
from airtoll.labs.emulated import capacity_bit_per_s
from airtoll.labs.sim import closed_forms
from airtoll.probes import Measurement
from airtoll.probes.iperf3 import Throughput
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Security
from airtoll.study.link import LinkSettings
from airtoll.study.scenario import scenario_of

REPEATS = 5
METHOD = Method(repeats=REPEATS, discard_first=0, duration=4, warmup=0.5, seed=1)
RATES = ("6 Mbit/s", "24 Mbit/s", "54 Mbit/s")
SECURITY: tuple[Security, ...] = ("open", "ccmp")
IP_UDP_HEADERS_B = 20 + 8
MSDU_B = 1500  # without the LLC/SNAP header
MEAN_BACKOFF_US = 15 / 2 * 9  # CWmin / 2 slots of 9 us (IEEE 802.11-2020, Table 17-21)
AIRTOLL = Path(sys.executable).with_name("airtoll")


def air_cell(rate: str, security: Security, packet_size: int) -> Cell:
    """A cell of 802.11a and UDP over IPv4."""
    return Cell(
        lab="air",
        topology="point-to-point",
        phy="ofdm",
        bandwidth=20,
        gi="long",
        rate=rate,
        transport="udp",
        ip="ipv4",
        packet_size=packet_size,
        security=security,
    )


def introduction() -> str:
    """The title and the machine."""
    return (
        "# Benchmarks\n\n"
        "The emulated air carries what the closed form says, and adds less than 0.1 ms to an idle round trip. The\n"
        "quickstart takes less than three minutes.\n\n"
        f"Made by `make bench WRITE=docs/measurements/benchmarks.md` on {machine()}, as root.\n"
        f"Each figure is the median of {REPEATS} runs. Measurements are noisy: "
        "ratios apply to other machines too, absolute\nfigures do not."
    )


def throughput() -> str:
    """Throughput of UDP in 1500-byte MSDUs compared with the closed form."""
    rows = []
    for rate in RATES:
        for security in SECURITY:
            cell = air_cell(rate, security, MSDU_B - IP_UDP_HEADERS_B)
            expected = capacity_bit_per_s(scenario_of(cell, LinkSettings()))
            measured, late = [], []
            for seed in range(1, REPEATS + 1):
                with Air().open(cell, seed) as link:
                    done = Throughput().measure(link, cell, METHOD)
                    late.append(link.counters()["lateness_us"]["p99"])
                measured.append(received_bit_per_s(done))
            ratios = [bit_per_s / expected for bit_per_s in measured]
            low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
            rows.append(
                f"| {rate} | {security} | {expected / 1e6:.3f} | {statistics.median(measured) / 1e6:.3f} "
                f"| {100 * (middle - 1):+.2f} % ({100 * (low - 1):+.2f} to {100 * (high - 1):+.2f}) "
                f"| {statistics.median(late):.0f} |"
            )
    return "\n".join(
        [
            "## Throughput of one saturated station",
            "",
            f"UDP over IPv4 in 1500-byte MSDUs, 802.11a, {METHOD.duration:.0f} s per run; payload in Mbit/s.",
            "The limit is a difference of 3 % from the closed form.",
            "",
            "| PHY rate | security | closed form | measured | difference (lowest to highest) | late p99, us |",
            "|---|---|---|---|---|---|",
            *rows,
        ]
    )


def received_bit_per_s(measurement: Measurement) -> float:
    """Rate of the payload that arrived in the measured window."""
    intervals = [
        sample
        for sample in measurement.samples
        if (sample.metric, sample.endpoint, sample.phase) == ("throughput", "ap", "measure")
    ]
    bits = sum((sample.value or 0.0) * sample.dur_ns for sample in intervals)
    return bits / sum(sample.dur_ns for sample in intervals)


def added_delay() -> str:
    """Round trip of datagrams on the idle link, minus the medium's share."""
    packet_size = 128
    rows = []
    for rate in RATES:
        for security in SECURITY:
            cell = air_cell(rate, security, packet_size)
            scenario = scenario_of(cell, LinkSettings(), traffic="saturated")
            mean_us = closed_forms(scenario).values["idle_round_trip_us"]
            medium_us = mean_us - MEAN_BACKOFF_US
            medians_us = [median_round_trip_us(cell, seed) for seed in range(1, REPEATS + 1)]
            added = [median_us - medium_us for median_us in medians_us]
            rows.append(
                f"| {rate} | {security} | {medium_us:.0f} | {statistics.median(medians_us):.0f} "
                f"| {statistics.median(added):.0f} ({min(added):.0f} to {max(added):.0f}) |"
            )
    return "\n".join(
        [
            "## Added delay of an idle link",
            "",
            f"{packet_size}-byte UDP datagrams over IPv4, one every 2 ms, each answered at once; microseconds.",
            "The medium's share is the minimum airtime of 802.11: both PPDUs, the Ack of the first PPDU and DIFS. The",
            "remaining delay has a limit of 100 us (median). It comes from the emulator, both IP stacks, both "
            "programs,",
            f"and the backoff (mean {MEAN_BACKOFF_US} us), which DCF requires if the response is ready before the end "
            "of the Ack.",
            "",
            "| PHY rate | security | medium's share | median round trip | added (lowest to highest) |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


def durations() -> str:
    """Duration of the quickstart study and of `airtoll --help`."""
    helps = [seconds([AIRTOLL, "--help"]) for _ in range(REPEATS)]
    with tempfile.TemporaryDirectory() as directory:
        quickstart = seconds([AIRTOLL, "run", "quickstart", "--out", Path(directory) / "result"])
    return (
        "## Duration of commands\n\n"
        "| command | limit | measured |\n|---|---|---|\n"
        f"| `airtoll run quickstart`, report included | 180 s | {quickstart:.0f} s |\n"
        f"| `airtoll --help` | 0.4 s | {statistics.median(helps):.2f} s |"
    )


def seconds(command: list[str | Path]) -> float:
    """Wall-clock time of a command that must succeed. Exit status 1 is allowed: a study may have invalid runs."""
    start = time.monotonic()
    if (done := subprocess.run(command, check=False, stdout=subprocess.DEVNULL)).returncode > 1:
        done.check_returncode()
    return time.monotonic() - start


if __name__ == "__main__":
    publish(__doc__.splitlines()[0], introduction(), (throughput, added_delay, durations))
