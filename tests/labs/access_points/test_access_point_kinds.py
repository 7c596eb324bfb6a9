"""A network, the text of hostapd.conf, the hook, the prompt and a station's report."""

import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from access_point_hosts import SECRETS, inventory, network, reach

from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError, UsageError
from airtoll.labs import hostapd
from airtoll.labs.access_points.hook import Hook
from airtoll.labs.access_points.prompt import Prompt, security
from airtoll.labs.access_points.station import mismatches
from airtoll.labs.journal import HostJournal
from airtoll.study.link import LinkSettings
from airtoll.study.security import READY_MADE


@pytest.fixture
def host(state: Path) -> Iterator[AgentHost]:
    host = reach(state, "controller")
    yield host
    host.connection.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"ssid": ""}, "ssid '': expected 1 to 32 printable octets"),
        ({"ssid": "a\nwpa=0"}, r"ssid 'a\nwpa=0': expected 1 to 32 printable octets"),
        ({"ssid": "ä" * 17}, f"ssid '{'ä' * 17}': expected 1 to 32 printable octets"),
        ({"country": "de"}, "country 'de': expected two capital letters, such as DE"),
        ({"channel": 15}, "channel 15: expected 1 to 14 or 36 to 177"),
        ({"secret": "short"}, "security 'ccmp': its passphrase must be 8 to 63 printable ASCII characters"),
    ],
)
def test_a_network_that_no_access_point_accepts_is_one_line(words: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        network("ccmp", **words)
    assert str(raised.value) == message


def test_a_wep_key_has_the_digits_of_its_length() -> None:
    with pytest.raises(UsageError, match="security 'wep104': its key must be 26 hexadecimal digits"):
        network("wep104", secret=SECRETS["wep40"])


def test_no_representation_of_a_network_shows_its_secret() -> None:
    assert "secret" not in repr(network("ccmp"))


@pytest.mark.parametrize(
    ("channel", "mhz", "secondary", "centre"),
    [
        (36, 5180, 1, 42),
        (40, 5200, -1, 42),
        (48, 5240, -1, 42),
        (52, 5260, 1, 58),
        (144, 5720, -1, 138),
        (149, 5745, 1, 155),
        (161, 5805, -1, 155),
    ],
)
def test_channels_of_the_5_ghz_band(channel: int, mhz: int, secondary: int, centre: int) -> None:
    """IEEE Std 802.11-2020, Table E-4: operating classes 116 to 130."""
    own = network("ccmp", channel=channel)
    assert (own.channel_mhz, own.secondary, own.centre_of_80_mhz) == (mhz, secondary, centre)


def test_channels_of_the_2_4_ghz_band() -> None:
    words: dict[str, Any] = {"phy": "ht", "bandwidth_mhz": 40}
    assert [network("ccmp", channel=channel, **words).channel_mhz for channel in (1, 13, 14)] == [
        2412,
        2472,
        2484,
    ]
    assert [network("ccmp", channel=channel, **words).secondary for channel in (1, 13)] == [1, -1]
    assert network("ccmp", channel=1, phy="erp", bandwidth_mhz=20).secondary == 0


def test_the_text_of_hostapd_conf() -> None:
    folder = Path("/folder")
    text = hostapd.access_point(
        network("wpa3-transition", channel=40),
        interface="wlan7",
        folder=folder,
        control=folder / "c",
        bridge="br0",
    )
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert lines == {
        "interface": "wlan7",
        "driver": "nl80211",
        "ctrl_interface": "/folder/c",
        "bridge": "br0",
        "ssid": "Bob's lab",
        "country_code": "DE",
        "hw_mode": "a",
        "channel": "40",
        "beacon_int": "100",
        "wmm_enabled": "1",
        "ieee80211n": "1",
        "ht_capab": "[HT40-][SHORT-GI-20][SHORT-GI-40]",
        "ieee80211ac": "1",
        "vht_oper_chwidth": "1",
        "vht_oper_centr_freq_seg0_idx": "42",
        "vht_capab": "[SHORT-GI-80][MAX-A-MPDU-LEN-EXP7]",
        "wpa": "2",
        "wpa_key_mgmt": "WPA-PSK SAE",
        "wpa_pairwise": "CCMP",
        "rsn_pairwise": "CCMP",
        "ieee80211w": "1",
        "beacon_prot": "0",
        "sae_pwe": "1",
        "sae_groups": "19",
        "wpa_passphrase": 'a "third" secret',
    }


def test_a_network_without_keys_has_no_secret_in_hostapd_conf() -> None:
    for level in ("open", "owe"):
        text = hostapd.access_point(
            network(level, secret=SECRETS["ccmp"]), interface="w", folder=Path(), control=Path()
        )
        assert SECRETS["ccmp"] not in text


def hook(state: Path, script: str) -> list[str]:
    file = state / "own-hook"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return [str(file)]


def test_a_failing_hook_is_one_line_without_the_secret(state: Path, host: AgentHost) -> None:
    with HostJournal(inventory(state)) as journal:
        script = '[ "$AIRTOLL_ACTION" = restore ] || { read -r given; echo "cannot: $given" >&2; exit 3; }'
        point = Hook(host, hook(state, script), journal)
        with pytest.raises(AirtollError) as raised:
            point.switch(network("sae"))
        assert str(raised.value).startswith(f"hook {state}/own-hook: exit status 3: cannot: ")
        assert "second secret" not in str(raised.value)
        assert len(journal.pending()) == 1
        point.restore()
        assert journal.pending() == []


def test_a_missing_hook_is_one_line(state: Path, host: AgentHost) -> None:
    with (
        HostJournal(inventory(state)) as journal,
        pytest.raises(UsageError, match="hook: 'no-such-program' is not a program of this machine"),
    ):
        Hook(host, ["no-such-program"], journal)


def test_the_prompt_names_the_settings_and_not_the_secret() -> None:
    said: list[str] = []
    point = Prompt(said.append)
    point.switch(network("sae", bandwidth_mhz=40))
    point.restore()
    point.restore()
    settings = (
        "  Network name (SSID):           Bob's lab\n"
        "  Security:                      WPA3-Personal, AES\n"
        "  Password:                      the passphrase in the inventory\n"
        "  Protected management frames:   required\n"
        "  Wireless mode:                 ac\n"
        "  Channel:                       44\n"
        "  Channel width:                 40 MHz\n"
        "  Guard interval:                short\n"
        "  Beacon interval:               100 TU (often called ms)\n"
    )
    assert said == [
        f"Set on the access point:\n{settings}Press Enter when the access point has restarted: ",
        "Set the access point back to its earlier settings. airtoll asked you to set:\n"
        f"{settings}Then let stations join their earlier network again, and press Enter: ",
    ]


@pytest.mark.parametrize(
    ("level", "name"),
    [
        ("open", "none (open)"),
        ("wep40", "WEP, 64 bits, open system"),
        ("tkip", "WPA-Personal, TKIP"),
        ("ccmp", "WPA2-Personal, AES"),
        ("gcmp256", "WPA2-Personal, GCMP-256"),
        ("owe", "Enhanced Open (OWE), AES"),
        ("wpa3-transition", "WPA2/WPA3-Personal, AES"),
        ("wpa2-eap", "WPA2-Enterprise, AES"),
        ("wpa3-eap", "WPA3-Enterprise, AES"),
        ("wpa3-192", "WPA3-Enterprise 192-bit, GCMP-256"),
    ],
)
def test_levels_have_the_names_of_access_points(level: str, name: str) -> None:
    assert security(READY_MADE[level].on(LinkSettings())) == name


def test_the_prompt_without_a_terminal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    with pytest.raises(UsageError, match=r"the access point is set by hand .* requires a terminal"):
        Prompt().switch(network("ccmp"))


REPORT = {
    "ssid": "Bob's lab",
    "bssid": "02:00:00:00:00:00",
    "cipher": "ccmp",
    "group_cipher": "CCMP",
    "wpa_key_mgmt": "sae",
    "ieee80211w": True,
    "frequency_mhz": 5220,
    "bandwidth_mhz": 80,
    "eap": None,
}


def test_a_report_of_the_network_asked_for_has_no_mismatch() -> None:
    assert mismatches(network("wpa3-transition"), REPORT) == []


def test_every_difference_is_named() -> None:
    found = {
        **REPORT,
        "cipher": "tkip",
        "group_cipher": "TKIP",
        "wpa_key_mgmt": "wpa-psk",
        "ieee80211w": False,
        "frequency_mhz": 5180,
        "bandwidth_mhz": 20,
    }
    assert mismatches(network("sae"), found) == [
        "cipher is tkip, expected ccmp",
        "group_cipher is TKIP, expected CCMP",
        "wpa_key_mgmt is wpa-psk, expected sae",
        "ieee80211w is false, expected true",
        "frequency_mhz is 5180, expected 5220",
        "bandwidth_mhz is 20, expected 80",
    ]
    assert mismatches(replace(network("sae"), ssid="other"), REPORT) == ["ssid is Bob's lab, expected other"]
