"""A key that has no effect beside the others is refused, and a key that has an effect is not."""

import json
from typing import Any

import pytest

from airtoll import _rust
from airtoll.study import read_scenario
from airtoll.study.scenario import unused

Words = dict[str, Any]

VALUES: dict[str, tuple[Any, Any]] = {
    "congestion_control": ("reno", "cubic"),
    "window": (3000, 200_000),
    "receive_buffer": (3000, 300_000),
    "delayed_ack": (True, False),
    "coalesce": (True, False),
    "timestamps": (True, False),
    "segmentation_offload": (True, False),
    "ip_fragments": (True, False),
    "udp_buffer": (3000, 300_000),
    "udp_tun": (True, False),
    "offered": (1, 5),
    "pacing": ("even", "iperf2"),
    "pacing_timer": (100, 20_000),
    "clock_resolution": (1, 5000),
    "pause": (0, 3000),
    "write_time": (1, 5000),
    "packet_time": (1, 5000),
    "slot": ("short", "long"),
    "dot11b_stations": (True, False),
    "k_factor": (0, 20),
    "coherence_time": (100, 60_000),
    "wired_rate": (1, 1000),
    "wired_delay": (0, 5000),
    "forward_ipv4": (0, 900),
    "forward_ipv6": (0, 900),
    "processor_frame": (0, 900),
    "processor_byte": (0, 900),
    "processor_latency": (0, 900),
    "processor_clock": (10, 400),
    "host_frame": (0, 900),
    "host_byte": (0, 900),
    "fragmentation_threshold": (256, 3000),
}
"""Two values of each key whose answers differ where the key has an effect."""

OTHERS: tuple[Words, ...] = (
    {"packet_size": 2000},
    {"transport": "tcp", "phy": "ht"},
    {"transport": "tcp", "window": 20_000},
    {"transport": "tcp", "traffic": "request-response"},
    {"offered": 4, "packet_size": 500},
    {"offered": 4, "pacing": "iperf2", "udp_buffer": 20_000},
    {"traffic": "request-response", "udp_buffer": 20_000},
    {"traffic": "video"},
    {"udp_buffer": 20_000},
    {"crypto_at": "card", "security": "ccmp"},
    {"crypto_at": "card", "security": "ccmp", "processor_frame": 5, "processor_byte": 5, "ip": "ipv6"},
    {"crypto_at": "card"},
    {"security": "ccmp"},
    {"snr": 20.0, "fading": "rayleigh"},
    {"snr": 20.0, "fading": "rician"},
    {"phy": "ht", "ampdu": False, "topology": "wired-ap"},
    {"phy": "vht", "rate": "mcs7"},
    {"phy": "erp"},
)


@pytest.mark.parametrize("key", VALUES)
def test_a_key_is_refused_only_where_it_has_no_effect(key: str) -> None:
    refused, effective = 0, 0
    for other in OTHERS:
        if key in other:
            continue
        answers = set()
        for value in VALUES[key]:
            scenario = read_scenario({"duration": 0.1, "warmup": 0, **other, key: value})
            try:
                answers.add(json.dumps(json.loads(_rust.simulate(scenario.to_json())), sort_keys=True))
            except ValueError:  # the medium itself refuses it
                break
        else:
            if any(unused(scenario, [key])):
                refused += 1
                assert len(answers) == 1, other
            else:
                effective += len(answers) == 2
    assert refused
    assert effective


@pytest.mark.parametrize(
    ("words", "key", "error"),
    [
        ({"window": 1}, "window", "has no effect here; it requires transport tcp and traffic saturated"),
        ({"security": "tkip", "wpa_key_mgmt": "wpa-psk"}, "wpa_key_mgmt", None),
        ({"wpa_key_mgmt": "sae"}, "wpa_key_mgmt", "has no effect here; it requires a security level with"),
        ({"security": "wep40", "ieee80211w": "optional"}, "ieee80211w", "has no effect here; it requires"),
        ({"security": "ccmp", "phy": "ht", "legacy_fallback": True}, "legacy_fallback", "has no effect here"),
        ({"security": "tkip", "phy": "ht", "legacy_fallback": True}, "legacy_fallback", None),
        ({"processor_byte": "2 ns"}, "processor_byte", "requires crypto_at card"),
        ({"host_frame": 2, "crypto_at": "card"}, "host_frame", "requires crypto_at host"),
    ],
)
def test_the_error_names_what_the_key_requires(words: Words, key: str, error: str | None) -> None:
    found = next(unused(read_scenario(words), words), None)
    if error is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == key
        assert found[1].startswith(error)
