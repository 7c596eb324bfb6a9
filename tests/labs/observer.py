"""tshark as an independent observer: reads captures of the air."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import Any

import pytest


def since_joining(facts: Mapping[str, Any]) -> tuple[str, str]:
    """A filter for frames sent after all stations have joined."""
    return "-Y", f"radiotap.mactime >= {int(facts['joining_ms'] * 1000)}"


def tshark(
    capture: Path, *options: str, key: str | None = None, passphrase: str | None = None
) -> list[list[str]]:
    """The fields that tshark prints, one list per frame."""
    if which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    decryption = ["-o", "wlan.enable_decryption:FALSE"]
    if key is not None:
        kind = "wep" if len(key) in (10, 26) else "tk"
        decryption = ["-o", "wlan.enable_decryption:TRUE", "-o", f'uat:80211_keys:"{kind}","{key}"']
    if passphrase is not None:
        decryption = [
            *("-o", "wlan.enable_decryption:TRUE"),
            *("-o", f'uat:80211_keys:"wpa-pwd","{passphrase}"'),
        ]
    done = subprocess.run(
        ["tshark", "-n", "-r", str(capture), *decryption, "-T", "fields", *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]
