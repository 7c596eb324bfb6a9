"""Configuration files of hostapd and wpa_supplicant for a security profile on a PHY."""

from collections.abc import Iterator, Mapping
from typing import Final

from airtoll.study.cell import Cell
from airtoll.study.link import LinkSettings
from airtoll.study.security import EAP, SAE, SecurityProfile

SSID: Final = "airtoll"

COUNTRY: Final = "US"
"""The regulatory domain. Without one, Linux does not transmit first in the 5 GHz band."""

CHANNELS: Final[Mapping[str, tuple[int, int]]] = {"2.4 GHz": (6, 2437), "5 GHz": (36, 5180)}
"""Channel and its centre frequency in MHz, by band."""

_CENTRES: Final = {20: 36, 40: 38, 80: 42}
"""Centre of the channel that contains channel 36, by width in MHz (IEEE Std 802.11-2020, Annex E)."""

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


def band_of(cell: Cell, settings: LinkSettings) -> str:
    """The band of a cell."""
    if cell.phy in ("dsss", "erp"):
        return "2.4 GHz"
    return (settings.band or "5 GHz") if cell.phy == "ht" else "5 GHz"


def obstacles(level: str, profile: SecurityProfile, cell: Cell) -> Iterator[str]:
    """Reasons why these files cannot describe the cell. `profile` has a value for every key."""
    if profile.cipher.startswith("enhanced"):
        yield f"security '{level}': lab linux has the ciphers of Linux; lab air has Enhanced CCMP"
    for akm in profile.akms:
        if akm in EAP:
            yield f"security '{level}': lab linux does not support wpa_key_mgmt {akm} yet"
    if cell.bandwidth not in _CENTRES:
        yield f"bandwidth '{cell.bandwidth} MHz': lab linux supports 20, 40 and 80 MHz"


def has_qos(cell: Cell) -> bool:
    """Whether the stations send QoS Data frames."""
    return cell.phy not in ("dsss", "ofdm", "erp")


def access_point(
    profile: SecurityProfile, cell: Cell, settings: LinkSettings, *, interface: str, control: str, secret: str
) -> str:
    """The text of hostapd.conf. `secret` is the passphrase, or the WEP key in hexadecimal digits."""
    band = band_of(cell, settings)
    lines = {
        "interface": interface,
        "driver": "nl80211",
        "ctrl_interface": control,
        "ssid": SSID,
        "country_code": COUNTRY,
        "hw_mode": {"dsss": "b"}.get(cell.phy, "a" if band == "5 GHz" else "g"),
        "channel": CHANNELS[band][0],
        "beacon_int": settings.beacon_interval or 100,
        "wmm_enabled": int(has_qos(cell)),
        **_of_phy(cell),
        **_of_access_point(profile, secret),
    }
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
            "vht_oper_centr_freq_seg0_idx": _CENTRES[cell.bandwidth] if cell.bandwidth == 80 else 0,
            "vht_capab": f"{'[SHORT-GI-80]' if cell.gi == 'short' else ''}[MAX-A-MPDU-LEN-EXP7]",
        }
    return lines


def _of_access_point(profile: SecurityProfile, secret: str) -> dict[str, object]:
    if profile.cipher == "open":
        return {}
    if profile.cipher.startswith("wep"):
        return {"wep_default_key": 0, "wep_key0": secret}
    lines: dict[str, object] = {
        "wpa": profile.wpa,
        "wpa_key_mgmt": _spelled(profile.akms, _AKMS),
        "wpa_pairwise": _spelled(profile.ciphers, _CIPHERS),
        "rsn_pairwise": _spelled(profile.ciphers, _CIPHERS),
        "ieee80211w": _PROTECTION[profile.ieee80211w],
        "beacon_prot": int(bool(profile.beacon_prot)),
    }
    if profile.group is not None and profile.ciphers != (profile.group,):
        lines["group_cipher"] = _CIPHERS[profile.group]
    if SAE & set(profile.akms):
        lines["sae_pwe"] = profile.sae_pwe
        lines["sae_groups"] = " ".join(map(str, profile.sae_groups or ()))
    if "owe" in profile.akms:
        lines["owe_groups"] = profile.owe_group
    else:
        lines["wpa_passphrase"] = secret
    return lines


def station(
    profile: SecurityProfile, cell: Cell, settings: LinkSettings, *, control: str, secret: str
) -> str:
    """The text of wpa_supplicant.conf. `secret` is the passphrase, or the WEP key in hexadecimal digits."""
    common = {"ctrl_interface": control, "country": COUNTRY}
    if SAE & set(profile.akms):
        common |= {
            "sae_pwe": str(profile.sae_pwe),
            "sae_groups": " ".join(map(str, profile.sae_groups or ())),
        }
    network = {
        "ssid": f'"{SSID}"',
        "scan_freq": CHANNELS[band_of(cell, settings)][1],
        **_of_station(profile, secret),
    }
    head = "".join(f"{key}={value}\n" for key, value in common.items())
    return head + "network={\n" + "".join(f"{key}={value}\n" for key, value in network.items()) + "}\n"


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
