"""An SSH server that exists only for the test."""

from pathlib import Path

import pytest
from ssh_server import SSHD, write_ssh


@pytest.fixture
def ssh_config(tmp_path: Path) -> Path:
    """A configuration of ssh with which every host is an SSH server on this machine."""
    if not Path(SSHD).exists():
        pytest.skip("sshd (openssh-server) is missing")
    return write_ssh(tmp_path)
