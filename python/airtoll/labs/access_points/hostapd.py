"""An access point that hostapd provides on a host with an agent."""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from airtoll.agent.connection import LostError
from airtoll.agent.host import AgentHost
from airtoll.agent.processes import AgentProcess
from airtoll.labs import enterprise, hostapd, joining
from airtoll.labs.access_points import base
from airtoll.labs.access_points.lending import TIMEOUT_S, LentInterface
from airtoll.labs.journal import HostJournal
from airtoll.labs.network import Network

_START_S: Final = 20.0  # includes a scan for neighbours before a channel of 40 MHz


class Hostapd:
    """Hostapd on a wireless interface of a host. Each network is a new hostapd."""

    name = "hostapd"

    def __init__(
        self, host: AgentHost, interface: str, journal: HostJournal, bridge: str | None = None
    ) -> None:
        """`bridge` is a device of the host that joins the interface to a wire."""
        self.host = host
        self._interface = interface
        self._bridge = bridge
        self._lent = LentInterface(journal, host, interface)
        self._process: AgentProcess | None = None

    def obstacle(self, network: Network) -> str | None:
        """Return why hostapd on this host cannot offer the network, or None if it can."""
        if (why := base.obstacle(network)) is not None:
            return why
        if network.profile.eap_server == "freeradius":
            return f"security '{network.level}': eap_server freeradius: use hostapd's own server"
        machine = f"host {self.host.name}"
        found = hostapd.obstacles(
            network.level,
            network.profile,
            network.bandwidth_mhz,
            lab=self.name,
            machine=machine,
            found=self._version,
        )
        return next(found, None)

    def _version(self, program: str) -> hostapd.Version | None:
        done = self.host.run([program, "-v"], TIMEOUT_S)  # the exit status of hostapd is 1
        return hostapd.parse_version((done.stdout + done.stderr).decode(errors="replace"))

    def switch(self, network: Network) -> dict[str, Any]:
        """Offer the network. Returns facts when stations can join.

        Raises AirtollError with hostapd's last words if it does not offer the network in time.
        """
        self._stop()
        self._lent.take(network.country)
        folder = Path(self.host.folder())
        text = hostapd.access_point(
            network,
            interface=self._interface,
            folder=folder,
            control=folder / "hostapd",
            bridge=self._bridge,
        )
        files = [
            ("hostapd.conf", text),
            *enterprise.files(network.profile, folder, network.secret, network.certificates),
        ]
        for name, content in files:
            self.host.put(str(folder / name), content.encode(), mode=0o600)
        self._process = self.host.popen(["hostapd", *joining.LOG, str(folder / "hostapd.conf")])
        doing = f"host {self.host.name}: hostapd on {self._interface}"
        joining.wait_for(joining.OFFERED, doing, self._interface, self._process, _START_S)
        version = self._version("hostapd")
        return {
            "kind": self.name,
            "interface": self._interface,
            "program": None if version is None else f"hostapd {hostapd.dotted(version)}",
        }

    def _stop(self) -> None:
        if self._process is not None:
            joining.end(self._process)
            self._process = None

    def is_up(self) -> bool:
        """Whether hostapd runs. It ends with the connection to its host."""
        with suppress(LostError):
            return self._process is not None and self._process.poll() is None
        return False

    def restore(self) -> None:
        """End hostapd and return the interface to its earlier state. Raises AirtollError if that fails."""
        self._stop()
        self._lent.give_back()
