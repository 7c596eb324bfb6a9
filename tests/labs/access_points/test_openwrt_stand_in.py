"""The stand-in of uci beside a recorded session of OpenWrt's own."""

import json
import subprocess
from pathlib import Path
from typing import Any

import openwrt_stand_in

RECORDED = json.loads((Path(__file__).parent / "recorded" / "uci-session.json").read_text())


def test_the_stand_in_prints_and_writes_what_the_real_uci_did(tmp_path: Path) -> None:
    programs = openwrt_stand_in.install(tmp_path)
    file = tmp_path / "etc" / "config" / "wireless"
    file.write_text(RECORDED["config"])
    for step in RECORDED["steps"]:
        argv = [str(tmp_path / "own") if word == "DELTAS" else word for word in step["argv"]]
        done = subprocess.run(
            [programs / "uci", *argv], input=step["stdin"], capture_output=True, text=True, check=False
        )
        found: dict[str, Any] = {
            "status": done.returncode,
            "stdout": done.stdout,
            "stderr": done.stderr,
            "file": file.read_text(),
        }
        assert found == {name: step[name] for name in found}, step["argv"]
