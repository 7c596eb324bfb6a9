"""`airtoll hosts`: examines and restores the machines of an inventory."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airtoll.cli.base import FILE, PanelGroup
from airtoll.cli.json_output import json_option, print_json
from airtoll.errors import AirtollError, UsageError

if TYPE_CHECKING:
    from airtoll.agent.agentless import AgentlessHost
    from airtoll.agent.host import AgentHost
    from airtoll.labs.hosts import Hosts
    from airtoll.study.cell import Cell, Plan


@click.group(cls=PanelGroup)
def hosts() -> None:
    """Examine or restore the machines of an inventory."""


@dataclass(frozen=True)
class HostFinding:
    """A finding about a host, the access point or the study."""

    subject: str
    works: bool
    needed: bool  # without it, the study cannot be measured
    words: str


@hosts.command("check")
@click.argument("inventory", type=FILE, metavar="INVENTORY")
@click.option("--study", metavar="STUDY", help="The study to measure.", show_default="quickstart")
@click.option("--quick", is_flag=True, help="The quick form of the study.")
@json_option
def check(inventory: Path, study: str | None, quick: bool, as_json: bool) -> int:
    """Check within a minute whether the machines can measure what a study asks. Changes nothing on them.

    Exit status: 0 if they can, 1 if not, 2 if the inventory or the study is invalid.
    """
    from airtoll.cli.tables import plain_console
    from airtoll.labs.hosts import Hosts
    from airtoll.study import expand, find_study, load_study

    plan = expand(load_study(find_study(study or "quickstart")), lab=Hosts.name, quick=quick)
    with closing(Hosts(inventory, plan.link, plan.stacks, plan.profiles)) as lab:
        findings = list(_findings(lab, plan))
    blocked = [finding.subject for finding in findings if finding.needed and not finding.works]
    if as_json:
        print_json({"ready": not blocked, "findings": [asdict(finding) for finding in findings]})
    else:
        console = plain_console()
        console.print(
            f"These machines cannot measure {plan.study} yet: see {', '.join(dict.fromkeys(blocked))}."
            if blocked
            else f"These machines can measure {plan.study}."
        )
        for finding in findings:
            word = "yes" if finding.works else "NO" if finding.needed else "no"
            console.print(f"{word:<4}{finding.subject:<18}{finding.words}", soft_wrap=True, highlight=False)
    return 1 if blocked else 0


@hosts.command("restore")
@click.argument("inventory", type=FILE, metavar="INVENTORY")
def restore(inventory: Path) -> None:
    """Restore what a killed airtoll changed on the machines of an inventory. Reaches only the machines that it changed.

    Exit status: 0 if nothing remains, 1 if a change remains, 2 if the inventory is invalid or in use.
    """
    from airtoll.cli.tables import plain_console
    from airtoll.labs.hosts import Hosts

    with closing(Hosts(inventory)) as lab:
        remaining = lab.machines.restore()
    for line in remaining:
        plain_console().print(f"remains: {line}", soft_wrap=True)
    if remaining:
        changes = "1 change remains" if len(remaining) == 1 else f"{len(remaining)} changes remain"
        raise AirtollError(f"{changes}: repeat airtoll hosts restore when the machines can be reached")
    click.echo("nothing remains to be restored")


def _findings(lab: "Hosts", plan: "Plan") -> Iterator[HostFinding]:
    from airtoll.agent.agentless import AgentlessHost
    from airtoll.probes import missing, probes_of

    reached = 0
    for role in lab.inventory.hosts:
        try:
            host = lab.machines.machine(role)
        except AirtollError as error:
            yield HostFinding(f"host {role}", works=False, needed=True, words=str(error))
        else:
            reached += 1
            yield from (
                _of_agentless(lab, role, host)
                if isinstance(host, AgentlessHost)
                else _of_host(lab, role, host)
            )
    if reached == len(lab.inventory.hosts):
        for probe in probes_of(plan.method.probes, lab.name, plan.clock):
            lacking = missing(probe, lab)
            yield HostFinding(f"probe {probe.name}", lacking is None, needed=True, words=lacking or "ready")
    obstacles = dict.fromkeys(reason for run in plan.runs if (reason := _obstacle(lab, run.cell)) is not None)
    for reason in obstacles:
        yield HostFinding("study", works=False, needed=True, words=reason)
    levels = ", ".join(dict.fromkeys(run.cell.security for run in plan.runs))
    if not obstacles:
        kind = lab.inventory.access_point.kind
        yield HostFinding("study", works=True, needed=True, words=f"security {levels}, switched by {kind}")


def _obstacle(lab: "Hosts", cell: "Cell") -> str | None:
    try:
        return lab.check(cell)
    except UsageError as error:
        return str(error)


def _of_agentless(lab: "Hosts", role: str, host: "AgentlessHost") -> Iterator[HostFinding]:
    from airtoll.labs.access_points.agentless import NotJoinedError, report

    facts = host.facts()
    system = ", ".join(filter(None, (facts["processor"], facts["os"])))
    yield HostFinding(
        f"host {role}",
        works=True,
        needed=True,
        words=f"{system}; no agent: measures throughput (direction up) by iperf3 and round-trip times by ping",
    )
    if (interface := lab.inventory.hosts[role].wireless) is not None:
        try:
            told = ", ".join(f"{name} {value}" for name, value in report(host, interface).items())
        except NotJoinedError as error:
            yield HostFinding(f"host {role}", works=False, needed=False, words=str(error))
        except AirtollError as error:
            yield HostFinding(f"host {role}", works=False, needed=True, words=str(error))
        else:
            yield HostFinding(f"host {role}", works=True, needed=True, words=f"{interface} reports {told}")


def _of_host(lab: "Hosts", role: str, host: "AgentHost") -> Iterator[HostFinding]:
    from airtoll.labs import wifi
    from airtoll.labs.emulated import IPS

    facts = host.facts()
    offset = host.clock()
    machine = ", ".join(filter(None, (facts["processor"], facts["os"], f"Linux {facts['kernel']}")))
    yield HostFinding(
        f"host {role}",
        works=True,
        needed=True,
        words=f"{machine}; clock known to {offset.uncertainty_ns / 1e3:.0f} us",
    )
    if (governor := facts["cpu_governor"]) not in (None, "performance"):
        remedy = "cpupower frequency-set -g performance"
        words = f"the CPU governor is {governor}, so CPU loads depend on the clock: {remedy}"
        yield HostFinding(f"host {role}", works=False, needed=False, words=words)
    found = lab.machines.addresses_of(role)
    told = ", ".join(f"{ip.replace('ip', 'IP')} {found.get(ip, 'none')}" for ip in IPS)
    yield HostFinding(f"host {role}", works=bool(found), needed=role != "ap", words=f"addresses: {told}")
    if (interface := lab.inventory.hosts[role].wireless) is not None:
        of_radio = wifi.examine(host, interface)
        yield HostFinding(f"host {role}", of_radio.phy is not None, needed=True, words=of_radio.verdict())
        for warning in of_radio.warnings():
            yield HostFinding(f"host {role}", works=False, needed=False, words=warning)
        joins_by_hand = role.startswith("sta") and lab.inventory.hosts[role].join == "by-hand"
        if joins_by_hand and of_radio.silent is not None:
            yield HostFinding(f"host {role}", works=False, needed=True, words=of_radio.silent)
    if (powerless := lab.machines.lacks_root(role)) is not None:
        yield HostFinding(f"host {role}", works=False, needed=True, words=powerless)
