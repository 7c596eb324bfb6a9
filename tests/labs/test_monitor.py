"""An interface that cannot capture the air is one line, and nothing remains on its host."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from airtoll.agent.host import AgentHost
from airtoll.errors import AirtollError
from airtoll.labs.monitor import Monitor

INVENTORY = """
[hosts.ap]
address = "local"
wired = "lo"
[hosts.sta]
address = "local"
wired = "lo"
[access_point]
kind = "fixed"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="this user may not capture")
@pytest.mark.parametrize(
    ("interface", "words"),
    [
        (
            "lo",
            "lo is not in monitor mode: ip link set lo down, iw dev lo set type monitor, ip link set lo up",
        ),
        ("mon7", "mon7: tcpdump: .*No such device exists"),
    ],
)
def test_an_interface_without_radiotap_is_refused(
    host: AgentHost, tmp_path: Path, interface: str, words: str
) -> None:
    folders = host.run(["sh", "-c", "ls -d /var/tmp/airtoll-* /tmp/airtoll-*"], 10).stdout
    with (
        pytest.raises(AirtollError, match=rf"^host here: {words}"),
        Monitor(host, interface).capturing(tmp_path / "air.pcap"),
    ):
        pytest.fail("there is nothing to capture")
    assert not (tmp_path / "air.pcap").exists()
    assert host.run(["sh", "-c", "ls -d /var/tmp/airtoll-* /tmp/airtoll-*"], 10).stdout == folders
    assert host.run(["pgrep", "-f", f"tcpdump -i {interface}"], 10).stdout == b""


def test_a_capture_requires_a_monitor(tmp_path: Path, airtoll: Callable[..., tuple[int, str, str]]) -> None:
    (tmp_path / "lab.toml").write_text(INVENTORY)
    status, _, err = airtoll(
        "run", "quickstart", "--lab", "hosts", "--inventory", tmp_path / "lab.toml", "--pcap"
    )
    assert status == 2
    assert "--pcap: no host of " in err
    assert "has the key monitor" in err
