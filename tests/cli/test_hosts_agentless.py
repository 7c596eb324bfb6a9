"""Studies with a station that runs no agent: real SSH and iperf3, and stand-ins for programs of macOS and Windows."""

import json
import os
from pathlib import Path
from typing import Literal

import pytest
from cli_command import Airtoll, one_line
from machines_on_air import machines
from made_cell import make_cell
from ssh_server import SSHD

from airtoll.store import Result

pytestmark = [
    pytest.mark.usefixtures("needs_air"),
    pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot enter the namespaces of other processes"),
    pytest.mark.skipif(not Path(SSHD).exists(), reason="sshd (openssh-server) is missing"),
]

STUDY = """
title = "A laptop"
lab = "hosts"

[factors]
security = ["open", "ccmp"]
transport = ["tcp"]
ip = ["ipv4"]
packet_size = [1408]
phy = ["vht"]
bandwidth = ["80 MHz"]
rate = ["mcs0"]

[method]
repeats = 1
duration = "1 s"
warmup = "0 s"
seed = 1
"""


@pytest.mark.parametrize(
    ("system", "transport", "probe"), [("macos", "tcp", "responsiveness"), ("windows", "udp", "irtt")]
)
def test_a_station_without_an_agent_measures(
    airtoll: Airtoll, tmp_path: Path, system: Literal["macos", "windows"], transport: str, probe: str
) -> None:
    folder, out, study = tmp_path / "lab", tmp_path / "result", tmp_path / "laptop.toml"
    folder.mkdir()
    text = STUDY.replace('"tcp"', f'"{transport}"')
    if transport == "udp":  # at overload, a busy machine fetches datagrams too late
        text = text.replace("rate =", 'offered = ["5 Mbit/s"]\nrate =')
    study.write_text(text)
    with machines(folder, make_cell(phy="vht", bandwidth=80, rate="mcs0"), station=system) as inventory:
        done = airtoll("run", study, "--inventory", inventory, "--out", out)
        checked = airtoll("hosts", "check", inventory, "--study", study, "--json")
        study.write_text(text.replace("seed = 1", f'seed = 1\nprobes = ["{probe}"]'))
        refused = airtoll("run", study, "--inventory", inventory)
    assert done.returncode in (0, 1), done.stderr
    records = list(Result.open(out).records())
    assert len({record.run.id for record in records if record.verdict.valid}) == 2, [
        r.verdict for r in records
    ]
    for record in records:
        assert record.link["wpa_key_mgmt"] == (None if record.run.cell.security == "open" else "wpa-psk")
        assert record.link["mismatches"] == {}
        assert record.probes["rtt"]["tool"] == "ping"
        assert record.hosts["sta"]["agent"] is None
        assert ("macOS 15.1" if system == "macos" else "Windows") in record.hosts["sta"]["os"]
    for samples in Result.open(out).samples():
        for metric in ("throughput", "rtt"):
            assert samples.metric.equal(metric).any()
    report = json.loads(checked.stdout)
    assert report["ready"], report
    assert refused.returncode == 2
    assert one_line(refused) == (
        f"probe {probe}: requires an agent on host sta, and agents exist only for Linux: "
        "set method.probes to one of throughput, rtt"
    )
