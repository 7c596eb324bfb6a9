"""The commands of the tutorial about two laptops and a router, with its files.

The machines are behind SSH servers and joined by emulated air, so their interfaces are wired ones of Linux. The test
follows the requests to set the access point. The study is shorter, with a lower load.
"""

import json
import os
import pty
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tomli_w
from doc_pages import DOCS, fences
from machines_on_air import machines
from ssh_server import SSHD

from airtoll import _rust
from airtoll.labs import air
from airtoll.store import Result
from airtoll.study import expand, load_study

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot enter the namespaces of other processes"),
    pytest.mark.skipif(not Path(SSHD).exists(), reason="sshd (openssh-server) is missing"),
]

AIRTOLL = str(Path(sys.executable).with_name("airtoll"))
PAGE = DOCS / "tutorial" / "two-laptops-and-a-router.md"
REQUEST, END = "Press Enter when the access point has restarted: ", "and press Enter: "


def written(folder: Path) -> None:
    """Write the files of the page, with the addresses of the test's machines and a shorter study."""
    inventory, study = (tomllib.loads(fence.text) for fence in fences(PAGE) if fence.language == "toml")
    for role, host in inventory["hosts"].items():
        host |= {
            "address": role,
            "ssh_config": str(folder / "lab" / "ssh_config"),
            "wired": _rust.DEVICE_NAME,
        }
        host.pop("wireless", None)
    inventory["patience"] = 30
    # A load that any machine carries: at overload, a busy one fetches datagrams too late, and the run is invalid.
    study["factors"] |= {"rate": ["mcs0"], "offered": [10]}
    study["method"] |= {"repeats": 1, "duration": "1 s", "warmup": "0 s"}
    (folder / "lab.toml").write_text(tomli_w.dumps(inventory))
    (folder / "router.toml").write_text(tomli_w.dumps(study))
    (folder / "passphrase").touch(mode=0o600)
    (folder / "passphrase").write_text("a toll on the air\n")


def followed(argv: list[str], folder: Path, lab: Path) -> tuple[list[str], str]:
    """Run a command on a terminal and set the access point when it asks. Returns the levels that it asked for."""
    levels: list[str] = []
    shown = ""
    ours, theirs = pty.openpty()
    with (
        open(folder / "stdout", "w+b") as stdout,
        subprocess.Popen(argv, cwd=folder, stdin=theirs, stdout=stdout, stderr=theirs) as command,
    ):
        os.close(theirs)
        asked = 0
        while True:
            try:
                shown += os.read(ours, 4096).decode(errors="replace")
            except OSError:  # the command has ended
                break
            requests = re.findall(f"{REQUEST}|{END}", shown)
            if len(requests) > asked:
                asked = len(requests)
                if requests[-1] == REQUEST:
                    security = re.findall(r"Security: +(.+)", shown)[-1]
                    levels.append("ccmp" if "WPA2" in security else "open")
                    set_access_point(lab, levels[-1])
                os.write(ours, b"\n")
        assert command.wait() == 0, shown + (folder / "stdout").read_text()
    os.close(ours)
    return levels, shown


def set_access_point(lab: Path, level: str) -> None:
    with socket.socket(socket.AF_UNIX) as offered:
        offered.connect(str(lab / "air.sock"))
        offered.sendall(json.dumps({"action": "apply", "level": level}).encode() + b"\n")
        assert offered.makefile().readline() == "ok\n"


def test_two_laptops_and_a_router(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := air.missing():
        pytest.skip(reason)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lab = tmp_path / "lab"
    lab.mkdir()
    written(tmp_path)
    commands = {
        words[1]: [AIRTOLL, *words[1:]]
        for fence in fences(PAGE)
        if fence.language == "sh" and (words := fence.text.split())[0] == "airtoll"
    }
    plan = expand(load_study(tmp_path / "router.toml"), lab="hosts")
    with machines(lab, plan.runs[0].cell):
        checked = subprocess.run(commands["hosts"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert checked.stdout.startswith("These machines can measure router.\n"), checked
        levels, shown = followed([*commands["run"], "--out", "result"], tmp_path, lab)
    assert levels[0] != levels[1]
    assert "Set the access point back to its earlier settings" in shown
    valid = {record.run.id for record in Result.open(tmp_path / "result").records() if record.verdict.valid}
    assert len(valid) == len(plan.runs) == 4
