"""Hosts and networks for tests of access points, and a controller that a test can kill.

`python access_point_hosts.py STATE KIND` switches an access point twice and restores it, as a study does.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.labs.access_points.base import AccessPoint
from airtoll.labs.access_points.hook import Hook
from airtoll.labs.access_points.openwrt import OpenWrt
from airtoll.labs.journal import HostJournal
from airtoll.labs.network import Network
from airtoll.study.link import LinkSettings
from airtoll.study.security import READY_MADE, SecurityProfile

SECTION = "@wifi-iface[1]"
"""The network of the access point that is measured."""

SECRETS = {
    "open": "",
    "wep40": "0123456789",
    "wep104": "0123456789abcdef0123456789",
    "tkip": "temporal key",
    "ccmp": "it's the first secret",
    "sae": "the second secret",
    "wpa3-transition": 'a "third" secret',
}

BEFORE = b"""# set by hand
config wifi-device 'radio0'
\toption type mac80211
\toption channel "1"
\toption band '2g'

config wifi-iface 'guests'
\toption device 'radio0'
\toption mode 'ap'
\toption ssid 'Guests'
\toption encryption 'none'

config wifi-device 'radio1'
\toption type 'mac80211'
\toption channel '100'
\toption band '5g'
\toption htmode 'VHT20'
\toption country 'US'

config wifi-iface
\toption device 'radio1'
\toption network 'lan'
\toption mode 'ap'
\toption ssid 'Home'
\toption encryption 'sae-mixed'
\toption key 'the owner'\\''s key'  # of all devices
\toption sae_password 'the owner'\\''s password'
\toption ieee80211r '1'
\tlist hostapd_bss_options 'wpa_key_mgmt=SAE'

"""
"""The configuration of the access point before the measurement."""


GUARD = (
    "etc/airtoll-guard",
    "etc/init.d/airtoll",
    "etc/rc.d/S15airtoll",
    "var/run/airtoll-guard",
    "services/airtoll",
)
"""The files of the guard on a router with OpenWrt."""


def network(level: str, profile: SecurityProfile | None = None, **words: Any) -> Network:
    """A network in the 5 GHz band that protects its frames by this level."""
    own = profile or READY_MADE[level]
    settings: dict[str, Any] = {
        "ssid": "Bob's lab",
        "secret": SECRETS.get(level, "some other secret"),
        "phy": "vht",
        "bandwidth_mhz": 80,
        "gi": "short",
        "channel": 44,
        "country": "DE",
        **words,
    }
    return Network(level=level, profile=own.on(LinkSettings()), **settings)


def reach(state: Path, name: str) -> AgentHost:
    """A host of this machine. The programs of the stand-in come first in its search path."""
    agent = str(binary.local())
    path = f"{state / 'bin'}:{os.environ['PATH']}"
    return AgentHost(Connection(name, ["env", f"PATH={path}", agent, "serve"]))


def inventory(state: Path) -> Path:
    return state / "lab.toml"


def access_point(kind: str, state: Path, host: AgentHost, journal: HostJournal) -> AccessPoint:
    if kind == "hook":
        return Hook(host, [str(state / "bin" / "hook")], journal)
    return OpenWrt(host, journal, SECTION, root=str(state))


def main(state: Path, kind: str) -> None:
    """Switch the access point twice and restore it, also after an error."""
    (state / "controller.pid").write_text(str(os.getpid()))
    with HostJournal(inventory(state)) as journal:
        host = reach(state, "ap")
        (state / "agent.pid").write_text(str(host.connection._transport.pid))
        assert host.connection._hello is not None
        (state / "worker.pid").write_text(str(host.connection._hello.pid))
        point = access_point(kind, state, host, journal)
        try:
            for level in ("ccmp", "sae"):
                print(json.dumps(point.switch(network(level))), flush=True)
        except AirtollError as error:
            print(error, flush=True)
        finally:
            try:
                point.restore()
            except AirtollError:
                new = reach(state, "ap")
                print(journal.replay(lambda _: new), flush=True)  # what still fails remains for the next one
                new.connection.close()
            host.connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
