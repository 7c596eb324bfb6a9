"""Readings of radios by nl80211: the agent's, compared with those of iw(8) on the same radios."""

import json
import re
import shlex
import sys
from itertools import pairwise
from typing import Any

import pytest
from guest_script import run_script

from airtoll.guest import recipe
from airtoll.labs.linux import Linux

CELLS = [("vht", 80, "mcs7"), ("ht", 40, "mcs7"), ("ofdm", 20, "54 Mbit/s")]
"""PHY, bandwidth in MHz and rate."""

PROGRAM = """
import json, sys, time
from dataclasses import asdict
from airtoll.labs.linux import Linux
from airtoll.study.cell import Cell

for phy, bandwidth, rate in json.loads(sys.argv[1]):
    cell = Cell(
        lab="linux", topology="point-to-point", phy=phy, bandwidth=bandwidth, gi="long", rate=rate,
        transport="udp", ip="ipv4", packet_size=1408, security="ccmp",
    )
    with Linux().open(cell, seed=1) as link:
        sta = link.hosts["sta"]
        with sta.sampling(100, ["wlan0", "absent0"]) as sampled:
            sta.run(["ping", "-c", "5", "-i", "0.05", link.addresses["ap", "ipv4"]], 10)
            time.sleep(0.1)
            printed = sta.run(["iw", "dev", "wlan0", "station", "dump"], 10).stdout.decode()
            time.sleep(0.1)
            sta.run(["ip", "link", "set", "wlan0", "down"], 5)
            time.sleep(0.1)
        print(json.dumps({"iw": printed, "ap": link.macs, "readings": [asdict(one) for one in sampled.readings]}))
"""


@pytest.fixture(scope="module")
def jobs(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """For each cell, the words of iw and of the agent of a station about the access point."""
    if (reason := Linux().missing()) is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("readings")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    argv = [sys.executable, str(program), json.dumps(CELLS)]
    path = ":".join(sys.path)
    run_script(kernel, f"PYTHONPATH={path} {shlex.join(argv)} > /run/job/said 2> /run/job/errors", folder)
    said = (folder / "job" / "said").read_text().splitlines()
    assert len(said) == len(CELLS), (folder / "job" / "errors").read_text()
    return list(map(json.loads, said))


@pytest.fixture(params=range(len(CELLS)), ids=[phy for phy, _, _ in CELLS])
def job(request: pytest.FixtureRequest, jobs: list[Any]) -> Any:
    return jobs[request.param]


def test_readings_of_a_peer_are_those_of_iw(job: Any) -> None:
    (ap,) = (mac for mac, role in job["ap"].items() if role == "ap")
    at_iw = next(
        reading
        for reading in job["readings"]
        if f"tx packets:\t{reading['peers']['wlan0'].get(ap, {}).get('tx_packets')}\n" in job["iw"]
    )
    peer = at_iw["peers"]["wlan0"][ap]

    def printed(name: str) -> str:
        found = re.search(rf"^\t{name}:\s*(.*)$", job["iw"], flags=re.MULTILINE)
        assert found is not None, name
        return found[1]

    assert f"Station {ap} " in job["iw"]
    assert float(printed("signal").split()[0]) == peer["signal_dbm"]
    for total in ("tx_packets", "tx_retries", "tx_failed"):
        assert printed(total.replace("_", " ")) == str(peer[total])
    for way in ("tx", "rx"):
        words, rate = printed(f"{way} bitrate"), peer[f"{way}_rate"]
        assert float(words.split()[0]) * 1e6 == rate["bit_per_s"]
        mcs = re.search(r"MCS (\d+)", words)
        assert (None if mcs is None else int(mcs[1])) == rate["mcs"]
        width = re.search(r"(\d+)MHz", words)
        assert rate["width_mhz"] == (None if mcs is None else int(width[1]) if width else 20)
        streams = re.search(r"NSS (\d+)", words)
        assert rate["streams"] == (None if mcs is None else int(streams[1]) if streams else 1)
    assert peer["tx_airtime_us"] is None  # mac80211_hwsim does not measure it


def test_readings_have_their_rate_and_the_end_of_the_link(job: Any) -> None:
    readings = job["readings"]
    # In virtual time, a reading is on time.
    steps_ms = {round((after["at_ns"] - before["at_ns"]) / 1e6) for before, after in pairwise(readings[:-1])}
    assert steps_ms == {10}
    assert readings[0]["carriers"] == {"wlan0": True, "absent0": None}
    assert readings[-1]["carriers"] == {"wlan0": False, "absent0": None}
    assert readings[0]["peers"].keys() == {"wlan0"}
    events = [event["event"] for reading in readings[1:] for event in reading["events"]]
    assert events == ["carrier down", "station left", "deauthenticated", "disconnected"]
