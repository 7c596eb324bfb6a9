"""The times of this machine's hosts: fitted to lab air in real time, and what lab sim then differs by."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from page import processor
from runs import performed, simulated, words_of
from scipy import optimize

from airtoll.stats.metrics import per_run
from airtoll.store import Result
from airtoll.store.records import RunRecord
from airtoll.study.cell import Cell

WRITES_B = (128, 256, 384, 512, 768, 1024, 1408)
FIRST_TIMES_US = (2.7, 7.0)
"""Start of the search for the times of a write and of a packet."""

LOAD_MBPS = 1.0
"""The load at which the wake-ups are fitted."""

WAKE_UP_METRICS = ("rtt", "rtt_p99", "jitter")
DISTRIBUTIONS = {"exponential": ("wake_up_mean",), "lognormal": ("wake_up_mean", "wake_up_deviation")}
"""The distributions of wake-ups, with their settings."""


def cpu() -> str:
    """Fit the time of a write to TCP throughput in real time, with the CPU load of each process."""
    study = words_of("kolahi-11ac")
    fixed: dict[str, Any] = {
        "security": ["open"],
        "transport": ["tcp"],
        "ip": ["ipv4"],
        "packet_size": list(WRITES_B),
        "crypto_at": ["host"],
    }
    method = {"repeats": 5, "duration": "1 s", "warmup": "0.5 s", "probes": ["throughput"]}
    tables = {"lab": "air", "factors": {**study["factors"], **fixed}, "method": method}
    with performed({"title": study["title"], **tables}) as result:
        values, records = _values(result), _by_cell(result.records())
        measured = {cell: max(found["throughput"]) for cell, found in values.items()}

        def differences(**settings: float) -> list[float]:
            sims = [simulated(result.plan, of[0], **settings)["throughput"] for of in records.values()]
            return [sim / measured[cell] - 1 for sim, cell in zip(sims, records, strict=True)]

        def settings(times_us: Sequence[float]) -> dict[str, float]:
            return dict(zip(("write_time", "packet_time"), map(abs, times_us), strict=True))

        def error(times_us: Sequence[float]) -> float:
            return sum(difference**2 for difference in differences(**settings(times_us)))

        found = optimize.minimize(error, FIRST_TIMES_US, method="Nelder-Mead", options={"maxfev": 60})
        times = settings(found.x)
        without, fitted = differences(), differences(**times)
    rows = [
        "| size of writes | air | time per write | sender | receiver | emulator | sim, no CPU | sim, fitted |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (cell, own), instant, with_times in zip(values.items(), without, fitted, strict=True):
        loads = [median(own[name]) for name in ("cpu_process sta", "cpu_process ap", "cpu_emulator")]
        rates = f"{measured[cell] / 1e6:.0f} Mbit/s | {8e6 * cell.packet_size / measured[cell]:.2f} us"
        shares = " | ".join(f"{load:.0f} %" for load in loads)
        rows.append(
            f"| {cell.packet_size} B | {rates} | {shares} | {100 * instant:+.1f} % | {100 * with_times:+.1f} % |"
        )
    about = (
        "## CPU of this machine's hosts\n\n"
        "TCP throughput in lab `air` in real time (kolahi-11ac without security and cards, over 1 s: the highest of\n"
        "five runs, because other work on the machine only lowers it), CPU load of both iperf3 processes and of the\n"
        "emulator (medians, one core = 100 %), and the difference of lab `sim`. Fitted:\n"
        f"`write_time = {times['write_time']:.2f}`, `packet_time = {times['packet_time']:.2f}` (us).\n"
        f"Both hosts and the air share the machine ({processor()})."
    )
    return f"{about}\n\n" + "\n".join(rows)


def wake_ups() -> str:
    """Fit the distribution of wake-ups to round trips and jitter in real time at one load, and predict another load."""
    factors: dict[str, Any] = {
        "security": ["open"],
        "transport": ["udp"],
        "ip": ["ipv4"],
        "packet_size": [128, 1408],
        "phy": ["ofdm"],
        "rate": [54],
        "offered": [LOAD_MBPS, 10.0],
    }
    method = {"repeats": 3, "duration": "2 s", "warmup": "0.3 s", "probes": ["throughput", "rtt"]}
    with performed({"title": "Wake-ups", "lab": "air", "factors": factors, "method": method}) as result:
        values, records = _values(result), _by_cell(result.records())
        measured = {
            (cell, metric): median(values[cell][metric]) for cell in records for metric in WAKE_UP_METRICS
        }

        def simulated_as(settings: dict[str, Any], cells: Iterable[Cell]) -> dict[tuple[Cell, str], float]:
            found = {}
            for cell in cells:
                of_cell = simulated(result.plan, records[cell][0], **settings)
                found |= {(cell, metric): of_cell[metric] for metric in WAKE_UP_METRICS}
            return found

        def error(settings: dict[str, Any]) -> float:
            found = simulated_as(settings, (cell for cell in records if cell.offered == LOAD_MBPS))
            ratios = [math.log(value / measured[key]) if value > 0 else 10.0 for key, value in found.items()]
            return math.sqrt(sum(ratio**2 for ratio in ratios) / len(ratios))

        fits = {}
        for name, keys in DISTRIBUTIONS.items():

            def named(logs: Iterable[float], name: str = name, keys: Sequence[str] = keys) -> dict[str, Any]:
                return {"wake_up": name, **{key: math.exp(log) for key, log in zip(keys, logs, strict=True)}}

            found = optimize.minimize(
                lambda logs, named=named: error(named(logs)),
                [math.log(start_us) for start_us in (60.0, 20.0)[: len(keys)]],
                method="Nelder-Mead",
                options={"maxfev": 60, "xatol": 0.02, "fatol": 0.002},
            )
            fits[name] = (float(found.fun), named(found.x))
        best = min(fits, key=lambda name: fits[name][0])
        settings = fits[best][1]
        instant, fitted = simulated_as({}, records), simulated_as(settings, records)
    rows = [
        "| size | load | metric | air | sim, instant | sim, fitted | difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for (cell, metric), air in measured.items():
        numbers = (air, instant[cell, metric], fitted[cell, metric])
        shown = " | ".join(f"{number:.3f} ms" for number in numbers)
        change = f"{100 * (fitted[cell, metric] / air - 1):+.0f} %"
        rows.append(f"| {cell.packet_size} B | {cell.offered:g} Mbit/s | {metric} | {shown} | {change} |")
    keys = ", ".join(f"`{key} = {settings[key]:.1f}`" for key in DISTRIBUTIONS[best])
    errors = ", ".join(f"{name} {100 * rms:.0f} %" for name, (rms, _) in fits.items())
    about = (
        "## Wake-ups of this machine's hosts\n\n"
        "Round trips (median and 99th percentile) and jitter of UDP in lab `air` in real time (802.11a, 54 Mbit/s;\n"
        f"{processor()}), medians of three runs over 2 s. Fitted at {LOAD_MBPS:g} Mbit/s, with root\n"
        f"mean square errors of {errors}:\n"
        f"`wake_up = {best}`, {keys} (us). The values at 10 Mbit/s are predicted."
    )
    return f"{about}\n\n" + "\n".join(rows)


def _by_cell(records: Iterable[RunRecord]) -> dict[Cell, list[RunRecord]]:
    found: dict[Cell, list[RunRecord]] = defaultdict(list)
    for record in sorted(
        records, key=lambda record: (record.run.cell.packet_size, str(record.run.cell.offered))
    ):
        found[record.run.cell].append(record)
    return found


def _values(result: Result) -> dict[Cell, dict[str, list[float]]]:
    """The metrics of each cell's runs, and the CPU load of the processes at both ends."""
    cells = {record.run.id: record.run.cell for record in result.records()}
    found: dict[Cell, dict[str, list[float]]] = {
        cell: defaultdict(list) for cell in _by_cell(result.records())
    }
    for run, metric, value in per_run(result.samples()):
        found[cells[run]][metric].append(value)
    for samples in result.samples():
        for end in ("sta", "ap"):
            chosen = samples.metric.equal("cpu_process") & samples.endpoint.equal(end)
            if chosen.any():
                found[cells[samples.run]][f"cpu_process {end}"].append(float(samples.value[chosen].mean()))
    return found
