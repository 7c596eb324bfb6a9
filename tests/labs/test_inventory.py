"""Inventories: every error is one line with the file and the key."""

from pathlib import Path

import pytest

from airtoll.errors import UsageError
from airtoll.labs.hosts import Hosts
from airtoll.labs.inventory import load_inventory
from airtoll.study.cell import Cell

GOOD = """
[hosts.sta]
address = "laptop"
wireless = "wlan0"
[hosts.ap]
address = "local"
[access_point]
kind = "fixed"
"""


def load(tmp_path: Path, text: str) -> None:
    (tmp_path / "lab.toml").write_text(text)
    load_inventory(tmp_path / "lab.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'address = "laptop"',
            'addres = "laptop"',
            "hosts.sta.addres: unknown key; .*did you mean 'address'",
        ),
        ('address = "laptop"\n', "", "hosts.sta.address: missing key: "),
        (
            "hosts.sta",
            "hosts.router",
            "hosts.router: 'router' is not a role: ap, server, sta, or sta1 to sta9",
        ),
        ('"wlan0"', '"wlan0/../x"', "hosts.sta.wireless: "),
        ('"fixed"', '"magic"', "access_point.kind: .*'hostapd', 'openwrt', 'hook', 'prompt' or 'fixed'"),
        ('"fixed"', '"hook"', "access_point.command: kind 'hook' requires it, and no other kind has it"),
        ('"fixed"', '"openwrt"', "access_point.shell: kind 'openwrt' requires it, and no other kind has it"),
        ('"fixed"', '"fixed"\ncommand = ["x"]', "access_point.command: kind 'hook' requires it"),
        ('[access_point]\nkind = "fixed"', "", "access_point: missing key: The access point"),
        ('kind = "fixed"', 'kind = "fixed', "line 8, column .*: not TOML"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(UsageError, match=rf"^{tmp_path}/lab\.toml: {words}") as error:
        load(tmp_path, GOOD.replace(old, new))
    assert "\n" not in str(error.value)


def test_a_passphrase_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("a toll on the air")
    (tmp_path / "passphrase").chmod(0o644)
    (tmp_path / "lab.toml").write_text(f'{GOOD}passphrase_file = "passphrase"\n')
    with pytest.raises(UsageError, match=r"other users can read the passphrase: chmod 600"):
        Hosts(tmp_path / "lab.toml")


@pytest.mark.parametrize("secret", ["short", "x" * 64, ""])
def test_an_impossible_passphrase_is_refused(tmp_path: Path, secret: str) -> None:
    (tmp_path / "passphrase").touch(mode=0o600)
    (tmp_path / "passphrase").write_text(secret)
    (tmp_path / "lab.toml").write_text(f'{GOOD}passphrase_file = "passphrase"\n')
    with pytest.raises(UsageError, match=r"a passphrase has 8 to 63 characters"):
        Hosts(tmp_path / "lab.toml")


def test_cells_that_the_machines_cannot_measure_are_named(tmp_path: Path, cell: type[Cell]) -> None:
    (tmp_path / "lab.toml").write_text(GOOD)
    lab = Hosts(tmp_path / "lab.toml")
    assert lab.check(cell()) is None
    assert "requires host server" in (lab.check(cell(topology="wired-ap")) or "")
    assert "the places of the radios" in (lab.check(cell(snr=20.0)) or "")
    (tmp_path / "lab.toml").write_text(GOOD.replace('"fixed"', '"hostapd"'))
    assert "requires [hosts.ap] with the key wireless" in (Hosts(tmp_path / "lab.toml").check(cell()) or "")
    (tmp_path / "lab.toml").write_text(GOOD.replace('"fixed"', '"prompt"'))
    prompt = Hosts(tmp_path / "lab.toml")
    assert "36 is in the 5 GHz band" in (prompt.check(cell(phy="erp", security="open")) or "")
    with pytest.raises(UsageError, match="passphrase must be 8 to 63"):
        prompt.check(cell(security="ccmp"))
