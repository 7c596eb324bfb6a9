"""An access point that its user sets by hand, when the run asks."""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from airtoll import _rust
from airtoll.errors import StoppedError, UsageError
from airtoll.labs.access_points import base
from airtoll.labs.network import Network
from airtoll.study.phys import PHYS
from airtoll.study.security import SUITES, SecurityProfile

_WEP_IV_BITS: Final = 24


def ask_on_terminal(text: str) -> None:
    """Print the text and wait for Enter. Raises UsageError without a terminal, StoppedError at the end of input."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "the access point is set by hand (kind prompt), which requires a terminal; "
            "use the kind hook, openwrt or hostapd without one"
        )
    print(text, end="", file=sys.stderr, flush=True)
    if not sys.stdin.readline():
        raise StoppedError("stopped: the input has ended")


class Prompt:
    """The user, who sets the access point by hand."""

    name = "prompt"

    def __init__(self, ask: Callable[[str], None] = ask_on_terminal) -> None:
        """`ask` shows a text and returns when the user has followed it."""
        self._ask = ask
        self._asked: dict[str, str] = {}  # settings that the user was asked to set, with their last values

    def obstacle(self, network: Network) -> str | None:
        """Return why no access point can offer the network, or None: only the user knows the access point."""
        return base.obstacle(network)

    def switch(self, network: Network) -> dict[str, Any]:
        """Ask the user to set the network, and wait. Raises UsageError without a terminal."""
        asked = dict(settings(network))
        end = "Press Enter when the access point has restarted: "
        self._ask("\n".join(["Set on the access point:", *_lines(asked), end]))
        self._asked |= asked
        return {"kind": self.name, "program": None}

    def is_up(self) -> bool:
        """True: only the user knows the access point."""
        return True

    def restore(self) -> None:
        """Ask the user to restore the earlier settings, and wait."""
        if self._asked:
            begin = "Set the access point back to its earlier settings. airtoll asked you to set:"
            end = "Then let stations join their earlier network again, and press Enter: "
            self._ask("\n".join([begin, *_lines(self._asked), end]))
            self._asked = {}


def _lines(settings: Mapping[str, str]) -> list[str]:
    return [f"  {name + ':':<31}{value}" for name, value in settings.items()]


def settings(network: Network) -> Iterator[tuple[str, str]]:
    """The settings of a network, with the names that the pages of access points usually have.

    The passphrase is omitted. A WEP key, which protects nothing, is shown: the user has it nowhere else.
    """
    profile = network.profile
    yield "Network name (SSID)", network.ssid
    yield "Security", security(profile)
    if profile.suite.is_wep:
        yield "WEP key 1", f"{network.secret} (hexadecimal)"
    if network.has_passphrase:
        yield "Password", "the passphrase in the inventory"
    if profile.akms and profile.suite.is_current:
        yield "Protected management frames", str(profile.ieee80211w)
    yield "Wireless mode", _mode(PHYS[network.phy])
    yield "Channel", str(network.channel)
    yield "Channel width", f"{network.bandwidth_mhz} MHz"
    yield "Guard interval", network.gi
    yield "Beacon interval", f"{network.beacon_interval_tu} TU (often called ms)"


def _mode(phy: _rust.Phy) -> str:
    """The name of a PHY on the pages of access points: "ac", "g only"."""
    name = phy.amendment.removeprefix("802.11")
    return name if phy.is_ht else f"{name} only"


def security(profile: SecurityProfile) -> str:
    """The name of the level on the pages of access points: "WPA2-Personal, AES"."""
    exchanges = profile.exchanges
    if profile.suite.is_wep:
        return f"WEP, {8 * profile.suite.key_b + _WEP_IV_BITS} bits, open system"
    if not profile.akms:
        return "none (open)"
    ciphers = " and ".join(SUITES[cipher].common for cipher in profile.ciphers)
    wpa = {1: "WPA", 2: "WPA2", 3: "WPA/WPA2"}[profile.wpa or 2]
    if "owe" in exchanges:
        name = "Enhanced Open (OWE)"
    elif profile.is_cnsa:
        name = "WPA3-Enterprise 192-bit"
    elif "eap" in exchanges:
        name = f"{'WPA3' if profile.ieee80211w == 'required' else wpa}-Enterprise"
    elif "sae" in exchanges:
        name = "WPA3-Personal" if exchanges == {"sae"} else "WPA2/WPA3-Personal"
    else:
        name = f"{wpa}-Personal"
    return f"{name}, {ciphers}"
