"""Lab `hosts`: real machines, which the inventory names, and an access point of any make.

`labs.machines` reaches the machines, and `labs.switching` changes the access point.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError, UsageError
from airtoll.labs import joining
from airtoll.labs.access_points.base import obstacle as access_point_obstacle
from airtoll.labs.base import Lab, Link, obstacles_of_radios
from airtoll.labs.emulated import known_of, pairs
from airtoll.labs.inventory import Inventory, passphrase
from airtoll.labs.machines import COMMAND_TIMEOUT_S, Machines
from airtoll.labs.monitor import Monitor
from airtoll.labs.network import Network
from airtoll.labs.own_secrets import certificates, wep_key
from airtoll.labs.switching import Switching
from airtoll.study.cell import Cell, Plan
from airtoll.study.contract import KEYS
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.phys import PHYS
from airtoll.study.security import SUITES, SecurityProfile


class Hosts(Lab):
    """The machines of an inventory."""

    name = "hosts"

    def __init__(
        self,
        inventory: Path,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        profiles: Mapping[str, SecurityProfile] | None = None,
    ) -> None:
        """Read the inventory. No host is reached yet. Raises UsageError if the file is invalid."""
        super().__init__(link, stacks, profiles)
        self.machines = Machines(inventory)
        self.switching = Switching(self.machines)
        self.file = inventory
        self.inventory: Inventory = self.machines.inventory
        self.agentless = self.machines.agentless
        self._secret = passphrase(self.inventory.access_point)
        self._session: int | None = None

    @classmethod
    def of(cls, plan: Plan, inventory: Path | None) -> Self:
        """The lab with the settings of the plan. Raises UsageError for the virtual clock or without an inventory."""
        if plan.clock == "virtual":
            raise UsageError("--clock: the machines of lab hosts have real time")
        if inventory is None:
            raise UsageError("lab hosts requires an inventory: --inventory FILE")
        return cls(inventory, plan.link, plan.stacks, plan.profiles)

    def check(self, cell: Cell) -> str | None:
        """Return why the inventory's machines cannot measure the cell, or None if they can."""
        return next(self._obstacles(cell), None)

    def _obstacles(self, cell: Cell) -> Iterator[str]:
        for role in _roles(cell):
            if role not in self.inventory.hosts:
                has = ", ".join(self.inventory.hosts)
                yield f"topology '{cell.topology}' requires host {role}, and {self.file} has {has}"
        yield from obstacles_of_radios(cell)
        yield from self._obstacles_of_agentless(cell)
        if cell.stack != "default":
            yield f"stack '{cell.stack}': lab hosts does not change the TCP/IP stack of a machine"
        table = self.inventory.access_point
        if table.kind == "hostapd" and (
            "ap" not in self.inventory.hosts or not self.inventory.hosts["ap"].wireless
        ):
            yield f"access_point.kind 'hostapd' requires [hosts.ap] with the key wireless in {self.file}"
        if table.kind != "fixed" and (obstacle := access_point_obstacle(self._network_of(cell))) is not None:
            yield obstacle

    def _obstacles_of_agentless(self, cell: Cell) -> Iterator[str]:
        """Stations without an agent have only the client of iperf3, with the settings that every system has."""
        used = [role for role in self.agentless if role in _roles(cell)]
        if not used:
            return
        system = self.inventory.hosts[used[0]].os
        where = f"host {used[0]} has os '{system}', and"
        if cell.direction != "up":
            yield f"{where} direction '{cell.direction}' requires an agent on it: use direction 'up'"
        if any(server in used for _, server in pairs(cell)):
            yield f"{where} topology '{cell.topology}' makes it a server, which requires an agent"
        if cell.tcp_size == "mss":
            yield f"{where} tcp_size 'mss' requires ss(8) of Linux: use tcp_size 'write'"
        if self._link.congestion_control is not None:
            yield f"{where} link.congestion_control can be set only on Linux: remove the key"

    def missing(self) -> str | None:
        """Restore what a killed airtoll changed, then reach every host.

        Return the changes that remain, or the first host that cannot be reached, with the remedy; None without either.
        Raises UsageError if another airtoll measures with these hosts.
        """
        if self.machines.journal is None and (remaining := self.machines.restore()):
            return f"lab hosts: an earlier airtoll was killed, and {'; '.join(remaining)}"
        for role in self.inventory.hosts:
            try:
                host = self.machines.machine(role)
            except AirtollError as error:
                return f"lab hosts: {error}"
            if lacking := host.lacking(["ip"]):
                return f"lab hosts: host {role} lacks the command '{lacking[0]}': apt-get install iproute2"
            if (powerless := self.machines.lacks_root(role)) is not None:
                return f"lab hosts: {powerless}"
        return None

    def capture_obstacle(self) -> str | None:
        """Return why this lab cannot capture the air, or None if it can."""
        if any(table.monitor for table in self.inventory.hosts.values()):
            return None
        return (
            f"no host of {self.file} has the key monitor, which names an interface in monitor mode on the channel "
            "of the network"
        )

    def _monitor(self) -> Monitor:
        """The interface that captures the air. Raises UsageError if the inventory has none."""
        if (obstacle := self.capture_obstacle()) is not None:
            raise UsageError(obstacle)
        role, table = next((role, table) for role, table in self.inventory.hosts.items() if table.monitor)
        return Monitor(self.machines.host(role), str(table.monitor))

    def lacks(self, packages: Mapping[str, str]) -> str | None:
        """Return the commands that hosts lack (command -> Debian package), with the remedies, or None."""
        return self.machines.lacks(packages)

    def begin(self, session: int | None) -> None:
        """Announce the session of the next link. A new session switches the access point, and its stations join again.

        Otherwise two sessions of the same setting in a row would share the effect of one set-up.
        """
        if session != self._session:
            self._session = session
            self.switching.forget()

    def close(self) -> None:
        """Restore the access point and the stations, and end all connections.

        Raises AirtollError if the restoring fails; the journal then keeps it for the next airtoll.
        """
        with ExitStack() as stack:
            stack.callback(self.machines.close)
            stack.callback(self.switching.close)

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        """Switch the access point if necessary, and wait until the stations have joined.

        A capture includes the handshakes of stations that join. Raises LostError if a host is not reached within the
        inventory's patience.
        """
        until_s = self.machines.patient_until_s
        for role in self.inventory.hosts:
            self.machines.awaited(role, until_s)
        if pcap is None:
            yield self._opened(cell, seed)
            return
        monitor = self._monitor()
        with monitor.capturing(pcap):
            link = self._opened(cell, seed)
            monitor.check_channel(self._network_of(cell).channel_mhz)
            yield link

    def _opened(self, cell: Cell, seed: int) -> Link:
        of_cipher, settings = self._of_cipher(cell)
        roles = _roles(cell)
        network = self._network_of(cell)
        until_s = self.machines.patient_until_s
        if self.switching.offer(network):
            until_s = self.machines.patient_until_s
        hosts = {role: self.machines.awaited(role, until_s) for role in roles}
        addresses = self.machines.addresses(hosts, cell.ip, until_s)
        for host in hosts.values():
            # Linux keeps what earlier connections learnt of a peer, so a run would depend on the runs before it.
            if isinstance(host, AgentHost):
                host.run(["ip", "tcp_metrics", "flush"], COMMAND_TIMEOUT_S)
        for client, server in pairs(cell):
            self.machines.await_peer(hosts[client], addresses[server, cell.ip], until_s)
        known = known_of(of_cipher, settings, seed, "real")
        facts = {
            "emulated": False,
            "clock": "real",
            "seed": seed,
            "capacity_open_bit_per_s": known.capacity_open_bit_per_s,
            "ssid": network.ssid,
            "not_applied": [name for name in settings.given() if self.name not in KEYS[name].labs],
            "management": {role: self.machines.management(role, hosts[role], addresses) for role in hosts},
            **self.switching.facts,
        }
        return Link(
            hosts=hosts,
            addresses=addresses,
            facts=facts,
            counters=dict,
            pairs=pairs(cell),
            known=known,
            expected={**joining.expected(network), "mismatches": {}},
            interfaces={
                role: table.interface
                for role, table in self.inventory.hosts.items()
                if role in hosts and table.interface and role not in self.agentless
            },
            macs={} if (bssid := self.switching.facts.get("bssid")) is None else {bssid: "ap"},
        )

    def _network_of(self, cell: Cell) -> Network:
        of_cipher, settings = self._of_cipher(cell)
        table = self.inventory.access_point
        if (suite := SUITES[of_cipher.security]).is_wep:
            secret = wep_key(self.file, suite.key_b)
        elif table.kind == "fixed":
            secret = "not known here"  # noqa: S105 - nobody uses it
        else:
            secret = self._secret or ""
        return Network(
            level=cell.security,
            profile=self._profiles[cell.security].on(settings),
            ssid=table.ssid,
            secret=secret,
            phy=cell.phy,
            bandwidth_mhz=cell.bandwidth,
            gi=cell.gi,
            channel=table.channel,
            qos=PHYS[cell.phy].is_ht,
            beacon_interval_tu=settings.beacon_interval or 100,
            country=table.country,
            certificates=certificates(self.file),
        )


def _roles(cell: Cell) -> Sequence[str]:
    """The hosts that exchange packets in a cell."""
    return tuple(dict.fromkeys(role for pair in pairs(cell) for role in pair))
