"""Machines behind SSH, joined by emulated air, with an access point that a hook switches.

`serve` holds the air: a process that opens a new link for each network that the hook asks for. The machines are the
hosts of that link. Each has an SSH server that ssh starts as its ProxyCommand, so no port is opened. In a guest, where
no SSH server runs, the folder `bin` beside the inventory has a stand-in for ssh.
"""

import itertools
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import tomli_w
from agentless_stand_in import write_programs
from ssh_server import SSHD, write_ssh

from airtoll import _rust
from airtoll.clock import Clock
from airtoll.labs.air import Air
from airtoll.labs.emulated import pairs
from airtoll.study.cell import Cell
from airtoll.study.link import LinkSettings

HOOK = """#!{python}
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as air:
    air.connect({path!r})
    air.sendall(sys.stdin.readline().encode() + b"\\n")
    answer = air.makefile().readline().strip()
sys.exit(None if answer == "ok" else answer)
"""
SSH = """#!{python} -IS
# Stands in for ssh(1) where no SSH server runs: enters the machine, the last argument but one, and runs the last one.
# When this program ends, for any reason, the streams of the command close.
import os, subprocess, sys, threading

def copy(source, target):
    try:
        while octets := os.read(source, 1 << 16):
            os.write(target, octets)
    except OSError:
        pass
    os.close(target)

os.environ["XDG_CACHE_HOME"] = {cache!r}
if "-O" not in sys.argv:
    role, command = sys.argv[-2:]
    words = dict(line.split("=") for line in open({state!r}).read().split())
    where = "/proc/" + words["emulator"]
    argv = ["nsenter", "--pid=" + where + "/ns/pid", "--net=" + where + "/fd/" + words[role], "--", "sh", "-c", command]
    run = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=copy, args=(0, run.stdin.fileno()), daemon=True).start()
    copy(run.stdout.fileno(), 1)
    os._exit(run.wait())
"""
ENTER = """#!/bin/sh
. {state}
eval "fd=\\$$1"
exec nsenter --pid=/proc/$emulator/ns/pid --net=/proc/$emulator/fd/$fd -- {sshd} -i -f {config}
"""


def serve(folder: Path, cell: Cell, settings: LinkSettings, clock: Clock) -> None:
    """Open a link for each network that arrives on the socket, and anew for `reboot`, until `stop` arrives."""
    with ExitStack() as held, socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "air.sock"))
        server.listen()

        # With the same seed, all runs after a switch would draw the same backoffs in virtual time.
        seeds = itertools.count(1)

        offered_now = "open"

        def offer(level: str) -> None:
            nonlocal offered_now
            offered_now = level
            held.close()
            offered = cell.model_copy(update={"security": level})
            link = held.enter_context(Air(settings, clock=clock).open(offered, seed=next(seeds)))
            _publish(folder, link.hosts)

        offer("open")
        print("ready", flush=True)

        def answer(words: Mapping[str, str]) -> str:
            if words["action"] != "reboot":
                with (folder / "actions").open("a") as actions:
                    print(words["action"], *([words["level"]] if "level" in words else []), file=actions)
            try:
                if words["action"] != "restore":
                    offer(words.get("level", offered_now))
            except Exception as error:
                return str(error)
            return "ok"

        while True:
            peer, _ = server.accept()
            with peer, suppress(BrokenPipeError, json.JSONDecodeError):  # a hook that was killed
                words = json.loads(peer.makefile().readline())
                if words["action"] == "stop":
                    return
                peer.sendall(f"{answer(words)}\n".encode())


def _publish(folder: Path, hosts: Mapping[str, Any]) -> None:
    lines = []
    for role, host in hosts.items():
        _, _, emulator, _, fd = host.namespace.split("/")
        lines += [f"emulator={emulator}", f"{role}={fd}"]
    (folder / "state").write_text("\n".join(lines) + "\n")


@contextmanager
def machines(
    folder: Path,
    cell: Cell,
    settings: LinkSettings | None = None,
    clock: Clock = "real",
    patience_s: float = 30,
    station: Literal["linux", "macos", "windows"] = "linux",
) -> Iterator[Path]:
    """The inventory of the machines, until the context ends. `station`: the system whose programs stations have."""
    _write_programs(folder, station)
    words = [str(folder), cell.model_dump_json(), (settings or LinkSettings()).model_dump_json(), clock]
    with subprocess.Popen(
        [sys.executable, __file__, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as air:
        try:
            assert air.stdout is not None
            assert air.stdout.readline() == b"ready\n"
            yield _inventory(folder, cell, patience_s, station)
        finally:
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(folder / "air.sock"))
                peer.sendall(b'{"action": "stop"}\n')


def _write_programs(folder: Path, station: str) -> None:
    """The configuration of ssh, its stand-in, and the hook."""
    of_station = None if station == "linux" else write_programs(folder, station, folder / "actions")
    write_ssh(folder, f"{folder}/enter %h", of_station)
    (folder / "bin").mkdir()
    words = {"python": sys.executable, "state": str(folder / "state"), "cache": str(folder / "cache")}
    for name, text in (
        ("enter", ENTER.format(state=folder / "state", sshd=SSHD, config=folder / "sshd_config")),
        ("bin/ssh", SSH.format(**words)),
        ("hook", HOOK.format(python=sys.executable, path=str(folder / "air.sock"))),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def _inventory(folder: Path, cell: Cell, patience_s: float, station: str) -> Path:
    secret = folder / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text("a toll on the air\n")
    host = {"ssh_config": str(folder / "ssh_config"), "wired": _rust.DEVICE_NAME}
    hosts = {role: {"address": role, **host} for role in dict.fromkeys(sum(pairs(cell), ()))}
    if station != "linux":
        hosts["sta"] |= {"os": station, "wireless": "en0" if station == "macos" else "Wi-Fi"}
        del hosts["sta"]["wired"]
    words = {
        "patience": patience_s,
        "hosts": hosts,
        "access_point": {"kind": "hook", "command": [str(folder / "hook")], "passphrase_file": str(secret)},
    }
    file = folder / "lab.toml"
    file.write_text(tomli_w.dumps(words))
    return file


if __name__ == "__main__":
    _, _folder, _cell, _settings, _clock = sys.argv
    serve(
        Path(_folder),
        Cell.model_validate_json(_cell),
        LinkSettings.model_validate_json(_settings),
        "virtual" if _clock == "virtual" else "real",
    )
