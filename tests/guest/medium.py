"""Runs in a guest: scripts of commands on the hosts of lab linux.

The argument is a JSON file with an object of `Scenario` by name. Prints one JSON object per scenario: its name, the
output of each command, the time that the stations took to join, and the counters of the medium. The capture of the air
goes to /run/job/NAME.pcap.
"""

import json
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from airtoll.guest.job import JOB
from airtoll.labs import linux
from airtoll.labs.emulated import air_scenario
from airtoll.study.link import LinkSettings

sys.path.insert(0, str(Path(__file__).parent.parent))

from made_cell import make_cell


@dataclass(frozen=True)
class Scenario:
    """A cell, and the commands of its hosts."""

    cell: dict[str, Any]
    until_ms: int  # since the link came up; then the commands end
    script: list[tuple[int, str, str]]  # milliseconds since the link came up, role, shell command
    link: dict[str, Any] = field(default_factory=dict)  # keys of [link]
    air: dict[str, Any] = field(default_factory=dict)  # keys of a scenario that a study does not have


def main() -> None:
    """Perform the scenarios of the file."""
    for name, words in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")).items():
        print(json.dumps({"name": name, **perform(name, Scenario(**words))}), flush=True)


def perform(name: str, scenario: Scenario) -> dict[str, Any]:
    """Run one scenario. In a command, {ROLE} is the IPv4 address of a host and {ROLE.mac} the MAC address."""
    air: dict[str, Any] = {key: tuple(map(tuple, value)) for key, value in scenario.air.items()}  # matrices
    setattr(linux, "air_scenario", partial(air_scenario, **air))  # noqa: B010 - mypy
    lab = linux.Linux(LinkSettings(**scenario.link))
    cell = make_cell(lab="linux", **scenario.cell)
    if (reason := lab.check(cell)) is not None:
        raise SystemExit(f"{name}: {reason}")
    with lab.open(cell, seed=1, pcap=JOB / f"{name}.pcap") as link:
        began_s = time.monotonic()
        addresses = {role: link.addresses[role, "ipv4"] for role in link.hosts}
        before = link.counters()
        processes = []
        for at_ms, role, command in scenario.script:
            _sleep_until(began_s + at_ms / 1000)
            processes.append(link.hosts[role].popen(["sh", "-c", f"exec {command.format(**addresses)}"]))
        _sleep_until(began_s + scenario.until_ms / 1000)
        counters = link.counters()
        outputs = []
        # A client of iperf3 whose server has ended sends without pause, and the time almost stands still.
        for process in reversed(processes):
            process.terminate()
            outputs.append(process.communicate()[0].decode(errors="replace"))
    facts = {"joining_ms": link.facts["joining_ms"], "before": before, "counters": counters}
    return {"outputs": outputs[::-1], **facts}


def _sleep_until(moment_s: float) -> None:
    time.sleep(max(0.0, moment_s - time.monotonic()))


if __name__ == "__main__":
    main()
