"""Lab sim predicts what Linux's TCP and IP do on the emulated air of a guest."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from test_runs import airtoll

from airtoll.guest import boot
from airtoll.labs.sim import Sim, simulate
from airtoll.prediction.predictions import paced_as_measured
from airtoll.probes import probes_of
from airtoll.start import main
from airtoll.stats.metrics import per_run
from airtoll.store import Result
from airtoll.store.samples import Samples
from airtoll.study.cell import Cell
from airtoll.study.scenario import Scenario

COMMON = """
security = ["open"]
phy = ["ht"]
bandwidth = ["40 MHz"]
rate = ["mcs7"]
gi = ["short"]
"""

METHOD = """
[method]
repeats = 1
duration = "1 s"
warmup = "0.5 s"
probes = ["throughput"]
"""

SMALL_BUFFERS = f"""
title = "TCP with buffers of 64 KiB, by stack"
lab = "air"
[factors]
{COMMON}
transport = ["tcp"]
ip = ["ipv4", "ipv6"]
packet_size = ["1460 B"]
topology = ["through-ap"]
stack = ["merged", "plain"]
[stack.merged]
system = "Time stamps, segmentation by the card, coalescing"
timestamps = true
segmentation_offload = true
coalesce = true
[stack.plain]
system = "None of these"
timestamps = false
segmentation_offload = false
coalesce = false
{METHOD}
[link]
window = "65536 B"
"""

FRAGMENTS = f"""
title = "UDP datagrams that exceed the MTU by 8 B over IPv6"
lab = "air"
[factors]
{COMMON}
transport = ["udp"]
ip = ["ipv4", "ipv6"]
packet_size = ["1460 B"]
topology = ["point-to-point"]
{METHOD}
[link]
ip_fragments = true
"""

AUTOTUNED = f"""
title = "TCP without aggregation"
lab = "air"
[factors]
security = ["open"]
transport = ["tcp"]
ip = ["ipv4"]
packet_size = ["1470 B"]
phy = ["ofdm"]
rate = [12, 54]
{METHOD}
[link]
congestion_control = "cubic"
"""


SMALL_WRITES = f"""
title = "TCP by size of writes"
lab = "air"
[factors]
{COMMON}
transport = ["tcp"]
ip = ["ipv4"]
packet_size = [128, 640, 1408]
topology = ["wired-ap"]
{METHOD}
"""

BURSTS = """
title = "Bursts of iperf3's timer"
lab = "air"
[factors]
security = ["open"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["512 B", "1440 B"]
phy = ["ofdm"]
rate = [54]
offered = ["5 Mbit/s", "11.52 Mbit/s"]
[method]
repeats = 1
duration = "2 s"
warmup = "0.5 s"
probes = ["throughput"]
[link]
pacing_timer = "3.7 ms"
"""
"""iperf3 reports the jitter every 100 ms, not a multiple of its timer here; lab sim has the mean over time."""


UDP_BUFFERS = f"""
title = "UDP with buffers of 8 KB"
lab = "air"
[factors]
{COMMON}
transport = ["udp"]
ip = ["ipv4"]
packet_size = [256, 1460]
topology = ["point-to-point", "through-ap"]
{METHOD.replace("1 s", "2 s")}
[link]
band = "2.4 GHz"
udp_buffer = "8192 B"
beacon_interval = 100
"""


SLOW = """
title = "Writes of 128 B that take about 130 us each"
[lab]
name = "air"
clock = "virtual"
[factors]
security = ["open"]
transport = ["tcp"]
ip = ["ipv4"]
packet_size = [128]
phy = ["ofdm"]
rate = [54]
[method]
repeats = 1
duration = "0.5 s"
warmup = "0.3 s"
probes = ["throughput"]
"""

SLOW_WRITES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Each system call that reads the clock takes at least 1 us of a guest's time. */
ssize_t write(int file, const void *octets, size_t size)
{
    ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    ssize_t written = next(file, octets, size);
    struct timespec now;

    for (int i = 0; size == 128 && i < 100; i++)
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return written;
}
"""


def measured(study: Path, lab: str, clock: str, metric: str = "throughput") -> Mapping[Cell, float]:
    """A metric of each cell."""
    out = study.with_name(lab)
    airtoll("run", study, "--lab", lab, "--clock", clock, "--out", out)
    result = Result.open(out)
    records = {record.run.id: record for record in result.records()}
    assert all(record.verdict.valid for record in records.values())
    return {
        records[run].run.cell.model_copy(update={"lab": "sim"}): value
        for run, of_metric, value in per_run(result.samples())
        if of_metric == metric
    }


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("study", "within"),
    [(SMALL_BUFFERS, 0.015), (FRAGMENTS, 0.005), (AUTOTUNED, 0.03), (SMALL_WRITES, 0.05)],
    ids=["small buffers", "fragments", "autotuned", "small writes"],
)
def test_throughput_agrees_with_lab_sim(study: str, within: float, tmp_path: Path) -> None:
    file = tmp_path / "agreement.toml"
    file.write_text(study)
    assert_agreement(measured(file, "air", "virtual"), measured(file, "sim", "real"), within)


@pytest.mark.usefixtures("kernel")
def test_jitter_of_bursts_agrees_with_lab_sim(tmp_path: Path) -> None:
    file = tmp_path / "bursts.toml"
    file.write_text(BURSTS)
    air, sim = measured(file, "air", "virtual", "jitter"), measured(file, "sim", "real", "jitter")
    assert min(air.values()) > 0.1, "bursts of several datagrams on one medium"
    assert_agreement(air, sim, 0.1)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("lab", ["air", "linux"])
def test_small_udp_buffers_agree_with_lab_sim(lab: str, tmp_path: Path) -> None:
    study, out = tmp_path / "buffers.toml", tmp_path / lab
    study.write_text(UDP_BUFFERS)
    airtoll("run", study, "--lab", lab, "--clock", "virtual", "--out", out)
    result = Result.open(out)
    plan, records = result.plan, {record.run.id: record for record in result.records()}
    (probe,) = probes_of(("throughput",), "sim")
    measured, simulated = {}, {}
    for run, metric, bit_per_s in per_run(result.samples()):
        if metric == "throughput":
            record = records[run]
            cell = record.run.cell
            load_bit_per_s = record.probes["throughput"]["offered_bit_per_s"]
            method = plan.method.model_copy(update={"udp_load": load_bit_per_s / 1e6})
            with Sim(paced_as_measured(plan.link, cell, plan.method)).open(cell, record.run.seed) as link:
                samples = probe.measure(link, cell, method).samples
            values = {name: value for _, name, value in per_run([Samples.of(run, samples)])}
            measured[cell], simulated[cell] = bit_per_s, values["throughput"]
    assert len(measured) == 4
    assert_agreement(measured, simulated, 0.05)


@pytest.mark.usefixtures("kernel")
def test_small_writes_of_a_slow_host_agree_with_lab_sim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, source, study = tmp_path / "slow.so", tmp_path / "slow.c", tmp_path / "slow.toml"
    source.write_text(SLOW_WRITES)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    usual = boot.environment()
    monkeypatch.setattr(boot, "environment", lambda: {**usual, "LD_PRELOAD": str(library)})
    study.write_text(SLOW)
    monkeypatch.setattr("sys.argv", ["airtoll", "run", str(study), "--out", str(tmp_path / "air")])
    with pytest.raises(SystemExit) as ended:  # in this process, whose guests have the library
        main()
    assert not ended.value.code
    result = Result.open(tmp_path / "air")
    (record,) = result.records()
    bit_per_s = next(value for _, metric, value in per_run(result.samples()) if metric == "throughput")
    counters = record.counters
    scenario = Scenario(
        transport="tcp", packet_size=128, rate="54 Mbit/s", write_time=8 * 128 / bit_per_s * 1e6, warmup=0.5
    )
    answer = simulate(scenario).values
    assert answer["throughput_mbps"] == pytest.approx(bit_per_s / 1e6, rel=0.02)
    # Nagle's algorithm decides how many writes a segment carries, and PSH decides when it is acknowledged.
    mpdus_per_s = sum(counters[station]["mpdus"] for station in ("sta", "ap")) / counters["elapsed_s"]
    assert answer["counters"]["mpdus"] / 1.5 == pytest.approx(mpdus_per_s, rel=0.05)


def assert_agreement(air: Mapping[Cell, float], sim: Mapping[Cell, float], within: float) -> None:
    assert air.keys() == sim.keys()
    for cell, value in air.items():
        difference = value / sim[cell] - 1
        assert abs(difference) <= within, f"{cell}: {difference:+.2%}"
