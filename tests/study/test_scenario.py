"""A scenario has the keys of study files, and one JSON text that the medium reads."""

import json
import math
from collections.abc import Callable

import pytest

from airtoll.study import LinkSettings, Scenario, WordError, read_scenario, scenario_of
from airtoll.study.cell import Cell
from airtoll.study.link import Stack
from airtoll.study.phys import PHYS
from airtoll.study.scenario import is_without_ht
from airtoll.study.security import READY_MADE


def test_quantities_come_out_as_numbers_whose_keys_carry_the_unit() -> None:
    words = {
        "snr": "25 dB",
        "duration": "500 ms",
        "warmup": 0,
        "txop_limit": "1.5 ms",
        "amsdu": "3839 B",
        "window": 65535,
        "beacon_interval": "100 TU",
        "offered": "2.5 Mbit/s",
        "wired_rate": 1000,
        "wired_delay": "2 ms",
        "crypto_at": "card",
        "forward_ipv4": "1 us",
        "forward_ipv6": "2 us",
        "processor_frame": "5 us",
        "processor_byte": "2.5 ns",
    }
    wire = read_scenario(words).wire()
    expected = {
        "snr_db": 25.0,
        "duration_s": 0.5,
        "warmup_s": 0.0,
        "txop_limit_us": 1500.0,
        "amsdu_bytes": 3839,
        "window_bytes": 65535,
        "beacon_interval_tu": 100,
        "offered_mbps": 2.5,
        "wired": {"rate_mbps": 1000.0, "delay_us": 2000.0},
        "processor": {"forward_us": 1.0, "frame_us": 5.0, "byte_ns": 2.5},
    }
    assert {key: wire[key] for key in expected} == expected
    assert not (set(words) - {"crypto_at"}) & set(wire)


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        ({}, "rate", "54 Mbit/s"),
        ({"phy": "dsss"}, "rate", "11 Mbit/s"),
        ({"phy": "vht"}, "rate", "mcs8"),
        ({"phy": "dsss", "rate": 5.5}, "rate", "5.5 Mbit/s"),
        ({"rate": "54.0 Mbit/s"}, "rate", "54 Mbit/s"),
        ({}, "topology", "point-to-point"),
        ({"stations": 10}, "topology", "stations"),
        ({"stations": 10, "topology": "wired-ap"}, "topology", "wired-ap"),
        ({}, "traffic", "saturated"),
        ({"offered": 5}, "traffic", "cbr"),
        ({"offered": 5, "traffic": "video"}, "traffic", "video"),
        ({}, "error_model", "none"),
        ({"snr": 20}, "error_model", "nist"),
        ({"snr": 20, "error_model": "yans"}, "error_model", "yans"),
        ({"path_loss": {"exponent": 3.0}}, "error_model", "nist"),
        ({"phy": "ht", "rate": "mcs7", "streams": 2}, "streams", 2),
        ({"snr": [[0, 20], [20.5, 0]]}, "snr_db", ((0, 20), (20.5, 0))),
        (
            {"path_loss": {"model": "tgn-b", "distance_m": 5}},
            "path_loss",
            {"model": "tgn-b", "distance_m": 5},
        ),
        ({"path_loss": {"distance_m": [[0, 5], [5, 0]]}}, "path_loss", {"distance_m": ((0, 5), (5, 0))}),
        ({"snr": 20, "coherence_time": "20 ms", "k_factor": "3 dB"}, "coherence_time_us", 20_000),
        ({"udp_buffer": "8192 B"}, "udp_buffer_bytes", 8192),
    ],
)
def test_defaults_follow_from_the_given_keys(words: dict[str, object], key: str, value: object) -> None:
    assert read_scenario(words).wire()[key] == value


def test_an_ht_mcs_of_several_streams_says_them_itself() -> None:
    assert "streams" not in read_scenario({"phy": "ht", "rate": "mcs15"}).wire()


def test_keys_without_a_value_are_left_to_the_medium() -> None:
    wire = read_scenario({}).wire()
    assert not {"queue", "ampdu", "retry_limit", "snr_db", "band", "wired", "processor"} & set(wire)
    assert None not in wire.values()


def test_equal_scenarios_have_one_text() -> None:
    first = read_scenario({"rate": 54, "packet_size": "100 B", "seed": 3})
    second = read_scenario({"seed": 3, "packet_size": 100, "rate": "54 Mbit/s", "phy": "ofdm"})
    assert first.to_json() == second.to_json()
    assert json.loads(first.to_json()) == first.wire()


@pytest.mark.parametrize(
    ("words", "word", "says"),
    [
        ({"stations": 0}, "stations", "9.4.1.8"),
        ({"packet_size": 2269}, "packet_size", "MSDU of 2304 B"),
        ({"rate": 55}, "rate", "55 is not a valid rate"),
        ({"securty": "open"}, "securty", "unknown key; did you mean 'security'?"),
        ({"security": "paper-lanes"}, "security", "forgeable"),
        ({"snr": "loud"}, "snr", "or 'none'"),
        ({"snr": [[0, 1], [2]]}, "snr", "not a square matrix"),
        ({"snr": [1, 2]}, "snr", "not a square matrix"),
        ({"snr": [[10**400]]}, "snr", "a number of more than 64 bits in the matrix is not a finite number"),
        ({"hears": [[1, True], [1, 1]]}, "hears", "true in the matrix is not a number"),
        ({"hears": 1}, "hears", "not a square matrix"),
        ({"path_loss": 3}, "path_loss", "not a table"),
        ({"ampdu": "yes"}, "ampdu", "use true or false"),
    ],
)
def test_an_invalid_value_is_named_with_the_allowed_values(
    words: dict[str, object], word: str, says: str
) -> None:
    with pytest.raises(WordError) as caught:
        read_scenario(words)
    assert caught.value.word == word
    assert says in caught.value.text


def test_a_cell_of_a_study_is_the_scenario_of_the_same_words(cell: Callable[..., Cell]) -> None:
    levels = {"phy": "vht", "rate": "mcs5", "streams": 2, "stations": 4, "topology": "wired-ap", "snr": 30.0}
    link = LinkSettings.model_validate({"queue": "fq_codel", "wired_delay": "5 ms", "coalesce": True})
    made = scenario_of(cell(lab="sim", **levels), link, seed=9, duration=2.0, warmup=0.5)
    words = {
        "coalesce": True,
        "queue": "fq_codel",
        "wired_delay": 5000,
        "packet_size": 1408,
        "seed": 9,
        "duration": 2,
    }
    assert made.to_json() == read_scenario({**levels, **words, "warmup": 0.5}).to_json()


def test_every_word_is_described() -> None:
    for word, field in Scenario.model_fields.items():
        assert field.description, word
        assert field.description.endswith("."), word


@pytest.mark.parametrize(
    ("words", "legacy"),
    [
        ({"phy": "ht", "rate": "mcs7", "bandwidth": 40, "gi": "short"}, ("ofdm", "54 Mbit/s")),
        ({"phy": "ht", "rate": "mcs15", "ampdu": True, "amsdu": 3839}, ("ofdm", "54 Mbit/s")),
        ({"phy": "ht", "rate": "mcs8", "band": "2.4 GHz"}, ("erp", "6 Mbit/s")),
        ({"phy": "vht", "rate": "mcs9", "streams": 3, "bandwidth": 80}, ("ofdm", "54 Mbit/s")),
        ({"phy": "vht", "rate": "mcs3"}, ("ofdm", "24 Mbit/s")),
    ],
)
def test_tkip_falls_back_to_the_legacy_rate_of_its_modulation(
    words: dict[str, object], legacy: tuple[str, str]
) -> None:
    wire = read_scenario({**words, "security": "tkip", "legacy_fallback": True}).wire()
    assert (wire["phy"], wire["rate"]) == legacy
    assert (wire["bandwidth"], wire["gi"], wire["streams"]) == (20, "long", 1)
    assert not {"ampdu", "amsdu_bytes", "band", "legacy_fallback"} & set(wire)


def test_security_allowed_with_ht_does_not_fall_back() -> None:
    words = {"phy": "ht", "rate": "mcs7", "security": "ccmp"}
    assert read_scenario({**words, "legacy_fallback": True}).to_json() == read_scenario(words).to_json()


def test_an_offered_load_applies_to_udp_only(cell: Callable[..., Cell]) -> None:
    for transport, offered in (("udp", 20.0), ("tcp", None)):
        levels = {"phy": "ofdm", "rate": "54 Mbit/s", "transport": transport, "offered": 20.0}
        assert scenario_of(cell(lab="sim", **levels), LinkSettings()).wire().get("offered_mbps") == offered


def test_a_stack_replaces_the_host_settings_of_the_link() -> None:
    link = LinkSettings(congestion_control="cubic", window=65536, queue="fifo")
    other = link.with_stack(Stack(system="another", congestion_control="reno", sack=False))
    assert other.given() == link.given() | {"congestion_control": "reno", "sack": False}
    assert link.with_stack(None) is link


def test_the_udp_sockets_of_lab_air_are_above_tun_devices(cell: Callable[..., Cell]) -> None:
    link = LinkSettings(udp_buffer=8192)
    words = {lab: scenario_of(cell(lab=lab), link).wire() for lab in ("air", "linux", "sim")}
    assert {lab: of_lab.get("udp_tun") for lab, of_lab in words.items()} == {
        "air": True,
        "linux": None,
        "sim": None,
    }
    assert all(of_lab["udp_buffer_bytes"] == 8192 for of_lab in words.values())
    assert "udp_tun" not in scenario_of(cell(lab="air"), LinkSettings()).wire()


def test_a_path_loss_of_the_link_is_that_of_the_scenario(cell: Callable[..., Cell]) -> None:
    path_loss = {"distance_m": 5.0, "shadowing_db": 3.0}
    link = LinkSettings.model_validate({"path_loss": path_loss, "fading": "rician", "coherence_time": "5 ms"})
    made = scenario_of(cell(lab="sim"), link).wire()
    assert (made["path_loss"], made["fading"], made["coherence_time_us"]) == (path_loss, "rician", 5000)
    assert hash(link) == hash(LinkSettings.model_validate(link.model_dump()))
    assert LinkSettings.model_validate(link.given()) == link, "a stored plan is read again"


def test_the_medium_says_which_security_levels_forbid_ht() -> None:
    for phy, declared in PHYS.items():
        found = [level for level in READY_MADE if is_without_ht(phy, level)]
        assert found == (["wep40", "wep104", "tkip"] if declared.is_ht else [])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"path_loss": {"exponent": math.inf}}, "exponent: inf is not a finite number"),
        ({"path_loss": {"exponent": "steep"}}, "exponent: 'steep': Input should be a valid number"),
        ({"path_loss": {"distance": 5}}, "'distance': unknown key; did you mean 'distance_m'?"),
        ({"snr": [[math.nan, 1], [1, 1]]}, "nan in the matrix is not a finite number"),
    ],
)
def test_invalid_numbers_in_tables_are_refused(words: dict[str, object], text: str) -> None:
    with pytest.raises(WordError, match=text):
        read_scenario(words)
