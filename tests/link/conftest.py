"""A network for links, skipped if namespaces cannot be created."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from link_hosts import Network


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    if os.geteuid() != 0:
        pytest.skip("this user is not root: links are tested as root")
    made = subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"links need network namespaces: {made.stderr.strip()}")
    network = Network(tmp_path)
    yield network
    network.close()
