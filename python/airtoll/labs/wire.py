"""The wire between the access point of lab `linux` and the server: a pair of Ethernet devices, and a bridge."""

from typing import Final

from airtoll import _rust
from airtoll.host import succeed
from airtoll.labs.emulated import Emulator
from airtoll.labs.namespace import NamespaceHost

_BRIDGE: Final = "bridge"
_DEVICE: Final = "wire"
_TIMEOUT_S: Final = 10.0

_FRAMING_B: Final = 4 + 8 + 12
"""Octets that a wire carries besides a frame: FCS, preamble and gap (IEEE Std 802.3, 3.1.1)."""


def lay(access_point: NamespaceHost, server: NamespaceHost, emulator: Emulator) -> str:
    """Join both hosts by a wire, and return the name of the access point's bridge. hostapd adds the radio to it.

    Rate, delay and queue are those of the emulator's fact `wired`. Raises AirtollError if the kernel refuses a device.
    """
    wired, peer = emulator.facts["wired"], _rust.DEVICE_NAME
    commands = [
        # A super-packet would occupy the wire as one frame.
        f"link add {_DEVICE} gso_max_segs 1 type veth peer name {peer} gso_max_segs 1 netns {server.namespace}",
        f"link add {_BRIDGE} address {emulator.macs['ap']} type bridge forward_delay 0 mcast_snooping 0",
        # With a link-local address, the kernel would solicit routers.
        *(f"link set {device} addrgenmode none" for device in (peer, _DEVICE, _BRIDGE)),
        f"link set {_DEVICE} master {_BRIDGE} up",
        f"link set {_BRIDGE} up",
    ]
    lines = "\n".join(commands)
    script = f"ip -batch - <<'END'\n{lines}\nEND"
    _run(access_point, emulator, "sh", "-c", script)
    _run(server, emulator, "ip", "link", "set", peer, "address", emulator.macs["server"])
    rate = f"limit {wired['queue_limit']} rate {wired['rate_bit_per_s']}bit {_FRAMING_B} delay {wired['delay_us']}us"
    for host, device in ((access_point, _DEVICE), (server, peer)):
        _run(host, emulator, "tc", "qdisc", "add", "dev", device, "root", "netem", *rate.split())
    return _BRIDGE


def _run(host: NamespaceHost, emulator: Emulator, *argv: str) -> None:
    succeed(host, argv, _TIMEOUT_S, f"lab {emulator.lab}: the wire of {host.name}")
