"""A wireless interface that NetworkManager lends. Its programs are stand-ins, which log their calls."""

from pathlib import Path

import pytest
from access_point_hosts import inventory, reach

from airtoll.errors import AirtollError
from airtoll.labs.access_points.lending import LentInterface
from airtoll.labs.journal import HostJournal

PROGRAMS = {
    "nmcli": 'case $1 in --get-values) cat {state}/managed ;; *) echo "nmcli $*" >> {state}/log ;; esac',
    "iw": """case "$*" in
"dev lo info") printf 'Interface lo\\n\\ttype managed\\n' ;;
"reg get") printf 'global\\ncountry US: DFS-FCC\\n' ;;
*) echo "iw $*" >> {state}/log ;;
esac""",
    "ip": 'echo "ip $*" >> {state}/log',
    "wpa_cli": "cat {state}/answer; exit 1",
}

TAKEN = ["nmcli device set lo managed no", "iw reg set DE"]
RETURNED = [
    "ip link set lo down",
    "iw dev lo set type managed",
    "ip link set lo nomaster",
    "ip link set lo up",
    "iw reg set US",
    "nmcli device set lo managed yes",
]


@pytest.fixture
def machine(state: Path) -> Path:
    """A machine whose loopback device is a wireless interface."""
    for name, script in PROGRAMS.items():
        file = state / "bin" / name
        file.write_text(f"#!/bin/sh\n{script.replace('{state}', str(state))}\n")
        file.chmod(0o755)
    (state / "managed").write_text("100 (verbunden)\n")
    (state / "answer").write_text("Failed to connect to non-global ctrl_ifname: lo\n")
    (state / "log").touch()
    return state


def test_an_interface_is_taken_and_returned_in_order(machine: Path) -> None:
    host = reach(machine, "ap")
    with HostJournal(inventory(machine)) as journal:
        lent = LentInterface(journal, host, "lo")
        lent.take("DE")
        lent.take("DE")
        assert (machine / "log").read_text().splitlines() == TAKEN
        assert len(journal.pending()) == 3
        lent.give_back()
        assert (machine / "log").read_text().splitlines() == [*TAKEN, *RETURNED]
        assert journal.pending() == []
        host.connection.close()
        assert (machine / "log").read_text().splitlines() == [*TAKEN, *RETURNED]


def test_the_agent_returns_an_interface_in_the_same_order(machine: Path) -> None:
    host = reach(machine, "ap")
    with HostJournal(inventory(machine)) as journal:
        LentInterface(journal, host, "lo").take("DE")
        host.connection.close()
    assert (machine / "log").read_text().splitlines() == [*TAKEN, *RETURNED]


def test_a_host_without_networkmanager_keeps_its_domain_if_none_is_given(machine: Path) -> None:
    (machine / "managed").write_text("10 (unmanaged)\n")
    host = reach(machine, "ap")
    with HostJournal(inventory(machine)) as journal:
        lent = LentInterface(journal, host, "lo")
        lent.take(None)
        lent.give_back()
    host.connection.close()
    assert (machine / "log").read_text().splitlines() == RETURNED[:4]


def test_an_interface_of_another_wpa_supplicant_is_refused(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airtoll.labs.access_points.lending._FREE_S", 0.0)
    (machine / "answer").write_text("PONG\n")
    host = reach(machine, "ap")
    with HostJournal(inventory(machine)) as journal:
        lent = LentInterface(journal, host, "lo")
        with pytest.raises(AirtollError) as raised:
            lent.take("DE")
        assert str(raised.value) == (
            "host ap: another wpa_supplicant controls lo: stop it (systemctl stop wpa_supplicant@lo)"
        )
        lent.give_back()
        assert journal.pending() == []
    host.connection.close()


def test_a_device_that_is_not_wireless_is_one_line(machine: Path) -> None:
    host = reach(machine, "ap")
    with HostJournal(inventory(machine)) as journal, pytest.raises(AirtollError) as raised:
        LentInterface(journal, host, "wlan9").take("DE")
    host.connection.close()
    assert str(raised.value).startswith("host ap: wlan9 is not a wireless interface: ")
