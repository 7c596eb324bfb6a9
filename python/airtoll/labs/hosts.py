"""Lab `hosts`: real machines, which the inventory names, and an access point of any make.

Connections last as long as the lab: a host that vanished is reached again before the next run. The access point is
switched only when the next cell has other properties of the network than the last one.
"""

import itertools
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import AfterValidator, BaseModel, TypeAdapter

from airtoll import _rust
from airtoll.agent import binary
from airtoll.agent.agentless import AgentlessHost
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost
from airtoll.agent.ssh import SUDO, Ssh, explained
from airtoll.documents import read_json
from airtoll.errors import AirtollError, UsageError
from airtoll.host import OperatingSystem, last_words, named_commands, packages_of
from airtoll.labs import joining, wifi
from airtoll.labs.access_points.base import AccessPoint, ShellHost
from airtoll.labs.access_points.base import obstacle as access_point_obstacle
from airtoll.labs.access_points.fixed import FixedNetwork
from airtoll.labs.access_points.hook import Hook
from airtoll.labs.access_points.hostapd import Hostapd
from airtoll.labs.access_points.openwrt import OpenWrt
from airtoll.labs.access_points.prompt import Prompt
from airtoll.labs.access_points.station import NetworkStation, OwnStation, StationByHand, mismatches
from airtoll.labs.base import Known, Lab, Link
from airtoll.labs.emulated import IPS, capacity_open_bit_per_s, pairs
from airtoll.labs.inventory import LOCAL, HostTable, Inventory, load_inventory, passphrase
from airtoll.labs.journal import HostJournal, Runner
from airtoll.labs.monitor import Monitor
from airtoll.labs.network import Network
from airtoll.labs.own_secrets import certificates, make_certificates, wep_key
from airtoll.labs.places import ssh_destination
from airtoll.study.cell import Cell, Plan
from airtoll.study.factors import Ip, StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.phys import PHYS
from airtoll.study.security import SecurityProfile, cipher_entry

APPLIED: Final = (
    *("congestion_control", "window", "udp_buffer", "pacing_timer"),
    *("wpa_key_mgmt", "ieee80211w", "beacon_interval"),
)
"""The settings of a study's [link] that this lab applies. All others describe emulated air or its hosts."""

CONTROLLER: Final = "controller"
"""The name of this machine, which runs the user's commands."""

OPENWRT: Final = "openwrt"
"""The name of an access point of OpenWrt, which runs no agent."""

_COMMAND_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.5
_SAID_AFTER: Final = 3  # failures: a lost connection that can be made anew fails once
_INSTALL: Final[Mapping[OperatingSystem, str]] = {
    "linux": "apt-get install {}",
    "macos": "brew install {}",
    "windows": "install {} and add its folder to PATH",
}


def _without_zone(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address, which other hosts get as an argument: a zone may contain any character."""
    if "%" in str(address):
        raise ValueError("an address with a zone")
    return address


class _Address(BaseModel):
    """An address in the output of `ip -j addr show`."""

    local: Annotated[IPv4Address | IPv6Address, AfterValidator(_without_zone)]
    tentative: bool = False
    deprecated: bool = False
    temporary: bool = False
    dadfailed: bool = False

    @property
    def is_passing(self) -> bool:
        """Whether the host may not keep or use the address."""
        return self.tentative or self.deprecated or self.temporary or self.dadfailed


class _Device(BaseModel):
    addr_info: list[_Address] = []


_DEVICES: Final = TypeAdapter(list[_Device])


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
        self.file = inventory
        self.inventory: Inventory = load_inventory(inventory)
        super().__init__(link, stacks, profiles)
        self._secret = passphrase(self.inventory.access_point)
        self.agentless = [role for role, table in self.inventory.hosts.items() if table.os != "linux"]
        self._hosts: dict[str, AgentHost] = {}
        self._without_agent: dict[str, AgentlessHost] = {}
        self._ways: dict[str, Ssh] = {}
        self._journal: HostJournal | None = None
        self._access_point: AccessPoint | None = None
        self._through: AgentHost | None = None  # the agent that switches the access point
        self._stations: dict[str, NetworkStation] = {}
        self._network: Network | None = None
        self._joined: list[Network] = []
        self._session: int | None = None
        self._network_facts: dict[str, Any] = {}

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
        if cell.snr != "none":
            yield f"snr '{cell.snr:g} dB': the places of the radios determine their SNR; use snr = 'none'"
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
        if self._journal is None and (remaining := self.restore()):
            return f"lab hosts: an earlier airtoll was killed, and {'; '.join(remaining)}"
        for role in self.inventory.hosts:
            try:
                host = self.machine(role)
            except AirtollError as error:
                return f"lab hosts: {error}"
            if lacking := host.lacking(["ip"]):
                return f"lab hosts: host {role} lacks the command '{lacking[0]}': apt-get install iproute2"
            if (powerless := self.lacks_root(role)) is not None:
                return f"lab hosts: {powerless}"
        return None

    def restore(self) -> list[str]:
        """Restore what a killed airtoll changed. Returns one line per change that remains.

        Only the hosts that the journal names are reached. Raises UsageError if another airtoll measures with these
        hosts.
        """
        self._journal = self._journal or HostJournal(self.file)
        return self._journal.replay(self._any_host)

    def lacks_root(self, role: str) -> str | None:
        """Return why airtoll may not change the radio of a host, with the remedy; None if it may, or has not to."""
        table, kind = self.inventory.hosts[role], self.inventory.access_point.kind
        if not (table.join == "airtoll" or (role == "ap" and kind == "hostapd")):
            return None
        if self.host(role).run(["id", "-u"], _COMMAND_TIMEOUT_S).stdout.strip() == b"0":
            return None
        return (
            f'host {role}: changing its radio requires root: set hosts.{role}.become = "sudo" in {self.file}'
        )

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
        return Monitor(self.host(role), str(table.monitor))

    def lacks(self, packages: Mapping[str, str]) -> str | None:
        """Return the commands that hosts lack (command -> Debian package), with the remedies, or None."""
        reasons = []
        for role in self.inventory.hosts:
            if role == "ap" and len(self.inventory.hosts) > 2:
                continue  # it only carries the packets of the others
            host = self.machine(role)
            if missing := {command: packages[command] for command in host.lacking(list(packages))}:
                remedy = _INSTALL[host.os].format(packages_of(missing))
                reasons.append(f"host {role} lacks {named_commands(missing)}: {remedy}")
        return "; ".join(reasons) or None

    def machine(self, role: str) -> AgentHost | AgentlessHost:
        """The host with this role, which was reached. Raises AirtollError if it cannot be reached."""
        if role not in self.agentless:
            return self.host(role)
        host = self._of_role(role)
        assert isinstance(host, AgentlessHost)
        host.reach()
        return host

    def _of_role(self, role: str) -> AgentHost | AgentlessHost:
        """The host with this role, which has been reached before, or runs no agent."""
        table = self.inventory.hosts[role]
        if table.os == "linux":
            return self._hosts[role]
        if role not in self._without_agent:
            self._ways[role] = self._way(role, table)
            self._without_agent[role] = AgentlessHost(self._ways[role], table.os)
        return self._without_agent[role]

    def host(self, role: str) -> AgentHost:
        """The host with this role and its agent, connected. Raises AirtollError if it cannot be reached."""
        if (host := self._connected(role)) is not None:
            return host
        table = self.inventory.hosts[role]
        owner = () if self._journal is None else self._journal.owner
        if table.address == LOCAL:
            self._hosts[role] = _local(role, SUDO if table.become == "sudo" else (), owner)
        else:
            if role not in self._ways:
                self._ways[role] = self._way(role, table)
            self._hosts[role] = self._ways[role].connect(owner)
        return self._hosts[role]

    def _connected(self, name: str) -> AgentHost | None:
        """The host of that name; None if it has not been reached yet, or if its connection is lost."""
        host = self._hosts.get(name)
        if host is None or host.connection.lost is None:
            return host
        host.connection.close()
        del self._hosts[name]
        return None

    def _way(self, role: str, table: HostTable) -> Ssh:
        """The way to a machine behind SSH."""
        destination = table.address or ""
        options = [] if table.ssh_config is None else ["-F", str(table.ssh_config)]
        if table.place is not None:
            assert self.inventory.labgrid is not None
            destination, of_place = ssh_destination(self.inventory.labgrid, table.place)
            options += of_place
        return Ssh(role, destination, options, SUDO if table.become == "sudo" else ())

    def _any_host(self, name: str) -> Runner:
        """The host of that name in the journal, which may also be this machine or an access point of OpenWrt.

        Raises AirtollError if the inventory no longer has the host, or if it cannot be reached.
        """
        if name == CONTROLLER:
            return self._controller()
        if name == OPENWRT and self.inventory.access_point.kind == OPENWRT:
            return self._openwrt()
        if name not in self.inventory.hosts or name in self.agentless:
            raise AirtollError(
                f"host {name}: {self.file} no longer has it: restore it with the earlier inventory"
            )
        return self.host(name)

    def _openwrt(self) -> ShellHost:
        return ShellHost(OPENWRT, self._controller(), self.inventory.access_point.shell)

    def _controller(self) -> AgentHost:
        if (host := self._connected(CONTROLLER)) is None:
            # Not locked: it runs commands for other machines, and several measurements may share it.
            host = self._hosts[CONTROLLER] = _local(CONTROLLER)
        return host

    def begin(self, session: int | None) -> None:
        """Announce the session of the next link. A new session switches the access point, and its stations join again.

        Otherwise two sessions of the same setting in a row would share the effect of one set-up.
        """
        if session != self._session:
            self._session, self._network = session, None

    def close(self) -> None:
        """Restore the access point and the stations, and end all connections.

        Raises AirtollError if the restoring fails; the journal then keeps it for the next airtoll.
        """
        with ExitStack() as stack:
            for way in self._ways.values():
                stack.callback(way.close)
            for host in self._hosts.values():
                stack.callback(host.connection.close)
            if self._journal is not None:
                stack.callback(self._journal.close)
            for station in self._stations.values():
                stack.callback(station.restore)
            if self._access_point is not None:  # restored first: a station that hangs must not delay it
                stack.callback(self._access_point.restore)
        self._hosts, self._ways, self._stations, self._without_agent = {}, {}, {}, {}
        self._journal = self._access_point = self._through = self._network = None

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[Link]:
        """Switch the access point if necessary, and wait until the stations have joined.

        A capture includes the handshakes of stations that join. Raises LostError if a host is not reached within the
        inventory's patience.
        """
        until_s = time.monotonic() + self.inventory.patience
        for role in self.inventory.hosts:
            self._awaited(role, until_s)
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
        until_s = time.monotonic() + self.inventory.patience
        if network != self._network or not self._is_set_up() or not self._is_as_reported(network):
            self._switch(network)
            until_s = time.monotonic() + self.inventory.patience
        hosts = {role: self._awaited(role, until_s) for role in roles}
        addresses = self._addresses(hosts, cell, until_s)
        for host in hosts.values():
            # Linux keeps what earlier connections learnt of a peer, so a run would depend on the runs before it.
            if isinstance(host, AgentHost):
                host.run(["ip", "tcp_metrics", "flush"], _COMMAND_TIMEOUT_S)
        for client, server in pairs(cell):
            self._await_peer(hosts[client], addresses[server, cell.ip], until_s)
        known = Known(
            capacity_open_bit_per_s=capacity_open_bit_per_s(of_cipher, settings),
            cipher=of_cipher.security,
            seed=seed,
            congestion_control=settings.congestion_control,
            tcp_window_bytes=settings.window,
            udp_buffer_bytes=settings.udp_buffer,
            pacing_timer_us=settings.pacing_timer,
            blocks_senders=True,
        )
        facts = {
            "emulated": False,
            "clock": "real",
            "seed": seed,
            "capacity_open_bit_per_s": known.capacity_open_bit_per_s,
            "ssid": network.ssid,
            "not_applied": [name for name in settings.given() if name not in APPLIED],
            "management": {role: self._management(role, hosts[role], addresses) for role in hosts},
            **self._network_facts,
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
            macs={} if (bssid := self._network_facts.get("bssid")) is None else {bssid: "ap"},
        )

    def _network_of(self, cell: Cell) -> Network:
        of_cipher, settings = self._of_cipher(cell)
        table = self.inventory.access_point
        if cipher_entry(of_cipher.security).is_wep:
            secret = wep_key(self.file, _rust.temporal_key_len(of_cipher.security))
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

    def _made(self) -> AccessPoint:
        """The access point of the inventory."""
        table = self.inventory.access_point
        assert self._journal is not None
        match table.kind:
            case "hostapd":
                interface = self.inventory.hosts["ap"].wireless or ""
                return Hostapd(self.host("ap"), interface, self._journal, table.bridge)
            case "openwrt":
                return OpenWrt(self._openwrt(), self._journal, table.section, table.network)
            case "hook":
                return Hook(self._controller(), table.command, self._journal)
            case "prompt":
                return Prompt()
            case "fixed":
                return FixedNetwork()

    def _agent_of_access_point(self) -> AgentHost | None:
        """The agent that switches the access point, connected; None if the user does."""
        match self.inventory.access_point.kind:
            case "hostapd":
                return self.host("ap")
            case "openwrt" | "hook":
                return self._controller()
            case "prompt" | "fixed":
                return None

    def _switch(self, network: Network) -> None:
        """Let the access point offer the network, and the stations join."""
        through = self._agent_of_access_point()
        if self._access_point is None or through is not self._through:
            # An agent that was lost has restored the access point.
            self._access_point, self._through = self._made(), through
        self._network = None  # nothing is known of an access point that failed half-way
        if (obstacle := self._access_point.obstacle(network)) is not None:
            raise UsageError(obstacle)
        if network.profile.eap is not None:
            make_certificates(self.file)
        for station in self._stations.values():
            station.leave()
        of_radios: dict[str, Any] = {}
        facts: dict[str, Any] = {"access_point": self._access_point.switch(network), "wifi": of_radios}
        reports: dict[str, Mapping[str, Any]] = {}
        for role, table in self.inventory.hosts.items():
            if not role.startswith("sta") or table.wireless is None:
                continue
            if role not in self._stations or self._stations[role].host is not self._of_role(role):
                self._stations[role] = self._station(role, table.wireless)
            station = self._stations[role]
            # A network that no station has joined yet may have a wrong passphrase: that is an error at once.
            if network in self._joined or (self._joined and isinstance(station, StationByHand)):
                reports[role] = self._patiently(station.join, network)
            else:
                reports[role] = station.join(network)
            if isinstance(station.host, AgentHost):
                of_radios[role] = wifi.examine(station.host, table.wireless).facts()
        self._network, self._network_facts = network, facts
        if network not in self._joined:
            self._joined.append(network)
        self._note(network, reports)

    def _is_as_reported(self, network: Network) -> bool:
        """Whether the stations report no other mismatches than before, for example a channel that has changed since.

        Waits until all stations are in the network: the access point may have restarted. Raises LostError if one of
        them does not join in time.
        """
        before = self._network_facts["mismatches"]
        reports = {role: self._patiently(station.stay, network) for role, station in self._stations.items()}
        self._note(network, reports)
        return bool(self._network_facts["mismatches"] == before)

    def _patiently(self, join: Callable[[Network], dict[str, Any]], network: Network) -> dict[str, Any]:
        """The report of a station that joins within the inventory's patience. Raises LostError if it does not."""
        until_s = time.monotonic() + self.inventory.patience
        return _retried(lambda: join(network), AirtollError, until_s)

    def _note(self, network: Network, reports: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep the reports of the stations for the records: those of the first station, and every mismatch."""
        first: Mapping[str, Any] = next(iter(reports.values()), {})
        wrong = {role: found for role, report in reports.items() if (found := mismatches(network, report))}
        self._network_facts = {**self._network_facts, **first, "mismatches": wrong}

    def _is_set_up(self) -> bool:
        """Whether the access point still offers its network, and the stations have kept their agents."""
        return (
            self._access_point is not None
            and self._agent_of_access_point() is self._through
            and self._access_point.is_up()
            and all(station.host is self._of_role(role) for role, station in self._stations.items())
        )

    def _station(self, role: str, interface: str) -> NetworkStation:
        host = self._awaited(role, time.monotonic() + self.inventory.patience)
        if self.inventory.hosts[role].join == "by-hand" or isinstance(host, AgentlessHost):
            return StationByHand(host, interface, self.inventory.patience)
        assert self._journal is not None
        return OwnStation(host, interface, self._journal)

    def _awaited(self, role: str, until_s: float) -> AgentHost | AgentlessHost:
        """The host, which may still have to come back. Raises LostError after the time."""

        def reached() -> AgentHost | AgentlessHost:
            host = self.machine(role)
            if isinstance(host, AgentHost):
                host.connection.ask("facts")
            return host

        return _retried(reached, LostError, until_s)

    def _addresses(
        self, hosts: Mapping[str, AgentHost | AgentlessHost], cell: Cell, until_s: float
    ) -> dict[tuple[str, Ip], str]:
        """The addresses of the hosts. Waits for those of the cell's IP version: DHCP follows the joining.

        Nothing is sent to the address of a host without an agent.
        """
        found = self.inventory.ip_addresses()
        while True:
            agents = [role for role in hosts if role not in self.agentless]
            for role in agents:
                for ip in IPS:
                    if (role, ip) not in found and (own := self.own_address(role, ip)) is not None:
                        found[role, ip] = own
            lacking = [role for role in agents if (role, cell.ip) not in found]
            if not lacking:
                return found
            if time.monotonic() > until_s:
                interface = self.inventory.hosts[lacking[0]].interface
                where = f"on {interface}" if interface else "and the inventory names no interface"
                raise LostError(
                    f"host {lacking[0]} has no {cell.ip.replace('ip', 'IP')} address {where}: "
                    f"set hosts.{lacking[0]}.{cell.ip} in {self.file}"
                )
            time.sleep(_POLL_S)

    def own_address(self, role: str, ip: Ip) -> str | None:
        """The address on the measured interface; None without one. Raises UsageError if the interface is unknown."""
        host = self.host(role)
        interface = self.inventory.hosts[role].interface
        if interface is None:
            return None
        argv = ["ip", "-j", f"-{ip[-1]}", "addr", "show", "dev", interface, "scope", "global"]
        done = host.run(argv, _COMMAND_TIMEOUT_S)
        if done.returncode != 0:
            raise UsageError(f"host {role}: interface {interface}: {last_words(done.stderr)}")
        try:
            devices = read_json(_DEVICES, done.stdout or b"[]", f"host {role}: the output of `ip addr show`")
        except AirtollError as error:
            raise LostError(str(error)) from None
        every = (address for device in devices for address in device.addr_info)
        addresses = (address for address in every if f"ipv{address.local.version}" == ip)
        return next((str(address.local) for address in addresses if not address.is_passing), None)

    def addresses_of(self, role: str) -> dict[Ip, str]:
        """The addresses of a host: those of the inventory, or those on its measured interface now."""
        given = self.inventory.ip_addresses()
        own = self.own_address if role not in self.agentless else lambda _role, _ip: None
        found = {ip: given.get((role, ip)) or own(role, ip) for ip in IPS}
        return {ip: address for ip, address in found.items() if address is not None}

    def _await_peer(self, host: AgentHost | AgentlessHost, address: str, until_s: float) -> None:
        """Wait until the host reaches the address. A host without ping(8) is not asked."""
        if host.lacking(["ping"]):
            return
        while True:
            with suppress(subprocess.TimeoutExpired):
                if host.run(_ping(host.os, address), _COMMAND_TIMEOUT_S).returncode == 0:
                    return
            if time.monotonic() > until_s:
                raise LostError(f"host {host.name} does not reach {address}")
            time.sleep(_POLL_S)

    def _management(
        self, role: str, host: AgentHost | AgentlessHost, addresses: Mapping[tuple[str, Ip], str]
    ) -> str | None:
        """Whether control traffic of the host takes the measured link: `same`, `apart`, or None if unknown.

        SSH tells its server the addresses of the connection.
        """
        if self.inventory.hosts[role].address == LOCAL:
            return "apart"
        if host.os == "windows":
            return None
        done = host.run(["sh", "-c", 'echo "$SSH_CONNECTION"'], _COMMAND_TIMEOUT_S)
        words = done.stdout.decode(errors="replace").split()
        if len(words) != 4 or words[2] == "UNKNOWN":  # sshd without a socket
            return None
        own = {address for (of, _), address in addresses.items() if of == role}
        return "same" if words[2] in own else "apart"


def _roles(cell: Cell) -> Sequence[str]:
    """The hosts that exchange packets in a cell."""
    return tuple(dict.fromkeys(role for pair in pairs(cell) for role in pair))


_Value = TypeVar("_Value")


def _retried(attempt: Callable[[], _Value], expected: type[AirtollError], until_s: float) -> _Value:
    """The value of a call that fails with the expected error until a machine is back, which the terminal says.

    Raises LostError if the call fails after the time.
    """
    for failures in itertools.count(1):
        try:
            return attempt()
        except expected as error:
            left_s = until_s - time.monotonic()
            if left_s < 0:
                raise LostError(str(error)) from error
            if failures == _SAID_AFTER:
                joining.say_that_it_waits(left_s, str(error))
        time.sleep(_POLL_S)
    raise AssertionError


def _ping(system: OperatingSystem, address: str) -> list[str]:
    """The command that sends one ping and waits a second for the reply."""
    match system:
        case "linux":
            return ["ping", "-n", "-c", "1", "-W", "1", address]
        case "macos":
            return (
                ["ping6", "-n", "-c", "1", address]
                if ":" in address
                else ["ping", "-n", "-c", "1", "-t", "1", address]
            )
        case "windows":
            return ["ping", "-n", "1", "-w", "1000", address]


def _local(name: str, become: Sequence[str] = (), owner: Sequence[str] = ()) -> AgentHost:
    command = [*become, str(binary.local()), "serve", *owner]
    try:
        # A shell reports a missing command as the hosts behind SSH do.
        return AgentHost(Connection(name, ["sh", "-c", 'exec "$@"', "sh", *command] if become else command))
    except LostError as error:
        raise explained(error, f"host {name} ({LOCAL})") from None
