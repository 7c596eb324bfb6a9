"""Measure the five papers' studies with --quick: how long they take, how many runs are valid, and their agreement.

In real time, other load makes runs invalid. In virtual time, the studies run beside a process that keeps a core busy.
The agreement is that of throughput with lab sim, over 5 s at each study's largest packet size. The reports and their
index page stay in results/quick and results/virtual.
"""

import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from host_times import cpu, wake_ups
from page import machine, publish
from runs import AIRTOLL, perform, performed, simulated, words_of

from airtoll.stats.metrics import per_run
from airtoll.store import Result
from airtoll.store.records import RunRecord
from airtoll.study.cell import Cell

STUDIES = ("kolahi-11ac", "kolahi-11n-udp", "pacheco-11ag", "tepsic-11n", "hayajneh-enhanced")
WITHIN_MIN = 25
WITHIN_VIRTUAL_MIN = 40
REPEATS = 3
RECEIVE_BUFFER_B = 4 << 20  # of a guest
DIRECTORY = Path("results/quick")
VIRTUAL = Path("results/virtual")


def introduction() -> str:
    """The title, the machine and the limits."""
    return (
        "# The papers' studies with --quick\n\n"
        "The five studies take less than 20 minutes with `--quick`. In virtual time every run is valid beside other\n"
        "load, and lab `air` agrees with lab `sim` within 2 %.\n\n"
        "`make bench-studies WRITE=docs/measurements/studies.md` measures these tables.\n"
        f"{machine()}, as root. The limits for all\n"
        f"five studies, including their reports, are {WITHIN_MIN} minutes in real time and\n"
        f"{WITHIN_VIRTUAL_MIN} minutes in virtual time."
    )


def in_real_time() -> str:
    """Run the studies in order with the commands of a user."""
    about = (
        "## Real time\n\n"
        "A run is invalid if the machine was late or too slow. Invalid runs are excluded from every figure. Their\n"
        "number depends on the other load of the machine, including other virtual machines."
    )
    return f"{about}\n\n{_durations(DIRECTORY)}"


def in_virtual_time() -> str:
    """Run the studies in virtual time beside a busy process."""
    about = "## Virtual time\n\nBeside a process that keeps one of the cores busy, with `--clock virtual`."
    with _busy():
        return f"{about}\n\n{_durations(VIRTUAL, '--clock', 'virtual')}"


def agreement() -> str:
    """Compare the throughput of saturated flows with lab sim, per study and transport."""
    rows = [
        "| study | flows | runs | valid | median difference | largest difference |",
        "|---|---|---|---|---|---|",
    ]
    for study in STUDIES:
        rows += _differences(study)
    about = (
        "## Agreement with lab sim\n\n"
        "Throughput in lab `air` in virtual time compared with lab `sim`: saturated flows of the study's largest\n"
        f"packets over 5 s after 1 s of warm-up. A difference is that of the means of a cell's {REPEATS} runs. UDP\n"
        f"offers the same load in both labs. TCP starts with receive buffers of {RECEIVE_BUFFER_B >> 20} MiB in both.\n"
        "[Simulation](../explanation/simulation.md#agreement-with-lab-air) explains the differences."
    )
    return f"{about}\n\n" + "\n".join(rows)


def tcp_sizes() -> str:
    """Compare TCP throughput with lab sim at every size of writes."""
    rows = ["| study | stack | size of writes | air | sim | difference |", "|---|---|---|---|---|---|"]
    for study in ("kolahi-11ac", "tepsic-11n"):
        _, means = _in_both_labs(_open(words_of(study), "0.5 s", "0.3 s", transport=["tcp"], ip=["ipv4"]))
        for cell, (air, sim) in sorted(means.items(), key=lambda item: (item[0].stack, item[0].packet_size)):
            rates = f"{air / 1e6:.1f} Mbit/s | {sim / 1e6:.1f} Mbit/s | {100 * (sim / air - 1):+.1f} %"
            rows.append(f"| {study} | {cell.stack} | {cell.packet_size} B | {rates} |")
    about = (
        "## TCP by size of writes\n\n"
        "TCP throughput over IPv4 without security in lab `air` in virtual time and in lab `sim` over 0.5 s\n"
        "after 0.3 s of warm-up: means of two runs. Programs take almost no time in virtual time, so small writes\n"
        "collect in the send buffer while the window limits the sender, and segments are full at every size of writes."
    )
    return f"{about}\n\n" + "\n".join(rows)


def jitter() -> str:
    """Compare the jitter of UDP with lab sim."""
    rows = [
        "| study | IP | size | rate | stack | air | sim | difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for study, factors in (
        ("quickstart", {"transport": ["udp"]}),
        ("pacheco-11ag", {"phy": ["ofdm"], "rate": [6, 54]}),
        ("tepsic-11n", {"transport": ["udp"], "ip": ["ipv4"]}),
    ):
        _, means = _in_both_labs(_open(words_of(study), "2 s", "0.5 s", **factors), "jitter")
        for cell, (air, sim) in sorted(means.items(), key=lambda item: str(item[0])):
            change = f"{100 * (sim / air - 1):+.1f} %" if air >= 0.01 else ""
            values = f"{air:.4f} ms | {sim:.4f} ms | {change}"
            words = f"{cell.ip} | {cell.packet_size} B | {cell.rate} | {cell.stack}"
            rows.append(f"| {study} | {words} | {values} |")
    about = (
        "## Jitter\n\n"
        "Jitter of UDP without security at the load of the study, in lab `air` in virtual time, measured by iperf3,\n"
        "and in lab `sim` with iperf3's pacing, over 2 s: means of two runs. The steps of iperf3's time stamps, 1 us,\n"
        "dominate jitters below 0.01 ms, which have no difference in this table."
    )
    return f"{about}\n\n" + "\n".join(rows)


def udp_buffers() -> str:
    """Compare UDP with buffers of 8 KB with lab sim, in labs linux and air."""
    study = words_of("tepsic-11n-buffers")
    kept = {
        "security": ["open"],
        "packet_size": [256, 1024, 1460],
        "topology": ["point-to-point", "through-ap"],
    }
    method = {"repeats": 3, "duration": "2 s", "warmup": "0.5 s", "probes": ["throughput"]}
    # hostapd sends beacons in any case.
    link = {**study["link"], "beacon_interval": 100}
    words = {"title": study["title"], "lab": "air", "factors": {**study["factors"], **kept}, "link": link}
    rows = [
        "| lab | topology | IP | size | measured | sim | difference | loss, measured | loss, sim |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for lab in ("linux", "air"):
        with performed({**words, "method": method}, "--lab", lab, "--clock", "virtual") as result:
            found: dict[Cell, list[tuple[float, float, float, float]]] = defaultdict(list)
            of_run: dict[str, dict[str, float]] = defaultdict(dict)
            for run, metric, value in per_run(result.samples()):
                of_run[run][metric] = value
            for record in result.records():
                air, sim = of_run[record.run.id], simulated(result.plan, record)
                values = (
                    air["throughput"] / 1e6,
                    sim["throughput"] / 1e6,
                    100 * air["loss"],
                    100 * sim["loss"],
                )
                found[record.run.cell].append(values)
        for cell, runs in sorted(found.items(), key=lambda item: str(item[0])):
            air_mbps, sim_mbps, air_loss, sim_loss = (mean(column) for column in zip(*runs, strict=True))
            rates = (
                f"{air_mbps:.1f} Mbit/s | {sim_mbps:.1f} Mbit/s | {100 * (sim_mbps / air_mbps - 1):+.1f} %"
            )
            words_of_cell = f"{lab} | {cell.topology} | {cell.ip} | {cell.packet_size} B"
            rows.append(f"| {words_of_cell} | {rates} | {air_loss:.1f} % | {sim_loss:.1f} % |")
    about = (
        "## UDP buffers\n\n"
        "UDP without security with buffers of 8 KB (the study tepsic-11n-buffers) in virtual time, and in lab `sim`\n"
        "at the same load, over 2 s: means of three runs. Beacons every 100 TU in all labs.\n"
        "[The channel](../explanation/channel.md#udp-buffers) explains the buffers."
    )
    return f"{about}\n\n" + "\n".join(rows)


@contextmanager
def _busy() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def _durations(out: Path, *options: str) -> str:
    rows, total_min = [], 0.0
    for study in STUDIES:
        directory = out / study
        shutil.rmtree(directory, ignore_errors=True)
        began_s = time.monotonic()
        perform(study, directory, "--quick", *options)
        took_min = (time.monotonic() - began_s) / 60
        total_min += took_min
        records = Result.open(directory).records()
        valid = sum(record.verdict.valid for record in records)
        rows.append(f"| {study} | {len(records)} | {valid} | {took_min:.1f} |")
    reports = [AIRTOLL, "report", *(str(out / study) for study in STUDIES)]
    subprocess.run(reports, check=True, stdout=subprocess.DEVNULL)
    return "\n".join(
        ["| study | runs | valid | min |", "|---|---|---|---|", *rows, f"| total | | | {total_min:.1f} |"]
    )


def _in_both_labs(
    words: dict[str, Any], metric: str = "throughput"
) -> tuple[list[RunRecord], dict[Cell, tuple[float, float]]]:
    """The runs of a study in lab air in virtual time, and each cell's means of a metric there and in lab sim."""
    with performed(words, "--clock", "virtual") as measured:
        records = {record.run.id: record for record in measured.records()}
        values: dict[Cell, list[tuple[float, float]]] = defaultdict(list)
        for run, of_metric, value in per_run(measured.samples()):
            if of_metric == metric:
                values[records[run].run.cell].append((value, simulated(measured.plan, records[run])[metric]))
    means = {
        cell: (mean(air for air, _ in runs), mean(sim for _, sim in runs)) for cell, runs in values.items()
    }
    return list(records.values()), means


def _differences(study: str) -> list[str]:
    """The rows of a study: one per transport."""
    records, means = _in_both_labs(_saturated(words_of(study)))
    found: dict[str, list[float]] = defaultdict(list)
    for cell, (air, sim) in means.items():
        found[cell.transport].append(air / sim - 1)
    rows = []
    for transport, differences in sorted(found.items()):
        of_transport = [record for record in records if record.run.cell.transport == transport]
        valid = sum(record.verdict.valid for record in of_transport)
        differences.sort(key=abs)
        middle, largest = (f"{100 * differences[at]:+.2f} %" for at in (len(differences) // 2, -1))
        rows.append(
            f"| {study} | {transport.upper()} | {len(of_transport)} | {valid} | {middle} | {largest} |"
        )
    return rows


def _open(study: dict[str, Any], duration: str, warmup: str, **factors: list[Any]) -> dict[str, Any]:
    """The study without security, with its first place of the encryption, and with iperf3's pacing in lab sim."""
    load = {key: value for key, value in study["method"].items() if key == "udp_load"}
    method = {"repeats": 2, "duration": duration, "warmup": warmup, "probes": ["throughput"], **load}
    link = {**study.get("link", {}), "receive_buffer": RECEIVE_BUFFER_B, "pacing": "iperf3"}
    factors = {**study["factors"], "security": ["open"], **factors}
    if "crypto_at" in factors:
        factors["crypto_at"] = factors["crypto_at"][:1]
    tables = {key: value for key, value in study.items() if key in ("title", "stack")}
    return {**tables, "lab": "air", "link": link, "factors": factors, "method": method}


def _saturated(study: dict[str, Any]) -> dict[str, Any]:
    """The study with saturated flows of its largest packets, measured over 5 s."""
    factors = {**study["factors"], **study.get("quick", {}).get("factors", {})}
    factors["packet_size"] = [factors["packet_size"][-1]]
    factors.pop("offered", None)
    method = {"repeats": REPEATS, "duration": "5 s", "warmup": "1 s", "probes": ["throughput"]}
    link = {**study.get("link", {}), "receive_buffer": RECEIVE_BUFFER_B}
    kept = {key: value for key, value in study.items() if key in ("title", "stack", "security")}
    return {**kept, "lab": "air", "link": link, "factors": factors, "method": method}


if __name__ == "__main__":
    sections = [in_real_time, in_virtual_time, agreement, tcp_sizes, jitter, udp_buffers, cpu, wake_ups]
    publish(__doc__ or "", introduction(), sections)
