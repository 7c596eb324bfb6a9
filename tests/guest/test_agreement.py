"""Lab sim predicts what Linux's TCP and IP do on the emulated air of a guest."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from runs_in_guest import Finished, perform_all

from airtoll.guest import recipe
from airtoll.labs.sim import Sim, simulate
from airtoll.prediction.predictions import paced_as_measured
from airtoll.study.scenario import Scenario

COMMON = """
security = ["open"]
phy = ["ht"]
bandwidth = ["40 MHz"]
rate = ["mcs7"]
gi = ["short"]
"""


def method(duration_s: float, warmup_s: float) -> str:
    """The method of a study with one run per cell."""
    return f"""
[method]
repeats = 1
duration = "{duration_s} s"
warmup = "{warmup_s} s"
probes = ["throughput"]
"""


SMALL_BUFFERS = f"""
title = "TCP with buffers of 64 KiB, by stack"
lab = "air"
[factors]
{COMMON}
transport = ["tcp"]
ip = ["ipv6"]
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
{method(1, 0.5)}
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
{method(1, 0.2)}
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
rate = [54]
{method(1, 0.5)}
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
packet_size = [128]
topology = ["wired-ap"]
{method(1, 0.5)}
"""

BURSTS = f"""
title = "Bursts of iperf3's timer"
lab = "air"
[factors]
security = ["open"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["1440 B"]
phy = ["ofdm"]
rate = [54]
offered = ["5 Mbit/s", "11.52 Mbit/s"]
{method(2, 0.5)}[link]
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
packet_size = [1460]
topology = ["point-to-point", "through-ap"]
{method(0.7, 0.3)}
[link]
band = "2.4 GHz"
udp_buffer = "8192 B"
beacon_interval = 100
"""

STUDIES = {
    "small-buffers": SMALL_BUFFERS,
    "fragments": FRAGMENTS,
    "autotuned": AUTOTUNED,
    "small-writes": SMALL_WRITES,
    "bursts": BURSTS,
    "udp-buffers-air": UDP_BUFFERS,
    "udp-buffers-linux": UDP_BUFFERS.replace('"air"', '"linux"'),
}
"""Studies whose runs are performed in one guest."""

MORE_STUDIES = {
    "small-buffers": SMALL_BUFFERS.replace("ipv6", "ipv4"),
    "bursts": BURSTS.replace("1440 B", "512 B"),
    "autotuned": AUTOTUNED.replace("[54]", "[12]"),
    "small-writes": SMALL_WRITES.replace("[128]", "[640, 1408]"),
    "udp-buffers-air": UDP_BUFFERS.replace("[1460]", "[256]"),
    "udp-buffers-linux": UDP_BUFFERS.replace('"air"', '"linux"').replace("[1460]", "[256]"),
}
"""More cells."""


SLOW = f"""
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
{method(0.5, 0.3)}"""

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


@pytest.fixture(scope="module")
def performed(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finished]]:
    """The runs of the studies, by the study's name."""
    return perform_all(kernel, tmp_path_factory.mktemp("agreement"), STUDIES)


@pytest.fixture(scope="module")
def more(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finished]]:
    """The runs of more cells, by the study's name."""
    return perform_all(kernel, tmp_path_factory.mktemp("more"), MORE_STUDIES)


WITHIN = {"small-buffers": 0.015, "fragments": 0.005, "autotuned": 0.03, "small-writes": 0.05}


@pytest.mark.parametrize("study", WITHIN)
def test_throughput_agrees_with_lab_sim(performed: dict[str, list[Finished]], study: str) -> None:
    for run in performed[study]:
        assert_agreement(run, "throughput", run.in_lab_sim(), WITHIN[study])


def test_jitter_of_bursts_agrees_with_lab_sim(performed: dict[str, list[Finished]]) -> None:
    for run in performed["bursts"]:
        assert run.metrics["jitter"] > 0.1, "bursts of several datagrams on one medium"
        assert_agreement(run, "jitter", run.in_lab_sim(), 0.1)


@pytest.mark.parametrize("study", ["udp-buffers-air", "udp-buffers-linux"])
def test_small_udp_buffers_agree_with_lab_sim(performed: dict[str, list[Finished]], study: str) -> None:
    for run in performed[study]:
        assert_agreement(run, "throughput", with_measured_load(run), 0.05)


@pytest.mark.long
def test_more_cells_agree_with_lab_sim(more: dict[str, list[Finished]]) -> None:
    for study in ("small-buffers", "autotuned", "small-writes"):
        for run in more[study]:
            assert_agreement(run, "throughput", run.in_lab_sim(), WITHIN[study])
    for run in more["bursts"]:
        assert_agreement(run, "jitter", run.in_lab_sim(), 0.1)
    for run in (*more["udp-buffers-air"], *more["udp-buffers-linux"]):
        assert_agreement(run, "throughput", with_measured_load(run), 0.05)


def with_measured_load(run: Finished) -> dict[str, float]:
    """The metrics in lab sim with the load that iperf3 offered."""
    cell = run.record.run.cell
    load_bit_per_s = run.record.probes["throughput"]["offered_bit_per_s"]
    method = run.plan.method.model_copy(update={"udp_load": load_bit_per_s / 1e6})
    return run.simulated(Sim(paced_as_measured(run.plan.link, cell, run.plan.method)), cell, method)


def test_small_writes_of_a_slow_host_agree_with_lab_sim(kernel: recipe.Kernel, tmp_path: Path) -> None:
    library, source = tmp_path / "slow.so", tmp_path / "slow.c"
    source.write_text(SLOW_WRITES)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    ((run,),) = perform_all(
        kernel, tmp_path, {"slow": SLOW}, environment={"LD_PRELOAD": str(library)}
    ).values()
    bit_per_s, counters = run.metrics["throughput"], run.record.counters
    scenario = Scenario(
        transport="tcp", packet_size=128, rate="54 Mbit/s", write_time=8 * 128 / bit_per_s * 1e6, warmup=0.5
    )
    answer = simulate(scenario).values
    assert answer["throughput_mbps"] == pytest.approx(bit_per_s / 1e6, rel=0.02)
    # Nagle's algorithm decides how many writes a segment carries, and PSH decides when it is acknowledged.
    mpdus_per_s = sum(counters[station]["mpdus"] for station in ("sta", "ap")) / counters["elapsed_s"]
    assert answer["counters"]["mpdus"] / 1.5 == pytest.approx(mpdus_per_s, rel=0.05)


def assert_agreement(run: Finished, metric: str, simulated: Mapping[str, float], within: float) -> None:
    assert run.record.verdict.valid, run.record.verdict
    difference = run.metrics[metric] / simulated[metric] - 1
    assert abs(difference) <= within, f"{run.record.run.cell}: {difference:+.2%}"
