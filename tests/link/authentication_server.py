"""Authentication servers for tests of `airtoll link`: unmodified FreeRADIUS and hostapd on a host of the network."""

import shutil
from pathlib import Path

import pytest
from link_hosts import Host, Program

from airtoll.labs import enterprise

CERTIFICATES = Path(enterprise.__file__).with_name("certificates")
PASSWORD = "battery staple"  # noqa: S105 - of a test
SECRET = "shared secret of a test"  # noqa: S105
PORT = 1812

FREERADIUS = """
logdir = {folder}
run_dir = {folder}
log {{
 destination = stdout
 auth = yes
}}
security {{
 # FreeRADIUS judges OpenSSL by its version, but distributions correct older versions.
 allow_vulnerable_openssl = yes
}}
client link {{
 ipaddr = 0.0.0.0/0
 secret = "{secret}"
 require_message_authenticator = yes
}}
modules {{
 eap {{
  default_eap_type = {method}
  tls-config common {{
   private_key_file = {certificates}/server.pem
   certificate_file = {certificates}/server.pem
   ca_file = {certificates}/ca.pem
   ecdh_curve = "secp384r1"
   fragment_size = {fragment_b}
   tls_min_version = "{tls}"
   tls_max_version = "{tls}"
  }}
  tls {{
   tls = common
  }}
  ttls {{
   tls = common
   virtual_server = tunnel
  }}
  peap {{
   tls = common
   default_eap_type = mschapv2
   virtual_server = tunnel
  }}
  mschapv2 {{
  }}
 }}
 mschap {{
 }}
 pap {{
 }}
}}
server default {{
 listen {{
  type = auth
  ipaddr = *
  port = {port}
 }}
 authorize {{
  eap
 }}
 authenticate {{
  eap
 }}
 post-auth {{
  update reply {{
   {reply}
  }}
 }}
}}
server tunnel {{
 authorize {{
  update control {{
   Cleartext-Password := "{password}"
  }}
  mschap
  eap
  pap
 }}
 authenticate {{
  Auth-Type MS-CHAP {{
   mschap
  }}
  Auth-Type PAP {{
   pap
  }}
  eap
 }}
}}
"""


class Server(Program):
    """A running authentication server."""

    def __init__(self, host: Host, argv: list[str], ready: str) -> None:
        super().__init__(host, *argv)
        try:
            self.wait(ready)
        except AssertionError:
            self.stop()
            raise


def freeradius(
    host: Host,
    folder: Path,
    method: str,
    *,
    tls: str = "1.2",
    fragment_b: int = 1024,
    reply: str = "Session-Timeout := 3600",
    password: str = PASSWORD,
) -> Server:
    """Start FreeRADIUS; `reply` are attributes of its Access-Accept."""
    if shutil.which("freeradius") is None:
        pytest.skip("this machine has no FreeRADIUS: apt-get install freeradius")
    folder.mkdir(exist_ok=True)
    text = FREERADIUS.format(
        folder=folder,
        certificates=CERTIFICATES,
        secret=SECRET,
        method=method,
        tls=tls,
        fragment_b=fragment_b,
        port=PORT,
        reply=reply,
        password=password,
    )
    (folder / "radiusd.conf").write_text(text)
    argv = ["freeradius", "-f", "-s", "-l", "stdout", "-d", str(folder)]
    return Server(host, argv, enterprise.RADIUS_READY)


def hostapd(host: Host, folder: Path, method: str) -> Server:
    """Start hostapd as an authentication server without a network of its own."""
    if shutil.which("hostapd") is None:
        pytest.skip("this machine has no hostapd: apt-get install hostapd")
    folder.mkdir(exist_ok=True)
    (folder / "clients").write_text(f"0.0.0.0/0 {SECRET}\n")
    (folder / "users").write_text(
        '"station@airtoll.example" TLS\n'
        if method == "tls"
        else f'* {method.upper()}\n"station@airtoll.example" MSCHAPV2,TTLS-MSCHAPV2,TTLS-PAP "{PASSWORD}" [2]\n'
    )
    (folder / "hostapd.conf").write_text(
        f"""driver=none
radius_server_clients={folder}/clients
radius_server_auth_port={PORT}
eap_server=1
eap_user_file={folder}/users
ca_cert={CERTIFICATES}/ca.pem
server_cert={CERTIFICATES}/server.pem
private_key={CERTIFICATES}/server.pem
tls_flags=[ENABLE-TLSv1.3]
"""
    )
    return Server(host, ["hostapd", "-d", str(folder / "hostapd.conf")], "AP-ENABLED")
