"""The configuration of OpenWrt for each level, and its restoration."""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import openwrt_stand_in
import pytest
from access_point_hosts import BEFORE, SECTION, inventory, network, reach

from airtoll.agent.connection import LostError
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.labs.access_points.base import ShellHost
from airtoll.labs.access_points.openwrt import _CHANGE, _RESTORE, OpenWrt, encryption, parse
from airtoll.labs.journal import HostJournal
from airtoll.labs.network import Network
from airtoll.study.security import SecurityProfile


@pytest.fixture
def journal(state: Path) -> Iterator[HostJournal]:
    with HostJournal(inventory(state)) as journal:
        yield journal


@pytest.fixture
def host(state: Path) -> Iterator[AgentHost]:
    host = reach(state, "ap")
    yield host
    host.connection.close()


def options(state: Path, section: str) -> dict[str, str | list[str]]:
    sections = openwrt_stand_in.parse((state / "etc" / "config" / "wireless").read_text())
    return dict(openwrt_stand_in.named(sections))[section].options


def config(state: Path) -> str:
    return str(state / "etc" / "config" / "wireless")


@pytest.mark.parametrize(
    ("level", "word"),
    [
        ("open", "none"),
        ("wep40", "wep-open"),
        ("wep104", "wep-open"),
        ("tkip", "psk+tkip"),
        ("ccmp", "psk2+ccmp"),
        ("ccmp256", "psk2+ccmp256"),
        ("gcmp", "psk2+gcmp"),
        ("gcmp256", "psk2+gcmp256"),
        ("sae", "sae+ccmp"),
        ("owe", "owe+ccmp"),
        ("wpa3-transition", "sae-mixed+ccmp"),
    ],
)
def test_every_level_has_its_word(level: str, word: str) -> None:
    assert encryption(network(level)) == word


def test_mixed_ciphers_have_their_word() -> None:
    profile = SecurityProfile(pairwise=("tkip", "ccmp"))
    assert encryption(network("mixed", profile, phy="ofdm", bandwidth_mhz=20)) == "psk-mixed+tkip+ccmp"


def test_the_network_is_offered_and_the_file_restored(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    point = OpenWrt(host, journal, SECTION, root=str(state))
    facts = point.switch(network("ccmp"))
    assert facts == {
        "kind": "openwrt",
        "interface": "phy0-ap3",
        "program": None,
        "encryption": "psk2+ccmp",
        "htmode": "VHT80",
        "other_networks": 0,
    }
    own = options(state, SECTION)
    marker = own.pop("airtoll")
    assert own == {
        "device": "radio1",
        "network": "lan",
        "mode": "ap",
        "ssid": "Bob's lab",
        "encryption": "psk2+ccmp",
        "disabled": "0",
        "wmm": "1",
        "ieee80211w": "0",
        "key": "it's the first secret",
    }
    radio = options(state, "radio1")
    assert {name: radio[name] for name in ("channel", "htmode", "country", "beacon_int")} == {
        "channel": "44",
        "htmode": "VHT80",
        "country": "DE",
        "beacon_int": "100",
    }
    assert options(state, "radio0")["channel"] == "1"

    point.switch(network("wep104", phy="ofdm", bandwidth_mhz=20))
    own = options(state, SECTION)
    assert (own["encryption"], own["key"], own["key1"]) == ("wep-open", "1", "0123456789abcdef0123456789")
    assert options(state, "radio1")["htmode"] == "NOHT"

    point.switch(network("sae"))
    own = options(state, SECTION)
    assert "key1" not in own
    assert own["hostapd_bss_options"] == ["sae_pwe=1", "sae_groups=19"]
    assert own["ieee80211w"] == "2"
    assert own["airtoll"] == marker

    point.switch(network("wpa3-transition"))
    assert options(state, SECTION)["hostapd_bss_options"] == [
        "wpa_key_mgmt=WPA-PSK SAE",
        "sae_pwe=1",
        "sae_groups=19",
    ]
    point.restore()
    file = state / "etc" / "config" / "wireless"
    assert file.read_bytes() == BEFORE
    assert file.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in (state / "etc" / "config").iterdir()] == ["wireless"]
    assert journal.pending() == []
    point.restore()


def test_a_measurement_has_a_name_and_a_network_of_its_own(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    (state / "etc" / "config" / "network").write_text("config interface 'airtoll'\n\toption proto 'none'\n")
    point = OpenWrt(host, journal, root=str(state))
    facts = point.switch(network("open"))
    assert facts["other_networks"] == 1
    own = options(state, "airtoll")
    assert {name: own[name] for name in ("device", "network", "mode", "ssid", "encryption")} == {
        "device": "radio1",
        "network": "airtoll",
        "mode": "ap",
        "ssid": "Bob's lab",
        "encryption": "none",
    }
    assert options(state, SECTION)["encryption"] == "sae-mixed"
    point.switch(network("ccmp"))
    assert options(state, "airtoll")["encryption"] == "psk2+ccmp"
    point.restore()
    assert (state / "etc" / "config" / "wireless").read_bytes() == BEFORE


def test_a_host_without_an_agent_is_reached_through_another_host(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    shell = ShellHost("router", host, ["sh", "-c"])
    point = OpenWrt(shell, journal, SECTION, root=str(state))
    point.switch(network("ccmp"))
    assert options(state, SECTION)["key"] == "it's the first secret"
    host.connection.close()
    assert (state / "etc" / "config" / "wireless").read_bytes() == BEFORE


def test_a_host_whose_shell_has_no_connection_is_lost(host: AgentHost, journal: HostJournal) -> None:
    shell = ShellHost("router", host, ["sh", "-c", "echo 'ssh: no route to host' >&2; exit 255"])
    with pytest.raises(LostError, match="host router: ssh: no route to host"):
        OpenWrt(shell, journal, SECTION).switch(network("ccmp"))


def test_a_file_that_its_owner_replaced_is_left_alone(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    point = OpenWrt(host, journal, SECTION, root=str(state))
    point.switch(network("ccmp"))
    (state / "etc" / "config" / "wireless").write_text("config wifi-device 'new'\n")
    point.restore()
    assert (state / "etc" / "config" / "wireless").read_text() == "config wifi-device 'new'\n"


def test_a_measurement_goes_on_after_the_agent_was_killed(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    OpenWrt(host, journal, SECTION, root=str(state)).switch(network("ccmp"))
    os.kill(host.connection._transport.pid, signal.SIGKILL)
    new = reach(state, "ap")
    point = OpenWrt(new, journal, SECTION, root=str(state))
    point.switch(network("sae"))
    point.restore()
    new.connection.close()
    assert (state / "etc" / "config" / "wireless").read_bytes() == BEFORE
    assert journal.pending() == []


def test_links_of_other_users_of_the_router_are_not_followed(state: Path, tmp_path: Path) -> None:
    """They can read the mark of a measurement among the arguments, and create links in /tmp."""
    mark, mine = f"airtoll-{secrets.token_hex(8)}", tmp_path / "mine"
    mine.write_text("mine")
    links = [Path(f"/tmp/{mark}{end}") for end in ("", ".errors", ".flag")]  # noqa: S108
    for link in links:
        link.symlink_to(tmp_path / "missing" if link.suffix == ".flag" else mine)
    theirs = [Path(f"/tmp/{mark}.{kind}.theirs") for kind in ("change", "restored")]  # noqa: S108
    if os.geteuid() == 0:
        for folder in theirs:
            folder.mkdir()
            os.chown(folder, 65534, 65534)
    env = {**os.environ, "PATH": f"{state / 'bin'}:{os.environ['PATH']}"}

    def run(script: str, arguments: list[str], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        argv = ["sh", "-c", script, "sh", *arguments]
        return subprocess.run(argv, input=stdin, env=env, capture_output=True, check=False)

    try:
        done = run(_CHANGE, [mark], b"set wireless.nowhere.ssid='x'\n")
        assert (done.returncode, done.stderr) == (1, b"uci: Invalid argument\n\n")
        assert run(_CHANGE, [mark], f"set wireless.{SECTION}.airtoll='{mark}'\n".encode()).returncode == 0
        assert options(state, SECTION)["airtoll"] == mark
        restore = [config(state), mark, str(len(BEFORE)), str(state / "etc" / "airtoll-guard")]
        running = (state / "running.json").read_text()
        openwrt_stand_in.wifi(state, ["reload"])
        wifi = state / "bin" / "wifi"
        wifi.rename(state / "bin" / "kept")
        assert run(_RESTORE, restore, BEFORE).returncode != 0  # OpenWrt does not load the restored file
        (state / "bin" / "kept").rename(wifi)
        assert run(_RESTORE, restore, BEFORE).returncode == 0
        assert Path(config(state)).read_bytes() == BEFORE
        assert (state / "running.json").read_text() == running
        assert mine.read_text() == "mine"
        assert not (tmp_path / "missing").exists()
        # rm of BusyBox follows a link that replaces a folder meanwhile.
        kept = [*links, *(theirs if os.geteuid() == 0 else ())]
        assert sorted(Path("/tmp").glob(f"{mark}*")) == sorted(kept)  # noqa: S108
    finally:
        for link in links:
            link.unlink(missing_ok=True)
        for folder in theirs:
            shutil.rmtree(folder, ignore_errors=True)


def test_a_host_without_the_file_is_not_taken_for_restored(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    OpenWrt(host, journal, SECTION, root=str(state)).switch(network("ccmp"))
    (state / "etc" / "config" / "wireless").rename(state / "elsewhere")
    (state / "etc" / "airtoll-guard").rename(state / "guard")  # another router answers at this address
    other = reach(state, "ap")
    assert journal.replay(lambda _: other) == [
        f"host ap: restoring the wireless configuration {config(state)}: {config(state)} is missing"
    ]
    assert len(journal.pending()) == 1
    (state / "guard").rename(state / "etc" / "airtoll-guard")
    assert journal.replay(lambda _: other) == []
    other.connection.close()
    assert (state / "etc" / "config" / "wireless").read_bytes() == BEFORE


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            None,
            "OpenWrt has no network 'airtoll', which keeps the measured stations apart from yours: create it "
            "(docs/how-to/control-an-access-point.md), or name one by access_point.network",
        ),
        ("radio0", "has no access point 'radio0'; it has: guests, @wifi-iface[1]"),
        ("guests", "radio0 is a radio of band 2g, and channel 44 is in 5g"),
    ],
)
def test_a_network_that_cannot_be_chosen_is_one_line(
    state: Path, host: AgentHost, journal: HostJournal, section: str | None, message: str
) -> None:
    with pytest.raises(AirtollError, match=r"^host ap: ") as raised:
        OpenWrt(host, journal, section, root=str(state)).switch(network("ccmp"))
    assert str(raised.value).endswith(message)
    assert journal.pending() == []


def test_uncommitted_changes_of_the_owner_are_not_committed(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    host.run(["uci", "set", "wireless.radio1.channel=36"], 10)
    with pytest.raises(
        AirtollError, match="uncommitted changes: uci commit wireless, or uci revert wireless"
    ):
        OpenWrt(host, journal, SECTION, root=str(state)).switch(network("ccmp"))
    assert (state / "etc" / "config" / "wireless").read_bytes() == BEFORE


def test_settings_of_another_measurement_are_not_taken_for_the_owner_s(
    state: Path, host: AgentHost, journal: HostJournal
) -> None:
    OpenWrt(host, journal, SECTION, root=str(state)).switch(network("ccmp"))
    with pytest.raises(AirtollError, match="settings of an interrupted measurement"):
        OpenWrt(host, journal, SECTION, root=str(state)).switch(network("sae"))


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        (
            network("tkip"),
            "security 'tkip': access points turn phy vht off with WEP and TKIP (IEEE Std 802.11-2020, 12.6.3): "
            "use phy ofdm or erp",
        ),
        (
            network("enhanced4"),
            "security 'enhanced4': no access point has Enhanced CCMP; lab air has it",
        ),
        (
            network("wpa2-eap"),
            "security 'wpa2-eap': airtoll does not set up 802.1X on OpenWrt: use an access point of kind hook",
        ),
        (
            network("ccmp", channel=100),
            "channel 100 is subject to radar detection: use a channel from 36 to 48 or from 149",
        ),
        (network("ccmp", channel=6), "channel 6 is in the 2.4 GHz band, which phy vht does not have"),
        (network("ccmp"), None),
    ],
)
def test_unsupported_networks_are_refused(
    host: AgentHost, journal: HostJournal, offered: Network, message: str | None
) -> None:
    assert OpenWrt(host, journal, SECTION).obstacle(offered) == message


def test_the_output_of_uci_show_is_parsed() -> None:
    text = "wireless.a=wifi-iface\nwireless.a.ssid='it'\\''s\n2 lines'\nwireless.a.l='1 2' '3'\nwireless.@b[0]=b\n"
    assert parse(text) == {"a": {"ssid": "it's\n2 lines", "l": ["1 2", "3"]}, "@b[0]": {}}
