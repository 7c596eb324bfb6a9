"""An SSH server of the test's own, which ssh starts as its ProxyCommand: no port is opened."""

import os
import shutil
import subprocess
from pathlib import Path

SSHD = "/usr/sbin/sshd"
ALIAS = "machine"
"""The name of every host in the file of known hosts."""


def write_ssh(folder: Path, proxy: str | None = None, programs: Path | None = None) -> Path:
    """Write keys and configurations into the folder. Returns the configuration of ssh.

    The server's agents are in `cache`. `proxy` is the command that starts the server; default: on this machine.
    `programs` is the first folder of its search path.
    """
    for name in ("server", "user"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(keygen, check=True, stdin=subprocess.DEVNULL)
    shutil.copy(folder / "user.pub", folder / "authorized")
    trust(folder, folder / "server.pub")
    path = "" if programs is None else f" PATH={programs}:{os.environ['PATH']}"
    Path("/run/sshd").mkdir(exist_ok=True)
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/server\nAuthorizedKeysFile {folder}/authorized\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        f"SetEnv XDG_CACHE_HOME={folder}/cache{path}\n"
    )
    config = folder / "ssh_config"
    config.write_text(
        f"Host *\n  User root\n  HostKeyAlias {ALIAS}\n  IdentitiesOnly yes\n"
        f"  IdentityFile {folder}/user\n  UserKnownHostsFile {folder}/known\n"
        f"  ProxyCommand {proxy or f'{SSHD} -i -f {folder}/sshd_config'}\n"
    )
    return config


def trust(folder: Path, public_key: Path) -> None:
    """Let ssh know this key as that of every host."""
    key = " ".join(public_key.read_text().split()[:2])
    (folder / "known").write_text(f"{ALIAS} {key}\n")
