"""Programs that offer and join a network, and the report of a station about the negotiated settings."""

import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from airtoll.agent.connection import ANSWER_TIMEOUT_S, LostError
from airtoll.errors import AirtollError
from airtoll.host import Process, last_words
from airtoll.labs import enterprise, hostapd
from airtoll.labs.network import Network
from airtoll.study.quantity import one_line
from airtoll.study.security import SUITES

LOG: Final = ("-f", "/dev/stdout")
"""Options of hostapd and wpa_supplicant. Without them, the programs buffer their output."""

OFFERED: Final = "AP-ENABLED"
"""The event with which hostapd reports that stations can join."""

JOINED: Final = "CTRL-EVENT-CONNECTED"
"""The event with which wpa_supplicant reports that the station has joined."""

_GAVE_UP: Final = b"CTRL-EVENT-SSID-TEMP-DISABLED"
"""The event with which wpa_supplicant reports that it does not try the network again soon."""

_CHANNEL: Final = "set another channel, or the country of the access point"
_RADIO: Final = "the radio or its driver does not have this setting"

_WHY: Final[Mapping[bytes, str]] = {
    b"CTRL-EVENT-EAP-TLS-CERT-ERROR": "",
    b"EAP-MSCHAPV2: failure": "",
    b"CTRL-EVENT-EAP-FAILURE": "",
    b"4-Way Handshake failed": "",
    b"CTRL-EVENT-AUTH-REJECT": "check the passphrase",
    b"CTRL-EVENT-ASSOC-REJECT": "",
    b" not allowed for AP mode": _CHANNEL,
    b"does not support configured channel": _CHANNEL,
    b"does not support": _RADIO,
    b"Failed to set beacon parameters": _RADIO,
    b"Line ": "this version does not have the setting",
    b"Could not ": "",
}
"""Words in the lines with which the programs explain a failure, the most telling first, and advice for the user."""

_LATE: Final[Mapping[str, str]] = {
    JOINED: "found no network with this name, key management and cipher",
}
"""The reason if an event does not arrive and the program does not explain why."""


def wait_for(event: str, doing: str, interface: str, process: Process, timeout_s: float) -> None:
    """Wait until the program prints a line with the event.

    Raises AirtollError with `doing` and the program's reason if it does not.
    """
    until_s = time.monotonic() + timeout_s
    printed: list[bytes] = []
    late = _LATE.get(event, f"did not report {event}")
    reason = f"{late} within {timeout_s:.0f} s"
    try:
        while (line := process.next_line(until_s)) is not None:
            printed.append(line.removeprefix(f"{interface}: ".encode()))
            if event.encode() in line:
                return
            if _GAVE_UP in line:
                break
        reason = last_words(b"\n".join(printed))
    except TimeoutError:
        pass
    for why, advice in _WHY.items():
        if (found := next((line for line in printed if why in line), None)) is not None:
            reason = last_words(found) + (f" ({advice})" if advice else "")
            break
    raise AirtollError(f"{doing}: {reason}")


def say_that_it_waits(for_s: float, why: str) -> None:
    """Print on the terminal that a run waits, at most for this time."""
    print(f"waiting up to {for_s:.0f} s: {one_line(why, most=4096)}", file=sys.stderr, flush=True)


def end(process: Process) -> None:
    """End a program, and wait for its end. An agent that is lost has ended it."""
    with suppress(LostError), process:
        process.terminate()
        try:
            process.wait(ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()


def pairs(text: str) -> dict[str, str]:
    """The lines "name=value" of an answer of wpa_supplicant."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def joined(status: Mapping[str, str]) -> dict[str, Any]:
    """Facts of a station's link, from wpa_supplicant's answers to STATUS and SIGNAL_POLL."""
    return {
        "cipher": hostapd.cipher(status["pairwise_cipher"]),
        "wpa_key_mgmt": hostapd.key_management(status["key_mgmt"]),
        "ieee80211w": "pmf" in status,
        "group_cipher": status.get("group_cipher"),
        "frequency_mhz": int(status["FREQUENCY"]),
        "bandwidth_mhz": int(status["WIDTH"].split()[0]),  # "80 MHz", "20 MHz (no HT)"
        **enterprise.facts(status),
    }


def expected(network: Network) -> dict[str, Any]:
    """The facts of `joined` that the network determines, except for the cipher."""
    profile = network.profile
    return {
        "group_cipher": SUITES[profile.group or profile.cipher].hostapd,
        "wpa_key_mgmt": profile.akm,
        "ieee80211w": profile.ieee80211w != "disabled",
        "frequency_mhz": network.channel_mhz,
        "bandwidth_mhz": network.bandwidth_mhz,
        "eap": profile.eap,
    }
