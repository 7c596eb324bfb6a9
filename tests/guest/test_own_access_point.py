"""Access points and stations of real hosts: hostapd and wpa_supplicant on radios of a guest, through agents."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guest_script import run_script
from own_access_point import LEVELS

from airtoll.guest import recipe
from airtoll.host import SYSTEM_PATH
from airtoll.labs.base import lab_lacks
from airtoll.labs.linux import Linux

PROGRAM = Path(__file__).with_name("own_access_point.py")

SCRIPT = """
iw reg set DE
timeout 10 sh -c 'until iw reg get | grep -q "country DE"; do sleep 0.05; done'
ip link set wlan1 up
XDG_STATE_HOME=/run/job/state {python} {program} > /run/job/outcomes 2> /run/job/errors
"""


@pytest.fixture(scope="module")
def outcomes(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The objects that the program in the guest printed."""
    if (
        reason := Linux().missing() or lab_lacks("linux", {"wpa_cli": "wpasupplicant"}, SYSTEM_PATH)
    ) is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("own")
    run_script(kernel, SCRIPT.format(python=sys.executable, program=PROGRAM), folder, clock="real", radios=2)
    lines = (folder / "job" / "outcomes").read_text().splitlines()
    assert len(lines) == len(LEVELS) + 3, (folder / "job" / "errors").read_text()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def last(outcomes: list[dict[str, Any]]) -> Callable[[str], Any]:
    """A value of the objects after those of the levels."""
    found = {name: value for outcome in outcomes[len(LEVELS) :] for name, value in outcome.items()}
    return found.__getitem__


@pytest.mark.parametrize("level", LEVELS)
def test_the_station_reports_the_network_that_was_asked_for(
    outcomes: list[dict[str, Any]], level: str
) -> None:
    outcome = outcomes[LEVELS.index(level)]
    assert outcome["obstacle"] is None
    assert "error" not in outcome, outcome
    assert outcome["mismatches"] == []
    assert outcome["access_point"]["program"].startswith("hostapd 2.")
    report = outcome["station"]
    is_old = level in ("wep104", "tkip")
    assert (report["frequency_mhz"], report["bandwidth_mhz"]) == (5220, 20 if is_old else 80)
    assert report["ssid"] == 'Zoé\'s "lab"'


def test_a_station_that_joins_by_itself_is_awaited_after_each_change(last: Callable[[str], Any]) -> None:
    found = last("by_hand")
    assert found["own"] == []
    assert found["other"] == []
    assert found["none"][0].startswith("host sta: wpa_cli on wlan1: ")


def test_the_interfaces_are_as_before(last: Callable[[str], Any]) -> None:
    assert last("before") == ["wlan0 type managed down", "wlan1 type managed up", "country DE"]
    assert last("after") == last("before")
    assert last("pending") == 0


@pytest.mark.parametrize("who", ["killed", "all_killed"])
def test_the_interfaces_are_as_before_after_airtoll_was_killed(last: Callable[[str], Any], who: str) -> None:
    killed = last(who)
    assert killed["during"] == ["wlan0 type AP up", "wlan1 type managed up", "country US"]
    if who == "killed":  # the agents alone restore their hosts
        assert killed["alone"] == last("before")
    assert killed["after"] == last("before")
    assert (killed["failures"], killed["pending"]) == ([], 0)


def test_a_measurement_goes_on_after_its_agents_were_killed(last: Callable[[str], Any]) -> None:
    assert last("lost") == {"mismatches": [], "after": last("before"), "pending": 0}


def test_no_process_showed_a_secret(last: Callable[[str], Any]) -> None:
    assert last("leaks") == []
