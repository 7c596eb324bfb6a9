"""Configuration files of hostapd and wpa_supplicant for a security profile on a PHY."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True)
class Bss:
    """The properties of the BSS that its medium determines."""

    channel: int
    channel_mhz: int  # centre of the primary 20 MHz channel
    qos: bool  # whether the stations send QoS Data frames
    beacon_interval_tu: int


def obstacles(level: str, profile: SecurityProfile, cell: Cell) -> Iterator[str]:
    """Reasons why these files cannot describe the cell. `profile` has a value for every key."""
    if profile.cipher.startswith("enhanced"):
        yield f"security '{level}': lab linux has the ciphers of Linux; lab air has Enhanced CCMP"
    for akm in profile.akms:
        if akm in EAP:
            yield f"security '{level}': lab linux does not support wpa_key_mgmt {akm} yet"
    if cell.bandwidth not in _WIDTHS_MHZ:
        yield f"bandwidth '{cell.bandwidth} MHz': lab linux supports 20, 40 and 80 MHz"


def access_point(
    profile: SecurityProfile, cell: Cell, bss: Bss, *, interface: str, control: str, secret: str
) -> str:
    """The text of hostapd.conf. `secret` is the passphrase, or the WEP key in hexadecimal digits."""
    in_5_ghz = bss.channel_mhz > 5000
    lines = {
        "interface": interface,
        "driver": "nl80211",
        "ctrl_interface": control,
        "ssid": SSID,
        "country_code": COUNTRY,
        "hw_mode": "a" if in_5_ghz else "b" if cell.phy == "dsss" else "g",
        "channel": bss.channel,
        "beacon_int": bss.beacon_interval_tu,
        "wmm_enabled": int(bss.qos),
        **_of_phy(cell),
        **_of_access_point(profile, secret),
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


def _of_access_point(profile: SecurityProfile, secret: str) -> dict[str, object]:
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
    else:
        lines["wpa_passphrase"] = secret
    return lines


def station(profile: SecurityProfile, bss: Bss, *, control: str, secret: str) -> str:
    """The text of wpa_supplicant.conf. `secret` is the passphrase, or the WEP key in hexadecimal digits."""
    common = {"ctrl_interface": control, "country": COUNTRY, **_of_sae(profile)}
    network = {"ssid": f'"{SSID}"', "scan_freq": bss.channel_mhz, **_of_station(profile, secret)}
    return f"{_text(common)}network={{\n{_text(network)}}}\n"


def _of_sae(profile: SecurityProfile) -> dict[str, object]:
    """The settings of SAE, which access point and stations share; empty without SAE."""
    if not SAE & set(profile.akms):
        return {}
    return {"sae_pwe": profile.sae_pwe, "sae_groups": " ".join(map(str, profile.sae_groups or ()))}


def _of_station(profile: SecurityProfile, secret: str) -> dict[str, object]:
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
    else:
        lines["psk"] = f'"{secret}"'
    return lines


def _spelled(words: tuple[str, ...], spelling: Mapping[str, str]) -> str:
    return " ".join(spelling[word] for word in words)


def key_management(name: str) -> str | None:
    """The key management in the words of studies, from the status of wpa_supplicant; None without one.

    A word that studies do not have is returned as wpa_supplicant spells it.
    """
    if name == "NONE":
        return None
    # "WPA2-PSK" is WPA-PSK in RSN, and "WPA2-PSK-SHA256" is WPA-PSK-SHA256.
    own = name.replace("WPA2-", "WPA-")
    return next((word for word, spelled in _AKMS.items() if spelled == own), name)
