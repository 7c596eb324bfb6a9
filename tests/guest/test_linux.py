"""Lab linux: hostapd, wpa_supplicant and mac80211 above the medium."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import which

import pytest
from runs_in_guest import Finished, perform_all
from test_runs import airtoll, contents

from airtoll.guest import recipe
from airtoll.host import SYSTEM_PATH
from airtoll.labs.emulated import WPA_PASSPHRASE
from airtoll.labs.hostapd import SSID
from airtoll.labs.linux import Linux
from airtoll.store import Result, RunRecord

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
duration = "0.7 s"
warmup = "0.2 s"
probes = ["throughput"]
"""

HT20 = FAST.format(phy="ht", rate="mcs7", bandwidth=20)
HT40 = FAST.format(phy="ht", rate="mcs7", bandwidth=40)
NOISE = {"nist": 24, "yans": 22}
"""The signal-to-noise ratio at which each error model loses some MPDUs."""

RADIUS = {"tls": "wpa-eap-suite-b-192", "peap": "wpa-eap", "ttls": "wpa-eap"}
"""The methods of FreeRADIUS, with their key management."""


def noisy(error_model: str) -> str:
    study = HT40.replace("phy =", f"snr = [{NOISE[error_model]}]\nphy =")
    return f"{study}[link]\nerror_model = '{error_model}'\nbeacon_interval = 100\n"


def radius(method: str) -> str:
    profile = (
        f"[security.mine]\nwpa_key_mgmt = '{RADIUS[method]}'\neap = '{method}'\neap_server = 'freeradius'\n"
    )
    return HT20.replace('"0.7 s"', '"0.2 s"').replace("ccmp", "mine") + profile


STUDIES = {
    "levels": STUDY,
    "transports": (
        HT20.replace('"0.7 s"', '"0.3 s"')
        .replace('["udp"]', '["udp", "tcp"]')
        .replace('["ipv4"]', '["ipv4", "ipv6"]')
        .replace("1472", "1428")
    ),
    **{error_model: noisy(error_model) for error_model in NOISE},
    "signal": (
        FAST.format(phy="ht", rate="mcs3", bandwidth=20)
        + "[link]\nband = '2.4 GHz'\npath_loss = { distance_m = 10.0 }\n"
    ),
    # Each edge of the window can move an A-MPDU, 0.2 % of the octets, into it or out of it.
    "wired": HT40.replace("phy =", 'topology = ["wired-ap"]\ndirection = ["up", "down"]\nphy =').replace(
        "0.7 s", "2 s"
    ),
    "rates": f"{HT40}[link]\nrate_control = 'minstrel'\n",
}
"""Studies whose runs are performed in one guest."""

COMMAND = HT20.replace('"0.7 s"', '"0.3 s"').replace('["ccmp"]', '["ccmp", "wpa3-192"]')
"""A study that `airtoll run` performs."""


@pytest.fixture(scope="module", autouse=True)
def lab(kernel: recipe.Kernel) -> None:
    assert kernel.file.exists()
    if (reason := Linux().missing()) is not None:
        pytest.skip(reason)


def has_freeradius() -> bool:
    return which("freeradius", path=SYSTEM_PATH) is not None


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the guest's job."""
    return tmp_path_factory.mktemp("linux")


@pytest.fixture(scope="module")
def performed(kernel: recipe.Kernel, job: Path) -> dict[str, list[Finished]]:
    """The runs of all studies, by the study's name. The same guest runs WRONG_CA."""
    studies = {**STUDIES, **({method: radius(method) for method in RADIUS} if has_freeradius() else {})}
    (job / "wrong.py").write_text(WRONG_CA)
    return perform_all(kernel, job, studies, f"{sys.executable} {job}/wrong.py > /run/job/said 2>&1")


@pytest.fixture(scope="module")
def levels(performed: dict[str, list[Finished]]) -> list[RunRecord]:
    """The records of all levels."""
    return [run.record for run in performed["levels"]]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The result of the command."""
    file = tmp_path_factory.mktemp("command") / "fast.toml"
    file.write_text(COMMAND)
    airtoll("run", file, "--pcap", "--out", file.parent / "result")
    return Result.open(file.parent / "result")


def assert_valid(records: Iterable[RunRecord], runs: int) -> None:
    reasons = {record.run.id: record.verdict.reasons for record in records}
    assert len(reasons) == runs
    assert [run for run, why in reasons.items() if why] == [], reasons


def test_every_level_carries_tcp_over_ipv6(levels: list[RunRecord]) -> None:
    assert_valid(levels, len(LEVELS))


def test_udp_and_tcp_run_over_ipv4_and_ipv6(performed: dict[str, list[Finished]]) -> None:
    assert_valid((run.record for run in performed["transports"]), 4)


def test_the_command_performs_valid_runs(result: Result) -> None:
    assert_valid(result.records(), 2)


def test_stations_negotiate_the_protection_of_the_level(levels: list[RunRecord]) -> None:
    for record in levels:
        link = record.link
        assert (link["cipher"], link["wpa_key_mgmt"]) == LEVELS[record.run.cell.security], record.run.id
        assert link["joining_ms"] < 1000
        assert re.fullmatch(r"\d+(\.\d+)+", link["programs"]["hostapd"])
        assert (link["frequency_mhz"], link["bandwidth_mhz"]) == (5180, 20)


def test_stations_of_802_1x_authenticate_by_the_method_of_the_level(levels: list[RunRecord]) -> None:
    methods = {record.run.cell.security: record.link["eap"] for record in levels}
    assert {level: method for level, method in methods.items() if method is not None} == {
        "wpa2-eap": "tls",
        "wpa3-eap": "tls",
        "wpa3-192": "tls",
        "peap": "peap",
        "ttls": "ttls",
    }
    of_192_bit = next(record for record in levels if record.run.cell.security == "wpa3-192")
    assert of_192_bit.link["eap_tls_cipher"] == "ECDHE-ECDSA-AES256-GCM-SHA384"
    assert of_192_bit.link["wpa_passphrase"] is None


@pytest.mark.parametrize("method", RADIUS)
def test_freeradius_authenticates_the_stations(performed: dict[str, list[Finished]], method: str) -> None:
    if not has_freeradius():
        pytest.skip("apt-get install freeradius")
    (run,) = performed[method]
    assert run.record.verdict.reasons == ()
    assert run.record.link["eap"] == method


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


@pytest.mark.usefixtures("performed")
def test_a_station_rejects_a_server_of_another_ca(job: Path) -> None:
    assert (job / "job" / "said").read_text() == (
        "lab linux: wpa_supplicant on sta: CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=0 "
        "subject='/CN=radius.airtoll.example' err='unable to get local issuer certificate'\n"
    )


@pytest.mark.parametrize("error_model", NOISE)
def test_noise_costs_as_much_as_in_lab_sim(performed: dict[str, list[Finished]], error_model: str) -> None:
    (run,) = performed[error_model]
    simulated = run.in_lab_sim()["throughput"]
    assert simulated < 118e6, "some MPDUs are lost"
    assert run.metrics["throughput"] == pytest.approx(simulated, rel=0.02)


def test_receivers_report_the_signal_of_the_channel(performed: dict[str, list[Finished]]) -> None:
    (run,) = performed["signal"]
    # 16 dBm less 40.18 dB at 1 m and 30 dB per decade, above -93.99 dBm.
    assert (run.metrics["snr"], run.metrics["noise"]) == (39.81, -93.99)
    rows = zip(run.samples.metric, run.samples.endpoint, run.samples.value, strict=True)
    found = {(metric, endpoint): value for metric, endpoint, value in rows}
    assert found["rssi", "ap"] == -54.18
    assert found["signal", "ap"] == -54, "of mac80211, in whole dBm"


def test_a_server_behind_the_access_point_agrees_with_lab_sim(performed: dict[str, list[Finished]]) -> None:
    assert {run.record.run.cell.direction for run in performed["wired"]} == {"up", "down"}
    for run in performed["wired"]:
        assert run.metrics["throughput"] == pytest.approx(run.in_lab_sim()["throughput"], rel=0.01)


def test_radios_report_their_rates_and_retries(performed: dict[str, list[Finished]]) -> None:
    (run,) = performed["rates"]
    rates = run.record.probes["throughput"]["phy_rates"]["sta"]
    assert run.record.link["rate_kbit_per_s"] is None
    assert sum(rates.values()) > 1000
    assert all("streams 1" in rate for rate in rates), "the cell has one stream"
    assert run.metrics["phy_rate"] > 100e6
    found = set(zip(run.samples.metric, run.samples.endpoint, strict=True))
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
    assert "tx_airtime" not in run.samples.metric, "mac80211_hwsim does not measure airtime"


def test_the_same_seed_gives_the_same_octets(result: Result, tmp_path: Path) -> None:
    airtoll("run", result.directory.parent / "fast.toml", "--pcap", "--out", tmp_path / "again")
    assert contents(tmp_path / "again") == contents(result.directory)


def test_an_observer_decrypts_the_air_only_with_the_passphrase(result: Result) -> None:
    (capture,) = (result.directory / "runs").glob("*-ccmp/raw/air.pcap")

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
    study.write_text(HT20)
    told = airtoll("run", study, "--clock", "real", "--out", tmp_path / "r", status=2)
    assert told == (
        "airtoll: lab linux requires the virtual clock (--clock virtual) or radios of this machine (--radios)\n"
    )
