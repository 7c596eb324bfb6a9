"""The access point of an inventory and its stations, which join the network that the next cell requires.

The access point is switched only when the next cell has other properties of the network than the last one.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from airtoll.agent.agentless import AgentlessHost
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError, UsageError
from airtoll.labs import wifi
from airtoll.labs.access_points.base import AccessPoint
from airtoll.labs.access_points.fixed import FixedNetwork
from airtoll.labs.access_points.hook import Hook
from airtoll.labs.access_points.hostapd import Hostapd
from airtoll.labs.access_points.openwrt import OpenWrt
from airtoll.labs.access_points.prompt import Prompt
from airtoll.labs.access_points.station import NetworkStation, OwnStation, StationByHand, mismatches
from airtoll.labs.machines import Machines, retried
from airtoll.labs.network import Network
from airtoll.labs.own_secrets import make_certificates


class Switching:
    """Switches the access point, and lets the stations join."""

    def __init__(self, machines: Machines) -> None:
        """Nothing is reached or changed yet."""
        self._machines = machines
        self._access_point: AccessPoint | None = None
        self._through: AgentHost | None = None  # the agent that switches the access point
        self._stations: dict[str, NetworkStation] = {}
        self._network: Network | None = None
        self._joined: list[Network] = []
        self.facts: dict[str, Any] = {}
        """Facts of the network for the record."""

    def forget(self) -> None:
        """Switch the access point before the next link, also to the same network."""
        self._network = None

    def offer(self, network: Network) -> bool:
        """Switch to the network unless the stations are in it as before. Returns whether the access point was switched.

        Raises LostError if a station does not join within the inventory's patience.
        """
        if network == self._network and self.is_set_up() and self._is_as_reported(network):
            return False
        self.switch(network)
        return True

    def close(self) -> None:
        """Restore the access point and the stations.

        Raises AirtollError if the restoring fails; the journal then keeps it for the next airtoll.
        """
        with ExitStack() as stack:
            for station in self._stations.values():
                stack.callback(station.restore)
            if self._access_point is not None:  # restored first: a station that hangs must not delay it
                stack.callback(self._access_point.restore)
        self._stations = {}
        self._access_point = self._through = self._network = None

    def switch(self, network: Network) -> None:
        """Let the access point offer the network, and the stations join."""
        through = self._agent_of_access_point()
        if self._access_point is None or through is not self._through:
            # An agent that was lost has restored the access point.
            self._access_point, self._through = self._made(), through
        self._network = None  # nothing is known of an access point that failed half-way
        if (obstacle := self._access_point.obstacle(network)) is not None:
            raise UsageError(obstacle)
        if network.profile.eap is not None:
            make_certificates(self._machines.file)
        for station in self._stations.values():
            station.leave()
        of_radios: dict[str, Any] = {}
        facts: dict[str, Any] = {"access_point": self._access_point.switch(network), "wifi": of_radios}
        reports: dict[str, Mapping[str, Any]] = {}
        for role, table in self._machines.inventory.hosts.items():
            if not role.startswith("sta") or table.wireless is None:
                continue
            if role not in self._stations or self._stations[role].host is not self._machines.of_role(role):
                self._stations[role] = self._station(role, table.wireless)
            station = self._stations[role]
            # A network that no station has joined yet may have a wrong passphrase: that is an error at once.
            if network in self._joined or (self._joined and isinstance(station, StationByHand)):
                reports[role] = self._patiently(station.join, network)
            else:
                reports[role] = station.join(network)
            if isinstance(station.host, AgentHost):
                of_radios[role] = wifi.examine(station.host, table.wireless).facts()
        self._network, self.facts = network, facts
        if network not in self._joined:
            self._joined.append(network)
        self._note(network, reports)

    def _is_as_reported(self, network: Network) -> bool:
        """Whether the stations report no other mismatches than before, for example a channel that has changed since.

        Waits until all stations are in the network: the access point may have restarted. Raises LostError if one of
        them does not join in time.
        """
        before = self.facts["mismatches"]
        reports = {role: self._patiently(station.stay, network) for role, station in self._stations.items()}
        self._note(network, reports)
        return bool(self.facts["mismatches"] == before)

    def _patiently(self, join: Callable[[Network], dict[str, Any]], network: Network) -> dict[str, Any]:
        """The report of a station that joins within the inventory's patience. Raises LostError if it does not."""
        return retried(lambda: join(network), AirtollError, self._machines.patient_until_s)

    def _note(self, network: Network, reports: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep the reports of the stations for the records: those of the first station, and every mismatch."""
        first: Mapping[str, Any] = next(iter(reports.values()), {})
        wrong = {role: found for role, report in reports.items() if (found := mismatches(network, report))}
        self.facts = {**self.facts, **first, "mismatches": wrong}

    def is_set_up(self) -> bool:
        """Whether the access point still offers its network, and the stations have kept their agents."""
        return (
            self._access_point is not None
            and self._agent_of_access_point() is self._through
            and self._access_point.is_up()
            and all(station.host is self._machines.of_role(role) for role, station in self._stations.items())
        )

    def _station(self, role: str, interface: str) -> NetworkStation:
        host = self._machines.awaited(role, self._machines.patient_until_s)
        if self._machines.inventory.hosts[role].join == "by-hand" or isinstance(host, AgentlessHost):
            return StationByHand(host, interface, self._machines.inventory.patience)
        assert self._machines.journal is not None
        return OwnStation(host, interface, self._machines.journal)

    def _made(self) -> AccessPoint:
        """The access point of the inventory."""
        table = self._machines.inventory.access_point
        assert self._machines.journal is not None
        match table.kind:
            case "hostapd":
                interface = self._machines.inventory.hosts["ap"].wireless or ""
                return Hostapd(self._machines.host("ap"), interface, self._machines.journal, table.bridge)
            case "openwrt":
                return OpenWrt(self._machines.openwrt(), self._machines.journal, table.section, table.network)
            case "hook":
                return Hook(self._machines.controller(), table.command, self._machines.journal)
            case "prompt":
                return Prompt()
            case "fixed":
                return FixedNetwork()

    def _agent_of_access_point(self) -> AgentHost | None:
        """The agent that switches the access point, connected; None if the user does."""
        match self._machines.inventory.access_point.kind:
            case "hostapd":
                return self._machines.host("ap")
            case "openwrt" | "hook":
                return self._machines.controller()
            case "prompt" | "fixed":
                return None
