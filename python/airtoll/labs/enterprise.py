"""802.1X: the lines of configuration files and the files for an EAP server and its stations.

The EAP server is part of hostapd, or it is FreeRADIUS on the access point's host, which hostapd asks by RADIUS. Each
station checks the server's certificate against the CA and against the server's name. The certificates of lab linux are
data of this package, made by tools/certificates.sh. Their keys are public, as the passphrase of that lab is, so they
must not protect a real network. Lab hosts makes certificates for each inventory (`own_secrets`).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from airtoll.errors import AirtollError
from airtoll.host import SYSTEM_PATH, missing_commands
from airtoll.study.security import Eap, SecurityProfile

SERVER_NAME: Final = "radius.airtoll.example"
"""The name in the server's certificate."""

IDENTITY: Final = "station@airtoll.example"
"""The identity of every station. With EAP-PEAP and EAP-TTLS, only the TLS tunnel carries it."""

ANONYMOUS: Final = "anonymous@airtoll.example"
"""The identity outside the tunnel of EAP-PEAP and EAP-TTLS."""

RADIUS_READY: Final = "Ready to process requests"
"""The line of FreeRADIUS after its start."""

PUBLIC: Final = Path(__file__).with_name("certificates")
"""The folder of the certificates of lab linux, whose keys are public."""

_CA: Final = "ca.pem"
_SERVER: Final = "server.pem"  # certificate and key
_CLIENT: Final = "client.pem"
_USERS: Final = "users"

_SUITE_B: Final = "SUITEB192"
"""The cipher suites of TLS that the 192-bit mode allows, in the words of hostapd and wpa_supplicant."""

_BIP: Final = "BIP-GMAC-256"
"""The cipher of group-addressed management frames in the 192-bit mode (WPA3 Specification 3.1)."""

_SUITE_B_OPENSSL: Final = "ECDHE-ECDSA-AES256-GCM-SHA384"
"""The same for certificates on P-384, in the words of OpenSSL."""

_RADIUS_ADDRESS: Final = "127.0.0.1"
_RADIUS_PORT: Final = 1812
_RADIUS_SECRET: Final = "airtoll"  # noqa: S105 - public on purpose


def obstacle(level: str, profile: SecurityProfile) -> str | None:
    """Return why this machine lacks the EAP server of a profile, or None if it has it."""
    if profile.eap_server != "freeradius" or not missing_commands({"freeradius": "freeradius"}, SYSTEM_PATH):
        return None
    return (
        f"security '{level}': eap_server freeradius requires the command 'freeradius': "
        "apt-get install freeradius"
    )


def files(
    profile: SecurityProfile, folder: Path, password: str, certificates: Path = PUBLIC
) -> Iterator[tuple[str, str]]:
    """Names and texts of the files in the folder that the configuration files refer to; none without 802.1X."""
    if "eap" not in profile.exchanges:
        return
    for name in (_CA, _SERVER, _CLIENT):
        try:
            yield name, (certificates / name).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise AirtollError(f"{certificates / name}: cannot be read: {error}") from None
    if profile.eap_server == "freeradius":
        yield "radiusd.conf", _radius(profile, folder, password)
    else:
        yield _USERS, "".join(f"{line}\n" for line in _users(profile.eap or "tls", password))


def _users(method: Eap, password: str) -> Iterator[str]:
    """The lines of hostapd's `eap_user_file`: the users of the first phase, and those of the tunnel ("[2]")."""
    if method == "tls":
        yield f'"{IDENTITY}" TLS'
        return
    yield f'"{ANONYMOUS}" {method.upper()}'
    yield f'"{IDENTITY}" {"MSCHAPV2" if method == "peap" else "TTLS-MSCHAPV2"} "{password}" [2]'


def radius_server(profile: SecurityProfile, folder: Path) -> list[str] | None:
    """The command of the RADIUS server with its files in the folder; None if the profile has none."""
    if profile.eap_server != "freeradius":
        return None
    return ["freeradius", "-f", "-s", "-l", "stdout", "-d", str(folder)]


_RADIUS_OF_METHOD: Final[Mapping[Eap, str]] = {
    "tls": "",
    "peap": "default_eap_type = mschapv2\n   virtual_server = tunnel",
    "ttls": "virtual_server = tunnel",
}
"""Lines of FreeRADIUS for a method besides its TLS. The virtual server checks the password in the tunnel."""


def _radius(profile: SecurityProfile, folder: Path, password: str) -> str:
    """The text of FreeRADIUS' radiusd.conf."""
    method = profile.eap or "tls"
    ciphers = _SUITE_B_OPENSSL if profile.is_cnsa else "DEFAULT"
    return f"""logdir = {folder}
run_dir = {folder}
log {{
 destination = stdout
}}
security {{
 # FreeRADIUS judges OpenSSL by its version, but distributions correct older versions.
 allow_vulnerable_openssl = yes
}}
client hostapd {{
 ipaddr = {_RADIUS_ADDRESS}
 secret = {_RADIUS_SECRET}
}}
modules {{
 eap {{
  default_eap_type = {method}
  tls-config common {{
   private_key_file = {folder / _SERVER}
   certificate_file = {folder / _SERVER}
   ca_file = {folder / _CA}
   cipher_list = "{ciphers}"
   ecdh_curve = "secp384r1"
   tls_min_version = "1.2"
   tls_max_version = "1.2"
  }}
  {method} {{
   tls = common
   {_RADIUS_OF_METHOD[method]}
  }}
  mschapv2 {{
  }}
 }}
 mschap {{
 }}
}}
server default {{
 listen {{
  type = auth
  ipaddr = {_RADIUS_ADDRESS}
  port = {_RADIUS_PORT}
 }}
 authorize {{
  eap
 }}
 authenticate {{
  eap
 }}
}}
server tunnel {{
 authorize {{
  update control {{
   Cleartext-Password := "{password}"
  }}
  mschap
  eap
 }}
 authenticate {{
  Auth-Type MS-CHAP {{
   mschap
  }}
  eap
 }}
}}
"""


def of_access_point(profile: SecurityProfile, folder: Path) -> dict[str, object]:
    """The lines of hostapd.conf, with the files in the folder."""
    lines: dict[str, object] = {"ieee8021x": 1}
    if profile.is_cnsa:
        lines |= {"openssl_ciphers": _SUITE_B, "group_mgmt_cipher": _BIP}
    if profile.eap_server == "freeradius":
        return lines | {
            "own_ip_addr": _RADIUS_ADDRESS,
            "auth_server_addr": _RADIUS_ADDRESS,
            "auth_server_port": _RADIUS_PORT,
            "auth_server_shared_secret": _RADIUS_SECRET,
        }
    return lines | {
        "eap_server": 1,
        "eap_user_file": folder / _USERS,
        "ca_cert": folder / _CA,
        "server_cert": folder / _SERVER,
        "private_key": folder / _SERVER,
    }


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
    if profile.is_cnsa:
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
