"""The guard on a router with OpenWrt restores the configuration after any loss: controller, power, space on flash."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import openwrt_stand_in
import pytest
from access_point_hosts import BEFORE, GUARD, SECTION, inventory, network, reach

from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.labs.access_points.openwrt import OpenWrt
from airtoll.labs.journal import HostJournal

COMMANDS = ("rm", "sync", "mv", "grep", "wifi", "ubus")
"""The commands of a restoration."""

FULL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from access_point_hosts import inventory, network, reach, SECTION
from airtoll.errors import AirtollError
from airtoll.labs.access_points.openwrt import OpenWrt
from airtoll.labs.journal import HostJournal
state = Path(sys.argv[2])

def fill():
    with (state / "etc" / "filler").open("wb", 0) as file:
        size = 4096
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2

with HostJournal(inventory(state)) as journal:
    host = reach(state, "ap")
    point = OpenWrt(host, journal, SECTION, root=str(state))
    if sys.argv[3] == "before":
        fill()
    try:
        point.switch(network("open"))
        fill()
        point.switch(network("ccmp"))
    except AirtollError as error:
        print(error)
    point.restore()
    host.connection.close()
    print(len(journal.pending()), "pending")
print((state / "etc" / "config" / "wireless").read_bytes() == Path(sys.argv[4]).read_bytes())
print(sorted(str(file.relative_to(state)) for file in (state / "etc").rglob("*") if file.is_file()))
"""


class Router:
    """A router whose procd runs."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.running = (state / "running.json").read_text()
        self.boot()

    def boot(self) -> None:
        path = f"{self.state / 'bin'}:{os.environ['PATH']}"
        self.procd = subprocess.Popen(
            [self.state / "bin" / "procd"],
            stdout=subprocess.PIPE,
            env={**os.environ, "PATH": path},
            start_new_session=True,
        )
        assert self.procd.stdout is not None
        assert self.procd.stdout.readline() == b"booted\n"

    def power_off(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.procd.pid, signal.SIGKILL)
        self.procd.communicate()

    def reboot(self) -> None:
        self.power_off()
        self.boot()

    def is_restored(self) -> bool:
        """Whether the configuration is the earlier one, OpenWrt has loaded it, and nothing is left of the guard."""
        return self.has_earlier() and not self.left()

    def has_earlier(self) -> bool:
        """Whether the configuration is the earlier one, and OpenWrt has loaded it."""
        return (self.state / "etc/config/wireless").read_bytes() == BEFORE and (
            self.state / "running.json"
        ).read_text() == self.running

    def left(self) -> set[str]:
        """The parts of the guard that exist."""
        return {part for part in GUARD if (self.state / part).exists()}


@pytest.fixture
def router(state: Path) -> Iterator[Router]:
    made = Router(state)
    yield made
    made.power_off()


@pytest.fixture
def host(state: Path) -> Iterator[AgentHost]:
    """The router, through an agent."""
    reached = reach(state, "ap")
    yield reached
    reached.connection.close()


@pytest.fixture
def journal(state: Path) -> Iterator[HostJournal]:
    with HostJournal(inventory(state)) as journal:
        yield journal


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    until_s = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.02)
    return True


def opened(host: AgentHost, journal: HostJournal, limit_s: int = 180) -> OpenWrt:
    """The access point, which offers an open network."""
    point = OpenWrt(host, journal, SECTION, root=str(host_root(journal)))
    point._guard = replace(point._guard, limit_s=limit_s, look_s=0.05)
    point.switch(network("open"))
    return point


def host_root(journal: HostJournal) -> Path:
    return journal._inventory.parent


def lose(host: AgentHost) -> None:
    """The controller and its agents have no power: nothing there can restore anything."""
    assert host.connection._hello is not None
    for pid in (host.connection._transport.pid, host.connection._hello.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_router_whose_controller_is_lost_restores_itself(
    router: Router, state: Path, host: AgentHost, journal: HostJournal
) -> None:
    opened(host, journal, limit_s=2)
    lose(host)
    assert within(60, router.is_restored)
    again = reach(state, "ap")
    assert journal.replay(lambda _: again) == []
    again.connection.close()
    assert router.is_restored()


def test_heartbeats_keep_the_network(
    router: Router, state: Path, host: AgentHost, journal: HostJournal
) -> None:
    limit_s = 8
    point = opened(host, journal, limit_s)
    beat = state / "var/run/airtoll-guard/beat"
    first_s = int(beat.read_text())
    assert within(60, lambda: int(beat.read_text()) > first_s + limit_s)
    assert point.is_up()
    point.restore()
    assert router.is_restored()


def test_a_router_that_reboots_after_its_controller_was_lost_restores_itself_at_boot(
    router: Router, host: AgentHost, journal: HostJournal
) -> None:
    opened(host, journal)
    lose(host)
    assert not router.is_restored()
    router.reboot()
    assert router.is_restored()


def test_a_measurement_goes_on_after_the_router_has_rebooted(
    router: Router, host: AgentHost, journal: HostJournal
) -> None:
    point = opened(host, journal)
    router.reboot()
    assert not point.is_up()
    point.switch(network("ccmp"))
    assert point.is_up()
    point.restore()
    assert router.is_restored()
    assert journal.pending() == []


def test_a_restoration_that_fails_is_repeated(
    router: Router, state: Path, host: AgentHost, journal: HostJournal
) -> None:
    wifi = state / "bin" / "wifi"
    wifi.rename(state / "bin" / "kept")
    failures = state / "failures"
    wifi.write_text(
        f"#!/bin/sh\n[ -e {state}/lost ] && [ ! -e {failures}2 ] || exec {state}/bin/kept reload\n"
        f"mv {failures} {failures}2 2>/dev/null || touch {failures}\nexit 1\n"
    )
    wifi.chmod(0o755)
    opened(host, journal, limit_s=2)
    (state / "lost").touch()
    lose(host)
    assert within(60, router.is_restored)
    assert (state / "failures2").exists()


def test_a_configuration_that_its_owner_replaced_is_left_alone(
    router: Router, state: Path, host: AgentHost, journal: HostJournal
) -> None:
    opened(host, journal)
    lose(host)
    (state / "etc/config/wireless").write_text("config wifi-device 'new'\n")
    router.reboot()
    assert (state / "etc/config/wireless").read_text() == "config wifi-device 'new'\n"
    assert not any((state / part).exists() for part in GUARD)


def test_a_power_failure_at_any_step_of_a_restoration_is_repaired_at_boot(
    router: Router, state: Path, host: AgentHost, journal: HostJournal
) -> None:
    cut = state / "cut"
    cut.mkdir()
    for name in COMMANDS:
        own = state / "bin" / name
        program = own if own.exists() else shutil.which(name)
        (cut / name).write_text(
            f"#!/bin/sh\necho >> {state}/steps\n"
            f'[ "$(wc -l < {state}/steps)" -ne "$CUT" ] || {{ kill -9 $PPID; exit 1; }}\nexec {program} "$@"\n'
        )
        (cut / name).chmod(0o755)
    opened(host, journal)
    lose(host)
    shutil.copytree(state / "etc", state / "opened", symlinks=True)
    for step in range(1, 20):
        shutil.rmtree(state / "etc")
        shutil.copytree(state / "opened", state / "etc", symlinks=True)
        guard = ["sh", str(state / "etc/airtoll-guard/guard"), "restore"]
        (state / "steps").unlink(missing_ok=True)
        path = f"{cut}:{state / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(guard, env={**os.environ, "PATH": path, "CUT": str(step)}, check=False)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, step
        router.reboot()
        assert router.has_earlier(), step
        assert router.left() <= {"etc/airtoll-guard"}, step  # which the journal of airtoll removes
    else:
        raise AssertionError("no restoration without a power failure")
    assert step > 7


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@pytest.mark.parametrize("when", ["before", "during"])
def test_a_full_flash_keeps_the_earlier_configuration(state: Path, when: str) -> None:
    (state / "before").write_bytes(BEFORE)
    shutil.move(state / "etc", state / "template")
    (state / "etc").mkdir()
    mount = (
        'mount -t tmpfs -o size=256k none "$1/etc" && cp -a "$1/template/." "$1/etc" && shift && exec "$@"'
    )
    argv = [*("unshare", "--mount", "sh", "-ec", mount, "sh", state), sys.executable, "-c", FULL]
    argv += [Path(openwrt_stand_in.__file__).parent, state, when, state / "before"]
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    error, pending, is_before, files = done.stdout.splitlines()
    assert "is the flash full?" in error if when == "before" else "No space left" in error
    assert (pending, is_before) == ("0 pending", "True")
    assert files == "['etc/config/wireless', 'etc/filler', 'etc/rc.common']"


def test_a_guard_that_cannot_start_changes_nothing(
    router: Router, state: Path, host: AgentHost, journal: HostJournal
) -> None:
    (state / "etc" / "rc.common").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(AirtollError, match="host ap: the guard: no service: is the flash full"):
        opened(host, journal)
    assert router.is_restored()
    assert journal.pending() == []
