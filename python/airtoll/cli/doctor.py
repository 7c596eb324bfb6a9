"""`airtoll doctor`: what this machine can and cannot measure, and what to install."""

import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from airtoll.cli.json_output import print_json
from airtoll.cli.tables import plain_console
from airtoll.errors import AirtollError
from airtoll.guest import build, recipe
from airtoll.host import machine_lacks
from airtoll.labs import air, hostapd, radios
from airtoll.labs.linux import Linux
from airtoll.labs.namespace import machine_facts
from airtoll.probes import DEFAULT_PROBES, PROBES, probes_of

if TYPE_CHECKING:
    from airtoll.labs.hosts import Hosts


@dataclass(frozen=True)
class _Finding:
    subject: str
    works: bool
    needed: bool  # by the quickstart; other findings are recommendations
    words: str  # the finding, or what to do


def examine(*, as_json: bool) -> int:
    """Print the findings; return 0 if the quickstart can run on this machine, 1 if not."""
    findings = list(_findings())
    blocked = [finding.subject for finding in findings if finding.needed and not finding.works]
    if as_json:
        print_json({"ready": not blocked, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings, blocked)
    return 1 if blocked else 0


def examine_hosts(destination: str | None, inventory: Path | None, *, as_json: bool) -> int:
    """Print for each wireless interface what security costs there; return 1 if a host has none."""
    from airtoll.agent.ssh import Ssh
    from airtoll.labs import wifi
    from airtoll.labs.hosts import Hosts

    found: dict[str, list[wifi.Wifi]] = {}
    sentences: dict[str, str] = {}
    if inventory is not None:
        with closing(Hosts(inventory)) as lab:
            found |= {role: [] for role in lab.agentless}
            agents = {role: table for role, table in lab.inventory.hosts.items() if role not in found}
            for role, table in agents.items():
                host = lab.machines.host(role)
                names = [table.wireless] if table.wireless is not None else wifi.interfaces(host)
                found[role] = [wifi.examine(host, name) for name in names]
                links = [one.link for one in found[role] if one.link is not None and one.sealed_in is None]
                if role.startswith("sta") and links:
                    sentences[role] = inferred(lab, role, str(links[0]["cipher"]))
    if destination is not None:
        with Ssh(destination, destination) as way:
            host = way.connect()
            found[destination] = [wifi.examine(host, name) for name in wifi.interfaces(host)]
            host.connection.close()
    if as_json:
        print_json(
            {
                name: [
                    {**asdict(one), "verdict": one.verdict(), "inference": sentences.get(name)} for one in own
                ]
                for name, own in found.items()
            }
        )
    else:
        console = plain_console()
        for name, own in found.items():
            if not own:
                console.print(f"{name}: no wireless interface of Linux")
            for one in own:
                console.print(f"{name}: {one.verdict()}", soft_wrap=True, highlight=False)
                if name in sentences:
                    console.print(f"  {sentences[name]}", soft_wrap=True, highlight=False)
                for warning in one.warnings():
                    console.print(f"  {warning}", soft_wrap=True, highlight=False)
                for fact, value in one.evidence():
                    console.print(f"  {fact:<16}{value}", soft_wrap=True, highlight=False)
    return 0 if any(found.values()) else 1


def inferred(lab: "Hosts", role: str, cipher: str) -> str:
    """One line: the place where a station seals its frames, or why that cannot be inferred."""
    from airtoll.probes import sealing

    if cipher == "open":
        return "The network is open, so no frames are sealed."
    peer = next((other for other in ("server", "ap") if other in lab.inventory.hosts), None)
    address = None if peer is None else lab.machines.addresses_of(peer).get("ipv4")
    if peer is None or address is None:
        return "An inference requires a host server or ap with an IPv4 address in the inventory."
    if lacking := next(
        (end for end in (role, peer) if lab.machines.host(end).lacking(list(sealing.TOOLS))), None
    ):
        return f"An inference requires iperf3 on host {lacking}: apt-get install iperf3"
    try:
        return sealing.load(lab.machines.host(role), lab.machines.host(peer), address, cipher).sentence()
    except AirtollError as error:
        return f"No inference: {error}"


def _print(findings: Sequence[_Finding], blocked: Sequence[str]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        word, colour = (
            ("yes", "green") if finding.works else ("NO", "red") if finding.needed else ("no", "yellow")
        )
        table.add_row(Text(word, style=colour), finding.subject, finding.words)
    console = plain_console()
    console.print(table)
    console.print(
        f"This machine cannot run the quickstart yet: see {', '.join(blocked)}."
        if blocked
        else "This machine can run the quickstart."
    )


def _findings() -> Iterator[_Finding]:
    machine = machine_facts()
    yield _Finding(
        "machine",
        works=True,
        needed=False,
        words=f"{machine['processor']}, {machine['os']}, Linux {platform.release()}",
    )
    cores = os.cpu_count() or 1
    yield _Finding(
        "cores",
        works=cores >= 2,
        needed=False,
        words=f"{cores}" if cores >= 2 else "1; the emulator and the traffic share it, so expect late frames",
    )
    reason = air.missing()
    yield _Finding("lab air", works=reason is None, needed=True, words=reason or _air_words())
    guest = _guest()
    yield guest
    yield _linux(guest)
    for probe in probes_of(PROBES):
        lacking = probe.missing(machine_lacks)
        needed = probe.name in DEFAULT_PROBES
        yield _Finding(f"probe {probe.name}", works=lacking is None, needed=needed, words=lacking or "ready")
    use = "reads and decrypts the captures of --pcap"
    found = which("tshark") is not None
    yield _Finding(
        "tshark", works=found, needed=False, words=use if found else f"{use}: apt-get install tshark"
    )


def _guest() -> _Finding:
    kernel = recipe.built()
    if kernel is not None:
        words = f"guest of {kernel.package} {kernel.version}, {kernel.size_bytes / 1e6:.0f} MB"
        return _Finding("virtual clock", works=True, needed=False, words=words)
    reason = build.obstacle() or recipe.missing() or ""
    return _Finding("virtual clock", works=False, needed=False, words=reason)


def _linux(guest: _Finding) -> _Finding:
    reasons = [reason] if (reason := Linux().missing()) is not None else []
    own = radios.names()
    if not guest.works and not own:
        reasons.append("requires the virtual clock, or radios of this machine")
    ready = [f"{program} {version or '?'}" for program, version in hostapd.versions().items()]
    if own:
        ready.append(f"radios {' '.join(own)}")
    words = "; ".join(reasons) or f"ready: {', '.join(ready)}"
    return _Finding("lab linux", works=not reasons, needed=False, words=words)


def _air_words() -> str:
    if os.geteuid() == 0:
        return "ready, as root: the emulator gets real-time priority"
    done = subprocess.run(["chrt", "--fifo", "1", "true"], capture_output=True, check=False)
    if done.returncode == 0:
        return "ready, in a user namespace, with real-time priority"
    return "ready, in a user namespace, without real-time priority: frames arrive slightly later than as root"
