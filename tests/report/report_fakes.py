"""Synthetic results, written by the real store: tests of reports read the same format as users' reports."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from made_cell import make_cell

from airtoll.probes.base import Sample
from airtoll.published import names
from airtoll.report.material.data import ReportData, ReportRun
from airtoll.stats import METRICS
from airtoll.store import Result, RunRecord, Verdict, Versions
from airtoll.study.cell import Cell, Method, Plan, Run
from airtoll.study.factors import Ip, Transport
from airtoll.study.link import Stack
from airtoll.study.security import Security

S = 1_000_000_000
STUDY = 'title = "What WPA2 costs on an 802.11a link"\nlab = "air"\n'
START = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
CPU_SHARE = {
    "open": 0.0,
    "ccmp": 5.2,
    "gcmp": 3.1,
    "wep40": 2.2,
    "wep104": 2.3,
    "tkip": 2.4,
    "enhanced4": 4.1,
}
OVERHEAD_B = {
    "open": 0,
    "wep40": 8,
    "wep104": 8,
    "tkip": 12,
    "ccmp": 16,
    "gcmp": 24,
    "enhanced1": 16,
    "enhanced4": 16,
}


FEW_FLOWS: Mapping[str, Any] = {"transports": ("udp",), "ips": ("ipv4",)}
"""Two flows instead of eight, for tests that only require some report: its charts take most of their time."""


def make_plan(
    levels: Sequence[Security] = ("open", "ccmp"),
    sizes: Sequence[int] = (128, 1408),
    repeats: int = 3,
    discard_first: int = 0,
    transports: Sequence[Transport] = ("tcp", "udp"),
    rates: Sequence[str] = ("54 Mbit/s",),
    study: str = "quickstart",
    *,
    ips: Sequence[Ip] = ("ipv4", "ipv6"),
    factors: Mapping[str, Sequence[Any]] | None = None,
    method: Mapping[str, Any] | None = None,
    stacks: Mapping[str, Stack] | None = None,
) -> Plan:
    """A plan with blocks of every flow, crossed with further `factors`."""
    order = np.random.default_rng(4)
    runs: list[Run] = []
    block = 0
    names = tuple(factors or {})
    for replicate in range(1, discard_first + repeats + 1):
        flows = list(product(transports, ips, sizes, rates, *(factors or {}).values()))
        for index in order.permutation(len(flows)):
            transport, ip, size, rate, *more = flows[index]
            block += 1
            for place in order.permutation(len(levels)):
                levels_of_flow = {"rate": rate, "transport": transport, "ip": ip, "packet_size": size}
                further = dict(zip(names, more, strict=True))  # may replace a level of the flow
                cell = make_cell(**{**levels_of_flow, "security": levels[place], **further})
                discard = replicate <= discard_first
                runs.append(
                    Run(
                        order=len(runs) + 1,
                        block=block,
                        replicate=replicate,
                        discard=discard,
                        seed=block,
                        cell=cell,
                    )
                )
    usual = {"repeats": repeats, "discard_first": discard_first, "duration": 1.0, "warmup": 0.2, "seed": 1}
    return Plan(
        study=study,
        method=Method(**{**usual, **(method or {})}),
        stacks=dict(stacks or {}),
        runs=tuple(runs),
    )


def exactly(**values: Callable[[Run], float]) -> Callable[[Run], list[Sample]]:
    """Samples of runs whose numbers are known: by metric, each in the metric's unit."""

    def samples(run: Run) -> list[Sample]:
        return [
            Sample(
                "iperf3", name, METRICS[name].unit, "ap" if name == "throughput" else "", "up", 0, S, of(run)
            )
            for name, of in values.items()
        ]

    return samples


def expected_bit_per_s(cell: Cell) -> float:
    """Approximate closed form of one saturated 802.11a station (clause 17 timing)."""
    rate = float(cell.rate.split()[0]) if cell.rate.endswith("Mbit/s") else 54.0  # not of HT or VHT
    header = {"ipv4": 20, "ipv6": 40}[cell.ip] + 8
    octets = cell.packet_size + header + 36 + OVERHEAD_B[cell.security]
    airtime_us = 34 + 67.5 + 20 + 4 * np.ceil((22 + 8 * octets) / (4 * rate)) + 16 + 28
    return float(cell.packet_size * 8 / airtime_us * 1e6)


def expected_rtt_ms(cell: Cell) -> float:
    return 0.33 + cell.packet_size * 3.4e-4 + OVERHEAD_B[cell.security] * 4e-4


def make_samples(run: Run, round_trips: int = 150) -> list[Sample]:
    """Samples with drift from block to block, less noise within a block, and a small cost of security."""
    cell, block = run.cell, np.random.default_rng(run.block)
    noise = np.random.default_rng(run.order + 1000)
    drift = 1 + 0.003 * block.normal()
    mean = expected_bit_per_s(cell) * drift * (1 + 0.0006 * noise.normal())
    mean *= 1.0 if cell.transport == "udp" else 0.79
    rtt = expected_rtt_ms(cell) * (1 + 0.01 * block.normal())
    samples = [
        Sample("iperf3", "throughput", "bit/s", "ap", "up", 0, S // 5, mean * 0.7, "warmup"),
        *(
            Sample("iperf3", "throughput", "bit/s", "ap", "up", t * S // 4, S // 4, mean * (1 + 0.002 * x))
            for t, x in enumerate(noise.normal(size=4))
        ),
        *(
            Sample("sockperf", "rtt", "ms", "sta", "both", t * 1000, 0, float(value))
            for t, value in enumerate(rtt * noise.lognormal(0, 0.08, round_trips))
        ),
        Sample(
            "cpu", "cpu_hosts", "%", "machine", "", 0, S, 31 + 2 * noise.normal() + CPU_SHARE[cell.security]
        ),
        Sample("cpu", "cpu_emulator", "%", "link", "", 0, S, 17 + noise.normal() + CPU_SHARE[cell.security]),
    ]
    if cell.security != "open":
        crypto = CPU_SHARE[cell.security] + 0.3 * noise.normal()
        samples.append(Sample("cpu", "cpu_crypto", "%", "link", "", 0, S, float(crypto)))
    if cell.transport == "udp":
        sent = mean / cell.packet_size / 8
        samples += [
            Sample("iperf3", "jitter", "ms", "ap", "up", 0, S, float(0.05 * noise.lognormal(0, 0.15))),
            Sample("iperf3", "datagrams_sent", "1", "ap", "up", 0, S, float(round(sent))),
            Sample("iperf3", "datagrams_lost", "1", "ap", "up", 0, S, float(noise.integers(0, 4))),
        ]
    return samples


def make_record(run: Run, reasons: Sequence[str] = (), **fields: Any) -> RunRecord:
    started = START + timedelta(seconds=4 * run.order)
    host = {
        "kernel": "6.12.9-amd64",
        "cpu": {"model": "AMD EPYC 7B13", "cores": 2, "flags": ["aes", "vaes", "avx2"]},
        "tcp": {"congestion_control": "cubic", "rmem": [4096, 131072, 6291456]},
    }
    data: dict[str, Any] = {
        "run": run,
        "started": started,
        "finished": started + timedelta(seconds=3.6),
        "versions": Versions(airtoll="0.1.0", python="3.11.2", tools={"iperf3": "3.12", "sockperf": "3.7"}),
        "hosts": {"ap": host, "sta": host},
        "link": {
            "phy": run.cell.phy,
            "rate": run.cell.rate,
            "cipher": run.cell.security,
            "mtu_bytes": 1500,
            "emulated": True,
            "predicted_bit_per_s": expected_bit_per_s(run.cell) if run.cell.transport == "udp" else None,
        },
        "counters": {
            "mpdus": 9000 + run.order,
            "slips": 0,
            "lateness_us": {"p50": 3.0, "p99": 60.0 + run.order},
            "open_errors": 0,
        },
        "probes": {
            "iperf3": {
                "version": "3.12",
                "client": ["iperf3", "-c", "192.0.2.1", "-l", str(run.cell.packet_size), "-t", "1"],
            },
            "sockperf": {"version": "3.7"},
        },
        "verdict": Verdict(valid=not reasons, reasons=tuple(reasons)),
    }
    return RunRecord(**(data | fields))


INVALID = {
    7: ("emulation late: p99 of the lateness 4212 us, limit 1000 us, 3 slips",),
    20: ("zero interval: iperf3 throughput ap up: 1 of 4 intervals, the first at 0.5 s",),
    33: ("short window: sockperf covers 0.61 s of 1 s", "open errors: 2 frames failed to open"),
}

Make = Callable[..., Result]


def store(
    directory: Path,
    plan: Plan,
    *,
    invalid: Callable[[Run], Sequence[str]] = lambda run: INVALID.get(run.order, ()),
    finished: Callable[[Run], bool] = lambda _: True,
    samples: Callable[[Run], list[Sample]] = make_samples,
    study_text: str | None = None,
    lab: str = "air",
    **record: Any,
) -> Result:
    """Store a result of the plan. A study with a publication's name repeats it, unless its file is given."""
    if study_text is None:
        study_text = f'published = "{plan.study}"\n{STUDY}' if plan.study in names() else STUDY
    with Result.create(directory, study_text, plan, lab, quick=False) as result:
        for run in plan.runs:
            if finished(run):
                raw = {"iperf3.json": b"{}\n", "sockperf.log": b"[Total Run] RunTime=1.0 sec\n"}
                result.write(make_record(run, invalid(run), **record), samples(run), raw)
    return Result.open(directory)


def many_runs(count: int) -> ReportData:
    """Runs of lab sim in 4 cells, each tenth invalid, without stored files."""
    plan = make_plan(repeats=count // 4, **FEW_FLOWS)
    names = ("SHA256SUMS", "raw/iperf3.json", "raw/sockperf.log", "run.json", "samples.parquet")
    late = ("emulation late: p99 of the lateness 4212 us, limit 1000 us, 3 slips",)
    metrics = ("throughput", "rtt", "rtt_p99", "jitter", "loss", "cpu_hosts")
    noise = np.random.default_rng(5)
    return ReportData(
        study="many",
        lab="sim",
        quick=False,
        created=START,
        airtoll="0.1.0",
        plan=plan,
        study_text=STUDY,
        directory=Path("many"),
        runs=tuple(
            ReportRun(
                run,
                make_record(run, late if run.order % 10 == 0 else ()),
                dict(zip(metrics, 30 + noise.normal(size=len(metrics)), strict=True)),
                tuple(f"runs/{run.id}/{name}" for name in names),
            )
            for run in plan.runs
        ),
    )
