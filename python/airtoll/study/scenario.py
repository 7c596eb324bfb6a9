"""One cell in virtual time: every word that it has, in the words of study files, and as JSON for the medium.

`airtoll simulate` and `model` take the words as options, `airtoll sweep` as keys of a grid, and lab sim makes a
scenario of a study's cell. Which words go together is for the medium to say (`_rust.check_scenario`): it knows
the standard's tables.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from airtoll.study import cell, factors, quantity
from airtoll.study.link import LinkSettings, MediumSettings
from airtoll.study.quantity import RATE, show
from airtoll.study.values import (
    HT_MCS,
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
)

Traffic = Literal["saturated", "cbr", "request-response", "video"]

DEFAULT_RATES: Final = {
    "dsss": "11 Mbit/s",
    "ofdm": "54 Mbit/s",
    "erp": "54 Mbit/s",
    "ht": "mcs7",
    "vht": "mcs8",
}
"""The fastest rate that each PHY has at every width on one stream."""

Matrix = tuple[tuple[float, ...], ...]


class WordError(ValueError):
    """A word of a scenario is wrong: `word`, and what is wrong with its value."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(f"{word}: {text}")
        self.word = word
        self.text = text


def _matrix(value: Any, of: str) -> Matrix:
    rows = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(row, list | tuple) for row in rows) or any(len(row) != len(rows) for row in rows):
        raise ValueError(f"{show(value)} is not a square matrix of {of}: a list of equally long lists")
    for row in rows:
        for entry in row:
            if isinstance(entry, bool) or not isinstance(entry, int | float):
                raise ValueError(f"{show(entry)} in the matrix is not a number")
    return tuple(tuple(row) for row in rows)


def _snr(value: Any) -> Any:
    return _matrix(value, "dB") if isinstance(value, list | tuple) else parse_snr(value)


def _hears(value: Any) -> Matrix:
    return _matrix(value, "0 and 1")


def _path_loss(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{show(value)} is not a table of its parameters")
    return dict(value)


class Scenario(MediumSettings):
    """One simulation. What has no default and is not given is the medium's own choice."""

    phy: factors.PhyLevel = factors.PHY.spoken()
    rate: Rate | None = factors.RATE.spoken()
    bandwidth: Bandwidth = factors.WIDTH.spoken()
    gi: factors.GiLevel = factors.GI.spoken()
    streams: Streams = factors.STREAMS.spoken()
    security: factors.SecurityLevel = factors.SECURITY.spoken()
    crypto_at: factors.CryptoAtLevel = factors.CRYPTO_AT.spoken()
    stations: Stations = factors.STATIONS.spoken()
    topology: factors.TopologyLevel | None = factors.TOPOLOGY.spoken()
    direction: factors.DirectionLevel = factors.DIRECTION.spoken()
    transport: factors.TransportLevel = factors.TRANSPORT.spoken()
    ip: factors.IpLevel = factors.IP.spoken()
    packet_size: SimulatedSize = factors.SIZE.spoken()
    offered: Annotated[float, *number(quantity.DATA_RATE, float)] | None = factors.OFFERED.spoken()
    traffic: Annotated[Traffic, *name_of(Traffic)] | None = Field(
        default=None,
        description="saturated, cbr, request-response or video; else saturated, or cbr where a load is offered.",
    )
    snr: Annotated[float | str | Matrix, *key(_snr)] = factors.NOISE.spoken()
    path_loss: Annotated[dict[str, Any], *key(_path_loss)] | None = Field(
        default=None, description="Parameters of the path loss, as a TOML table."
    )
    hears: Annotated[Matrix, *key(_hears)] | None = Field(
        default=None,
        description="Matrix of 0 and 1: who (row) hears whom (column); the access point is first.",
    )
    seed: Seed = Field(default=1, description="From it follow all random numbers.")
    duration: Duration = Field(default=1.0, description="Simulated time that counts, in seconds.")
    warmup: Warmup = Field(default=0.2, description="Simulated time before it, in seconds.")

    def wire(self) -> dict[str, Any]:
        """The words as the medium takes them: quantities are plain numbers and their keys carry the unit."""
        words = self.model_dump(exclude_none=True)
        words["crypto_at"] = cell.sealed_at(self.crypto_at, self.security)
        rate = self.rate or DEFAULT_RATES[self.phy]
        if words.pop("legacy_fallback", False) and self.security in NOT_WITH_HT and self.phy in ("ht", "vht"):
            rate = self._fall_back(words, rate)
        words["rate"] = rate
        words["topology"] = self.topology or ("stations" if self.stations > 1 else "point-to-point")
        words["traffic"] = self.traffic or ("saturated" if self.offered is None else "cbr")
        if self.streams == 1 and words["phy"] == "ht" and rate not in HT_MCS[:8]:
            del words["streams"]  # the MCS says how many
        if self.snr == "none":
            del words["snr"]
        words.setdefault("error_model", "none" if self.snr == "none" and self.path_loss is None else "nist")
        grouped: dict[str, Any] = {}
        for word, value in words.items():
            group, name = _GROUPED.get(word, ("", _UNITS.get(word, word)))
            (grouped.setdefault(group, {}) if group else grouped)[name] = value
        return grouped

    def _fall_back(self, words: dict[str, Any], rate: str) -> str:
        """Make an HT or VHT link one of the legacy stations that WEP and TKIP leave; its rate."""
        words["phy"] = "erp" if words.pop("band", None) == "2.4 GHz" else "ofdm"
        words |= {"bandwidth": 20, "gi": "long", "streams": 1}
        for of_ht in ("ampdu", "amsdu"):
            words.pop(of_ht, None)
        index = int(rate.removeprefix("mcs"))
        return RATE.text(_LEGACY_RATES[min(index % 8 if self.phy == "ht" else index, 7)])

    def to_json(self) -> str:
        """`wire` as the one text that an equal scenario has."""
        return json.dumps(self.wire(), separators=(",", ":"))


NOT_WITH_HT: Final = ("wep40", "wep104", "tkip")
"""The security levels with which a station has no HT: IEEE Std 802.11-2020, 12.6.3 and 9.4.2.24.2."""

_LEGACY_RATES: Final = (6, 12, 18, 24, 36, 48, 54, 54)
"""Mbit/s by HT MCS modulo 8: the fastest OFDM rate that asks for no better a signal than its modulation and coding
(IEEE Std 802.11-2020, tables 17-4 and 19-27; BPSK 1/2, QPSK 1/2, QPSK 3/4, 16-QAM 1/2 and so on)."""

_UNITS: Final = {
    "duration": "duration_s",
    "warmup": "warmup_s",
    "snr": "snr_db",
    "amsdu": "amsdu_bytes",
    "txop_limit": "txop_limit_us",
    "window": "window_bytes",
    "beacon_interval": "beacon_interval_tu",
    "offered": "offered_mbps",
}
_GROUPED: Final = {
    "wired_rate": ("wired", "rate_mbps"),
    "wired_delay": ("wired", "delay_us"),
    "processor_frame": ("processor", "frame_us"),
    "processor_byte": ("processor", "byte_ns"),
    "processor_clock": ("processor", "clock_mhz"),
}


def read_scenario(words: Mapping[str, Any]) -> Scenario:
    """The scenario of these words and values. Raises WordError for the first that is wrong."""
    for word in words:
        if word not in Scenario.model_fields:
            raise WordError(word, f"no such word{did_you_mean(word, Scenario.model_fields)}")
    try:
        return Scenario.model_validate(dict(words))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        text = first["ctx"]["text"] if first["type"] == PROBLEM else first["msg"]
        raise WordError(str(first["loc"][0]), text) from None


def scenario_of(of: cell.Cell, link: LinkSettings, **words: Any) -> Scenario:
    """The scenario of a study's cell on a link with these settings; `words` are what a cell does not say."""
    levels = of.model_dump(exclude={"lab", "stack", "tcp_size", "offered"})
    if of.offered != "max" and of.transport == "udp":
        levels["offered"] = of.offered
    settings = link.model_dump(include=set(MediumSettings.model_fields))
    if of.crypto_at == "by-suite" and of.sealed_at == "host":  # its processor is no card
        settings |= {"processor_frame": None, "processor_byte": None, "processor_clock": None}
    return Scenario.model_construct(**{**settings, **levels, **words})
