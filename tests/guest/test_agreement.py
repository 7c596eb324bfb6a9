"""Lab sim predicts what Linux's TCP and IP do on the emulated air of a guest."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from test_runs import airtoll

from airtoll.stats.metrics import per_run
from airtoll.store import Result
from airtoll.study.cell import Cell

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
duration = "2 s"
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


def throughputs(study: Path, lab: str, clock: str) -> Mapping[Cell, float]:
    """The throughput of each cell."""
    out = study.with_name(lab)
    airtoll("run", study, "--lab", lab, "--clock", clock, "--out", out)
    result = Result.open(out)
    records = {record.run.id: record for record in result.records()}
    assert all(record.verdict.valid for record in records.values())
    return {
        records[run].run.cell.model_copy(update={"lab": "sim"}): value
        for run, metric, value in per_run(result.samples())
        if metric == "throughput"
    }


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("study", "within"),
    [(SMALL_BUFFERS, 0.015), (FRAGMENTS, 0.005), (AUTOTUNED, 0.03)],
    ids=["small buffers", "fragments", "autotuned"],
)
def test_throughput_agrees_with_lab_sim(study: str, within: float, tmp_path: Path) -> None:
    file = tmp_path / "agreement.toml"
    file.write_text(study)
    measured, simulated = throughputs(file, "air", "virtual"), throughputs(file, "sim", "real")
    assert measured.keys() == simulated.keys()
    for cell, value in measured.items():
        difference = value / simulated[cell] - 1
        assert abs(difference) <= within, f"{cell}: {difference:+.2%}"
