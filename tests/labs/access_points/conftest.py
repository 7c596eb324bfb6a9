"""A folder with the state of an access point."""

from pathlib import Path

import openwrt_stand_in
import pytest
from access_point_hosts import BEFORE, SECRETS


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an access point with OpenWrt, whose programs are stand-ins."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    openwrt_stand_in.install(tmp_path)
    (tmp_path / "etc" / "config" / "wireless").write_bytes(BEFORE)
    (tmp_path / "etc" / "config" / "wireless").chmod(0o640)
    openwrt_stand_in.wifi(tmp_path, ["reload"])
    (tmp_path / "secrets").write_text("".join(f"{secret}\n" for secret in SECRETS.values() if secret))
    return tmp_path
