"""Numbers, intervals and factor levels as words."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from airtoll.stats import Interval
from airtoll.study.cell import Cell

MISSING = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"

_LEVELS = {
    "open": "open",
    "wep40": "WEP-40",
    "wep104": "WEP-104",
    "tkip": "TKIP",
    "ccmp": "CCMP",
    "ccmp256": "CCMP-256",
    "gcmp": "GCMP",
    "gcmp256": "GCMP-256",
    **{
        f"enhanced{lanes}": f"Enhanced CCMP, {lanes} lane{'s' if lanes > 1 else ''}" for lanes in (1, 2, 4, 8)
    },
}
_PHYS = {"dsss": "802.11b", "ofdm": "802.11a", "erp": "802.11g", "ht": "802.11n", "vht": "802.11ac"}
_WORDS = {"tcp": "TCP", "udp": "UDP", "ipv4": "IPv4", "ipv6": "IPv6", **_PHYS}
_PHRASES = {
    "packet_size": "{} B",
    "bandwidth": "{} MHz",
    "gi": "{} guard interval",
    "lab": "lab {}",
    "streams": "spatial streams: {}",
    "stations": "stations: {}",
    "direction": "direction: {}",
    "crypto_at": "crypto on the {}",
}

IN_FLOW = ("transport", "ip", "packet_size")
"""The factors that name a flow; others are named only where they vary."""


def level(security: str) -> str:
    """A security level as the standard writes it."""
    return _LEVELS.get(security, security)


def factor(name: str, value: Any) -> str:
    """One level of a factor, with its unit."""
    if name in _PHRASES:
        return _PHRASES[name].format(value)
    if name == "security":
        return level(str(value))
    if name == "snr":
        return "no noise" if value == "none" else f"SNR {value:g} dB"
    word = str(value)
    return _WORDS.get(word, word.upper() if name == "rate" and word.startswith("mcs") else word)


def flow(cell: Cell, varying: Iterable[str] = ()) -> str:
    """What a cell is besides its security: "UDP IPv4 1408 B", and after commas the other factors that vary."""
    name = " ".join(factor(each, getattr(cell, each)) for each in IN_FLOW)
    return ", ".join((name, *(factor(each, getattr(cell, each)) for each in varying)))


def number(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """A number with that many digits after the point; never "-0.00"."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else f"{MINUS}\N{INFINITY}"
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{'+' if sign and rounded else ''}.{decimals}f}".replace("-", MINUS)


def interval(ci: Interval | None, decimals: int, *, sign: bool = False) -> str:
    """An interval as "[low, high]"; nothing if it is not known."""
    if ci is None:
        return ""
    return f"[{number(ci.low, decimals, sign=sign)}, {number(ci.high, decimals, sign=sign)}]"


def joined(*parts: str) -> str:
    """The parts that are not empty, with spaces between them."""
    return " ".join(part for part in parts if part)


def counted(n: int, noun: str) -> str:
    """A count and its noun: "1 run", "3 runs"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def listing(parts: Iterable[str]) -> str:
    """The parts as a sentence lists them: "a, b and c"."""
    *first, last = list(parts) or [MISSING]
    return f"{', '.join(first)} and {last}" if first else last


def reasons(counts: Mapping[Any, int]) -> str:
    """Counts by reason: "2 invalid, 1 discarded"."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
