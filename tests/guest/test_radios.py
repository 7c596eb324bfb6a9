"""Lab linux above radios of the machine: in a guest, whose radios are those of mac80211_hwsim."""

import re
from pathlib import Path

import pytest
from guest_script import run_script

from airtoll.guest import recipe
from airtoll.labs.linux import Linux
from airtoll.store import Result

STUDY = """
title = "Radios of this machine"
lab = { name = "linux", radios = ["phy2", "phy0"] }
[factors]
security = ["sae"]
transport = ["udp"]
ip = ["ipv6"]
packet_size = ["1408 B"]
phy = ["vht"]
bandwidth = ["80 MHz"]
rate = ["mcs7"]
[method]
repeats = 2
duration = "0.3 s"
warmup = "0.1 s"
probes = ["throughput"]
"""

SCRIPT = """
cd /run/job
iw reg set US
timeout 10 sh -c 'until iw reg get | grep -q "country US"; do sleep 0.05; done'
iw dev > before
airtoll run {study} --out result > first 2>&1 &
while kill -0 $! && ! grep -q 1/2 first; do sleep 0.05; done
kill -KILL $!
airtoll run --resume result --radios phy2,phy0 > second 2>&1
iw dev > after
airtoll run {study} --radios phy7,phy0 > absent 2>&1
setpriv --reuid 65534 airtoll run quickstart --lab linux --radios phy0,phy1 > unprivileged 2>&1
airtoll doctor > doctor 2>&1
"""


@pytest.fixture(scope="module")
def job(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the script: a study that was killed during its second run and completed, and other output."""
    if (reason := Linux().missing()) is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("radios")
    study = folder / "study.toml"
    study.write_text(STUDY)
    run_script(kernel, SCRIPT.format(study=study), folder, clock="real", radios=3)
    return folder / "job"


def test_the_stations_join_through_radios_of_the_machine(job: Path) -> None:
    result = Result.open(job / "result")
    assert result.verify() == []
    records = list(result.records())
    assert len(records) == 2
    for record in records:
        link = record.link
        assert link["radios"] == {"ap": "phy2", "sta": "phy0"}
        assert not link["emulated"]
        assert (link["cipher"], link["wpa_key_mgmt"], link["ieee80211w"]) == ("ccmp", "sae", True)
        assert (link["frequency_mhz"], link["bandwidth_mhz"]) == (5180, 80)
        assert not any("wrong" in reason for reason in record.verdict.reasons)


def test_the_radios_use_the_rate_of_the_cell(job: Path) -> None:
    result = Result.open(job / "result")
    for samples in result.samples():
        of_station = samples.metric.equal("tx_mcs") & samples.endpoint.equal("sta")
        assert set(samples.value[of_station]) == {7.0}


def test_the_radios_return_even_if_airtoll_is_killed(job: Path) -> None:
    def interfaces(name: str) -> set[tuple[str, str]]:
        text = (job / name).read_text()
        return set(re.findall(r"^phy#(\d+)\n\tInterface (\S+)$", text, flags=re.MULTILINE))

    assert interfaces("before") == {("0", "wlan0"), ("1", "wlan1"), ("2", "wlan2")}
    assert interfaces("after") == interfaces("before")


def test_radios_that_cannot_be_used_are_one_line(job: Path) -> None:
    assert (job / "absent").read_text() == (
        "airtoll: radios: 'phy7' is not a radio of this machine, which has phy0, phy1, phy2 (iw phy)\n"
    )
    assert (job / "unprivileged").read_text() == "airtoll: lab linux: radios of this machine require root\n"


def test_doctor_names_the_radios(job: Path) -> None:
    assert "radios phy0 phy1 phy2" in " ".join((job / "doctor").read_text().split())
