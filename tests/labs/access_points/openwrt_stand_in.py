"""A stand-in for the programs of OpenWrt that airtoll uses: uci, ubus, wifi, rc.common and procd.

`python openwrt_stand_in.py STATE PROGRAM ARGUMENTS`. STATE is the root of the router's file system, with etc/config,
the folder `deltas` of uncommitted changes, and running.json: the configuration that netifd has loaded. Its uci prints
and writes what OpenWrt's does, which a recorded session of the real program checks. `procd` boots the router: it runs
the scripts of etc/rc.d with the action `boot`, loads the configuration where netifd starts (S20), and then runs
services, again if they end. etc/rc.common is imitated as far as a service needs it. A file `faults.json` of STATE has
commands that fail or kill (`Fault`).
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAME = "wireless"


class UciError(Exception):
    """An error in uci's words."""


@dataclass
class Section:
    """A section of a configuration file."""

    kind: str
    name: str | None
    options: dict[str, str | list[str]] = field(default_factory=dict)


def parse(text: str) -> list[Section]:
    """The sections of a configuration file."""
    sections: list[Section] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            raise UciError(
                f"Parse error (EOF with unterminated ') at line {number}, byte {len(line) + 1}"
            ) from None
        match words:
            case [] | ["package", _]:
                pass
            case ["config", kind, *name]:
                sections.append(Section(kind, name[0] if name else None))
            case ["option", name, value]:
                sections[-1].options[name] = value
            case ["list", name, value]:
                values = sections[-1].options.setdefault(name, [])
                assert isinstance(values, list)
                values.append(value)
            case _:
                raise UciError(f"Parse error (invalid command) at line {number}, byte 0")
    return sections


def export(sections: list[Section]) -> str:
    """The text of a configuration file."""
    lines = []
    for section in sections:
        lines.append(f"\nconfig {section.kind}" + (f" {quoted(section.name)}" if section.name else ""))
        for name, value in section.options.items():
            if isinstance(value, list):
                lines += [f"\tlist {name} {quoted(each)}" for each in value]
            else:
                lines.append(f"\toption {name} {quoted(value)}")
    return "\n".join([*lines, "", ""])


def quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def named(sections: list[Section]) -> Iterator[tuple[str, Section]]:
    """The sections with their names; anonymous ones are numbered by their kind."""
    counts: dict[str, int] = {}
    for section in sections:
        number = counts.get(section.kind, 0)
        counts[section.kind] = number + 1
        yield section.name or f"@{section.kind}[{number}]", section


class Uci:
    """The command uci with its options."""

    def __init__(self, config: Path, deltas: Path) -> None:
        self.file = config / NAME
        self.deltas = deltas / NAME

    def run(self, argv: list[str], stdin: str) -> str:
        """The output of a command. Raises UciError if it fails."""
        match argv:
            case ["show", package] if package == NAME or package.startswith(f"{NAME}."):
                return self.show(package.removeprefix(NAME).removeprefix("."))
            case ["export", "wireless"]:
                return f"package {NAME}\n" + export(self.load())
            case ["changes", "wireless"]:
                return "".join(f"{line}\n" for line in self.changes())
            case ["get", path] if path.startswith("network."):
                return self.network(path.removeprefix("network."))
            case ["get", path]:
                return self.get(path)
            case ["set" | "add_list" | "delete" as verb, word]:
                self.change(verb, word)
            case ["revert", "wireless"]:
                self.deltas.unlink(missing_ok=True)
            case ["commit", "wireless"]:
                self.commit(self.load())
            case ["import", "wireless"]:
                self.commit(parse(stdin))
            case _:
                raise UciError("Entry not found")
        return ""

    def batch(self, stdin: str) -> None:
        """Run the commands of a batch. Errors do not stop it."""
        for line in stdin.splitlines():
            argv = shlex.split(line)
            if argv and argv[0] not in ("set", "add_list", "delete", "commit", "revert"):
                print("Unknown command", file=sys.stderr)
                continue
            try:
                self.run(argv, "")
            except UciError as error:
                blank = "\n" if str(error) == "Invalid argument" else ""
                print(f"uci: {error}{blank}", file=sys.stderr)

    def commit(self, sections: list[Section]) -> None:
        new = self.file.with_name(".new")
        try:
            new.write_text(export(sections))
        except OSError as error:
            new.unlink()
            raise UciError(error.strerror) from None
        new.chmod(self.file.stat().st_mode)
        new.rename(self.file)
        self.deltas.unlink(missing_ok=True)

    def changes(self) -> list[str]:
        return self.deltas.read_text().splitlines() if self.deltas.exists() else []

    def load(self) -> list[Section]:
        """The sections with the uncommitted changes."""
        sections = parse(self.file.read_text())
        for line in self.changes():
            apply(sections, line)
        return sections

    def change(self, verb: str, word: str) -> None:
        path, sign, value = word.partition("=")
        match verb, path.split("."), sign:
            case "delete", [_, _, _], "":
                line = f"-{path}"
            case "set", [_, _], "=":
                line = f"{path}={quoted(value)}"
            case "set" | "add_list", [_, _, _], "=":
                line = f"{path}{'+' if verb == 'add_list' else ''}={quoted(value)}"
            case _:
                raise UciError("Invalid argument")
        sections = self.load()
        apply(sections, line)
        self.deltas.parent.mkdir(exist_ok=True)
        with self.deltas.open("a") as file:
            file.write(f"{line}\n")

    def get(self, path: str) -> str:
        _, section, option = path.split(".")
        value = find(self.load(), section).options.get(option)
        if value is None:
            raise UciError("Entry not found")
        if isinstance(value, str):
            return f"{value}\n"
        return " ".join(quoted(each) if re.search(r"\s", each) else each for each in value) + "\n"

    def network(self, name: str) -> str:
        """The type of a section of the file `network`."""
        file = self.file.with_name("network")
        sections = dict(named(parse(file.read_text()))) if file.exists() else {}
        if name not in sections:
            raise UciError("Entry not found")
        return f"{sections[name].kind}\n"

    def show(self, only: str) -> str:
        lines = []
        for name, section in named(self.load()):
            if only in ("", name):
                lines.append(f"{NAME}.{name}={section.kind}")
                for option, value in section.options.items():
                    values = value if isinstance(value, list) else [value]
                    lines.append(f"{NAME}.{name}.{option}={' '.join(map(quoted, values))}")
        return "".join(f"{line}\n" for line in lines)


def find(sections: list[Section], name: str) -> Section:
    found = dict(named(sections)).get(name)
    if found is None:
        raise UciError("Invalid argument")
    return found


def apply(sections: list[Section], line: str) -> None:
    """Apply an uncommitted change in the form in which `uci changes` prints it."""
    is_delete = line.startswith("-")
    path, _, value = line.removeprefix("-").partition("=")
    match path.removesuffix("+").split("."):
        case [_, section]:
            sections.append(Section(shlex.split(value)[0], section))
            return
        case [_, section, option]:
            pass
    options = find(sections, section).options
    if is_delete:
        if option not in options:
            raise UciError("Entry not found")
        del options[option]
    elif path.endswith("+"):
        values = options.setdefault(option, [])
        assert isinstance(values, list)
        values.append(shlex.split(value)[0])
    else:
        options[option] = shlex.split(value)[0]


def uci(state: Path, argv: list[str]) -> int:
    deltas = state / "deltas"
    quiet = False
    while argv and argv[0].startswith("-"):
        if argv[0] == "-t":
            deltas = Path(argv[1])
            argv = argv[2:]
        else:
            quiet = quiet or argv[0] == "-q"
            argv = argv[1:]
    tool = Uci(state / "etc" / "config", deltas)
    if argv == ["batch"]:
        tool.batch(sys.stdin.read())
        return 0
    if argv[0] not in (
        "show",
        "export",
        "changes",
        "get",
        "set",
        "add_list",
        "delete",
        "revert",
        "commit",
        "import",
    ):
        print("Usage", file=sys.stderr)
        return 255
    try:
        print(tool.run(argv, sys.stdin.read() if argv[0] == "import" else ""), end="")
    except UciError as error:
        if not quiet:
            print(f"uci: {error}", file=sys.stderr)
        return 1
    return 0


def loaded(state: Path) -> dict[str, object]:
    """The committed configuration in the form of netifd's status."""
    sections = dict(named(parse((state / "etc" / "config" / NAME).read_text())))
    status: dict[str, object] = {}
    for radio, device in sections.items():
        if device.kind != "wifi-device":
            continue
        interfaces = [
            {"section": name, "ifname": f"phy0-ap{number}", "config": own.options}
            for number, (name, own) in enumerate(sections.items())
            if own.options.get("device") == radio and own.options.get("disabled") != "1"
        ]
        status[radio] = {"up": True, "pending": False, "config": device.options, "interfaces": interfaces}
    return status


def wifi(state: Path, argv: list[str]) -> int:
    assert argv == ["reload"]
    (state / "running.json").write_text(json.dumps(loaded(state)))
    (state / "starting").touch()
    return 0


def ubus(state: Path, argv: list[str]) -> int:
    running = json.loads((state / "running.json").read_text())
    match argv:
        case ["call", "network.wireless", "status"]:
            if (state / "starting").exists():  # the first answer after a change
                (state / "starting").unlink()
                running = {name: {**radio, "up": False, "pending": True} for name, radio in running.items()}
            print(json.dumps(running))
            return 0
        case ["call", "service", "delete", words]:
            (state / "services" / json.loads(words)["name"]).unlink()
            return 0
        case ["call", _, "get_status"]:
            print(json.dumps({"status": "ENABLED"}))
            return 0
    print("Command failed: Not found", file=sys.stderr)
    return 4


def leaks(secrets: list[str]) -> Iterator[str]:
    """Processes whose arguments or environment contain a secret."""
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                content = (process / name).read_bytes()
            except OSError:  # it has ended
                continue
            if any(secret.encode() in content for secret in secrets):
                yield f"{process.name} {name}"


def step(state: Path) -> bool:
    """Count a command, look for secrets, and commit the fault of this step. Returns whether the command shall fail."""
    count = state / "count"
    number = 1 + (len(count.read_text()) if count.exists() else 0)
    with count.open("a") as file:
        file.write(".")
    with (state / "leaks").open("a") as file:
        file.writelines(f"{line}\n" for line in leaks((state / "secrets").read_text().splitlines()))
    faults = json.loads((state / "faults.json").read_text())
    fault = faults.get(str(number))
    if fault in ("controller", "agent", "worker"):
        os.kill(int((state / f"{fault}.pid").read_text()), signal.SIGKILL)
    return fault == "fail"


def hook(_state: Path, _argv: list[str]) -> int:
    return 0


RC_COMMON = """#!/bin/sh
initscript=$1 name=$(basename "$(readlink -f "$1")")
boot() {{ start; }}
procd_open_instance() {{ command=; }}
procd_set_param() {{ [ "$1" != command ] || {{ shift; command=$*; }}; }}
procd_close_instance() {{ echo "$command" > {state}/new-service && mv {state}/new-service {state}/services/"$name"; }}
. "$initscript"
start() {{ start_service; }}
enable() {{ ln -sf ../init.d/"$name" {state}/etc/rc.d/S"$START$name"; }}
"$2"
"""


def procd(state: Path, _argv: list[str]) -> int:
    """Boot, and run the services until this process is killed. Prints a line after the boot."""
    shutil.rmtree(state / "var/run", ignore_errors=True)
    (state / "var/run").mkdir()
    for service in (state / "services").iterdir():
        service.unlink()
    scripts = sorted((state / "etc" / "rc.d").iterdir())
    for script in [each for each in scripts if each.name < "S20"]:
        subprocess.run([script, "boot"], check=False)
    (state / "running.json").write_text(json.dumps(loaded(state)))
    print("booted", flush=True)
    running: dict[str, subprocess.Popen[bytes]] = {}
    while True:
        wanted = {file.name: file for file in (state / "services").iterdir()}
        for name in [name for name in running if name not in wanted]:
            running.pop(name).terminate()
        for name, file in wanted.items():
            if name not in running or running[name].poll() is not None:
                running[name] = subprocess.Popen(shlex.split(file.read_text()))
        time.sleep(0.02)


PROGRAMS = {"uci": uci, "wifi": wifi, "ubus": ubus, "hook": hook, "procd": procd}


def install(state: Path) -> Path:
    """Install the programs in a folder of STATE for a search path."""
    folder = state / "bin"
    folder.mkdir(parents=True)
    for name in ("etc/config", "etc/init.d", "etc/rc.d", "services", "var/run"):
        (state / name).mkdir(parents=True)
    (state / "etc" / "rc.common").write_text(RC_COMMON.format(state=state))
    (state / "etc" / "rc.common").chmod(0o755)
    for name in ("uci", "wifi", "ubus", "procd"):
        command = shlex.join([sys.executable, "-I", "-S", __file__, str(state), name])
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if (place / "faults.json").exists() and step(place):
        print(f"{sys.argv[2]}: an injected fault", file=sys.stderr)
        sys.exit(1)
    sys.exit(PROGRAMS[sys.argv[2]](place, sys.argv[3:]))
