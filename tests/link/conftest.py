"""A network for links, skipped where namespaces cannot be made."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from link_hosts import Network


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], check=False).returncode != 0:
        pytest.skip("links are tested as root, in network namespaces of their own")
    network = Network(tmp_path)
    yield network
    network.close()
