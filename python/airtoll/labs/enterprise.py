"""802.1X in lab linux: the lines of configuration files and the files for hostapd's EAP server and its stations.

The access point authenticates the stations itself, with the EAP server of hostapd. Each station checks the server's
certificate against the CA and against the server's name. The certificates are data of this package and made by
tools/certificates.sh. Their keys are public, as the passphrase of the labs is, so they must not protect a real network.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from airtoll.study.security import EAP, Eap, SecurityProfile

SERVER_NAME: Final = "radius.airtoll.example"
"""The name in the server's certificate."""

IDENTITY: Final = "station@airtoll.example"
"""The identity of every station. With EAP-PEAP and EAP-TTLS, only the TLS tunnel carries it."""

ANONYMOUS: Final = "anonymous@airtoll.example"
"""The identity outside the tunnel of EAP-PEAP and EAP-TTLS."""

_CERTIFICATES: Final = Path(__file__).with_name("certificates")
_CA: Final = "ca.pem"
_SERVER: Final = "server.pem"  # certificate and key
_CLIENT: Final = "client.pem"
_USERS: Final = "users"

_SUITE_B: Final = "SUITEB192"
"""The cipher suites of TLS that the 192-bit mode allows, in the words of hostapd and wpa_supplicant."""

_BIP: Final = "BIP-GMAC-256"
"""The cipher of group-addressed management frames in the 192-bit mode (WPA3 Specification 3.1)."""


def files(profile: SecurityProfile, password: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the files that the configuration files refer to; none without 802.1X."""
    if not EAP & set(profile.akms):
        return
    for name in (_CA, _SERVER, _CLIENT):
        yield name, (_CERTIFICATES / name).read_text(encoding="ascii")
    yield _USERS, "".join(f"{line}\n" for line in _users(profile.eap or "tls", password))


def _users(method: Eap, password: str) -> Iterator[str]:
    """The lines of hostapd's `eap_user_file`: the users of the first phase, and those of the tunnel ("[2]")."""
    if method == "tls":
        yield f'"{IDENTITY}" TLS'
        return
    yield f'"{ANONYMOUS}" {method.upper()}'
    yield f'"{IDENTITY}" {"MSCHAPV2" if method == "peap" else "TTLS-MSCHAPV2"} "{password}" [2]'


def of_access_point(profile: SecurityProfile, folder: Path) -> dict[str, object]:
    """The lines of hostapd.conf, with the files in the folder."""
    lines: dict[str, object] = {
        "ieee8021x": 1,
        "eap_server": 1,
        "eap_user_file": folder / _USERS,
        "ca_cert": folder / _CA,
        "server_cert": folder / _SERVER,
        "private_key": folder / _SERVER,
    }
    if "wpa-eap-suite-b-192" in profile.akms:
        lines |= {"openssl_ciphers": _SUITE_B, "group_mgmt_cipher": _BIP}
    return lines


def of_station(profile: SecurityProfile, folder: Path, password: str) -> dict[str, object]:
    """The lines of a network of wpa_supplicant.conf, with the files in the folder."""
    method = profile.eap or "tls"
    lines: dict[str, object] = {
        "eap": method.upper(),
        "identity": f'"{IDENTITY}"',
        "ca_cert": f'"{folder / _CA}"',
        "domain_suffix_match": f'"{SERVER_NAME}"',
    }
    if method == "tls":
        lines |= {"client_cert": f'"{folder / _CLIENT}"', "private_key": f'"{folder / _CLIENT}"'}
    else:
        lines |= {
            "anonymous_identity": f'"{ANONYMOUS}"',
            "phase2": '"auth=MSCHAPV2"',
            "password": f'"{password}"',
        }
    if "wpa-eap-suite-b-192" in profile.akms:
        lines |= {"openssl_ciphers": f'"{_SUITE_B}"', "group_mgmt": _BIP}
    return lines


def facts(status: Mapping[str, str]) -> dict[str, str | None]:
    """The EAP method of a station, and the version and the cipher suite of its TLS, from wpa_supplicant's status.

    All are None without 802.1X.
    """
    method = re.search(r"\(EAP-(\w+)\)", status.get("selectedMethod", ""))
    return {
        "eap": method and method[1].lower(),
        "eap_tls_version": status.get("eap_tls_version"),
        "eap_tls_cipher": status.get("EAP TLS cipher"),
    }
