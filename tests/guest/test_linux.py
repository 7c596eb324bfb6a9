"""Lab linux: hostapd, wpa_supplicant and mac80211 above the medium."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest
from test_runs import airtoll, contents

from airtoll.guest import boot, recipe
from airtoll.host import SYSTEM_PATH
from airtoll.labs.emulated import WPA_PASSPHRASE
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

# TCP over IPv6 has frames in both directions, and group-addressed frames of neighbour discovery.
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
transport = ["tcp"]
ip = ["ipv6"]
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


def assert_valid(result: Result, runs: int) -> None:
    reasons = {record.run.id: record.verdict.reasons for record in result.records()}
    assert len(reasons) == runs
    assert [run for run, why in reasons.items() if why] == [], reasons


def test_every_level_carries_tcp_over_ipv6(result: Result) -> None:
    assert_valid(result, len(LEVELS))


def test_udp_and_tcp_run_over_ipv4_and_ipv6(tmp_path: Path) -> None:
    study = tmp_path / "transports.toml"
    text = FAST.format(phy="ht", rate="mcs7", bandwidth=20).replace('"1 s"', '"0.3 s"')
    text = (
        text.replace('["udp"]', '["udp", "tcp"]')
        .replace('["ipv4"]', '["ipv4", "ipv6"]')
        .replace("1472", "1428")
    )
    study.write_text(text.replace('["ccmp"]', '["open", "gcmp256"]'))
    airtoll("run", study, "--out", tmp_path / "r")
    assert_valid(Result.open(tmp_path / "r"), 8)


def test_stations_negotiate_the_protection_of_the_level(result: Result) -> None:
    for record in result.records():
        link = record.link
        assert (link["cipher"], link["wpa_key_mgmt"]) == LEVELS[record.run.cell.security], record.run.id
        assert link["joining_ms"] < 1000
        assert re.fullmatch(r"\d+(\.\d+)+", link["programs"]["hostapd"])
        assert (link["frequency_mhz"], link["bandwidth_mhz"]) == (5180, 20)


def test_stations_of_802_1x_authenticate_by_the_method_of_the_level(result: Result) -> None:
    methods = {record.run.cell.security: record.link["eap"] for record in result.records()}
    assert {level: method for level, method in methods.items() if method is not None} == {
        "wpa2-eap": "tls",
        "wpa3-eap": "tls",
        "wpa3-192": "tls",
        "peap": "peap",
        "ttls": "ttls",
    }
    of_192_bit = next(record for record in result.records() if record.run.cell.security == "wpa3-192")
    assert of_192_bit.link["eap_tls_cipher"] == "ECDHE-ECDSA-AES256-GCM-SHA384"
    assert of_192_bit.link["wpa_passphrase"] is None


@pytest.mark.parametrize("method", ["tls", "peap", "ttls"])
def test_freeradius_authenticates_the_stations(tmp_path: Path, method: str) -> None:
    if which("freeradius", path=SYSTEM_PATH) is None:
        pytest.skip("apt-get install freeradius")
    akm = "wpa-eap-suite-b-192" if method == "tls" else "wpa-eap"
    profile = f"[security.mine]\nwpa_key_mgmt = '{akm}'\neap = '{method}'\neap_server = 'freeradius'\n"
    study = tmp_path / "radius.toml"
    fast = FAST.format(phy="ht", rate="mcs7", bandwidth=20).replace('"1 s"', '"0.2 s"')
    study.write_text(fast.replace("ccmp", "mine") + profile)
    airtoll("run", study, "--out", tmp_path / "r")
    (record,) = Result.open(tmp_path / "r").records()
    assert record.verdict.reasons == ()
    assert record.link["eap"] == method


WRONG_CA = """
from airtoll.errors import AirtollError
from airtoll.labs import enterprise
from airtoll.labs.linux import Linux
from airtoll.study.cell import Cell

cell = Cell(
    lab="linux", topology="point-to-point", phy="ofdm", bandwidth=20, gi="long", rate="54 Mbit/s",
    transport="udp", ip="ipv4", packet_size=1408, security="wpa2-eap",
)
files = enterprise.files
enterprise.files = lambda *given: {**dict(files(*given)), "ca.pem": dict(files(*given))["client.pem"]}.items()
try:
    with Linux().open(cell, seed=1):
        print("joined")
except AirtollError as error:
    print(error)
"""


def test_a_station_rejects_a_server_of_another_ca(
    in_guest: Callable[[str], boot.Ended], tmp_path: Path
) -> None:
    (tmp_path / "wrong.py").write_text(WRONG_CA)
    in_guest(f"{sys.executable} {tmp_path}/wrong.py > /run/job/said 2>&1")
    assert (tmp_path / "job" / "said").read_text() == (
        "lab linux: wpa_supplicant on sta: CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=0 "
        "subject='/CN=radius.airtoll.example' err='unable to get local issuer certificate'\n"
    )


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


@pytest.mark.parametrize(("error_model", "snr"), [("nist", 24), ("yans", 22)])
def test_noise_costs_as_much_as_in_lab_sim(tmp_path: Path, error_model: str, snr: int) -> None:
    study = tmp_path / "noise.toml"
    fast = FAST.format(phy="ht", rate="mcs7", bandwidth=40).replace("phy =", f"snr = [{snr}]\nphy =")
    study.write_text(f"{fast}[link]\nerror_model = '{error_model}'\nbeacon_interval = 100\n")
    measured, simulated = throughputs(study)
    assert simulated < 118e6, "some MPDUs are lost"
    assert measured == pytest.approx(simulated, rel=0.02)


def test_receivers_report_the_signal_of_the_channel(tmp_path: Path) -> None:
    study = tmp_path / "signal.toml"
    fast = FAST.format(phy="ht", rate="mcs3", bandwidth=20)
    study.write_text(f"{fast}[link]\nband = '2.4 GHz'\npath_loss = {{ distance_m = 10.0 }}\n")
    airtoll("run", study, "--out", tmp_path / "r")
    result = Result.open(tmp_path / "r")
    metrics = {metric: value for _, metric, value in per_run(result.samples())}
    # 16 dBm less 40.18 dB at 1 m and 30 dB per decade, above -93.99 dBm.
    assert (metrics["snr"], metrics["noise"]) == (39.81, -93.99)
    (samples,) = result.samples()
    rows = zip(samples.metric, samples.endpoint, samples.value, strict=True)
    found = {(metric, endpoint): value for metric, endpoint, value in rows}
    assert found["rssi", "ap"] == -54.18
    assert found["signal", "ap"] == -54, "of mac80211, in whole dBm"


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_server_behind_the_access_point_agrees_with_lab_sim(tmp_path: Path, direction: str) -> None:
    study = tmp_path / "wired.toml"
    topology = f'topology = ["wired-ap"]\ndirection = ["{direction}"]\nphy ='
    study.write_text(FAST.format(phy="ht", rate="mcs7", bandwidth=40).replace("phy =", topology))
    measured, simulated = throughputs(study)
    assert measured == pytest.approx(simulated, rel=0.01)


def test_radios_report_their_rates_and_retries(tmp_path: Path) -> None:
    study = tmp_path / "fast.toml"
    fast = FAST.format(phy="ht", rate="mcs7", bandwidth=40)
    study.write_text(f"{fast}[link]\nrate_control = 'minstrel'\n")
    airtoll("run", study, "--out", tmp_path / "r")
    result = Result.open(tmp_path / "r")
    (record,) = result.records()
    rates = record.probes["throughput"]["phy_rates"]["sta"]
    assert record.link["rate_kbit_per_s"] is None
    assert sum(rates.values()) > 1000
    assert all("streams 1" in rate for rate in rates), "the cell has one stream"
    metrics = {metric: value for _, metric, value in per_run(result.samples())}
    assert metrics["phy_rate"] > 100e6
    (samples,) = result.samples()
    found = set(zip(samples.metric, samples.endpoint, strict=True))
    for metric in (
        "signal",
        "tx_rate",
        "tx_mcs",
        "tx_streams",
        "tx_width",
        "rx_rate",
        "tx_retries",
        "tx_failed",
    ):
        assert {(metric, "sta"), (metric, "ap")} <= found
    assert "tx_airtime" not in samples.metric, "mac80211_hwsim does not measure airtime"


def test_the_same_seed_gives_the_same_octets(tmp_path: Path) -> None:
    study = tmp_path / "fast.toml"
    fast = FAST.format(phy="ht", rate="mcs7", bandwidth=40).replace('"1 s"', '"0.3 s"')
    study.write_text(fast.replace('["ccmp"]', '["ccmp", "wpa3-192"]'))
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


def test_the_real_clock_is_refused_without_radios(tmp_path: Path) -> None:
    study = tmp_path / "fast.toml"
    study.write_text(FAST.format(phy="ht", rate="mcs7", bandwidth=20))
    told = airtoll("run", study, "--clock", "real", "--out", tmp_path / "r", status=2)
    assert told == (
        "airtoll: lab linux requires the virtual clock (--clock virtual) or radios of this machine (--radios)\n"
    )
