"""Places of labgrid as hosts, read from environment files by labgrid itself."""

from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.labs.inventory import load_inventory
from airtoll.labs.places import ssh_destination

ENVIRONMENT = """
targets:
  laptop:
    resources:
      NetworkService:
        address: 192.0.2.7
        username: tester
        port: 2222
    drivers:
      SSHDriver:
        keyfile: keys/laptop
  board:
    resources:
      NetworkService: {address: "2001:db8::7", username: root}
  secret:
    resources:
      NetworkService: {address: 192.0.2.8, username: root, password: x}
  console:
    resources:
      RawSerialPort: {port: /dev/ttyUSB0}
  far:
    resources:
      RemotePlace: {name: far}
options:
  coordinator_address: 127.0.0.1:1
"""

INVENTORY = """
labgrid = "environment.yaml"
[hosts.sta]
place = "laptop"
[hosts.ap]
address = "local"
[access_point]
kind = "fixed"
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    file = tmp_path / "environment.yaml"
    file.write_text(ENVIRONMENT)
    return file


def test_a_target_gives_the_destination_and_the_options_of_ssh(environment: Path) -> None:
    key = str(environment.parent / "keys" / "laptop")
    assert ssh_destination(environment, "laptop") == ("tester@192.0.2.7", ["-p", "2222", "-i", key])
    assert ssh_destination(environment, "board") == ("root@2001:db8::7", ["-p", "22"])


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("phone", "the file has no target of this name"),
        ("secret", "has a password, and airtoll requires a key of SSH"),
        ("console", "no NetworkService resource found in "),
        ("far", ""),
    ],
)
def test_a_place_that_cannot_be_reached_is_one_line(environment: Path, place: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        ssh_destination(environment, place)
    assert str(error.value).startswith(f"{environment}: place '{place}': {words}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_environment_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("targets: [")
    for name in ("bad.yaml", "missing.yaml"):
        with pytest.raises(UsageError, match=rf"^{tmp_path}/{name}: place 'laptop': .") as error:
            ssh_destination(tmp_path / name, "laptop")
        assert "\n" not in str(error.value)


def test_an_inventory_names_the_environment_file(environment: Path) -> None:
    file = environment.parent / "lab.toml"
    file.write_text(INVENTORY)
    inventory = load_inventory(file)
    assert (inventory.labgrid, inventory.hosts["sta"].place) == (environment, "laptop")
    file.write_text(INVENTORY.replace('labgrid = "environment.yaml"', ""))
    with pytest.raises(UsageError, match="labgrid: missing key: An environment file of labgrid"):
        load_inventory(file)
    file.write_text(INVENTORY.replace("place", 'address = "laptop"\nplace'))
    with pytest.raises(UsageError, match=r"hosts\.sta\.address: the key place gives the address"):
        load_inventory(file)


def test_without_labgrid_its_extra_is_named(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airtoll.extras.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"the key place of a host requires the extra 'labgrid': pipx"):
        ssh_destination(environment, "laptop")
