"""Lab linux reads what hostapd, wpa_supplicant, iw and minstrel print, and refuses cells that they do not support."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.labs import enterprise, hostapd, joining, minstrel
from airtoll.labs.linux import Linux
from airtoll.study import LinkSettings, SecurityProfile
from airtoll.study.cell import Cell
from airtoll.study.security import READY_MADE

MakeCell = Callable[..., Cell]

RATES = """CCK,LP,1,,11.0M,243,1200,5.6,5.6,100.0,1,0,0,5,5,40,0,1.0
OFDM,,1,,54.0M,7,148,35.1,0.0,0.0,0,0,0,0,0,40,0,1.0
HT40,SGI,2,A,MCS15,63,62,53.0,0.0,0.0,0,0,0,3,4,40,0,1.0
VHT80,LGI,1,,MCS9/1,296,123,38.9,0.0,0.0,0,0,0,0,7,40,0,1.0
"""

WRONG_CA = """wlan0: Trying to associate with 02:00:00:00:00:01 (SSID='airtoll' freq=5180 MHz)
wlan0: CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=0 subject='/CN=radius' err='unable to get issuer'
SSL: SSL3 alert: write (local SSL3 detected an error):fatal:unknown CA
wlan0: CTRL-EVENT-EAP-FAILURE EAP authentication failed
wlan0: CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid="airtoll" auth_failures=1 duration=10 reason=AUTH_FAILED
"""

WRONG_KEY = """wlan0: CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:00:01 reason=15
wlan0: WPA: 4-Way Handshake failed - pre-shared key may be incorrect
wlan0: CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid="airtoll" auth_failures=1 duration=10 reason=WRONG_KEY
"""


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (
            WRONG_CA,
            "CTRL-EVENT-EAP-TLS-CERT-ERROR reason=1 depth=0 subject='/CN=radius' err='unable to get issuer'",
        ),
        (WRONG_KEY, "WPA: 4-Way Handshake failed - pre-shared key may be incorrect"),
        (
            "Line 7: unknown network field\n",
            "Line 7: unknown network field (this version does not have the setting)",
        ),
        ("", "it printed nothing"),
    ],
)
def test_a_station_that_does_not_join_says_why_in_one_line(printed: str, reason: str) -> None:
    agent = str(binary.local())
    with Connection("sta", [agent, "serve"]) as connection:
        process = AgentHost(connection).popen(["printf", "%s", printed])
        with pytest.raises(AirtollError) as error:
            joining.wait_for(joining.JOINED, "lab linux: wpa_supplicant on sta", "wlan0", process, 10)
    assert str(error.value) == f"lab linux: wpa_supplicant on sta: {reason}"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (joining.JOINED, "found no network with this name, key management and cipher within 30 s"),
        (joining.OFFERED, "did not report AP-ENABLED within 30 s"),
    ],
)
def test_a_program_that_is_late_says_what_it_did_not_reach(event: str, reason: str) -> None:
    def next_line(_: float) -> bytes:
        raise TimeoutError

    process: Any = SimpleNamespace(next_line=next_line)
    with pytest.raises(AirtollError, match=reason):
        joining.wait_for(event, "wpa_supplicant on sta", "wlan0", process, timeout_s=30.0)


def test_the_lab_supports_every_ready_made_profile_of_its_ciphers(cell: MakeCell) -> None:
    refused = [name for name in READY_MADE if Linux().check(cell(security=name)) is not None]
    assert refused == ["enhanced1", "enhanced2", "enhanced4", "enhanced8"]


@pytest.mark.parametrize("program", ["hostapd", "wpa_supplicant"])
def test_a_key_management_that_a_program_lacks_names_its_version(
    monkeypatch: pytest.MonkeyPatch, cell: MakeCell, program: str
) -> None:
    lab = Linux(profiles={"mine": SecurityProfile(wpa_key_mgmt=("sae", "sae-ext-key"))})
    versions: dict[str, tuple[int, ...] | None] = {"hostapd": (2, 11), "wpa_supplicant": (2, 12)}
    monkeypatch.setattr(hostapd, "version", versions.get)
    assert lab.check(cell(security="mine")) is None
    versions[program] = (2, 10)
    assert lab.check(cell(security="mine")) == (
        f"security 'mine': wpa_key_mgmt sae-ext-key requires {program} 2.11, and this machine has 2.10"
    )
    assert lab.check(cell(security="sae")) is None
    versions[program] = None
    assert lab.check(cell(security="mine")) is None


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("hostapd v2.10\nUser space daemon for IEEE 802.11 AP management,\n", (2, 10)),
        ("wpa_supplicant v2.11-hostap_2_11+\n", (2, 11)),
        ("no version\n", None),
    ],
)
def test_the_version_of_a_program_is_the_one_that_it_prints(
    monkeypatch: pytest.MonkeyPatch, printed: str, version: tuple[int, ...] | None
) -> None:
    def run(argv: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 1, "", printed)

    monkeypatch.setattr(hostapd.subprocess, "run", run)
    monkeypatch.setattr(hostapd, "which", lambda *_, **__: "/usr/sbin/hostapd")
    assert hostapd.version.__wrapped__("hostapd") == version


@pytest.mark.parametrize("interval_tu", [0, 14, 10_001])
def test_a_beacon_interval_that_hostapd_lacks_is_refused(cell: MakeCell, interval_tu: int) -> None:
    assert Linux(LinkSettings(beacon_interval=interval_tu)).check(cell()) == (
        f"link.beacon_interval '{interval_tu} TU': hostapd always sends beacons, and lab linux supports 15 to 10000 TU"
    )
    assert Linux(LinkSettings(beacon_interval=15)).check(cell()) is None


@pytest.mark.parametrize(
    "setting", [{"slot": "long"}, {"dot11b_stations": True}, {"protection": "cts-to-self"}]
)
def test_settings_that_hostapd_derives_from_stations_are_refused(
    cell: MakeCell, setting: dict[str, Any]
) -> None:
    (name,) = setting
    assert Linux(LinkSettings(**setting)).check(cell()) == (
        f"link.{name}: lab linux cannot set it, because hostapd does; labs air and sim can"
    )


@pytest.mark.parametrize(
    ("radios", "settings", "levels", "reason"),
    [
        ("ab", {}, {}, None),
        ("a", {}, {}, "radios: the cell requires 2 radios, and the study has 1"),
        ("aa", {}, {}, "radios: a, a: each host requires a radio of its own"),
        ("ab", {}, {"topology": "through-ap"}, "radios: the cell requires 3 radios, and the study has 2"),
        ("ab", {}, {"topology": "wired-ap"}, None),
        (
            "ab",
            {"error_model": "yans"},
            {},
            "link.error_model: lab linux cannot set it on radios of this machine",
        ),
        (
            "ab",
            {"rts_threshold": 500},
            {},
            "link.rts_threshold: lab linux cannot set it on radios of this machine",
        ),
        (
            "ab",
            {},
            {"snr": 20.0},
            "snr '20 dB': the places of the radios determine their SNR; use snr = 'none'",
        ),
    ],
)
def test_cells_that_radios_of_the_machine_cannot_measure_are_refused(
    cell: MakeCell, radios: str, settings: dict[str, Any], levels: dict[str, Any], reason: str | None
) -> None:
    lab = Linux(LinkSettings(**settings), clock="real", own_radios=radios)
    assert lab.check(cell(**levels)) == reason


def test_radios_of_the_machine_have_no_virtual_clock(cell: MakeCell) -> None:
    assert Linux(clock="virtual", own_radios="ab").check(cell()) == (
        "radios of this machine have real time: --clock real"
    )


@pytest.mark.parametrize("method", ["tls", "peap", "ttls"])
def test_the_files_of_802_1x_are_in_the_package(tmp_path: Path, method: str) -> None:
    profile = SecurityProfile.model_validate({"wpa_key_mgmt": "wpa-eap", "eap": method})
    files = dict(enterprise.files(profile.on(LinkSettings()), tmp_path, "secret"))
    assert set(files) == {"ca.pem", "server.pem", "client.pem", "users"}
    assert "BEGIN CERTIFICATE" in files["ca.pem"]
    assert ("secret" in files["users"]) == (method != "tls")
    assert dict(enterprise.files(SecurityProfile(wpa_key_mgmt="sae"), tmp_path, "secret")) == {}


def test_an_eap_server_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, cell: MakeCell, tmp_path: Path
) -> None:
    lab = Linux(profiles={"mine": SecurityProfile(wpa_key_mgmt="wpa-eap", eap_server="freeradius")})
    monkeypatch.setattr(enterprise, "SYSTEM_PATH", str(tmp_path))
    assert lab.check(cell(security="mine")) == (
        "security 'mine': eap_server freeradius requires the command 'freeradius': apt-get install freeradius"
    )
    (tmp_path / "freeradius").touch(mode=0o755)
    assert lab.check(cell(security="mine")) is None


@pytest.mark.parametrize(
    ("levels", "channel_mhz", "words"),
    [
        ({"phy": "ofdm", "rate": "12 Mbit/s"}, 5180, "legacy-5 6 9 12"),
        ({"phy": "dsss", "rate": "2 Mbit/s"}, 2437, "legacy-2.4 1 2"),
        ({"phy": "erp", "rate": "9 Mbit/s"}, 2437, "legacy-2.4 1 2 5.5 6 9"),
        ({"phy": "ht", "rate": "mcs2"}, 5180, "ht-mcs-5 0 1 2 lgi-5"),
        # 2 streams of MCS 1 (a bit per subcarrier) are as fast as one stream of MCS 3.
        ({"phy": "ht", "rate": "mcs9", "gi": "short"}, 2437, "ht-mcs-2.4 0 1 2 3 8 9 sgi-2.4"),
        ({"phy": "vht", "rate": "mcs2", "bandwidth": 80, "streams": 2}, 5180, "vht-mcs-5 1:0-4 2:0-2 lgi-5"),
    ],
)
def test_minstrel_chooses_among_the_rates_up_to_the_cells(
    cell: Callable[..., Cell], levels: dict[str, object], channel_mhz: int, words: str
) -> None:
    assert minstrel.up_to(cell(**levels), channel_mhz) == words.split()


@pytest.mark.parametrize(
    ("levels", "channel_mhz", "words"),
    [
        ({"phy": "ofdm", "rate": "54 Mbit/s"}, 5180, "legacy-5 24 54"),
        ({"phy": "ofdm", "rate": "12 Mbit/s"}, 5180, "legacy-5 12"),
        ({"phy": "dsss", "rate": "11 Mbit/s"}, 2437, "legacy-2.4 2 11"),
        ({"phy": "erp", "rate": "54 Mbit/s"}, 2437, "legacy-2.4 2 54"),
        ({"phy": "ht", "rate": "mcs9", "gi": "short"}, 2437, "ht-mcs-2.4 9 sgi-2.4"),
        ({"phy": "ht", "rate": "mcs7", "streams": 2}, 5180, "ht-mcs-5 15 lgi-5"),
        ({"phy": "vht", "rate": "mcs9", "bandwidth": 80, "streams": 2}, 5180, "vht-mcs-5 2:9 lgi-5"),
    ],
)
def test_radios_of_the_machine_are_limited_to_the_rate_of_the_cell(
    cell: Callable[..., Cell], levels: dict[str, object], channel_mhz: int, words: str
) -> None:
    assert minstrel.only(cell(**levels), channel_mhz) == words.split()


def test_rates_of_minstrel_have_the_speeds_of_the_standard() -> None:
    found = {row.rate.phy_rate: row.attempts for row in minstrel.rows(RATES)}
    assert {str(rate): attempts for rate, attempts in found.items()} == {
        "11 Mbit/s": 5,
        "54 Mbit/s": 0,
        "300 Mbit/s, mcs15, streams 2, 40 MHz": 4,
        "390 Mbit/s, mcs9, streams 1, 80 MHz": 7,
    }


@pytest.mark.parametrize(
    ("levels", "mbps"),
    [
        ({"phy": "dsss", "rate": "5.5 Mbit/s"}, 5.5),
        ({"phy": "ofdm", "rate": "6 Mbit/s"}, 6),
        ({"phy": "ht", "rate": "mcs9", "bandwidth": 40, "gi": "short"}, 60),
        ({"phy": "vht", "rate": "mcs8", "bandwidth": 80, "streams": 3}, 1053),
    ],
)
def test_the_rate_of_a_cell_has_the_speed_of_the_standard(
    cell: MakeCell, levels: dict[str, Any], mbps: float
) -> None:
    assert minstrel.rate_of(cell(**levels)).phy_rate.bit_per_s == pytest.approx(mbps * 1e6)
