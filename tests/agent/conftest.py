"""An SSH server that exists only for the test."""

import shutil
import subprocess
from pathlib import Path

import pytest

SSHD = "/usr/sbin/sshd"


@pytest.fixture
def ssh_config(tmp_path: Path) -> Path:
    """A configuration of ssh whose host `board` is an SSH server that ssh itself starts: no port is opened."""
    if not Path(SSHD).exists():
        pytest.skip("sshd (openssh-server) is missing")
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("server", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(keygen, check=True, stdin=subprocess.DEVNULL)
    shutil.copy(tmp_path / "user.pub", tmp_path / "authorized")
    key = " ".join((tmp_path / "server.pub").read_text().split()[:2])
    (tmp_path / "known").write_text(f"board {key}\n")
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/server\nAuthorizedKeysFile {tmp_path}/authorized\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        f"SetEnv XDG_CACHE_HOME={tmp_path}/cache\n"
    )
    config = tmp_path / "ssh_config"
    config.write_text(
        "Host board\n  User root\n  HostKeyAlias board\n  IdentitiesOnly yes\n"
        f"  IdentityFile {tmp_path}/user\n  UserKnownHostsFile {tmp_path}/known\n"
        f"  ProxyCommand {SSHD} -i -f {tmp_path}/sshd_config\n"
    )
    return config
