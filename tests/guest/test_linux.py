"""Lab linux: hostapd, wpa_supplicant and mac80211 above the medium."""

import json
import subprocess
from pathlib import Path

import pytest
from test_runs import airtoll, contents

from airtoll.guest import recipe
from airtoll.labs.air import WPA_PASSPHRASE
from airtoll.labs.hostapd import SSID
from airtoll.labs.linux import Linux
from airtoll.stats.metrics import per_run
from airtoll.store import Result

LEVELS = {
    "open": ("open", None),
    "wep40": ("wep40", None),
    "wep104": ("wep104", None),
    "tkip": ("tkip", "wpa-psk"),
    "ccmp": ("ccmp", "wpa-psk"),
    "ccmp256": ("ccmp256", "wpa-psk"),
    "gcmp": ("gcmp", "wpa-psk"),
    "gcmp256": ("gcmp256", "wpa-psk"),
    "sae": ("ccmp", "sae"),
    "owe": ("ccmp", "owe"),
    "wpa3-transition": ("ccmp", "sae"),
    "hunting": ("ccmp", "sae"),
    "wpa2-eap": ("ccmp", "wpa-eap"),
    "wpa3-eap": ("ccmp", "wpa-eap-sha256"),
    "wpa3-192": ("gcmp256", "wpa-eap-suite-b-192"),
    "peap": ("ccmp", "wpa-eap"),
    "ttls": ("ccmp", "wpa-eap-sha256"),
}
"""Security levels, with the cipher and the key management that the stations negotiate."""

STUDY = f"""
title = "Security of Linux"
lab = "linux"
[security.hunting]
wpa_key_mgmt = "sae"
sae_pwe = 0
[security.peap]
wpa_key_mgmt = "wpa-eap"
eap = "peap"
[security.ttls]
wpa_key_mgmt = "wpa-eap-sha256"
eap = "ttls"
[factors]
security = {list(LEVELS)}
transport = ["udp", "tcp"]
ip = ["ipv4", "ipv6"]
packet_size = ["1408 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]
[method]
repeats = 1
duration = "0.3 s"
warmup = "0.1 s"
probes = ["throughput"]
"""

FAST = """
title = "A-MPDUs of Linux"
lab = "linux"
[factors]
security = ["ccmp"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["1472 B"]
phy = ["{phy}"]
rate = ["{rate}"]
bandwidth = ["{bandwidth} MHz"]
[method]
repeats = 1
duration = "1 s"
warmup = "1 s"
probes = ["throughput"]
"""


@pytest.fixture(scope="module", autouse=True)
def lab(kernel: recipe.Kernel) -> None:
    assert kernel.file.exists()
    if (reason := Linux().missing()) is not None:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("linux") / "linux.toml"
    file.write_text(STUDY)
    airtoll("run", file, "--out", file.parent / "result")
    return Result.open(file.parent / "result")


def test_every_level_carries_udp_and_tcp_over_ipv4_and_ipv6(result: Result) -> None:
    reasons = {record.run.id: record.verdict.reasons for record in result.records()}
    assert len(reasons) == 4 * len(LEVELS)
    assert [run for run, why in reasons.items() if why] == [], reasons


def test_stations_negotiate_the_protection_of_the_level(result: Result) -> None:
    for record in result.records():
        link = record.link
        assert (link["cipher"], link["wpa_key_mgmt"]) == LEVELS[record.run.cell.security], record.run.id
        assert link["joining_ms"] < 1000


def throughputs(study: Path) -> tuple[float, float]:
    """The throughput of the study's only run in labs linux and sim."""
    folder = study.parent
    airtoll("run", study, "--out", folder / "linux")
    airtoll("run", study, "--lab", "sim", "--clock", "real", "--out", folder / "sim")
    measured, simulated = (
        {metric: value for _, metric, value in per_run(Result.open(folder / lab).samples())}["throughput"]
        for lab in ("linux", "sim")
    )
    return measured, simulated


@pytest.mark.parametrize(("phy", "rate", "bandwidth"), [("ht", "mcs7", 40), ("vht", "mcs9", 80)])
def test_throughput_agrees_with_lab_sim(tmp_path: Path, phy: str, rate: str, bandwidth: int) -> None:
    study = tmp_path / "fast.toml"
    study.write_text(FAST.format(phy=phy, rate=rate, bandwidth=bandwidth))
    measured, simulated = throughputs(study)
    assert measured == pytest.approx(simulated, rel=0.01)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_server_behind_the_access_point_agrees_with_lab_sim(tmp_path: Path, direction: str) -> None:
    study = tmp_path / "wired.toml"
    topology = f'topology = ["wired-ap"]\ndirection = ["{direction}"]\nphy ='
    study.write_text(FAST.format(phy="ht", rate="mcs7", bandwidth=40).replace("phy =", topology))
    measured, simulated = throughputs(study)
    assert measured == pytest.approx(simulated, rel=0.01)


def test_the_same_seed_gives_the_same_octets(tmp_path: Path) -> None:
    study = tmp_path / "fast.toml"
    study.write_text(FAST.format(phy="ht", rate="mcs7", bandwidth=40).replace('"1 s"', '"0.3 s"'))
    for name in ("first", "second"):
        airtoll("run", study, "--out", tmp_path / name)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_an_observer_decrypts_the_air_only_with_the_passphrase(tmp_path: Path) -> None:
    study = tmp_path / "fast.toml"
    study.write_text(FAST.format(phy="ht", rate="mcs7", bandwidth=20).replace('"1 s"', '"0.2 s"'))
    airtoll("run", study, "--pcap", "--out", tmp_path / "r")
    (capture,) = (tmp_path / "r" / "runs").glob("*/raw/air.pcap")

    def datagrams(*options: str) -> int:
        argv = [
            "tshark",
            "-r",
            str(capture),
            *options,
            "-Y",
            "udp.length == 1480",
            "-T",
            "json",
            "-e",
            "udp.length",
        ]
        shown = subprocess.run(argv, capture_output=True, check=True, timeout=60).stdout
        return len(json.loads(shown))

    key = f'uat:80211_keys:"wpa-pwd","{WPA_PASSPHRASE}:{SSID}"'
    assert datagrams() == 0
    assert datagrams("-o", "wlan.enable_decryption:TRUE", "-o", key) > 100


def test_the_real_clock_is_refused(tmp_path: Path) -> None:
    study = tmp_path / "fast.toml"
    study.write_text(FAST.format(phy="ht", rate="mcs7", bandwidth=20))
    told = airtoll("run", study, "--clock", "real", "--out", tmp_path / "r", status=2)
    assert told == "airtoll: lab linux requires the virtual clock: --clock virtual\n"
