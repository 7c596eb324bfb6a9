"""Runs in a guest with two radios: hostapd and wpa_supplicant on them, through agents, as on real hosts.

Prints one JSON object per level, then the state of the interfaces after the end, after an airtoll that was killed, and
processes whose arguments or environment contained a secret.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.labs import hostapd
from airtoll.labs.access_points.hostapd import Hostapd
from airtoll.labs.access_points.station import OwnStation, StationByHand, mismatches
from airtoll.labs.journal import HostJournal
from airtoll.labs.network import Network
from airtoll.study.link import LinkSettings
from airtoll.study.security import READY_MADE

sys.path.insert(0, str(Path(__file__).parents[1] / "labs" / "access_points"))

from openwrt_stand_in import leaks

INVENTORY = Path("/run/job/lab.toml")
SECRET = "words that no process may show"  # noqa: S105 - of this test
WEP_KEYS = {"wep40": "0123456789", "wep104": "0123456789abcdef0123456789"}
LEVELS = (
    *("open", "wep104", "tkip", "ccmp", "ccmp256", "gcmp", "gcmp256"),
    *("sae", "owe", "wpa3-transition", "wpa2-eap"),
)


def network(level: str) -> Network:
    is_old = level in ("wep104", "tkip")
    return Network(
        level=level,
        profile=READY_MADE[level].on(LinkSettings()),
        ssid='Zoé\'s "lab"',
        secret=WEP_KEYS.get(level, SECRET),
        phy="ofdm" if is_old else "vht",
        bandwidth_mhz=20 if is_old else 80,
        gi="long" if is_old else "short",
        channel=44,
        country="US",
    )


@contextmanager
def ends(journal: HostJournal) -> Iterator[tuple[Hostapd, OwnStation, StationByHand]]:
    """An access point on wlan0 and a station on wlan1."""
    agent = str(binary.local())
    with ExitStack() as stack:
        hosts = []
        for name in ("ap", "sta"):
            connection = stack.enter_context(Connection(name, [agent, "serve"]))
            hosts.append(AgentHost(connection))
        yield (
            Hostapd(hosts[0], "wlan0", journal),
            OwnStation(hosts[1], "wlan1", journal),
            StationByHand(hosts[1], "wlan1", timeout_s=20.0),
        )


def interfaces() -> list[str]:
    """Names, types and states of the interfaces, and the regulatory domain."""
    states = []
    for name in ("wlan0", "wlan1"):
        info = subprocess.run(["iw", "dev", name, "info"], capture_output=True, text=True, check=True).stdout
        kind = next(line.strip() for line in info.splitlines() if line.startswith("\ttype"))
        is_up = int(Path(f"/sys/class/net/{name}/flags").read_text(), 16) & 1
        states.append(f"{name} {kind} {'up' if is_up else 'down'}")
    reg = subprocess.run(["iw", "reg", "get"], capture_output=True, text=True, check=True).stdout
    states.append(next(line for line in reg.splitlines() if line.startswith("country")).partition(":")[0])
    return states


def main() -> None:
    before = interfaces()
    found: list[str] = []
    with HostJournal(INVENTORY) as journal, ends(journal) as (point, station, by_hand):
        for level in LEVELS:
            own = network(level)
            outcome: dict[str, Any] = {"level": level, "obstacle": point.obstacle(own)}
            try:
                outcome["access_point"] = point.switch(own)
                outcome["station"] = report = station.join(own)
                outcome["mismatches"] = mismatches(own, report)
                found += leaks([SECRET, *WEP_KEYS.values()])
            except AirtollError as error:
                outcome["error"] = str(error)
            print(json.dumps(outcome), flush=True)
        station.restore()
        print(json.dumps({"by_hand": joined_by_hand(point, by_hand)}))
        point.restore()
        print(
            json.dumps({"before": before, "after": interfaces(), "pending": len(journal.pending())}),
            flush=True,
        )
    print(json.dumps({"killed": killed(), "all_killed": killed(agents=True), "lost": lost(), "leaks": found}))


def joined_by_hand(point: Hostapd, station: StationByHand) -> dict[str, Any]:
    """A station whose wpa_supplicant airtoll did not start, while the access point changes its network."""
    own, other = network("ccmp"), network("sae")
    found = {}
    folder = Path("/run/job")
    text = hostapd.station(network("wpa3-transition"), folder=folder, control=Path("/run/wpa_supplicant"))
    # With hash-to-element alone, wpa_supplicant 2.10 ignores access points without SAE.
    text = text.replace("sae_pwe=1", "sae_pwe=2")
    (folder / "own.conf").write_text(text)
    supplicant = ["wpa_supplicant", "-B", "-D", "nl80211", "-i", "wlan1", "-P", "/run/job/pid", "-c"]
    subprocess.run([*supplicant, "/run/job/own.conf"], check=True, stdout=subprocess.DEVNULL)
    for name, of in (("own", own), ("other", other)):
        point.switch(of)
        found[name] = mismatches(of, station.join(of))
    os.kill(int(Path("/run/job/pid").read_text()), signal.SIGTERM)
    try:
        station.join(own)
    except AirtollError as error:
        found["none"] = [str(error)]
    return found


def lost() -> dict[str, Any]:
    """A measurement that continues after both agents were killed, which restored nothing."""
    with HostJournal(INVENTORY) as journal:
        with ends(journal) as (point, station, _):
            point.switch(network("ccmp"))
            station.join(network("ccmp"))
            for host in (point.host, station.host):
                os.kill(host.connection._transport.pid, signal.SIGKILL)
            station.leave()  # wpa_supplicant has ended with its agent
        with ends(journal) as (point, station, _):
            point.switch(network("sae"))
            report = station.join(network("sae"))
            station.restore()
            point.restore()
        return {
            "mismatches": mismatches(network("sae"), report),
            "after": interfaces(),
            "pending": len(journal.pending()),
        }


def killed(*, agents: bool = False) -> dict[str, Any]:
    """The interfaces while a controller measures, after it (and its agents) were killed, and after the next one."""
    with subprocess.Popen([sys.executable, __file__, "wait"], stdout=subprocess.PIPE) as controller:
        assert controller.stdout is not None
        supervisors = json.loads(controller.stdout.readline())
        during = interfaces()
        for process in (*(supervisors if agents else ()), controller.pid):
            os.kill(process, signal.SIGKILL)
    until_s = time.monotonic() + 20
    while any(Path(f"/proc/{process}").exists() for process in supervisors) and time.monotonic() < until_s:
        time.sleep(0.1)
    alone = interfaces()
    agent = str(binary.local())
    with HostJournal(INVENTORY) as journal, Connection("new", [agent, "serve"]) as connection:
        host = AgentHost(connection)
        found = {"failures": journal.replay(lambda _: host), "pending": len(journal.pending())}
        return {"during": during, "alone": alone, "after": interfaces(), **found}


def wait() -> None:
    """Offer and join a network, then wait to be killed."""
    with HostJournal(INVENTORY) as journal, ends(journal) as (point, station, _):
        point.switch(network("sae"))
        station.join(network("sae"))
        print([host.connection._transport.pid for host in (point.host, station.host)], flush=True)
        signal.pause()


if __name__ == "__main__":
    wait() if sys.argv[1:] == ["wait"] else main()
