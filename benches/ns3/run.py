"""Measure the cells with ns-3 and write the table that wlan-air's tests read.

Cells that are in the table are skipped, so an interrupted run can be continued. Each cell is repeated with other seeds
until the standard error of its throughput is small.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from cells import Cell, all_cells

FEWEST_RUNS = 4
MOST_RUNS = 24
STANDARD_ERROR_AIM = 0.0025
WARMUP_S = 1.0

COLUMNS = [
    "cell",
    "phy",
    "rate_mbps",
    "mcs",
    "bandwidth_mhz",
    "gi_ns",
    "streams",
    "preamble",
    "slot_us",
    "protection",
    "stations",
    "rts",
    "hidden",
    "eifs",
    "retry_limit",
    "access_categories",
    "txop_limits_us",
    "ampdu",
    "amsdu_b",
    "snr_db",
    "security_b",
    "packet_size_b",
    "mpdu_len_b",
    "mpdus_per_ppdu",
    "ppdu_us",
    "response_us",
    "rts_us",
    "cts_us",
    "runs",
    "run_s",
    "throughput_mbps",
    "standard_error_mbps",
    "station_mbps",
    "failure",
    "drop",
]


def measure(program: Path, cell: Cell) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    while len(runs) < FEWEST_RUNS or (
        len(runs) < MOST_RUNS and _relative_error(cell, runs) > STANDARD_ERROR_AIM
    ):
        more = FEWEST_RUNS if not runs else 2
        command = [
            str(program),
            *cell.arguments,
            f"--warmup={WARMUP_S}",
            f"--duration={cell.run_s}",
            f"--firstRun={len(runs) + 1}",
            f"--runs={more}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
            raise SystemExit(f"{cell.name}: ns-3 failed with exit status {done.returncode}: {words[-1]}")
        runs += [json.loads(line) for line in done.stdout.splitlines()]
    return runs


def _throughputs(cell: Cell, runs: list[dict[str, Any]]) -> list[float]:
    return [sum(run["msdus"]) * cell.packet_size_b * 8 / cell.run_s / 1e6 for run in runs]


def _standard_error(cell: Cell, runs: list[dict[str, Any]]) -> float:
    return statistics.stdev(_throughputs(cell, runs)) / math.sqrt(len(runs))


def _relative_error(cell: Cell, runs: list[dict[str, Any]]) -> float:
    mean = statistics.mean(_throughputs(cell, runs))
    return _standard_error(cell, runs) / mean if mean else 0.0


def row(cell: Cell, runs: list[dict[str, Any]]) -> dict[str, str]:
    def total(key: str) -> int:
        return sum(int(run[key]) for run in runs)

    msdus = sum(sum(run["msdus"]) for run in runs)
    exchanges = total("rts") if cell.rts else total("data")
    stations = [
        sum(run["msdus"][i] for run in runs) * cell.packet_size_b * 8 / cell.run_s / len(runs) / 1e6
        for i in range(cell.stations)
    ]

    def duration(key: str) -> str:
        longest = max(float(run[key]) for run in runs)
        return f"{longest:g}" if longest else ""

    values: dict[str, object] = {
        "cell": cell.name,
        "phy": cell.phy,
        "rate_mbps": cell.rate,
        "mcs": "" if cell.mcs is None else cell.mcs,
        "bandwidth_mhz": 22 if cell.phy == "dsss" else cell.bandwidth_mhz,
        "gi_ns": cell.gi_ns if cell.phy in {"ht", "vht"} else "",
        "streams": cell.streams,
        "preamble": cell.preamble,
        "slot_us": cell.slot_us,
        "protection": cell.protection,
        "stations": cell.stations,
        "rts": int(cell.rts),
        "hidden": int(cell.hidden),
        "eifs": int(cell.eifs),
        "retry_limit": cell.retry_limit or "",
        "access_categories": cell.access_categories,
        "txop_limits_us": cell.txop_limits_us,
        "ampdu": int(cell.ampdu),
        "amsdu_b": cell.amsdu_b,
        "snr_db": cell.snr_db,
        "security_b": cell.security_b,
        "packet_size_b": cell.packet_size_b,
        "mpdu_len_b": cell.mpdu_len_b,
        "mpdus_per_ppdu": f"{total('mpdus') / total('data'):.5g}",
        "ppdu_us": duration("ppdu_us"),
        "response_us": duration("response_us"),
        "rts_us": duration("rts_us"),
        "cts_us": duration("cts_us"),
        "runs": len(runs),
        "run_s": f"{cell.run_s:g}",
        "throughput_mbps": f"{statistics.mean(_throughputs(cell, runs)):.5g}",
        "standard_error_mbps": f"{_standard_error(cell, runs):.2g}",
        # Only for stations that differ.
        "station_mbps": " ".join(f"{mbps:.4g}" for mbps in stations) if "+" in cell.access_categories else "",
        "failure": f"{total('timeouts') / exchanges:.4g}",
        "drop": f"{total('drops') / (total('drops') + msdus):.3g}",
    }
    return {column: str(values[column]) for column in COLUMNS}


def speed(program: Path) -> None:
    """Print simulated seconds per CPU second: ten saturated stations, 802.11a, 54 Mbit/s, MSDUs of 1500 octets."""
    arguments = [*Cell("ofdm", "54", stations=10).arguments, "--warmup=0", "--duration=20", "--runs=3"]
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=True)
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    print(*(f"{run['simulated_s'] / run['cpu_s']:.2f}" for run in runs), "simulated seconds per CPU second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the program built from cell.cc")
    parser.add_argument("table", type=Path, nargs="?", metavar="TABLE", help="CSV file to update")
    parser.add_argument("--only", default="", metavar="REGEX", help="only cells whose names match")
    parser.add_argument("--again", action="store_true", help="also measure cells that are in the table")
    parser.add_argument("--list", action="store_true", help="print the names of the cells")
    parser.add_argument("--speed", action="store_true", help="only measure the speed of ns-3")
    args = parser.parse_args()
    if args.speed:
        speed(args.program)
        return

    cells = all_cells()
    wanted = [cell for cell in cells if re.search(args.only, cell.name)]
    if args.list:
        print(*(cell.name for cell in wanted), sep="\n")
        return
    if args.table is None:
        parser.error("TABLE is required, except with --list or --speed")
    known: dict[str, dict[str, str]] = {}
    if args.table.exists():
        with args.table.open(newline="") as file:
            known = {line["cell"]: line for line in csv.DictReader(file)}
    os.nice(19)
    for number, cell in enumerate(wanted, 1):
        if cell.name in known and not args.again:
            continue
        known[cell.name] = row(cell, measure(args.program, cell))
        print(
            f"{number}/{len(wanted)} {cell.name}: {known[cell.name]['throughput_mbps']} Mbit/s",
            file=sys.stderr,
        )
        partial = args.table.with_suffix(".part")
        with partial.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(known[cell.name] for cell in cells if cell.name in known)
        partial.replace(args.table)


if __name__ == "__main__":
    main()
