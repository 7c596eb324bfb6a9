"""Inventories: every error is one line with the file and the key."""

import json
import os
import tempfile
import tomllib
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from airtoll import ownership
from airtoll.errors import UsageError
from airtoll.labs.hosts import Hosts
from airtoll.labs.inventory import (
    AccessPointTable,
    HostTable,
    Inventory,
    load_inventory,
    passphrase,
    schema_text,
)
from airtoll.study.cell import Cell
from airtoll.study.link import LinkSettings

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
        (
            "[hosts.sta]",
            f"patience = 0x{'f' * 5000}\n[hosts.sta]",
            "patience: .*a number of more than 64 bits",
        ),
        (
            '"laptop"',
            '"-oProxyCommand=reboot"',
            "hosts.sta.address: '-oProxyCommand=reboot' is not a destination",
        ),
        ('"laptop"', '"root@-oProxyCommand=reboot"', "hosts.sta.address: .* is not a destination of ssh"),
        ('"laptop"', '"ssh://-oProxyCommand=reboot"', "hosts.sta.address: .* is not a destination of ssh"),
        ('"laptop"', '"two words"', "hosts.sta.address: 'two words' is not a destination of ssh"),
        ('"wlan0"', '"-wlan0"', "hosts.sta.wireless: "),
        ('"laptop"', '"laptop"\nssh_config = "\\u0000"', "hosts.sta.ssh_config: is not the name of a file"),
        (
            '"fixed"',
            '"fixed"\npassphrase_file = "~nobody-here/x"',
            "access_point.passphrase_file: no user has this",
        ),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(UsageError, match=rf"^{tmp_path}/lab\.toml: {words}") as error:
        load(tmp_path, GOOD.replace(old, new))
    # A misspelt key is also a missing one.
    assert str(error.value).count("\n") == ("unknown key" in words and "did you mean" in words)


MAC = GOOD.replace('"wlan0"', '"en0"\nos = "macos"')


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"macos"', '"beos"', "hosts.sta.os: .*'linux', 'macos' or 'windows'"),
        (
            "hosts.sta",
            "hosts.server",
            "hosts: host server requires an agent, which exists only for Linux: os 'linux'$",
        ),
        ('"laptop"', '"local"', "hosts.sta.os: airtoll runs on Linux, so address 'local' has os 'linux'"),
        (
            "os =",
            'become = "sudo"\nos =',
            "hosts.sta.os: a host without an agent is not changed: remove the keys",
        ),
        (
            "os =",
            'join = "airtoll"\nos =',
            "hosts.sta.os: a host without an agent is not changed: remove the keys",
        ),
    ],
)
def test_a_host_without_an_agent_is_a_station_that_joins_by_hand(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    load(tmp_path, MAC)
    with pytest.raises(UsageError, match=rf"^{tmp_path}/lab\.toml: {words}"):
        load(tmp_path, MAC.replace(old, new))


def test_cells_that_a_station_without_an_agent_cannot_measure_are_named(
    tmp_path: Path, cell: type[Cell]
) -> None:
    (tmp_path / "lab.toml").write_text(MAC)
    lab = Hosts(tmp_path / "lab.toml")
    assert lab.agentless == ["sta"]
    assert lab.check(cell()) is None
    where = "host sta has os 'macos', and "
    assert lab.check(cell(direction="down")) == (
        f"{where}direction 'down' requires an agent on it: use direction 'up'"
    )
    assert lab.check(cell(transport="tcp", tcp_size="mss")) == (
        f"{where}tcp_size 'mss' requires ss(8) of Linux: use tcp_size 'write'"
    )
    reno = Hosts(tmp_path / "lab.toml", LinkSettings(congestion_control="reno"))
    assert reno.check(cell()) == f"{where}link.congestion_control can be set only on Linux: remove the key"


def test_the_published_schema_accepts_what_the_loader_accepts(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    text = (Path(__file__).parents[2] / "docs/reference/inventory.schema.json").read_text()
    assert text == schema_text(), "regenerate it: see the docstring of airtoll/labs/inventory.py"
    assert "null" not in text
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    schema = jsonschema.Draft202012Validator(json.loads(text))
    shell = 'kind = "openwrt"\nshell = ["ssh", "-o", "BatchMode=yes", "-o", "Port=2222", "root@192.168.1.1"]'
    for good in (GOOD, MAC, GOOD.replace('kind = "fixed"', shell)):
        load(tmp_path, good)
        assert schema.is_valid(tomllib.loads(good))
    for bad in (
        GOOD.replace("address", "addres"),
        GOOD.replace("hosts.sta", "hosts.router"),
        MAC.replace("mac", "be"),
    ):
        with pytest.raises(UsageError):
            load(tmp_path, bad)
        assert not schema.is_valid(tomllib.loads(bad))


@pytest.mark.parametrize(
    "address", ["laptop", "me@laptop", "me@realm@10.0.0.1", "ssh://me@lab:22", "fe80::1%eth0"]
)
def test_destinations_of_ssh_are_accepted(tmp_path: Path, address: str) -> None:
    load(tmp_path, GOOD.replace("laptop", address))


@pytest.mark.parametrize("name", ["lab.toml", "ssh_config", "env.yaml"])
def test_files_that_others_can_write_choose_no_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "ssh_config").touch(mode=0o600)
    (tmp_path / "env.yaml").touch(mode=0o600)
    text = 'labgrid = "env.yaml"\n' + GOOD.replace('"laptop"', '"laptop"\nssh_config = "ssh_config"')
    load(tmp_path, text)
    file = tmp_path / name
    file.chmod(0o646)
    with pytest.raises(UsageError, match=f"^{file}: other users can write to it, .*: chmod go-w {file}$"):
        load(tmp_path, text)
    file.chmod(0o660)
    monkeypatch.setattr(ownership, "_is_private", lambda _gid, _uid: True)
    load(tmp_path, text)
    monkeypatch.setattr(ownership, "_is_private", lambda _gid, _uid: False)
    with pytest.raises(UsageError, match=f"^{file}: other users can write to it"):
        load(tmp_path, text)
    file.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    monkeypatch.setattr(ownership, "ROOT", file.stat().st_uid + 2)
    with pytest.raises(UsageError, match="belongs to another user, and it chooses commands"):
        load(tmp_path, text)
    monkeypatch.setenv("SUDO_UID", str(file.stat().st_uid))
    load(tmp_path, text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([*"-./~", "local", "hook"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from([(), ("hosts",), ("hosts", "sta"), ("hosts", "ap"), ("access_point",)]),
    st.sampled_from(
        [*HostTable.model_fields, *AccessPointTable.model_fields, *Inventory.model_fields, "server", "x"]
    ),
    VALUES,
)
def test_any_value_of_any_key_is_accepted_or_refused_with_its_place(
    where: tuple[str, ...], key: str, value: object
) -> None:
    words = tomllib.loads(GOOD)
    table = words
    for name in where:
        table = table[name]
    table[key] = value
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lab.toml"
        try:
            file.write_text(tomli_w.dumps(words))
        except (TypeError, ValueError):  # not TOML: null, or a lone surrogate
            return
        said = f"{file}: "
        loaded = None
        try:
            loaded = load_inventory(file)
        except UsageError as error:
            said = str(error)
    assert said.startswith(f"{file}: ")
    assert said.replace("\n", "").isprintable()
    for host in loaded.hosts.values() if loaded else ():
        assert not any(word.startswith("-") for word in (host.address, host.interface, host.monitor) if word)


def test_many_errors_are_one_line(tmp_path: Path) -> None:
    """Pydantic keeps some 500 octets per error, which a list of integers has per two octets."""
    with pytest.raises(UsageError) as raised:
        load(tmp_path, GOOD + f"command = {[1] * 5000}\n")
    assert len(str(raised.value).split("\n")) == 1
    with pytest.raises(UsageError, match=r"lab.toml: 2000 values are invalid$"):
        load(tmp_path, GOOD + "".join(f"key{number} = 1\n" for number in range(2000)))


def test_a_passphrase_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text("a toll on the air")
    (tmp_path / "passphrase").chmod(0o644)
    (tmp_path / "lab.toml").write_text(f'{GOOD}passphrase_file = "passphrase"\n')
    with pytest.raises(UsageError, match=r"other users can read the passphrase: chmod 600"):
        Hosts(tmp_path / "lab.toml")


def test_a_passphrase_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "passphrase"
    file.touch(mode=0o600)
    file.write_text("a toll on the air")
    table = AccessPointTable(kind="prompt", passphrase_file=file)
    assert passphrase(table) == "a toll on the air"
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    monkeypatch.setattr(ownership, "ROOT", file.stat().st_uid + 2)
    monkeypatch.delenv("SUDO_UID", raising=False)
    with pytest.raises(
        UsageError, match=f"^{file}: belongs to another user, and it contains the passphrase: copy"
    ):
        passphrase(table)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "passphrase: the passphrase cannot be read: No such file or directory"),
        (b"\xff a toll on the air", "passphrase: the passphrase is not UTF-8"),
    ],
)
def test_a_passphrase_that_cannot_be_read_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "passphrase").write_bytes(content)
    (tmp_path / "lab.toml").write_text(f'{GOOD}passphrase_file = "passphrase"\n')
    with pytest.raises(UsageError) as raised:
        Hosts(tmp_path / "lab.toml")
    assert str(raised.value) == f"{tmp_path}/{message}"


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


@pytest.mark.parametrize(
    ("kind", "key", "program", "found"),
    [
        ("hook", "command", "./set.sh", "{folder}/set.sh"),
        ("hook", "command", "programs/set.sh", "{folder}/programs/set.sh"),
        ("openwrt", "shell", "./login", "{folder}/login"),
        ("hook", "command", "set.sh", "set.sh"),
        ("openwrt", "shell", "/usr/bin/ssh", "/usr/bin/ssh"),
    ],
)
def test_a_relative_program_is_a_path_from_the_folder_of_the_inventory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, key: str, program: str, found: str
) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/lab.toml").write_text(GOOD.replace('"fixed"', f'"{kind}"\n{key} = ["{program}", "x/y"]'))
    monkeypatch.chdir(tmp_path)
    command = getattr(load_inventory(Path("lab/lab.toml")).access_point, key)
    assert command == (found.format(folder=tmp_path / "lab"), "x/y")
