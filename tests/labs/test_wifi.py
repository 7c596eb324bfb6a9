"""Facts about the Wi-Fi of a host, from the output of the script that reads them."""

from dataclasses import replace

import pytest

from airtoll.agent.host import AgentHost
from airtoll.host import PeerStatistics
from airtoll.labs.wifi import examine, parse

HEAD = "phy\tphy0\ndriver\tath9k\ndebugfs\tyes\n"
AGGREGATION = (
    "aggregation\tnext dialog_token: 0x2\n"
    "aggregation\tTID\t\tRX\tDTKN\tSSN\t\tTX\tDTKN\tpending\n"
    "aggregation\t00\t\t0\t0x00\t0x000\t\t{tx}\t0x01\t000\n"
)


@pytest.mark.parametrize(
    ("flags", "place", "sentence"),
    [
        (
            "0x1",
            "hardware",
            "The card of wlan0 (ath9k) seals frames: security costs air, and no CPU of the host.",
        ),
        ("0x0", "software", "The host's CPU seals the frames of wlan0 (ath9k): security costs air and CPU."),
    ],
)
def test_the_flag_of_a_key_tells_where_frames_are_sealed(flags: str, place: str, sentence: str) -> None:
    found = parse("wlan0", f"{HEAD}key\t{flags} CCMP\n", None)
    assert (found.sealed_in, found.ciphers) == (place, ("CCMP",))
    assert found.verdict() == sentence


def test_a_key_in_software_among_keys_in_hardware_counts() -> None:
    found = parse("wlan0", f"{HEAD}key\t0x1 CCMP\nkey\t0x0 CMAC\n", None)
    assert found.sealed_in == "software"


@pytest.mark.parametrize(("tx", "aggregates"), [("1", True), ("0", False)])
def test_an_agreement_for_sending_means_aggregation(tx: str, aggregates: bool) -> None:
    found = parse("wlan0", f"{HEAD}key\t0x1 GCMP\n{AGGREGATION.format(tx=tx)}", None)
    assert found.aggregates is aggregates
    assert ("sent alone" in found.verdict()) is not aggregates


def test_facts_that_a_host_does_not_tell_are_unknown() -> None:
    found = parse("wlan0", "phy\tphy0\ndriver\tmt7921e\n", {"ssid": "x"})
    assert (found.sealed_in, found.aggregates, found.power_save) == (None, None, None)
    assert (
        found.verdict()
        == "The place where wlan0 (mt7921e) seals frames is unknown: reading debugfs requires root."
    )


def test_a_wpa_supplicant_that_does_not_answer_is_not_an_absent_network() -> None:
    words = "host sta: wpa_cli on wlan0: Permission denied: add the user to the group netdev"
    found = replace(parse("wlan0", HEAD, None), silent=words)
    assert found.verdict() == f"The security of wlan0 is unknown: {words}"
    assert "no network" in parse("wlan0", HEAD, None).verdict()


def test_disturbances_have_a_remedy() -> None:
    text = f"{HEAD}power_save\tPower save: on\ncountry\t00\nmanaged\t100 (connected)\nwed\tY\n"
    text += "flows\ttable inet x { flowtable f { hook ingress priority 0; flags offload; } }\n"
    warnings = list(parse("wlan0", text, None).warnings())
    assert [warning.split()[0] for warning in warnings] == [
        "power",
        "the",
        "NetworkManager",
        "Wireless",
        "hardware",
    ]
    assert "iw dev wlan0 set power_save off" in warnings[0]


def test_each_link_of_a_multi_link_association_has_its_octets() -> None:
    links = {
        "0": PeerStatistics(tx_bytes=1_234_567, rx_bytes=0),
        "2": PeerStatistics(tx_bytes=3_000_000_000),
    }
    found = replace(parse("wlan0", HEAD, {"ssid": "x"}), mlo_links=links)
    assert list(found.evidence())[-2:] == [
        ("link 0", "1.2 MB sent, 0.0 MB received since the association"),
        ("link 2", "3000.0 MB sent, an unknown amount received since the association"),
    ]


def test_a_wired_interface_is_not_examined(host: AgentHost) -> None:
    found = examine(host, "lo")
    assert found.phy is None
    assert found.verdict() == "lo is not a wireless interface, so its security cannot be examined."
