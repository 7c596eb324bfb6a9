"""The report of a station with macOS or Windows about its network.

Both systems report less than wpa_supplicant does. A value that they do not report is absent: neither names the group
cipher or the protection of management frames, macOS names no pairwise cipher, and Windows no channel width.
"""

import re
import subprocess
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, FailFast, Field, TypeAdapter

from airtoll.agent.agentless import AgentlessHost
from airtoll.documents import read_json
from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.labs.network import channel_mhz
from airtoll.study.security import CIPHERS


class NotJoinedError(AirtollError):
    """A station has no network."""


_TIMEOUT_S: Final = 60.0  # system_profiler scans for networks first

_COMMANDS: Final = {
    "macos": ["system_profiler", "-json", "SPAirPortDataType"],
    "windows": ["netsh", "wlan", "show", "interfaces"],
}

_REDACTED: Final = "<redacted>"
"""The name of every network, to programs that may not know the location of a Mac."""

_AKM_OF_MACOS: Final[Mapping[str, str | None]] = {
    "none": None,
    "wpa_personal": "wpa-psk",
    "wpa2_personal": "wpa-psk",
    "wpa2_personal_mixed": "wpa-psk",
    "wpa3_personal": "sae",
}
"""Key managements by the words of macOS. A transition mode does not tell which one the station chose."""

_AKM_OF_WINDOWS: Final[Mapping[str, str | None]] = {
    "Open": None,
    "WPA-Personal": "wpa-psk",
    "WPA2-Personal": "wpa-psk",
    "WPA3-Personal": "sae",
    "OWE": "owe",
}

_CIPHER_OF_WINDOWS: Final[Mapping[str, str]] = {
    "None": "open",
    **{suite.hostapd: word for word, suite in CIPHERS.items() if suite.hostapd and not suite.is_wep},
}
"""Ciphers by the words of Windows, which spells them like hostapd."""


class _Network(BaseModel):
    name: str | None = Field(default=None, alias="_name")
    security: str = Field(default="", alias="spairport_security_mode")
    channel: str | int = Field(default="", alias="spairport_network_channel")  # an integer before macOS 11


class _Interface(BaseModel):
    name: str | None = Field(default=None, alias="_name")
    network: _Network | None = Field(default=None, alias="spairport_current_network_information")


class _Part(BaseModel):
    interfaces: Annotated[list[_Interface], FailFast()] = Field(
        default=[], alias="spairport_airport_interfaces"
    )


class _Profile(BaseModel):
    """The answer of system_profiler."""

    parts: Annotated[list[_Part], FailFast()] = Field(alias="SPAirPortDataType")


_PROFILE: Final = TypeAdapter(_Profile)


def report(host: AgentlessHost, interface: str) -> dict[str, Any]:
    """The settings of the station's network that its system reports, in the words of `joining.joined`.

    Raises NotJoinedError if the station has no network, AirtollError if the system does not answer.
    """
    argv = _COMMANDS[host.os]
    try:
        done = host.run(argv, _TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise AirtollError(f"host {host.name}: {argv[0]}: no answer within {_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        raise AirtollError(f"host {host.name}: {argv[0]}: {last_words(done.stderr, done.stdout)}")
    text = done.stdout.decode(errors="replace")
    found = of_macos(text, interface) if host.os == "macos" else of_windows(text, interface)
    if found is None:
        raise NotJoinedError(f"host {host.name}: {interface} has no network")
    return found


def of_macos(text: str, interface: str) -> dict[str, Any] | None:
    """The settings in the JSON of system_profiler; None if the interface has no network. Raises AirtollError."""
    answer = read_json(_PROFILE, text, "system_profiler")
    own = next((one for part in answer.parts for one in part.interfaces if one.name == interface), None)
    if own is None:
        raise AirtollError(f"system_profiler does not report an interface {interface}")
    if (network := own.network) is None or not network.model_fields_set:
        return None
    security = re.sub(r"^s?pairport_security_mode_", "", network.security)
    channel = re.match(r"([0-9]{1,3}) \(([0-9])GHz, ([0-9]{1,3})MHz\)", str(network.channel))
    found: dict[str, Any] = {"security_reported": security}
    if network.name not in (None, _REDACTED):
        found["ssid"] = network.name
    if security in _AKM_OF_MACOS:
        found["wpa_key_mgmt"] = _AKM_OF_MACOS[security]
    if security == "none":
        found["cipher"] = "open"
    if channel is not None and channel[2] in "25":
        found |= {"frequency_mhz": channel_mhz(int(channel[1])), "bandwidth_mhz": int(channel[3])}
    return found


def of_windows(text: str, interface: str) -> dict[str, Any] | None:
    """The settings that netsh prints; None if the interface has no network.

    Raises AirtollError for a language other than English, or if the interface is unknown.
    """
    interfaces: list[dict[str, str]] = []
    for line in text.splitlines():
        name, colon, value = (part.strip() for part in line.partition(": "))
        if colon and name == "Name":
            interfaces.append({})
        if colon and interfaces:
            interfaces[-1][name] = value
    found = next((one for one in interfaces if one["Name"] == interface), {})
    if (state := found.get("State")) is None:
        raise AirtollError(
            f"netsh does not report an interface {interface} in English: see netsh wlan show interfaces"
        )
    if state != "connected":
        return None
    authentication, cipher = found.get("Authentication", ""), found.get("Cipher", "")
    facts: dict[str, Any] = {"security_reported": f"{authentication}, {cipher}"}
    if "SSID" in found:
        facts["ssid"] = found["SSID"]
    if (bssid := found.get("BSSID", found.get("AP BSSID"))) is not None:
        facts["bssid"] = bssid.lower()
    if authentication in _AKM_OF_WINDOWS:
        facts["wpa_key_mgmt"] = _AKM_OF_WINDOWS[authentication]
    if cipher in _CIPHER_OF_WINDOWS:
        facts["cipher"] = _CIPHER_OF_WINDOWS[cipher]
    if (
        re.fullmatch("[0-9]{1,3}", channel := found.get("Channel", ""))
        and found.get("Band", "5 GHz") != "6 GHz"
    ):
        facts["frequency_mhz"] = channel_mhz(int(channel))
    return facts
