"""Runs in a guest: an end of this project beside hostapd or wpa_supplicant, above one medium.

The argument is a JSON file with a list of `Scenario`. Prints one JSON object per scenario: the events of this
project's end, the last words of the other program, and how many of the echo requests were answered.
"""

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any

from airtoll import _rust
from airtoll.host import Process, succeed
from airtoll.labs import hostapd
from airtoll.labs.emulated import WPA_PASSPHRASE, Emulator, air_scenario
from airtoll.labs.linux import RADIOS
from airtoll.labs.namespace import NamespaceHost
from airtoll.labs.network import Network
from airtoll.study.cell import resolved
from airtoll.study.link import LinkSettings
from airtoll.study.security import SecurityProfile

sys.path.insert(0, str(Path(__file__).parent.parent))

from made_cell import make_cell

INTERFACE = _rust.DEVICE_NAME
DEVICE = "data0"
ENDS_MS = 9000
LEVEL = "interop"


@dataclass(frozen=True)
class Scenario:
    """A network, its ends, and their actions."""

    ours: str  # the role of this project's end: "ap" or "sta"
    profile: dict[str, Any]  # keys of [security.NAME]
    groups: tuple[int, ...] = (19,)  # of this project's end
    passphrase: str = WPA_PASSPHRASE  # of this project's end
    schedule: list[dict[str, Any]] = field(default_factory=list)  # of this project's end
    attacks: list[dict[str, Any]] = field(default_factory=list)  # of a third radio
    commands: list[tuple[int, str]] = field(default_factory=list)  # for hostapd: milliseconds and the command
    joins: bool = True


def main() -> None:
    """Perform the scenarios of the file."""
    program = sys.argv[1]
    for words in json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")):
        print(json.dumps(perform(program, Scenario(**words))), flush=True)


def perform(program: str, scenario: Scenario) -> dict[str, Any]:
    """Run one scenario."""
    profiles = {LEVEL: SecurityProfile(**scenario.profile)}
    topology = {"topology": "stations", "stations": 2} if scenario.attacks else {}
    cell = make_cell(lab="linux", security=LEVEL, **topology)
    of_cipher, settings = resolved(cell, LinkSettings(beacon_interval=100), {}, profiles)
    profile = profiles[LEVEL].on(settings)
    config = {
        "scenario": air_scenario(of_cipher, settings, seed=1).wire(),
        "clock": "virtual",
        "pcap": None,
        "monitors": [2] if scenario.attacks else [],
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        emulator = stack.enter_context(Emulator(config, "linux", RADIOS))
        roles = list(emulator.roles)
        station = roles[1]
        own, other = ("ap", station) if scenario.ours == "ap" else (station, "ap")
        hosts = {role: emulator.host(role) for role in roles}
        command(hosts["ap"], "iw", "reg", "set", hostapd.COUNTRY)
        offered = Network(
            level=LEVEL,
            profile=profile,
            ssid=hostapd.SSID,
            secret=WPA_PASSPHRASE,
            phy=cell.phy,
            bandwidth_mhz=cell.bandwidth,
            gi=cell.gi,
            channel=emulator.facts["channel"],
            country=hostapd.COUNTRY,
        )
        network = {
            "ssid": hostapd.SSID,
            "passphrase": scenario.passphrase,
            "wpa_key_mgmt": profile.akms[0],
            "pairwise": profile.cipher,
            "ieee80211w": profile.ieee80211w,
            "beacon_prot": profile.beacon_prot,
            "sae_pwe": 1 if profile.sae_pwe is None else profile.sae_pwe,
            "groups": scenario.groups,
        }
        words = {
            "role": scenario.ours,
            "address": emulator.macs[own],
            "network": network,
            "until_ms": ENDS_MS,
        }
        monitor(hosts[own], offered.channel_mhz)
        if scenario.attacks:
            victims = [emulator.macs["ap"], emulator.macs[station]]
            monitor(hosts["sta2"], offered.channel_mhz)
            stack.enter_context(
                attacker(hosts["sta2"], program, emulator.macs["sta2"], victims, scenario.attacks)
            )
        began_s = time.monotonic()

        def ours() -> Process:
            argument = json.dumps({**words, "schedule": scenario.schedule})
            return stack.enter_context(started(hosts[own], program, argument))

        def theirs() -> Process:
            file = folder / "conf"
            control = folder / "control"
            if other == "ap":
                text = hostapd.access_point(offered, interface=INTERFACE, folder=folder, control=control)
                argv = ["hostapd", str(file)]
            else:
                text = hostapd.station(offered, folder=folder, control=control)
                argv = ["wpa_supplicant", "-D", "nl80211", "-i", INTERFACE, "-c", str(file)]
            file.write_text(text, encoding="ascii")
            return stack.enter_context(started(hosts[other], *argv, "-f", "/dev/stdout"))

        access_point = ours if own == "ap" else theirs
        processes = {"ap": access_point()}
        time.sleep(0.5)
        processes[station] = (theirs if own == "ap" else ours)()
        time.sleep(2.0)
        echoes = ping(hosts, emulator, own, other) if scenario.joins else None
        for at_ms, words_of in scenario.commands:
            time.sleep(max(0.0, began_s + at_ms / 1000 - time.monotonic()))
            command(
                hosts[other],
                "hostapd_cli",
                "-s",
                str(folder),
                "-p",
                str(folder / "control"),
                *words_of.split(),
            )
        answered = None if echoes is None else received(echoes.communicate(timeout=30)[0].decode())
        keys = sorted(Path(f"/sys/kernel/debug/ieee80211/{other}/keys").glob("*/replays"))
        replays = sum(int(number) for key in keys for number in re.findall(r"\d+", key.read_text()))
        printed, errors = processes[own].communicate(timeout=60)
        told = stop(processes[other])
    return {
        "events": [json.loads(line) for line in printed.decode().splitlines()],
        "errors": errors.decode(),
        "answered": answered,
        "replays": replays,
        "told": told,
    }


def attacker(
    host: NamespaceHost, program: str, address: str, victims: list[str], schedule: list[dict[str, Any]]
) -> AbstractContextManager[Process]:
    """The attacker's process."""
    words = {
        "role": "attacker",
        "address": address,
        "victims": victims,
        "schedule": schedule,
        "until_ms": ENDS_MS,
    }
    return started(host, program, json.dumps(words))


def ping(hosts: Mapping[str, NamespaceHost], emulator: Emulator, own: str, other: str) -> Process:
    """Give both ends their addresses, and send echo requests to the end of this project."""
    for role, device in ((own, DEVICE), (other, INTERFACE)):
        command(hosts[role], "ip", "addr", "add", f"{emulator.addresses[role, 'ipv4']}/24", "dev", device)
    command(hosts[own], "ip", "link", "set", DEVICE, "up")
    target = emulator.addresses[own, "ipv4"]
    argv = ["ping", "-q", "-c", "50", "-i", "0.1", "-W", "1", "-s", "1400", target]
    return hosts[other].popen(argv)


def received(text: str) -> int:
    """How many replies ping(8) counted."""
    found = re.search(r"(\d+) received", text)
    return int(found[1]) if found else 0


def monitor(host: NamespaceHost, channel_mhz: int) -> None:
    """Put the host's radio into monitor mode."""
    command(host, "iw", "dev", INTERFACE, "set", "type", "monitor")
    command(host, "ip", "link", "set", INTERFACE, "up")
    command(host, "iw", "dev", INTERFACE, "set", "freq", str(channel_mhz))


def command(host: NamespaceHost, *argv: str) -> None:
    """Run a command that must succeed."""
    succeed(host, argv, 20, " ".join(argv))


@contextmanager
def started(host: NamespaceHost, *argv: str) -> Iterator[Process]:
    """A process that ends with the scenario."""
    process = host.popen(argv)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with suppress(TimeoutExpired, ValueError):
            process.communicate(timeout=5)


def stop(process: Process) -> list[str]:
    """End a program and return its output."""
    process.terminate()
    return process.communicate()[0].decode(errors="replace").splitlines()


if __name__ == "__main__":
    main()
