"""`airtoll link` with 802.1X: unmodified FreeRADIUS and hostapd authenticate its stations."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from authentication_server import CERTIFICATES, PASSWORD, PORT, SECRET, Server, freeradius, hostapd
from link_hosts import End, Network
from test_link import connect, ping, until

SERVER = 9
"""The host of the authentication server, apart from the access point."""


@pytest.fixture
def start(network: Network) -> Iterator[Callable[..., Server]]:
    """Start a server: `start(freeradius, method, ...)`."""
    servers: list[Server] = []

    def started(kind: Callable[..., Server], *arguments: object, **more: object) -> Server:
        server = kind(network.host(SERVER), network.folder / "server", *arguments, **more)
        servers.append(server)
        return server

    yield started
    for server in servers:
        server.stop()


def secret_file(network: Network, name: str, text: str) -> str:
    file = network.folder / name
    file.write_text(f"{text}\n")
    file.chmod(0o600)
    return str(file)


def access_point(network: Network, akm: str = "wpa-eap-sha256", secret: str = SECRET, **keys: object) -> End:
    more = "".join(f"{key} = {value}\n" for key, value in keys.items())
    radius = f"""
[radius]
auth_server_addr = "198.51.100.{SERVER}"
auth_server_port = {PORT}
auth_server_shared_secret_file = "{secret_file(network, "radius.secret", secret)}"
{more}"""
    end = network.start("ap", 1, extra=radius, akm=f'"{akm}"', passphrase_file="")
    end.wait("is up")
    return end


def station(
    network: Network,
    method: str,
    akm: str = "wpa-eap-sha256",
    password: str = PASSWORD,
    name: str = "radius.airtoll.example",
    ca: Path = CERTIFICATES / "ca.pem",
    number: int = 2,
) -> End:
    eap, _, phase2 = method.partition("-")
    lines = [
        "[eap]",
        f'eap = "{eap.upper()}"',
        'identity = "station@airtoll.example"',
        f'ca_cert = "{ca}"',
        f'domain_match = "{name}"',
    ]
    if eap == "tls":
        key = secret_file(network, "client.pem", (CERTIFICATES / "client.pem").read_text())
        lines += [f'client_cert = "{key}"', f'private_key = "{key}"']
    else:
        lines += [
            'anonymous_identity = "anonymous@airtoll.example"',
            f'password_file = "{secret_file(network, "password", password)}"',
        ]
        lines += [f'phase2 = "auth={phase2.upper()}"'] if phase2 else []
    return network.start("sta", number, extra="\n".join(lines), akm=f'"{akm}"', passphrase_file="")


METHODS = ["tls", "ttls-pap", "ttls-mschapv2", "peap"]


@pytest.mark.parametrize(
    ("method", "tls"),
    [
        *((method, "1.3") for method in METHODS),
        ("tls", "1.2"),
        *(pytest.param(method, "1.2", marks=pytest.mark.long) for method in METHODS[1:]),
    ],
)
def test_freeradius_authenticates_a_station(
    network: Network, start: Callable[..., Server], method: str, tls: str
) -> None:
    start(freeradius, method.partition("-")[0], tls=tls)
    ap = access_point(network)
    sta = station(network, method)
    assert "connected with wpa-eap-sha256" in connect(sta)
    assert ping(sta.host) == 3
    (member,) = ap.status()["link"]["members"]
    assert member["akm"] == "wpa-eap-sha256"
    # Only EAP-TLS shows the station's identity outside the tunnel.
    identity = "station" if method == "tls" else "anonymous"
    assert f'accepts "{identity}@airtoll.example"' in ap.wait("the authentication server accepts")
    assert (sta.stop(), ap.stop()) == (0, 0)


@pytest.mark.parametrize("method", METHODS)
def test_hostapd_authenticates_a_station(network: Network, start: Callable[..., Server], method: str) -> None:
    start(hostapd, method.partition("-")[0])
    access_point(network, "wpa-eap")
    sta = station(network, method, "wpa-eap")
    assert "connected with wpa-eap " in connect(sta)
    assert ping(sta.host) == 3


def test_small_fragments_carry_certificates(network: Network, start: Callable[..., Server]) -> None:
    start(freeradius, "tls", fragment_b=200)
    access_point(network)
    connect(station(network, "tls"))


@pytest.mark.parametrize("method", ["ttls-pap", "ttls-mschapv2", "peap"])
def test_a_wrong_password_is_one_line_at_both_ends(
    network: Network, start: Callable[..., Server], method: str
) -> None:
    start(freeradius, method.partition("-")[0])
    ap = access_point(network)
    sta = station(network, method, password="wrong")  # noqa: S106
    ap.wait('the authentication server rejects "anonymous@airtoll.example"')
    assert "wrong user name or password" in sta.wait("next try in 30.0 s")
    assert sta.said("connected") == ap.said("connected") == 0


@pytest.mark.parametrize("fault", ["ca", "name"])
def test_a_station_refuses_a_server_that_it_does_not_trust(
    network: Network, start: Callable[..., Server], fault: str
) -> None:
    start(freeradius, "ttls")
    access_point(network)
    if fault == "ca":
        other = network.folder / "other.pem"
        subprocess.run(
            f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -out {other} "
            "-subj /CN=other -days 9999".split(),
            check=True,
            capture_output=True,
        )
        sta, why = station(network, "ttls-pap", ca=other), "UnknownIssuer"
    else:
        sta, why = station(network, "ttls-pap", name="other.example"), "not valid for name"
    assert why in sta.wait("TLS with the authentication server failed")
    assert sta.said("connected") == 0


def test_a_server_without_answers_and_a_wrong_shared_secret_are_named(
    network: Network, start: Callable[..., Server]
) -> None:
    network.host(SERVER)
    ap = access_point(network)
    sta = station(network, "tls")
    ap.wait(
        "the authentication server does not answer; check its address and the shared secret", timeout_s=40
    )
    sta.wait("next try in")
    # The station joins once there is a server.
    server = start(freeradius, "tls")
    connect(sta)
    assert sta.stop() == ap.stop() == 0
    server.stop()
    start(freeradius, "tls")
    wrong = access_point(network, secret="another secret")  # noqa: S106
    sta = station(network, "tls")
    wrong.wait("does not answer; check its address and the shared secret", timeout_s=40)
    assert sta.said("connected") == 0


def test_the_server_limits_a_session_and_the_station_authenticates_again_without_loss(
    network: Network, start: Callable[..., Server]
) -> None:
    server = start(freeradius, "peap", reply="Session-Timeout := 10")
    ap = access_point(network)
    sta = station(network, "peap")
    connect(sta)
    assert ping(sta.host, count=150, interval_s=0.1) == 150
    sta.wait("accepts this station again")
    sta.wait("new pairwise key")
    assert ap.said("the authentication server accepts") >= 2
    assert ap.said("connected with") == sta.said("connected with") == 1
    # Without the server the session ends.
    server.stop()
    ap.wait("not authenticated again: the authentication server does not answer", timeout_s=45)
    sta.wait("the access point ends the session (reason code 23)")


def test_keys_are_renewed_under_the_pmk_of_the_server(network: Network, start: Callable[..., Server]) -> None:
    start(freeradius, "tls")
    ap = access_point(network)
    sta = station(network, "tls")
    connect(sta)
    config = network.folder / "sta2.toml"
    assert sta.stop() == 0
    config.write_text("rekey_packets = 1000\n" + config.read_text())
    again = End(network.host(2), "sta", config, network.folder / "run" / "2.sock")
    network.ends.append(again)
    connect(again)
    assert ping(again.host, count=1500, interval_s=0.002) == 1500
    until("the pairwise key is replaced", lambda: again.said("new pairwise key") >= 1)
    assert ap.said("the authentication server accepts") == 2


@pytest.mark.parametrize(
    ("role", "change", "words"),
    [
        ("ap", "", "akm wpa-eap requires a table `[radius]`"),
        ("sta", "", "akm wpa-eap requires a table `[eap]`"),
        ("sta", 'eap = "TTLS"\ndomain_match = "x"', "missing field `ca_cert`"),
        ("sta", 'eap = "TTLS"\nca_cert = "pass"', "missing field `domain_match`"),
        ("sta", 'eap = "LEAP"\nca_cert = "pass"\ndomain_match = "x"', "unknown variant `LEAP`"),
        (
            "sta",
            'eap = "TLS"\nca_cert = "pass"\ndomain_match = "x"',
            "requires `client_cert` and `private_key`",
        ),
        (
            "sta",
            'eap = "TTLS"\nca_cert = "pass"\ndomain_match = "x"\npassword_file = "open"',
            "group or others can access this password file (mode 0644)",
        ),
        (
            "sta",
            'eap = "TTLS"\nca_cert = "pass"\ndomain_match = "x"\npassword_file = "pass"',
            "expected PEM certificates",
        ),
        (
            "sta",
            f'eap = "TTLS"\nca_cert = "{CERTIFICATES}/ca.pem"\ndomain_match = "a b"\npassword_file = "pass"',
            '"a b" is not a DNS name',
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_line(
    network: Network, role: str, change: str, words: str
) -> None:
    (network.folder / "open").write_text("password\n")
    extra = f'[eap]\nidentity = "me"\n{change}' if change else ""
    end = network.start(role, 1, extra=extra, akm='"wpa-eap"', passphrase_file="")
    assert end.process.wait(timeout=20) == 2
    assert end.stop() == 2
    (line,) = end.lines
    assert words in line
    assert str(network.folder) in line
