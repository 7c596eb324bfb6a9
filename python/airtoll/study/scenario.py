"""A scenario: one cell in virtual time, with all its settings, and as JSON for the medium. Keys are those of studies.

`airtoll simulate` and `model` take the keys as options and `airtoll sweep` as keys of a grid. Lab sim creates a
scenario from a study's cell. Only the medium (`_rust.check_scenario`) checks which values are compatible, because it
has the standard's tables.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import ValidationError

from airtoll import _rust
from airtoll.study import cell, factors, quantity
from airtoll.study.contract import KEYS, MEDIUM_KEYS, model_of
from airtoll.study.labs import lab_entry
from airtoll.study.link import LinkSettings, Settings
from airtoll.study.phys import PHYS, is_implying_streams, newest_non_ht
from airtoll.study.quantity import RATE
from airtoll.study.security import READY_MADE, ReadyMade, Security
from airtoll.study.values import (
    PROBLEM,
    Bandwidth,
    Matrix,
    Rate,
    SimulatedSize,
    Stations,
    Streams,
    did_you_mean,
    key,
    matrix,
    number,
    parse_snr,
)


class WordError(ValueError):
    """An invalid scenario key or value: `word` is the key, `text` the error."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(f"{word}: {text}")
        self.word = word
        self.text = text


def _snr(value: Any) -> Any:
    return matrix(value, "dB") if isinstance(value, list | tuple) else parse_snr(value)


if TYPE_CHECKING:

    class _Keys(Settings): ...

else:
    # The factors, whose types follow, have their place in the order of keys.
    _Keys = model_of("_Keys", Settings, "hosts", "medium", "factors", "scenario")


class Scenario(_Keys):
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
    snr: Annotated[float | str | Matrix, *key(_snr)] = factors.NOISE.spoken()

    @property
    def wire_traffic(self) -> str:
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
        place = words["crypto_at"]
        wire: dict[str, Any] = {}
        for word in sorted(words, key=lambda word: KEYS[word].crypto_at is not None):
            if KEYS[word].crypto_at in (None, place):
                *above, name = KEYS[word].json
                (wire.setdefault(above[0], {}) if above else wire)[name] = words[word]
        return wire

    def _fall_back(self, words: dict[str, Any], rate: str) -> str:
        """Turn an HT or VHT link into the legacy link that stations with WEP or TKIP use, and return its rate."""
        words["phy"] = newest_non_ht(self.phy, words.pop("band", PHYS[self.phy].bands[0]))
        words |= {"bandwidth": 20, "gi": "long", "streams": 1}
        for of_ht in ("ampdu", "amsdu"):
            words.pop(of_ht, None)
        index = int(rate.removeprefix("mcs"))
        return RATE.text(_LEGACY_RATES[min(index % (PHYS[self.phy].mcs_per_stream or index + 1), 7)])

    def to_json(self) -> str:
        """`wire` as canonical text: equal scenarios have equal texts."""
        return json.dumps(self.wire(), separators=(",", ":"))


def is_without_ht(phy: str, security: Security) -> bool:
    """Whether a station with this security level must not use this PHY, because it is HT or later."""
    return PHYS[phy].is_ht and not READY_MADE[security].suite.is_current


_LEGACY_RATES: Final = (6, 12, 18, 24, 36, 48, 54, 54)
"""Mbit/s by HT MCS modulo 8: the fastest OFDM rate that requires no better signal than the MCS's modulation and coding
(IEEE Std 802.11-2020, tables 17-4 and 19-27; BPSK 1/2, QPSK 1/2, QPSK 3/4, 16-QAM 1/2 and so on)."""


def read_scenario(words: Mapping[str, Any]) -> Scenario:
    """The scenario with these keys and values. Raises WordError for the first invalid one.

    A key that has no effect in the scenario is valid (`unused`).
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
    for word, declared in KEYS.items():
        if word in given and declared.crypto_at not in (None, *levels) and "by-suite" not in levels:
            yield word, f"requires crypto_at {declared.crypto_at}"


def unused(scenario: Scenario, given: Collection[str]) -> Iterator[tuple[str, str]]:
    """The keys among `given` that have no effect beside the scenario's other keys, each with the error.

    `airtoll simulate` and `airtoll model` refuse such a key, because a user who sets it expects an effect. A study or a
    grid may set a key that only some of its cells use.
    """
    yield from unused_processor(given, [scenario.crypto_at])
    as_given = scenario.model_copy(update={"legacy_fallback": None})
    yield from _rust.unused_keys(as_given.to_json(), list(given))


def scenario_of(of: cell.Cell, link: LinkSettings, **words: Any) -> Scenario:
    """The scenario of a cell with a ready-made level on a link with these settings (`cell.resolved`).

    `words` are the keys that a cell does not have.
    """
    levels = of.model_dump(exclude={"lab", "stack", "tcp_size", "offered"})
    if of.offered != "max" and of.transport == "udp":
        levels["offered"] = of.offered
    settings = {word: getattr(link, word) for word in MEDIUM_KEYS}
    if lab_entry(of.lab).has_tun and link.udp_buffer is not None:
        words = {"udp_tun": True, **words}
    return Scenario.model_construct(**{**settings, **levels, **words})
