"""The machines of an inventory: connections to them, the changes that they keep in the journal, and their addresses.

Connections last until `Machines.close`: a host that vanished is reached again when it is next required.
"""

import itertools
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, FailFast, TypeAdapter

from airtoll.agent import binary
from airtoll.agent.agentless import AgentlessHost
from airtoll.agent.connection import Connection, LostError
from airtoll.agent.host import AgentHost
from airtoll.agent.ssh import SUDO, Ssh, explained
from airtoll.documents import read_json
from airtoll.errors import AirtollError, UsageError
from airtoll.host import OperatingSystem, last_words, named_commands, packages_of
from airtoll.labs import joining
from airtoll.labs.access_points.base import ShellHost
from airtoll.labs.emulated import IPS
from airtoll.labs.inventory import LOCAL, HostTable, Inventory, load_inventory
from airtoll.labs.journal import HostJournal, Runner
from airtoll.labs.places import ssh_destination
from airtoll.study.factors import Ip

Machine = AgentHost | AgentlessHost

CONTROLLER: Final = "controller"
"""The name of this machine, which runs the user's commands."""

OPENWRT: Final = "openwrt"
"""The name of an access point of OpenWrt, which runs no agent."""

COMMAND_TIMEOUT_S: Final = 10.0
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
    addr_info: Annotated[list[_Address], FailFast()] = []


_DEVICES: Final = TypeAdapter(Annotated[list[_Device], FailFast()])


class Machines:
    """The machines of an inventory by role."""

    def __init__(self, file: Path) -> None:
        """Read the inventory. No host is reached yet. Raises UsageError if the file is invalid."""
        self.file = file
        self.inventory: Inventory = load_inventory(file)
        self.agentless = [role for role, table in self.inventory.hosts.items() if table.os != "linux"]
        self.journal: HostJournal | None = None
        self._hosts: dict[str, AgentHost] = {}
        self._without_agent: dict[str, AgentlessHost] = {}
        self._ways: dict[str, Ssh] = {}

    @property
    def patient_until_s(self) -> float:
        """The time, on the monotonic clock, until which the inventory lets airtoll wait for a host from now on."""
        return time.monotonic() + self.inventory.patience

    def restore(self) -> list[str]:
        """Restore what a killed airtoll changed. Returns one line per change that remains.

        Only the hosts that the journal names are reached. Raises UsageError if another airtoll measures with these
        hosts.
        """
        self.journal = self.journal or HostJournal(self.file)
        return self.journal.replay(self._any_host)

    def lacks_root(self, role: str) -> str | None:
        """Return why airtoll may not change the radio of a host, with the remedy; None if it may, or has not to."""
        table, kind = self.inventory.hosts[role], self.inventory.access_point.kind
        if not (table.join == "airtoll" or (role == "ap" and kind == "hostapd")):
            return None
        if self.host(role).run(["id", "-u"], COMMAND_TIMEOUT_S).stdout.strip() == b"0":
            return None
        return (
            f'host {role}: changing its radio requires root: set hosts.{role}.become = "sudo" in {self.file}'
        )

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

    def machine(self, role: str) -> Machine:
        """The host with this role, which was reached. Raises AirtollError if it cannot be reached."""
        if role not in self.agentless:
            return self.host(role)
        host = self.of_role(role)
        assert isinstance(host, AgentlessHost)
        host.reach()
        return host

    def of_role(self, role: str) -> Machine:
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
        owner = () if self.journal is None else self.journal.owner
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
            return self.controller()
        if name == OPENWRT and self.inventory.access_point.kind == OPENWRT:
            return self.openwrt()
        if name not in self.inventory.hosts or name in self.agentless:
            raise AirtollError(
                f"host {name}: {self.file} no longer has it: restore it with the earlier inventory"
            )
        return self.host(name)

    def openwrt(self) -> ShellHost:
        """The access point of OpenWrt, which this machine reaches."""
        return ShellHost(OPENWRT, self.controller(), self.inventory.access_point.shell)

    def controller(self) -> AgentHost:
        """The host that is this machine."""
        if (host := self._connected(CONTROLLER)) is None:
            # Not locked: it runs commands for other machines, and several measurements may share it.
            host = self._hosts[CONTROLLER] = _local(CONTROLLER)
        return host

    def close(self) -> None:
        """End all connections."""
        with ExitStack() as stack:
            for way in self._ways.values():
                stack.callback(way.close)
            for host in self._hosts.values():
                stack.callback(host.connection.close)
            if self.journal is not None:
                stack.callback(self.journal.close)
        self._hosts, self._ways, self._without_agent, self.journal = {}, {}, {}, None

    def awaited(self, role: str, until_s: float) -> Machine:
        """The host, which may still have to come back. Raises LostError after the time."""

        def reached() -> Machine:
            host = self.machine(role)
            if isinstance(host, AgentHost):
                host.connection.ask("facts")
            return host

        return retried(reached, LostError, until_s)

    def addresses(self, hosts: Mapping[str, Machine], ip: Ip, until_s: float) -> dict[tuple[str, Ip], str]:
        """The addresses of the hosts. Waits for those of the IP version: DHCP follows the joining.

        Nothing is sent to the address of a host without an agent.
        """
        found = self.inventory.ip_addresses()
        while True:
            agents = [role for role in hosts if role not in self.agentless]
            for role in agents:
                for each in IPS:
                    if (role, each) not in found and (own := self.own_address(role, each)) is not None:
                        found[role, each] = own
            lacking = [role for role in agents if (role, ip) not in found]
            if not lacking:
                return found
            if time.monotonic() > until_s:
                interface = self.inventory.hosts[lacking[0]].interface
                where = f"on {interface}" if interface else "and the inventory names no interface"
                raise LostError(
                    f"host {lacking[0]} has no {ip.replace('ip', 'IP')} address {where}: "
                    f"set hosts.{lacking[0]}.{ip} in {self.file}"
                )
            time.sleep(_POLL_S)

    def own_address(self, role: str, ip: Ip) -> str | None:
        """The address on the measured interface; None without one. Raises UsageError if the interface is unknown."""
        host = self.host(role)
        interface = self.inventory.hosts[role].interface
        if interface is None:
            return None
        argv = ["ip", "-j", f"-{ip[-1]}", "addr", "show", "dev", interface, "scope", "global"]
        done = host.run(argv, COMMAND_TIMEOUT_S)
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

    def await_peer(self, host: Machine, address: str, until_s: float) -> None:
        """Wait until the host reaches the address. A host without ping(8) is not asked."""
        if host.lacking(["ping"]):
            return
        while True:
            with suppress(subprocess.TimeoutExpired):
                if host.run(_ping(host.os, address), COMMAND_TIMEOUT_S).returncode == 0:
                    return
            if time.monotonic() > until_s:
                raise LostError(f"host {host.name} does not reach {address}")
            time.sleep(_POLL_S)

    def management(self, role: str, host: Machine, addresses: Mapping[tuple[str, Ip], str]) -> str | None:
        """Whether control traffic of the host takes the measured link: `same`, `apart`, or None if unknown.

        SSH tells its server the addresses of the connection.
        """
        if self.inventory.hosts[role].address == LOCAL:
            return "apart"
        if host.os == "windows":
            return None
        done = host.run(["sh", "-c", 'echo "$SSH_CONNECTION"'], COMMAND_TIMEOUT_S)
        words = done.stdout.decode(errors="replace").split()
        if len(words) != 4 or words[2] == "UNKNOWN":  # sshd without a socket
            return None
        own = {address for (of, _), address in addresses.items() if of == role}
        return "same" if words[2] in own else "apart"


_Value = TypeVar("_Value")


def retried(attempt: Callable[[], _Value], expected: type[AirtollError], until_s: float) -> _Value:
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
