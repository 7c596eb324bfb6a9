"""Keys of a scenario that have no effect beside its other keys.

`airtoll simulate` and `airtoll model` refuse such a key, because a user who sets it expects an effect. A study or a
grid may set a key that only some of its cells use.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from airtoll.study.phys import PHYS
from airtoll.study.scenario import Scenario, is_without_ht, unused_processor
from airtoll.study.security import READY_MADE, CipherEntry


def _cipher(scenario: Scenario) -> CipherEntry:
    return READY_MADE[scenario.security].entry


def _is_secured(scenario: Scenario) -> bool:
    return READY_MADE[scenario.security].cipher != "open"


def _traffic(scenario: Scenario) -> str:
    return scenario.wire_traffic


def _is_bulk_tcp(scenario: Scenario) -> bool:
    return scenario.transport == "tcp" and _traffic(scenario) == "saturated"


def _is_paced_by(program: str) -> Callable[[Scenario], bool]:
    return lambda scenario: _traffic(scenario) == "cbr" and (scenario.pacing or "iperf3") == program


def _has_udp_buffer(scenario: Scenario) -> bool:
    return scenario.transport == "udp" and scenario.udp_buffer is not None


def _is_at_2_4_ghz(scenario: Scenario) -> bool:
    return (scenario.band or PHYS[scenario.phy].bands[0]) == "2.4 GHz"


def _fades(scenario: Scenario) -> bool:
    return scenario.fading not in (None, "none")


def _is_unaggregated(scenario: Scenario) -> bool:
    return not PHYS[scenario.phy].is_ht or (scenario.ampdu is False and not scenario.amsdu)


_REQUIRED: Final[Mapping[tuple[str, ...], tuple[str, Callable[[Scenario], bool]]]] = {
    (
        *("congestion_control", "window", "receive_buffer", "delayed_ack", "coalesce", "timestamps"),
        "segmentation_offload",
    ): ("transport tcp and traffic saturated", _is_bulk_tcp),
    ("receive_buffer",): ("a connection without window", lambda of: of.window is None),
    ("ip_fragments", "udp_buffer"): ("transport udp", lambda of: of.transport == "udp"),
    ("udp_tun",): ("transport udp and udp_buffer", _has_udp_buffer),
    ("offered",): ("traffic cbr or video", lambda of: _traffic(of) in ("cbr", "video")),
    ("pacing",): (
        "traffic cbr, or transport udp and udp_buffer",
        lambda of: _traffic(of) == "cbr" or _has_udp_buffer(of),
    ),
    ("pacing_timer",): ("traffic cbr and pacing iperf3", _is_paced_by("iperf3")),
    ("clock_resolution",): ("traffic cbr and pacing iperf2", _is_paced_by("iperf2")),
    ("pause",): ("traffic request-response", lambda of: _traffic(of) == "request-response"),
    ("write_time", "packet_time"): (
        "traffic saturated or cbr",
        lambda of: _traffic(of) in ("saturated", "cbr"),
    ),
    ("slot", "dot11b_stations"): (
        "a PHY in the 2.4 GHz band: phy dsss or erp, or band 2.4 GHz",
        _is_at_2_4_ghz,
    ),
    ("wpa_key_mgmt",): (
        "a security level with a handshake, such as ccmp",
        lambda of: _cipher(of).has_handshake,
    ),
    ("ieee80211w",): (
        "a security level that protects management frames, such as ccmp",
        lambda of: _cipher(of).protects_management,
    ),
    ("k_factor",): ("fading rician", lambda of: of.fading == "rician"),
    ("coherence_time",): ("fading rayleigh or rician", _fades),
    ("wired_rate", "wired_delay"): ("topology wired-ap", lambda of: of.topology == "wired-ap"),
    ("forward_ipv4",): ("ip ipv4", lambda of: of.ip == "ipv4"),
    ("forward_ipv6",): ("ip ipv6", lambda of: of.ip == "ipv6"),
    (
        *("processor_frame", "processor_byte", "processor_latency", "processor_clock"),
        *("host_frame", "host_byte"),
    ): ("a security level other than open", _is_secured),
    ("processor_clock",): (
        "a card without both processor_frame and processor_byte",
        lambda of: of.processor_frame is None or of.processor_byte is None,
    ),
    ("fragmentation_threshold",): (
        "frames without aggregation: on ht and vht, ampdu false and no amsdu",
        _is_unaggregated,
    ),
    ("legacy_fallback",): (
        "security wep40, wep104 or tkip with phy ht or vht",
        lambda of: is_without_ht(of.phy, of.security),
    ),
}
"""The keys that only some scenarios use, each with the requirement in words."""


def unused(scenario: Scenario, given: Collection[str]) -> Iterator[tuple[str, str]]:
    """The keys among `given` that have no effect in the scenario, each with the error."""
    yield from unused_processor(given, [scenario.crypto_at])
    for words, (requirement, is_met) in _REQUIRED.items():
        if not is_met(scenario):
            for word in words:
                if word in given:
                    yield word, f"has no effect here; it requires {requirement}"
