"""Reports of stations with macOS and Windows, in documented forms (`agentless_stand_in`)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from access_point_hosts import network
from agentless_stand_in import MAC, WINDOWS

from airtoll.errors import AirtollError
from airtoll.labs.access_points.agentless import of_macos, of_windows
from airtoll.labs.access_points.station import mismatches


def mac(**words: Any) -> str:
    """The report of a Mac with other words about its network."""
    copy = json.loads(json.dumps(MAC))
    own = copy["SPAirPortDataType"][0]["spairport_airport_interfaces"][0]
    own["spairport_current_network_information"] |= words
    return json.dumps(copy)


def test_a_mac_reports_channel_width_and_key_management() -> None:
    assert of_macos(json.dumps(MAC), "en0") == {
        "security_reported": "wpa2_personal",
        "wpa_key_mgmt": "wpa-psk",
        "frequency_mhz": 5180,
        "bandwidth_mhz": 80,
    }


@pytest.mark.parametrize(
    ("mode", "facts"),
    [
        ("spairport_security_mode_none", {"cipher": "open", "wpa_key_mgmt": None}),
        ("spairport_security_mode_wpa3_personal", {"wpa_key_mgmt": "sae"}),
        ("spairport_security_mode_wpa3_transition", {}),
        ("pairport_security_mode_wpa3_transition", {"security_reported": "wpa3_transition"}),
    ],
)
def test_the_security_of_a_mac(mode: str, facts: dict[str, Any]) -> None:
    found = of_macos(mac(spairport_security_mode=mode), "en0")
    assert found is not None
    assert facts.items() <= found.items()
    if "wpa_key_mgmt" not in facts:
        assert "wpa_key_mgmt" not in found


def test_a_mac_without_a_network() -> None:
    assert of_macos(json.dumps(MAC), "awdl0") is None
    with pytest.raises(AirtollError, match=r"^system_profiler does not report an interface en7$"):
        of_macos(json.dumps(MAC), "en7")
    for text in ("zsh: command not found", "[]"):
        with pytest.raises(AirtollError, match=r"^system_profiler: "):
            of_macos(text, "en0")


def test_windows_reports_cipher_and_channel() -> None:
    found = {
        "security_reported": "WPA2-Personal, CCMP",
        "ssid": "airtoll",
        "bssid": "02:00:5e:10:00:02",
        "wpa_key_mgmt": "wpa-psk",
        "cipher": "ccmp",
        "frequency_mhz": 5180,
    }
    assert of_windows(WINDOWS, "Wi-Fi") == found
    older = WINDOWS.replace("AP BSSID", "BSSID   ").replace("    Band                   : 5 GHz\n", "")
    assert of_windows(older.replace("\n", "\r\n"), "Wi-Fi") == found


def test_channels_of_the_6_ghz_band_are_not_those_of_the_others() -> None:
    found = of_windows(WINDOWS.replace("5 GHz", "6 GHz"), "Wi-Fi")
    assert found is not None
    assert "frequency_mhz" not in found


def test_windows_without_a_network() -> None:
    assert of_windows(WINDOWS.replace(": connected", ": disconnected"), "Wi-Fi") is None
    german = WINDOWS.replace("State ", "Status")
    for text, interface in ((german, "Wi-Fi"), (WINDOWS, "Ethernet"), ("", "Wi-Fi")):
        with pytest.raises(AirtollError, match=f"netsh does not report an interface {interface} in English"):
            of_windows(text, interface)


def test_only_reported_values_are_compared() -> None:
    asked = replace(network("ccmp"), ssid="airtoll", channel=36)
    for found in (of_macos(json.dumps(MAC), "en0"), of_windows(WINDOWS, "Wi-Fi")):
        assert found is not None
        assert mismatches(asked, found) == []
        assert mismatches(replace(network("sae"), ssid="airtoll", channel=40), found) == [
            "wpa_key_mgmt is wpa-psk, expected sae",
            "frequency_mhz is 5180, expected 5200",
        ]
