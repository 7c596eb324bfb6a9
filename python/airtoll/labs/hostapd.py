"""Configuration files of hostapd and wpa_supplicant for a security profile on a PHY."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import which
from typing import Final

from airtoll.labs import enterprise
from airtoll.labs.base import SYSTEM_PATH
from airtoll.study.cell import Cell
from airtoll.study.security import EAP, SAE, SecurityProfile

SSID: Final = "airtoll"

COUNTRY: Final = "US"
"""The regulatory domain. Without one, Linux does not transmit first in the 5 GHz band."""

_WIDTHS_MHZ: Final = (20, 40, 80)

_CENTRE_OF_80_MHZ: Final = 42
"""Centre of the 80 MHz channel that contains channel 36 (IEEE Std 802.11-2020, Annex E)."""

_AKMS: Final[Mapping[str, str]] = {
    "wpa-psk": "WPA-PSK",
    "wpa-psk-sha256": "WPA-PSK-SHA256",
    "sae": "SAE",
    "sae-ext-key": "SAE-EXT-KEY",
    "owe": "OWE",
    "wpa-eap": "WPA-EAP",
    "wpa-eap-sha256": "WPA-EAP-SHA256",
    "wpa-eap-suite-b-192": "WPA-EAP-SUITE-B-192",
}
"""Key managements in the spelling of configuration files."""

_CIPHERS: Final[Mapping[str, str]] = {
    "tkip": "TKIP",
    "ccmp": "CCMP",
    "ccmp256": "CCMP-256",
    "gcmp": "GCMP",
    "gcmp256": "GCMP-256",
}
"""Ciphers in the spelling of configuration files."""

_PROTECTION: Final[Mapping[str | None, int]] = {None: 0, "disabled": 0, "optional": 1, "required": 2}


PROGRAMS: Final[Mapping[str, str]] = {"hostapd": "hostapd", "wpa_supplicant": "wpasupplicant"}
"""The programs that read the files, and Debian's packages with them."""

Version = tuple[int, ...]

_SINCE: Final[Mapping[str, Version]] = {"sae-ext-key": (2, 11)}
"""The first version of the programs with a key management, if Debian 12 has an older one."""


@cache
def version(program: str) -> Version | None:
    """The version of one of `PROGRAMS`; None if the program is missing or does not tell it."""
    if (file := which(program, path=SYSTEM_PATH)) is None:
        return None
    # The exit status of hostapd is 1.
    done = subprocess.run([file, "-v"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    told = re.search(r"^\w+ v(\d+(?:\.\d+)*)", done.stdout + done.stderr, re.MULTILINE)
    return None if told is None else tuple(int(number) for number in told[1].split("."))


def versions() -> dict[str, str | None]:
    """The versions of `PROGRAMS`, for the record."""
    found = {program: version(program) for program in PROGRAMS}
    return {program: None if numbers is None else _dotted(numbers) for program, numbers in found.items()}


def _dotted(numbers: Version) -> str:
    return ".".join(map(str, numbers))


@dataclass(frozen=True)
class Bss:
    """The properties of the BSS that its medium determines."""

    channel: int
    channel_mhz: int  # centre of the primary 20 MHz channel
    qos: bool  # whether the stations send QoS Data frames
    beacon_interval_tu: int
    bridge: str | None  # device of the access point that joins the radio to a wire
    country: str | None  # of the regulatory domain; None is the machine's own


def obstacles(level: str, profile: SecurityProfile, cell: Cell) -> Iterator[str]:
    """Reasons why these files cannot describe the cell. `profile` has a value for every key."""
    if profile.cipher.startswith("enhanced"):
        yield f"security '{level}': lab linux has the ciphers of Linux; lab air has Enhanced CCMP"
    for akm in profile.akms:
        if (least := _SINCE.get(akm)) is None:
            continue
        for program in PROGRAMS:
            found = version(program)
            if found is not None and found < least:
                yield (
                    f"security '{level}': wpa_key_mgmt {akm} requires {program} {_dotted(least)}, "
                    f"and this machine has {_dotted(found)}"
                )
    if (lacking := enterprise.obstacle(level, profile)) is not None:
        yield lacking
    if cell.bandwidth not in _WIDTHS_MHZ:
        yield f"bandwidth '{cell.bandwidth} MHz': lab linux supports 20, 40 and 80 MHz"


def access_point(
    profile: SecurityProfile,
    cell: Cell,
    bss: Bss,
    *,
    interface: str,
    folder: Path,
    control: Path,
    secret: str,
) -> str:
    """The text of hostapd.conf.

    `folder` has the files of 802.1X (`enterprise.files`), and `control` is the folder of the control interface.
    `secret` is the passphrase, or the WEP key in hexadecimal digits.
    """
    in_5_ghz = bss.channel_mhz > 5000
    lines = {
        "interface": interface,
        "driver": "nl80211",
        "ctrl_interface": control,
        "ssid": SSID,
        **({} if bss.country is None else {"country_code": bss.country}),
        "hw_mode": "a" if in_5_ghz else "b" if cell.phy == "dsss" else "g",
        "channel": bss.channel,
        "beacon_int": bss.beacon_interval_tu,
        **({} if bss.bridge is None else {"bridge": bss.bridge}),
        "wmm_enabled": int(bss.qos),
        **_of_phy(cell),
        **_of_access_point(profile, folder, secret),
    }
    return _text(lines)


def _text(lines: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _of_phy(cell: Cell) -> dict[str, object]:
    if cell.phy not in ("ht", "vht"):
        return {}
    short = "[SHORT-GI-20][SHORT-GI-40]" if cell.gi == "short" else ""
    wide = "[HT40+]" if cell.bandwidth >= 40 else ""
    lines: dict[str, object] = {"ieee80211n": 1, "ht_capab": f"{wide}{short}"}
    if cell.phy == "vht":
        lines |= {
            "ieee80211ac": 1,
            "vht_oper_chwidth": int(cell.bandwidth == 80),
            "vht_oper_centr_freq_seg0_idx": _CENTRE_OF_80_MHZ if cell.bandwidth == 80 else 0,
            "vht_capab": f"{'[SHORT-GI-80]' if cell.gi == 'short' else ''}[MAX-A-MPDU-LEN-EXP7]",
        }
    return lines


def _of_access_point(profile: SecurityProfile, folder: Path, secret: str) -> dict[str, object]:
    if profile.cipher == "open":
        return {}
    if profile.cipher.startswith("wep"):
        return {"wep_default_key": 0, "wep_key0": secret}
    ciphers = _spelled(profile.ciphers, _CIPHERS)
    lines: dict[str, object] = {
        "wpa": profile.wpa,
        "wpa_key_mgmt": _spelled(profile.akms, _AKMS),
        "wpa_pairwise": ciphers,
        "rsn_pairwise": ciphers,
        "ieee80211w": _PROTECTION[profile.ieee80211w],
        "beacon_prot": int(bool(profile.beacon_prot)),
    }
    if profile.group is not None and profile.ciphers != (profile.group,):
        lines["group_cipher"] = _CIPHERS[profile.group]
    lines |= _of_sae(profile)
    if "owe" in profile.akms:
        lines["owe_groups"] = profile.owe_group
    elif EAP & set(profile.akms):
        lines |= enterprise.of_access_point(profile, folder)
    else:
        lines["wpa_passphrase"] = secret
    return lines


def station(profile: SecurityProfile, bss: Bss, *, folder: Path, control: Path, secret: str) -> str:
    """The text of wpa_supplicant.conf. The arguments are those of `access_point`."""
    country = {} if bss.country is None else {"country": bss.country}
    common = {"ctrl_interface": control, **country, **_of_sae(profile)}
    network = {"ssid": f'"{SSID}"', "scan_freq": bss.channel_mhz, **_of_station(profile, folder, secret)}
    return f"{_text(common)}network={{\n{_text(network)}}}\n"


def _of_sae(profile: SecurityProfile) -> dict[str, object]:
    """The settings of SAE, which access point and stations share; empty without SAE."""
    if not SAE & set(profile.akms):
        return {}
    return {"sae_pwe": profile.sae_pwe, "sae_groups": " ".join(map(str, profile.sae_groups or ()))}


def _of_station(profile: SecurityProfile, folder: Path, secret: str) -> dict[str, object]:
    if profile.cipher == "open":
        return {"key_mgmt": "NONE"}
    if profile.cipher.startswith("wep"):
        return {"key_mgmt": "NONE", "wep_key0": secret, "wep_tx_keyidx": 0}
    # Of several key managements and ciphers, the station chooses the strongest that the access point offers.
    lines: dict[str, object] = {
        "proto": {1: "WPA", 2: "RSN"}.get(profile.wpa or 2, "WPA RSN"),
        "key_mgmt": _spelled(profile.akms, _AKMS),
        "pairwise": _CIPHERS[profile.cipher],
        "group": _CIPHERS[profile.group or profile.cipher],
        "ieee80211w": _PROTECTION[profile.ieee80211w],
    }
    if profile.beacon_prot:
        lines["beacon_prot"] = 1
    if "owe" in profile.akms:
        lines["owe_group"] = profile.owe_group
    elif EAP & set(profile.akms):
        lines |= enterprise.of_station(profile, folder, secret)
    else:
        lines["psk"] = f'"{secret}"'
    return lines


def _spelled(words: tuple[str, ...], spelling: Mapping[str, str]) -> str:
    return " ".join(spelling[word] for word in words)


def cipher(name: str) -> str:
    """The cipher in the words of studies, from the status of wpa_supplicant."""
    spelled = {**_CIPHERS, "open": "NONE", "wep40": "WEP-40", "wep104": "WEP-104"}
    return next((word for word, own in spelled.items() if own == name), name)


def key_management(name: str) -> str | None:
    """The key management in the words of studies, from the status of wpa_supplicant; None without one.

    A word that studies do not have is returned as wpa_supplicant spells it.
    """
    if name == "NONE":
        return None
    # "WPA2-PSK" is WPA-PSK in RSN, and "WPA2/IEEE 802.1X/EAP" is WPA-EAP.
    own = name.replace("WPA2", "WPA").replace("/IEEE 802.1X/", "-")
    return next((word for word, spelled in _AKMS.items() if spelled == own), name)
