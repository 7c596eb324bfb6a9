"""Configuration files of hostapd and wpa_supplicant for a network."""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from shutil import which
from typing import Final

from airtoll import _rust
from airtoll.host import SYSTEM_PATH
from airtoll.labs import enterprise
from airtoll.labs.network import Network
from airtoll.study.phys import PHYS, newest_non_ht
from airtoll.study.security import AKMS, SUITES, SecurityProfile, scheme

SSID: Final = "airtoll"
"""The name of the labs' own networks."""

COUNTRY: Final = "US"
"""The regulatory domain. Without one, Linux does not transmit first in the 5 GHz band."""

_WIDTHS_MHZ: Final = (20, 40, 80)

_PROTECTION: Final[Mapping[str | None, int]] = {None: 0, "disabled": 0, "optional": 1, "required": 2}


PROGRAMS: Final[Mapping[str, str]] = {"hostapd": "hostapd", "wpa_supplicant": "wpasupplicant"}
"""The programs that read the files, and Debian's packages with them."""

Version = tuple[int, ...]


@cache
def version(program: str) -> Version | None:
    """The version of one of `PROGRAMS` on this machine; None if the program is missing or does not tell it."""
    if (file := which(program, path=SYSTEM_PATH)) is None:
        return None
    # The exit status of hostapd is 1.
    done = subprocess.run([file, "-v"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return parse_version(done.stdout + done.stderr)


def parse_version(text: str) -> Version | None:
    """The version in the output of one of `PROGRAMS` with -v; None if the output has no version."""
    told = re.search(r"^\w+ v(\d+(?:\.\d+)*)", text, re.MULTILINE)
    return None if told is None else tuple(int(number) for number in told[1].split("."))


def versions() -> dict[str, str | None]:
    """The versions of `PROGRAMS`, for the record."""
    found = {program: version(program) for program in PROGRAMS}
    return {program: None if numbers is None else dotted(numbers) for program, numbers in found.items()}


def dotted(numbers: Version) -> str:
    """A version as programs print it: 2.10."""
    return ".".join(map(str, numbers))


def obstacles(
    level: str,
    profile: SecurityProfile,
    bandwidth_mhz: int,
    *,
    lab: str = "lab linux",
    machine: str = "this machine",
    found: Callable[[str], Version | None] | None = None,
) -> Iterator[str]:
    """Reasons why these files cannot describe a network. `profile` has a value for every key.

    `found` is the version of a program on the machine that runs it; default: on this machine.
    """
    if profile.suite.hostapd is None:
        yield f"security '{level}': {lab} has the ciphers of Linux; lab air has {scheme(profile.suite)}"
    for akm in profile.akms:
        if (least := AKMS[akm].since) is None:
            continue
        for program in PROGRAMS:
            has = (found or version)(program)
            if has is not None and has < least:
                yield (
                    f"security '{level}': wpa_key_mgmt {akm} requires {program} {dotted(least)}, "
                    f"and {machine} has {dotted(has)}"
                )
    if bandwidth_mhz not in _WIDTHS_MHZ:
        yield f"bandwidth '{bandwidth_mhz} MHz': {lab} supports 20, 40 and 80 MHz"


def access_point(
    network: Network, *, interface: str, folder: Path, control: Path, bridge: str | None = None
) -> str:
    """The text of hostapd.conf.

    `folder` has the files of 802.1X (`enterprise.files`), `control` is the folder of the control interface, and
    `bridge` is the device that joins the radio to a wire.
    """
    lines = {
        "interface": interface,
        "driver": "nl80211",
        "ctrl_interface": control,
        **({} if bridge is None else {"bridge": bridge}),
        **words(network),
        **_secret_words(network),
        **(enterprise.of_access_point(network.profile, folder) if "eap" in network.profile.exchanges else {}),
    }
    return _text(lines)


def words(network: Network) -> dict[str, object]:
    """The settings of the network in hostapd's words, without its secret."""
    return {
        "ssid": network.ssid,
        **({} if network.country is None else {"country_code": network.country}),
        "hw_mode": _mode(network),
        "channel": network.channel,
        "beacon_int": network.beacon_interval_tu,
        "wmm_enabled": int(network.qos),
        **_of_phy(network),
        **_of_access_point(network.profile),
    }


def _text(lines: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _mode(network: Network) -> str:
    """Hostapd's `hw_mode`: the letter of the newest amendment with non-HT rates."""
    return PHYS[newest_non_ht(network.phy, network.band)].amendment[-1]


def _of_phy(network: Network) -> dict[str, object]:
    is_short, is_80_mhz = network.gi == "short", network.bandwidth_mhz == 80
    fields = {
        "ht40": {1: "[HT40+]", -1: "[HT40-]", 0: ""}[network.secondary],
        "short_gi_20_40": "[SHORT-GI-20][SHORT-GI-40]" if is_short else "",
        "short_gi_80": "[SHORT-GI-80]" if is_short else "",
        "chwidth": int(is_80_mhz),
        "centre": network.centre_of_80_mhz if is_80_mhz else 0,
    }
    lines = {key: value.format(**fields) for key, value in PHYS[network.phy].hostapd}
    return {key: int(value) if value.isdigit() else value for key, value in lines.items()}


def _of_access_point(profile: SecurityProfile) -> dict[str, object]:
    if not profile.suite.has_handshake:
        return {}
    ciphers = _spelled(profile.ciphers, SUITES)
    lines: dict[str, object] = {
        "wpa": profile.wpa,
        "wpa_key_mgmt": _spelled(profile.akms, AKMS),
        "wpa_pairwise": ciphers,
        "rsn_pairwise": ciphers,
        "ieee80211w": _PROTECTION[profile.ieee80211w],
        "beacon_prot": int(bool(profile.beacon_prot)),
    }
    if profile.group is not None and profile.ciphers != (profile.group,):
        lines["group_cipher"] = SUITES[profile.group].hostapd
    lines |= _of_sae(profile)
    if "owe" in profile.exchanges:
        lines["owe_groups"] = profile.owe_group
    return lines


def _secret_words(network: Network) -> dict[str, object]:
    """The lines with the passphrase or the WEP key."""
    if network.profile.suite.is_wep:
        return {"wep_default_key": 0, "wep_key0": network.secret}
    return {"wpa_passphrase": network.secret} if network.has_passphrase else {}


def station(network: Network, *, folder: Path, control: Path) -> str:
    """The text of wpa_supplicant.conf. The arguments are those of `access_point`."""
    country = {} if network.country is None else {"country": network.country}
    common = {"ctrl_interface": control, **country, **_of_sae(network.profile)}
    lines = {
        "ssid": f'"{network.ssid}"',
        "scan_freq": network.channel_mhz,
        **_of_station(network.profile, folder, network.secret),
    }
    return f"{_text(common)}network={{\n{_text(lines)}}}\n"


def _of_sae(profile: SecurityProfile) -> dict[str, object]:
    """The settings of SAE, which access point and stations share; empty without SAE."""
    if "sae" not in profile.exchanges:
        return {}
    return {"sae_pwe": profile.sae_pwe, "sae_groups": " ".join(map(str, profile.sae_groups or ()))}


def _of_station(profile: SecurityProfile, folder: Path, secret: str) -> dict[str, object]:
    if not profile.ciphers:
        return {"key_mgmt": "NONE"}
    if profile.suite.is_wep:
        return {"key_mgmt": "NONE", "wep_key0": secret, "wep_tx_keyidx": 0}
    # Of several key managements and ciphers, the station chooses the strongest that the access point offers.
    lines: dict[str, object] = {
        "proto": {1: "WPA", 2: "RSN"}.get(profile.wpa or 2, "WPA RSN"),
        "key_mgmt": _spelled(profile.akms, AKMS),
        "pairwise": profile.suite.hostapd,
        "group": SUITES[profile.group or profile.cipher].hostapd,
        "ieee80211w": _PROTECTION[profile.ieee80211w],
    }
    if profile.beacon_prot:
        lines["beacon_prot"] = 1
    if "owe" in profile.exchanges:
        lines["owe_group"] = profile.owe_group
    elif "eap" in profile.exchanges:
        lines |= enterprise.of_station(profile, folder, secret)
    else:
        lines["psk"] = f'"{secret}"'
    return lines


def _spelled(words: tuple[str, ...], declared: Mapping[str, _rust.Suite] | Mapping[str, _rust.Akm]) -> str:
    return " ".join(str(declared[word].hostapd) for word in words)


def cipher(name: str) -> str:
    """The cipher in the words of studies, from the status of wpa_supplicant."""
    return next((word for word, suite in SUITES.items() if suite.hostapd == name), name)


def key_management(name: str) -> str | None:
    """The key management in the words of studies, from the status of wpa_supplicant; None without one.

    A word that studies do not have is returned as wpa_supplicant spells it.
    """
    if name == "NONE":
        return None
    # "WPA2-PSK" is WPA-PSK in RSN, and "WPA2/IEEE 802.1X/EAP" is WPA-EAP.
    own = name.replace("WPA2", "WPA").replace("/IEEE 802.1X/", "-")
    return next((word for word, akm in AKMS.items() if akm.hostapd == own), name)
