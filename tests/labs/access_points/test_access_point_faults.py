"""The access point has its earlier settings after any fault, and no process has shown a secret."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import access_point_hosts
import openwrt_stand_in
import pytest
from access_point_hosts import BEFORE, GUARD, SECRETS, inventory, reach

from airtoll.labs import journal
from airtoll.labs.journal import HostJournal

HOOK = """#!/bin/sh
{python} -I -S {stand_in} {state} hook || exit 1
cd {state} || exit
case $AIRTOLL_ACTION in
apply) [ -e earlier ] || cp etc/config/wireless earlier; cat > given; env > environment; echo x > etc/config/wireless ;;
restore) if [ -e earlier ]; then mv earlier etc/config/wireless; fi ;;
esac
"""

STEPS = 21
"""The commands of a measurement that switches OpenWrt twice and restores it: uci show, changes, batch and commit, wifi,
ubus until the network is up twice in a row; then wifi for the restored configuration, and ubus for the guard."""

LOADS = STEPS - 1
"""The command by which OpenWrt loads the restored configuration."""

FAULTS = [
    *({str(step): "controller"} for step in (1, 6, LOADS)),
    *({str(step): "agent"} for step in (5, LOADS)),
    {"14": "worker"},
    *({str(step): "fail"} for step in (1, 6, LOADS)),
    {"6": "controller", "7": "fail"},  # and the agent's reload fails
    {"6": "fail", "7": "controller"},
]
MORE_FAULTS = [
    *({str(step): "controller"} for step in (2, 3, 4, 5, 10, 12, 13, 14, 15)),
    *({str(step): "agent"} for step in (2, 3, 4, 6, 12, 13, 14)),
    *({str(step): "worker"} for step in (3, 5, LOADS, STEPS)),
    *({str(step): "fail"} for step in (3, 4, 5, 13)),
]


WHAT = ("controller", "agent", "worker", "fail")


def measure(state: Path, kind: str, faults: Mapping[str, str]) -> None:
    """Run a controller until it ends, and wait until no agent of its hosts is left."""
    (state / "faults.json").write_text(json.dumps(faults))
    command = [sys.executable, access_point_hosts.__file__, str(state), kind]
    done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    killed = "controller" in faults.values()
    assert done.returncode == (-signal.SIGKILL if killed else 0), done.stderr
    agent = Path("/proc") / (state / "agent.pid").read_text()
    until_s = time.monotonic() + 60
    while agent.exists() and time.monotonic() < until_s:
        time.sleep(0.02)
    assert not agent.exists()
    (state / "faults.json").write_text("{}")


def assert_restored(state: Path, running: str) -> None:
    """The next controller leaves the access point in its state before the first controller."""
    host = reach(state, "ap")
    with HostJournal(inventory(state)) as opened:
        assert opened.replay(lambda _: host) == []
        assert opened.pending() == []
    host.connection.close()
    file = state / "etc" / "config" / "wireless"
    assert file.read_bytes() == BEFORE
    assert file.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in file.parent.iterdir()] == ["wireless"]
    assert not any((state / part).exists() for part in GUARD)
    assert not (state / "deltas").exists()
    assert (state / "running.json").read_text() == running
    assert (state / "leaks").read_text() == ""
    kept = [entry for entry in journal.folder(inventory(state)).iterdir() if entry.name != "lock"]
    assert kept == []


@pytest.mark.parametrize(
    "faults",
    [*FAULTS, *(pytest.param(faults, marks=pytest.mark.long) for faults in MORE_FAULTS)],
    ids=lambda faults: "-".join(f"{k}{v}" for k, v in faults.items()),
)
def test_openwrt_is_restored(state: Path, faults: Mapping[str, str]) -> None:
    running = (state / "running.json").read_text()
    measure(state, "openwrt", faults)
    if not {"agent", "fail"} & set(
        faults.values()
    ):  # then the agent has restored its host without a controller
        assert (state / "etc" / "config" / "wireless").read_bytes() == BEFORE
        assert (state / "running.json").read_text() == running
    assert_restored(state, running)


def test_the_faults_cover_all_commands(state: Path) -> None:
    measure(state, "openwrt", {})
    assert len((state / "count").read_text()) == STEPS
    assert (state / "etc" / "config" / "wireless").read_bytes() == BEFORE


@pytest.mark.parametrize(
    "faults",
    [
        {},
        *({step: what} for step in "23" for what in WHAT),
        *(pytest.param({"1": what}, marks=pytest.mark.long) for what in WHAT),
    ],
    ids=str,
)
def test_a_hook_restores_its_access_point(state: Path, faults: Mapping[str, str]) -> None:
    running = (state / "running.json").read_text()
    hook = state / "bin" / "hook"
    words = {"python": sys.executable, "stand_in": openwrt_stand_in.__file__, "state": state}
    hook.write_text(HOOK.format(**{name: shlex.quote(str(word)) for name, word in words.items()}))
    hook.chmod(0o755)
    measure(state, "hook", faults)
    if not faults:
        given = json.loads((state / "given").read_text())
        assert (given["action"], given["level"], given["secret"]) == ("apply", "sae", SECRETS["sae"])
        environment = (state / "environment").read_text().splitlines()
        for line in ("AIRTOLL_SSID=Bob's lab", "AIRTOLL_WPA_KEY_MGMT=SAE", "AIRTOLL_RSN_PAIRWISE=CCMP"):
            assert line in environment
    assert_restored(state, running)
