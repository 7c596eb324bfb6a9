"""The secrets of an inventory: random, of its own, and readable only by the user."""

import subprocess
from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.labs import enterprise, own_secrets
from airtoll.labs.access_points.prompt import settings
from airtoll.labs.hosts import Hosts
from airtoll.study.cell import Cell
from airtoll.study.security import SecurityProfile

INVENTORY = """
[hosts.sta]
address = "laptop"
wireless = "wlan0"
[hosts.ap]
address = "local"
wireless = "wlan0"
[access_point]
kind = "prompt"
passphrase_file = "passphrase"
"""
PEAP = {"peap": SecurityProfile(wpa_key_mgmt="wpa-eap", pairwise="ccmp", eap="peap")}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def lab(folder: Path, text: str = "a toll on the air") -> Hosts:
    folder.mkdir(exist_ok=True)
    (folder / "passphrase").touch(mode=0o600)
    (folder / "passphrase").write_text(text)
    (folder / "lab.toml").write_text(INVENTORY)
    return Hosts(folder / "lab.toml", profiles=PEAP)


def test_a_wep_key_does_not_come_from_the_passphrase(tmp_path: Path, home: Path, cell: type[Cell]) -> None:
    """The key of an inventory is stable. Inventories with the same passphrase, and both lengths, have unlike keys."""
    wep40, wep104 = (cell(security=level, phy="ofdm", rate="54 Mbit/s") for level in ("wep40", "wep104"))
    one, other = lab(tmp_path / "one"), lab(tmp_path / "other")
    keys = [each._network_of(wep).secret for each in (one, other) for wep in (wep40, wep104)]
    assert [len(key) for key in keys] == [10, 26, 10, 26]
    assert len({key[:10] for key in keys}) == 4
    again = lab(tmp_path / "one", "another passphrase")
    assert [again._network_of(wep).secret for wep in (wep40, wep104)] == keys[:2]
    files = [file for file in home.rglob("*") if file.is_file()]
    assert sorted(file.name for file in files) == ["wep-104", "wep-104", "wep-40", "wep-40"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert {file.parent.stat().st_mode & 0o777 for file in files} == {0o700}


def test_a_user_who_sets_the_access_point_sees_the_wep_key(tmp_path: Path, cell: type[Cell]) -> None:
    network = lab(tmp_path)._network_of(cell(security="wep40", phy="ofdm", rate="54 Mbit/s"))
    assert dict(settings(network))["WEP key 1"] == f"{network.secret} (hexadecimal)"


def test_every_inventory_has_certificates_of_its_own(tmp_path: Path, home: Path, cell: type[Cell]) -> None:
    made = []
    for name in ("one", "other"):
        made_by = lab(tmp_path / name)
        own_secrets.make_certificates(made_by.file)
        network = made_by._network_of(cell(security="wpa2-eap"))
        files = dict(enterprise.files(network.profile, tmp_path, network.secret, network.certificates))
        made.append(files)
        for certificate in ("server.pem", "client.pem"):
            argv = ["openssl", "verify", "-CAfile", "ca.pem", certificate]
            subprocess.run(argv, cwd=network.certificates, check=True, capture_output=True)
    public = {name: (enterprise.PUBLIC / name).read_text() for name in ("ca.pem", "server.pem", "client.pem")}
    for name, text in public.items():
        assert len({text, *(files[name] for files in made)}) == 3
    assert {path.stat().st_mode & 0o077 for path in home.rglob("*") if "secrets" in path.parts[:-2]} == {0}
    assert not [file for file in home.rglob("*") if "authority" in file.name]  # nobody can sign another one
    before = {file: file.read_bytes() for file in home.rglob("*.pem")}
    own_secrets.make_certificates(tmp_path / "one" / "lab.toml")
    assert before == {file: file.read_bytes() for file in home.rglob("*.pem")}


def test_certificates_require_openssl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="requires the command 'openssl': apt-get install openssl"):
        own_secrets.make_certificates(tmp_path / "lab.toml")


@pytest.mark.parametrize("password", ['a quote" in it', "a back\\slash", "an %{expansion}", "not ascii ä"])
def test_a_password_that_would_change_a_configuration_is_refused(
    tmp_path: Path, cell: type[Cell], password: str
) -> None:
    with pytest.raises(UsageError, match="security 'peap': its EAP password must be 8 to 63 printable ASCII"):
        lab(tmp_path, password).check(cell(security="peap"))
    assert lab(tmp_path, "it's a password").check(cell(security="peap")) is None


def test_802_1x_requires_a_password(tmp_path: Path, cell: type[Cell]) -> None:
    lab(tmp_path)
    (tmp_path / "lab.toml").write_text(INVENTORY.replace('passphrase_file = "passphrase"\n', ""))
    without = Hosts(tmp_path / "lab.toml", profiles=PEAP)
    with pytest.raises(UsageError, match="security 'peap': its EAP password must be"):
        without.check(cell(security="peap"))
    assert without.check(cell(security="wpa2-eap")) is None  # by certificates


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_secrets_that_another_user_can_access_are_refused(tmp_path: Path, home: Path, mode: int) -> None:
    inventory = lab(tmp_path).file
    own_secrets.wep_key(inventory, 5)
    own_secrets.make_certificates(inventory)
    (folder,) = (home / "airtoll" / "secrets").iterdir()
    folder.chmod(mode)
    for get in (lambda: own_secrets.wep_key(inventory, 5), lambda: own_secrets.make_certificates(inventory)):
        with pytest.raises(UsageError, match=f"^{folder}: another user can access the secrets: "):
            get()


def test_a_planted_link_is_no_folder_of_secrets(tmp_path: Path, home: Path) -> None:
    inventory = lab(tmp_path).file
    key = own_secrets.wep_key(inventory, 5)
    (folder,) = (home / "airtoll" / "secrets").iterdir()
    folder.rename(tmp_path / "planted")
    folder.symlink_to(tmp_path / "planted")
    with pytest.raises(UsageError, match="another user can access the secrets"):
        own_secrets.wep_key(inventory, 5)
    folder.unlink()
    assert own_secrets.wep_key(inventory, 5) != key
