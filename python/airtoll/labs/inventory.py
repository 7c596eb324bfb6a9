"""The inventory of lab `hosts`: a TOML file that names the machines of a measurement and its access point.

docs/reference/inventory.schema.json derives from the models:
`python -c "from airtoll.labs.inventory import *; print(schema_text(), end='')" > docs/reference/inventory.schema.json`.
"""

import hashlib
import json
import os
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from airtoll.documents import explained
from airtoll.errors import FAULTS_MOST, UsageError, listed
from airtoll.host import OperatingSystem
from airtoll.ownership import check_owner
from airtoll.study.factors import Ip
from airtoll.study.quantity import one_line, show
from airtoll.study.schema import schema_of
from airtoll.study.toml import read_toml
from airtoll.study.values import did_you_mean

LOCAL: Final = "local"
"""The address of the machine that runs airtoll."""

ROLE: Final = r"ap|server|sta[1-9]?"
"""Roles of hosts: the access point's host, the server on the wire, one station or several."""

Role = Annotated[str, StringConstraints(pattern=f"^({ROLE})$")]
# A value that begins with a hyphen would be an option of ssh(1), ip(8) or iw(8).
_Interface = Annotated[str, StringConstraints(pattern=r"^[^\s/-][^\s/]{0,14}$")]
_Destination = Annotated[str, StringConstraints(pattern=r"^(ssh://)?([^\s/-][^\s/]*@)?[^\s/@-][^\s/@]*$")]


def _named(file: Path) -> Path:
    """The file, with the home folder of a user (~) in place. Raises ValueError for an impossible name."""
    if not str(file).isprintable():
        raise ValueError("is not the name of a file")
    try:
        return file.expanduser()
    except RuntimeError:
        raise ValueError("no user has this home folder") from None


_File = Annotated[Path, AfterValidator(_named)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HostTable(_Table):
    """A machine."""

    place: str | None = Field(
        default=None,
        min_length=1,
        description="In place of `address`: a target of labgrid, in the environment file of the key `labgrid`.",
    )
    address: _Destination | None = Field(
        default=None,
        validate_default=True,
        description="`local`, or a destination of ssh(1): a name in ssh_config(5), user@host, ssh://user@host:port.",
    )
    ssh_config: _File | None = Field(default=None, description="A file in place of ~/.ssh/config.")
    become: Literal["sudo"] | None = Field(
        default=None, description="How the agent becomes root: `sudo -n`. Required to switch radios."
    )
    wireless: _Interface | None = Field(default=None, description="The wireless interface that is measured.")
    wired: _Interface | None = Field(default=None, description="The wired interface that is measured.")
    join: Literal["airtoll", "by-hand"] = Field(
        default="by-hand",
        description="For stations: airtoll runs wpa_supplicant, or NetworkManager or the user joins the network.",
    )
    monitor: _Interface | None = Field(
        default=None,
        description="An interface in monitor mode on the channel of the network, which captures the air with `--pcap`.",
    )
    ipv4: IPv4Address | None = Field(
        default=None, description="The address to measure with; default: that of the interface."
    )
    ipv6: IPv6Address | None = Field(
        default=None, description="The address to measure with; default: that of the interface."
    )

    os: OperatingSystem = Field(
        default="linux",
        description="The operating system. Stations with `macos` or `windows` run no agent: they measure throughput "
        "(direction up) by iperf3 and round-trip times by ping.",
    )

    @field_validator("os", mode="after")
    @classmethod
    def _without_agent(cls, system: OperatingSystem, info: Any) -> OperatingSystem:
        if system != "linux":
            if info.data.get("address") == LOCAL:
                raise ValueError("airtoll runs on Linux, so address 'local' has os 'linux'")
            if info.data.get("become") is not None or info.data.get("join") == "airtoll":
                raise ValueError("a host without an agent is not changed: remove the keys become and join")
            if info.data.get("monitor") is not None:
                raise ValueError("captures require an agent on the host: remove the key monitor")
        return system

    @field_validator("address", mode="after")
    @classmethod
    def _or_place(cls, address: str | None, info: Any) -> str | None:
        place = info.data.get("place")
        if address is None and place is None:
            raise PydanticCustomError("missing", "neither an address nor a place")
        if address is not None and place is not None:
            raise ValueError("the key place gives the address, so only one of them may be set")
        return address

    @property
    def interface(self) -> str | None:
        """The interface that is measured."""
        return self.wireless or self.wired

    def given(self, ip: Ip) -> str | None:
        """The address that the file gives."""
        address = self.ipv4 if ip == "ipv4" else self.ipv6
        return None if address is None else str(address)


class AccessPointTable(_Table):
    """The access point, and the way to switch its security."""

    kind: Literal["hostapd", "openwrt", "hook", "prompt", "fixed"] = Field(
        description="The way to switch it: hostapd on host `ap`, uci on OpenWrt, a command of the user (hook), the "
        "user by hand (prompt), or none (fixed)."
    )
    ssid: str = Field(default="airtoll", min_length=1, max_length=32, description="The name of the network.")
    passphrase_file: _File | None = Field(
        default=None, description="A file that only its user can read, with the passphrase in its first line."
    )
    channel: int = Field(default=36, ge=1, le=177, description="The primary channel.")
    country: Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")] | None = Field(
        default=None, description="The regulatory domain; default: that of the machine."
    )
    command: Annotated[tuple[str, ...], FailFast()] = Field(
        default=(),
        validate_default=True,
        description="With kind `hook`: the command that switches and restores it.",
    )
    section: str | None = Field(
        default=None,
        description="With kind `openwrt`: the section of uci to change, such as default_radio0; default: a section of "
        "its own, beside your networks, which do not change.",
    )
    network: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_]+$")] = Field(
        default="airtoll",
        description="With kind `openwrt` and without `section`: the network of OpenWrt that stations join.",
    )
    shell: Annotated[tuple[str, ...], FailFast()] = Field(
        default=(),
        validate_default=True,
        description="With kind `openwrt`: the command that runs its last argument in a shell of the access point, such "
        'as ["ssh", "root@192.168.1.1"].',
    )
    bridge: _Interface | None = Field(
        default=None,
        description="With kind `hostapd`: the bridge of the host that joins its radio to the wire.",
    )

    @field_validator("command", "shell", mode="after")
    @classmethod
    def _of_its_kind(cls, command: tuple[str, ...], info: Any) -> tuple[str, ...]:
        kind = "hook" if info.field_name == "command" else "openwrt"
        if "kind" in info.data and (info.data["kind"] == kind) != bool(command):
            raise ValueError(f"kind '{kind}' requires it, and no other kind has it")
        return command


class Inventory(_Table):
    """The file."""

    hosts: dict[Role, HostTable] = Field(
        min_length=2,
        description="The machines by role.",
        json_schema_extra={"additionalProperties": False},  # beside the pattern of the roles
    )
    labgrid: _File | None = Field(
        default=None,
        validate_default=True,
        description="An environment file of labgrid, whose targets are the places of hosts.",
    )
    access_point: AccessPointTable = Field(description="The access point.")
    patience: float = Field(
        default=120.0,
        ge=0,
        le=86400,
        description="Seconds to wait for a host that has vanished, or for a station that has not joined.",
    )

    @field_validator("hosts", mode="after")
    @classmethod
    def _agents(cls, hosts: dict[Role, HostTable]) -> dict[Role, HostTable]:
        for role, table in hosts.items():
            if table.os != "linux" and not role.startswith("sta"):
                raise ValueError(f"host {role} requires an agent, which exists only for Linux: os 'linux'")
        return hosts

    @field_validator("labgrid", mode="after")
    @classmethod
    def _of_places(cls, labgrid: Path | None, info: Any) -> Path | None:
        if labgrid is None and any(host.place for host in info.data.get("hosts", {}).values()):
            raise PydanticCustomError("missing", "a host has a place")
        return labgrid

    def ip_addresses(self) -> dict[tuple[str, Ip], str]:
        """The addresses that the file gives."""
        ips: tuple[Ip, ...] = ("ipv4", "ipv6")
        given = {(role, ip): host.given(ip) for role, host in self.hosts.items() for ip in ips}
        return {where: address for where, address in given.items() if address is not None}


_TABLES: Final[dict[tuple[str, ...], type[BaseModel]]] = {
    (): Inventory,
    ("hosts", "ROLE"): HostTable,
    ("access_point",): AccessPointTable,
}


def load_inventory(path: Path) -> Inventory:
    """Read and check an inventory. Raises UsageError with one line: file, key, what is wrong.

    An inventory runs commands, so no other user may be able to write to it, or to the files of ssh and labgrid that it
    names.
    """
    file = one_line(str(path), most=4096)
    _, words = read_toml(path, "an inventory")
    try:
        inventory = _beside(Inventory.model_validate(words), path.parent)
        for each in (path, inventory.labgrid, *(host.ssh_config for host in inventory.hosts.values())):
            if each is not None and each.exists():
                check_owner(each, each.stat(), "it chooses commands", "copy it, and read the copy")
        return inventory
    except ValidationError as error:
        if (count := error.error_count()) > FAULTS_MOST:
            raise UsageError(f"{file}: {count} values are invalid") from None
        # A misspelt key is also reported as missing: show the misspelling first.
        details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
        lines = []
        for detail in details:
            where = [one_line(str(part)) for part in detail["loc"] if part != "[key]"]
            lines.append(f"{file}: {'.'.join(where)}: {_explain(where, detail)}")
        raise UsageError(listed(lines)) from None


def digest(path: Path) -> str:
    """SHA-256 of the text of an inventory, in hexadecimal digits. Raises UsageError if the file cannot be read."""
    text, _ = read_toml(path, "an inventory")
    return hashlib.sha256(text.encode()).hexdigest()


def schema_text() -> str:
    """The JSON Schema of an inventory, for editors, as the text of its file."""
    return json.dumps(schema_of(Inventory), indent=2) + "\n"


def _beside(inventory: Inventory, folder: Path) -> Inventory:
    """The inventory with its relative paths as paths from its folder."""
    hosts = {
        role: table
        if table.ssh_config is None
        else table.model_copy(update={"ssh_config": folder / table.ssh_config})
        for role, table in inventory.hosts.items()
    }
    access_point = inventory.access_point

    def of_folder(command: tuple[str, ...]) -> tuple[str, ...]:
        if not command or "/" not in command[0]:  # a program of the search path
            return command
        return (str(folder.absolute() / Path(command[0]).expanduser()), *command[1:])

    commands = {"command": of_folder(access_point.command), "shell": of_folder(access_point.shell)}
    access_point = access_point.model_copy(update=commands)
    if (file := access_point.passphrase_file) is not None:
        access_point = access_point.model_copy(update={"passphrase_file": folder / file})
    labgrid = None if inventory.labgrid is None else folder / inventory.labgrid
    return inventory.model_copy(update={"hosts": hosts, "access_point": access_point, "labgrid": labgrid})


def _explain(where: list[str], detail: ErrorDetails) -> str:
    *above, last = where
    table = _TABLES.get(("hosts", "ROLE") if above[:1] == ["hosts"] else tuple(above))
    match detail["type"]:
        case "extra_forbidden" if table is not None:
            known = list(table.model_fields)
            return f"unknown key; known keys: {', '.join(known)}{did_you_mean(last, known)}"
        case "missing" if table is not None:
            return f"missing key: {(table.model_fields[last].description or '').removesuffix('.')}"
        case "string_pattern_mismatch" if above == ["hosts"]:
            return f"{show(last)} is not a role: ap, server, sta, or sta1 to sta9"
        case "string_pattern_mismatch" if last == "address":
            return f"{show(detail['input'])} is not a destination of ssh(1): host, user@host or ssh://user@host:port"
        case "string_pattern_mismatch" if table is not None:
            return f"{show(detail['input'])} is not valid: {table.model_fields[last].description}"
        case _:
            return explained(detail)


def passphrase(table: AccessPointTable) -> str | None:
    """The passphrase of the access point; None without a file.

    Raises UsageError if the file cannot be read, if it belongs to another user, if others can read it, or if no
    passphrase is in it.
    """
    file = table.passphrase_file
    if file is None:
        return None
    try:
        with file.open(encoding="utf-8") as stream:
            found, lines = os.fstat(stream.fileno()), stream.read().splitlines()
    except OSError as error:
        raise UsageError(f"{file}: the passphrase cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: the passphrase is not UTF-8") from None
    check_owner(file, found, "it contains the passphrase", "copy it, and check the copy")
    if found.st_mode & 0o077:
        raise UsageError(f"{file}: other users can read the passphrase: chmod 600 {file}")
    if not lines or not 8 <= len(lines[0].encode()) <= 63:
        raise UsageError(f"{file}: a passphrase has 8 to 63 characters (IEEE Std 802.11-2020, J.4.1)")
    return lines[0]
