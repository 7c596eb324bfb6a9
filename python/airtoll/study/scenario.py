"""A scenario: one cell in virtual time, with all its settings, and as JSON for the medium. Keys are those of studies.

`airtoll simulate` and `model` take the keys as options and `airtoll sweep` as keys of a grid. Lab sim creates a
scenario from a study's cell. Only the medium (`_rust.check_scenario`) checks which values are compatible, because it
has the standard's tables.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import ValidationError

from airtoll import _rust
from airtoll.study import cell, factors, quantity
from airtoll.study.labs import lab_entry
from airtoll.study.link import LinkSettings, Matrix, MediumSettings, matrix
from airtoll.study.phys import PHYS, is_implying_streams
from airtoll.study.quantity import RATE
from airtoll.study.security import READY_MADE, ReadyMade, Security
from airtoll.study.values import (
    PROBLEM,
    Bandwidth,
    Duration,
    Rate,
    Seed,
    SimulatedSize,
    Stations,
    Streams,
    Warmup,
    did_you_mean,
    key,
    name_of,
    number,
    parse_snr,
    setting,
    switch,
)

Traffic = Literal["saturated", "cbr", "request-response", "video"]


class WordError(ValueError):
    """An invalid scenario key or value: `word` is the key, `text` the error."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(f"{word}: {text}")
        self.word = word
        self.text = text


def _snr(value: Any) -> Any:
    return matrix(value, "dB") if isinstance(value, list | tuple) else parse_snr(value)


def _hears(value: Any) -> Matrix:
    return matrix(value, "0 and 1")


class Scenario(MediumSettings):
    """One simulation. The medium chooses the values of keys that have no default and are not set."""

    phy: factors.PhyLevel = factors.PHY.spoken()
    rate: Rate | None = factors.RATE.spoken()
    bandwidth: Bandwidth = factors.WIDTH.spoken()
    gi: factors.GiLevel = factors.GI.spoken()
    streams: Streams = factors.STREAMS.spoken()
    security: ReadyMade = factors.SECURITY.spoken()
    crypto_at: factors.CryptoAtLevel = factors.CRYPTO_AT.spoken()
    stations: Stations = factors.STATIONS.spoken()
    topology: factors.TopologyLevel | None = factors.TOPOLOGY.spoken()
    direction: factors.DirectionLevel = factors.DIRECTION.spoken()
    transport: factors.TransportLevel = factors.TRANSPORT.spoken()
    ip: factors.IpLevel = factors.IP.spoken()
    packet_size: SimulatedSize = factors.SIZE.spoken()
    offered: Annotated[float, *number(quantity.DATA_RATE, float)] | None = factors.OFFERED.spoken()
    traffic: Annotated[Traffic, *name_of(Traffic)] | None = setting(
        "saturated, cbr, request-response or video; default: saturated, or cbr if a load is offered.",
        "Traffic",
    )
    pause: Annotated[float, *number(quantity.DELAY, float)] | None = setting(
        "Pause in us between a response and the next request; default: 0.", "Traffic", "US"
    )
    snr: Annotated[float | str | Matrix, *key(_snr)] = factors.NOISE.spoken()
    udp_tun: Annotated[bool, *switch()] | None = setting(
        "Whether the UDP sockets with a udp_buffer are above TUN devices, as in lab air.", "Traffic", None
    )
    hears: Annotated[Matrix, *key(_hears)] | None = setting(
        "Matrix of 0 and 1: which station (row) hears which (column); the access point is first.",
        "Stations",
        "MATRIX",
    )
    seed: Seed = setting("Seed of all random numbers.", "Run", "N", default=1)
    duration: Duration = setting("Measured simulated time, in seconds.", "Run", "SECONDS", default=1.0)
    warmup: Warmup = setting(
        "Simulated time before the measured time, in seconds.", "Run", "SECONDS", default=0.2
    )

    @property
    def wire_traffic(self) -> Traffic:
        """The traffic, or its default."""
        return self.traffic or ("saturated" if self.offered is None else "cbr")

    def wire(self) -> dict[str, Any]:
        """The scenario as the medium's JSON object: quantities are plain numbers whose keys name the unit."""
        words = self.model_dump(exclude_none=True)
        profile = READY_MADE[self.security]
        words |= {"security": profile.cipher, **profile.of_link()}
        words["crypto_at"] = cell.sealed_at(self.crypto_at, profile.cipher)
        rate = self.rate or PHYS[self.phy].usual_rate
        if words.pop("legacy_fallback", False) and is_without_ht(self.phy, self.security):
            rate = self._fall_back(words, rate)
        words["rate"] = rate
        words["topology"] = self.topology or ("stations" if self.stations > 1 else "point-to-point")
        words["traffic"] = self.wire_traffic
        if self.streams == 1 and is_implying_streams(words["phy"], rate):
            del words["streams"]
        if self.snr == "none":
            del words["snr"]
        words.setdefault("error_model", "none" if self.snr == "none" and self.path_loss is None else "nist")
        words.pop("forward_ipv4" if self.ip == "ipv6" else "forward_ipv6", None)
        for place, names in PROCESSORS.items():
            of_place = {name: words.pop(word) for word, name in names.items() if word in words}
            if of_place and place == words["crypto_at"]:
                words["processor"] = of_place
        grouped: dict[str, Any] = {}
        for word, value in words.items():
            group, name = _WIRED.get(word, ("", _UNITS.get(word, word)))
            (grouped.setdefault(group, {}) if group else grouped)[name] = value
        return grouped

    def _fall_back(self, words: dict[str, Any], rate: str) -> str:
        """Turn an HT or VHT link into the legacy link that stations with WEP or TKIP use, and return its rate."""
        words["phy"] = "erp" if words.pop("band", None) == "2.4 GHz" else "ofdm"
        words |= {"bandwidth": 20, "gi": "long", "streams": 1}
        for of_ht in ("ampdu", "amsdu"):
            words.pop(of_ht, None)
        index = int(rate.removeprefix("mcs"))
        return RATE.text(_LEGACY_RATES[min(index % (PHYS[self.phy].mcs_per_stream or index + 1), 7)])

    def to_json(self) -> str:
        """`wire` as canonical text: equal scenarios have equal texts."""
        return json.dumps(self.wire(), separators=(",", ":"))


@cache
def is_without_ht(phy: str, security: Security) -> bool:
    """Whether a station with this security level must not use this HT or VHT PHY, according to the medium."""
    if not PHYS[phy].is_ht:
        return False
    try:
        _rust.check_scenario(Scenario(phy=phy, security=READY_MADE[security].cipher).to_json())
    except ValueError:
        return True
    return False


_LEGACY_RATES: Final = (6, 12, 18, 24, 36, 48, 54, 54)
"""Mbit/s by HT MCS modulo 8: the fastest OFDM rate that requires no better signal than the MCS's modulation and coding
(IEEE Std 802.11-2020, tables 17-4 and 19-27; BPSK 1/2, QPSK 1/2, QPSK 3/4, 16-QAM 1/2 and so on)."""

_UNITS: Final = {
    "duration": "duration_s",
    "warmup": "warmup_s",
    "snr": "snr_db",
    "amsdu": "amsdu_bytes",
    "txop_limit": "txop_limit_us",
    "k_factor": "k_factor_db",
    "coherence_time": "coherence_time_us",
    "window": "window_bytes",
    "udp_buffer": "udp_buffer_bytes",
    "receive_buffer": "receive_buffer_bytes",
    "beacon_interval": "beacon_interval_tu",
    "offered": "offered_mbps",
    "pacing_timer": "pacing_timer_us",
    "clock_resolution": "clock_resolution_us",
    "write_time": "write_time_us",
    "packet_time": "packet_time_us",
    "wake_up_mean": "wake_up_mean_us",
    "wake_up_deviation": "wake_up_deviation_us",
    "pause": "pause_us",
}
_WIRED: Final = {"wired_rate": ("wired", "rate_mbps"), "wired_delay": ("wired", "delay_us")}
PROCESSORS: Final = {
    "card": {
        "forward_ipv4": "forward_us",
        "forward_ipv6": "forward_us",
        "forward_byte": "forward_byte_ns",
        "forward_latency": "forward_latency_us",
        "processor_frame": "frame_us",
        "processor_byte": "byte_ns",
        "processor_latency": "latency_ns",
        "processor_clock": "clock_mhz",
    },
    "host": {"host_frame": "frame_us", "host_byte": "byte_ns"},
}
"""The settings of the processor that forwards, seals and opens frames, by its place, with the medium's keys."""


def read_scenario(words: Mapping[str, Any]) -> Scenario:
    """The scenario with these keys and values. Raises WordError for the first invalid one.

    A key that has no effect in the scenario is valid (`airtoll.study.unused`).
    """
    for word in words:
        if word not in Scenario.model_fields:
            hint = did_you_mean(word, Scenario.model_fields)
            raise WordError(word, f"unknown key{hint}")
    try:
        return Scenario.model_validate(dict(words))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        text = first["ctx"]["text"] if first["type"] == PROBLEM else first["msg"]
        raise WordError(str(first["loc"][0]), text) from None


def unused_processor(
    given: Collection[str], levels: Collection[factors.CryptoAt]
) -> Iterator[tuple[str, str]]:
    """The keys of a processor that encrypts at none of these levels of `crypto_at`, each with the error."""
    for place, names in PROCESSORS.items():
        if place not in levels and "by-suite" not in levels:
            for word in names:
                if word in given:
                    yield word, f"requires crypto_at {place}"


def scenario_of(of: cell.Cell, link: LinkSettings, **words: Any) -> Scenario:
    """The scenario of a cell with a ready-made level on a link with these settings (`cell.resolved`).

    `words` are the keys that a cell does not have.
    """
    levels = of.model_dump(exclude={"lab", "stack", "tcp_size", "offered"})
    if of.offered != "max" and of.transport == "udp":
        levels["offered"] = of.offered
    settings = {word: getattr(link, word) for word in MediumSettings.model_fields}
    if lab_entry(of.lab).has_tun and link.udp_buffer is not None:
        words = {"udp_tun": True, **words}
    return Scenario.model_construct(**{**settings, **levels, **words})
