"""Runs in a guest with two radios: a study of lab hosts in which the access point and the station fail in runs.

The access point is hostapd on wlan0 of this machine. The station has wlan1 in a namespace of its own, which a script in
place of ssh enters. Each run captures the air. Prints one JSON object: the reasons by fault and attempt, the interfaces
before and after, and the encrypted frames of the station in the captures of valid runs.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import tomli_w

from airtoll.course import Course
from airtoll.labs.access_points.hostapd import Hostapd
from airtoll.labs.hosts import Hosts
from airtoll.probes import probes_of
from airtoll.store import Event, ProbeStarted, Result, check_ready, record
from airtoll.store.recorder import PCAP
from airtoll.study import expand, load_study

JOB = Path("/run/job")
TEMPORARY = Path("/run/tmp")
SSH = """#!/bin/sh
# Stands in for ssh(1): enters the station's namespace and runs the last argument.
case " $* " in *" -O exit "*) exit 0 ;; esac
while [ $# -gt 1 ]; do shift; done
export XDG_CACHE_HOME=/run/job/cache
exec ip netns exec sta sh -c "$1"
"""
STUDY = """
title = "Faults"
lab = "hosts"

[factors]
security = ["ccmp"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = [256]
phy = ["vht"]
bandwidth = ["20 MHz"]
rate = ["mcs7"]
offered = ["2 Mbit/s"]

[method]
repeats = 7
duration = "1 s"
warmup = "0 s"
probes = ["throughput", "rtt"]
rtt_pause = "10 ms"
"""


def sh(script: str) -> str:
    return subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout


def inventory() -> Path:
    """The machines; the station already has its address."""
    sh("ip netns add sta && iw phy phy1 set netns name sta")
    sh("iw phy phy0 interface add mon0 type monitor && ip link set mon0 up")
    sh(
        "ip addr add 10.77.0.1/24 dev wlan0; ip -n sta addr add 10.77.0.2/24 dev wlan1; ip -n sta link set lo up"
    )
    (JOB / "bin").mkdir()
    (JOB / "bin/ssh").write_text(SSH)
    (JOB / "bin/ssh").chmod(0o755)
    os.environ["PATH"] = f"{JOB}/bin:{os.environ['PATH']}"
    (TEMPORARY / "passphrase").touch(mode=0o600)
    (TEMPORARY / "passphrase").write_text("a toll on the air\n")
    words = {
        "patience": 60,
        "hosts": {
            "ap": {"address": "local", "wireless": "wlan0", "monitor": "mon0"},
            "sta": {"address": "station", "wireless": "wlan1", "join": "airtoll"},
        },
        "access_point": {"kind": "hostapd", "passphrase_file": "passphrase", "channel": 44},
    }
    file = TEMPORARY / "lab.toml"  # a file in the job's folder belongs to the user of the machine
    file.write_text(tomli_w.dumps(words))
    return file


def kill_hostapd(lab: Hosts) -> None:
    assert isinstance(lab.switching._access_point, Hostapd)
    assert lab.switching._access_point._process is not None
    lab.switching._access_point._process.kill()


def restart_access_point(lab: Hosts) -> None:
    """The machine of the access point goes, with its agent, and comes back."""
    transport = lab.machines.host("ap").connection._transport
    os.kill(transport.pid, signal.SIGKILL)


def deauthenticate(lab: Hosts) -> None:
    hostapd_cli(lab, "deauthenticate ff:ff:ff:ff:ff:ff")


def switch_channel(lab: Hosts) -> None:
    hostapd_cli(lab, "chan_switch 3 5180")


def hostapd_cli(lab: Hosts, words: str) -> None:
    sh(f"hostapd_cli -s {JOB} -p {lab.machines.host('ap').folder()}/hostapd -i wlan0 {words}")


def reassociate(lab: Hosts) -> None:
    folder = lab.machines.host("sta").folder()
    sh(f"wpa_cli -s {JOB} -p {folder}/wpa_supplicant -i wlan1 reassociate")


def interface_down(_: Hosts) -> None:
    sh("ip -n sta link set wlan1 down")


FAULTS: dict[str, Callable[[Hosts], None]] = {
    each.__name__: each
    for each in (
        kill_hostapd,
        restart_access_point,
        deauthenticate,
        switch_channel,
        reassociate,
        interface_down,
    )
}
"""The faults, from the second run on. The first run has none."""


def interfaces() -> list[str]:
    states = []
    for prefix, name in (("", "wlan0"), ("ip netns exec sta ", "wlan1")):
        kind = next(line for line in sh(f"{prefix}iw dev {name} info").splitlines() if "\ttype" in line)
        is_up = int(sh(f"{prefix}cat /sys/class/net/{name}/flags"), 16) & 1
        states.append(f"{name}{kind} {'up' if is_up else 'down'}")
    return states


def encrypted(capture: Path, sender: str) -> int:
    """The number of encrypted Data frames of a sender in a capture."""
    frames = f"wlan.fc.type == 2 && wlan.fc.protected == 1 && wlan.ta == {sender}"
    return len(sh(f"tshark -n -r {capture} -Y '{frames}' -T fields -e frame.number").split())


def main() -> None:
    study = JOB / "faults.toml"
    study.write_text(STUDY)
    file = inventory()
    before = interfaces()
    plan = expand(load_study(study))
    left = dict(enumerate(FAULTS.values(), 2))
    with (
        closing(Hosts(file, plan.link, plan.stacks, plan.profiles)) as lab,
        Result.create(JOB / "result", STUDY, plan, lab.name, quick=False) as result,
    ):

        def inject(event: Event) -> None:
            # Some faults break the first probe of a run, the others the second one.
            if isinstance(event, ProbeStarted):
                probe = ("throughput", "rtt")[event.run.order % 2]
                if event.probe == probe and event.run.order in left:
                    left.pop(event.run.order)(lab)

        probes = probes_of(plan.method.probes, lab.name)
        check_ready(plan.runs, lab, probes)
        record(result, lab, probes, inject, pcap=True, course=Course.of(result))
        names = dict(enumerate(("none", *FAULTS), 1))
        reasons: dict[str, list[tuple[str, ...]]] = {name: [] for name in names.values()}
        captured = []
        station = sh("ip netns exec sta cat /sys/class/net/wlan1/address").strip()
        for one in sorted(result.records(), key=lambda one: one.run.attempt):
            reasons[names[one.run.order]].append(one.verdict.reasons)
            if one.verdict.valid:
                captured.append(encrypted(result.run_directory(one.run.id) / "raw" / PCAP, station))
    remaining = sh("find /var/tmp /tmp -maxdepth 1 -name 'airtoll-????????'").split()
    print(
        json.dumps(
            {
                "reasons": reasons,
                "before": before,
                "after": interfaces(),
                "captured": captured,
                "remaining": remaining,
            }
        )
    )


if __name__ == "__main__":
    main()
