"""A study of lab hosts on radios of a guest, in which the access point and the station fail in runs."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from guest_script import run_script
from own_access_point_study import FAULTS

from airtoll.guest import recipe
from airtoll.host import SYSTEM_PATH
from airtoll.labs.base import lab_lacks
from airtoll.labs.linux import Linux

PROGRAM = Path(__file__).with_name("own_access_point_study.py")

SCRIPT = """
iw reg set DE
timeout 10 sh -c 'until iw reg get | grep -q "country DE"; do sleep 0.05; done'
export PYTHONPATH={path} XDG_STATE_HOME=/run/job/state
{python} {program} > /run/job/outcome 2> /run/job/errors
"""


@pytest.fixture(scope="module")
def outcome(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The object that the program in the guest printed."""
    packages = {
        "wpa_cli": "wpasupplicant",
        "hostapd_cli": "hostapd",
        "iperf3": "iperf3",
        "tcpdump": "tcpdump",
    }
    if (reason := Linux().missing() or lab_lacks("linux", packages, SYSTEM_PATH)) is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("study")
    script = SCRIPT.format(path=":".join(sys.path), python=sys.executable, program=PROGRAM)
    run_script(kernel, script, folder, radios=2)
    said = (folder / "job" / "outcome").read_text()
    assert said, (folder / "job" / "errors").read_text()
    found: dict[str, Any] = json.loads(said)
    return found


def test_a_run_without_a_fault_is_valid(outcome: dict[str, Any]) -> None:
    assert outcome["reasons"]["none"] == [[]]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_with_a_fault_is_invalid_and_repeated(outcome: dict[str, Any], fault: str) -> None:
    first, *_, last = outcome["reasons"][fault]
    name = "host lost: " if fault == "restart_access_point" else "link changed: "
    assert first[0].startswith(name), first
    assert last == []


def test_a_monitor_captures_the_encrypted_frames_of_valid_runs(outcome: dict[str, Any]) -> None:
    # 2 Mbit/s for 1 s are 976 datagrams of 256 octets.
    assert len(outcome["captured"]) == 1 + len(FAULTS)
    assert min(outcome["captured"]) > 976
    assert outcome["remaining"] == []


def test_the_interfaces_are_as_before(outcome: dict[str, Any]) -> None:
    assert outcome["after"] == outcome["before"]
