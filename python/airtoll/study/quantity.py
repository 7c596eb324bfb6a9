"""Quantities in a study file: a bare number is in the key's own unit, a string contains its unit."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from airtoll.study.phys import BANDWIDTHS_MHZ, NON_HT_RATES_MBPS

# Bounded, so that long strings of digits cannot exhaust decimal arithmetic.
_NUMBER_AND_UNIT = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,15})?) ?([^0-9\s.].*|1/.*)?")
_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


@dataclass(frozen=True)
class Quantity:
    """The type of a key's value: its unit, the other units that a string may use, and the valid range."""

    noun: str  # with its article: "a duration"
    unit: str  # unit of a bare number and of the parsed value
    example: str
    least: Decimal
    most: Decimal
    values: tuple[float, ...] = ()  # all valid values, if they can be listed
    units: tuple[tuple[str, Decimal], ...] = ()  # further units: (name, size in `unit`)
    whole: bool = False
    why: str = ""  # the reason for the range

    def parse(self, value: Any) -> Decimal:
        """Parse a value to `unit`. Raises ValueError with one line: the error and the allowed values."""
        number = self._read(value)
        if self.values and number not in self.values:
            raise ValueError(f"{show(value)} is not a valid {self.noun.split(' ', 1)[1]}; {self._allowed()}")
        if self.whole and number != number.to_integral_value():
            raise ValueError(f"{show(value)} is not a whole number of {self.unit}")
        if not self.least <= number <= self.most:
            limits = f"{_plain(self.least)} {self.unit} to {_plain(self.most)} {self.unit}"
            raise ValueError(f"{show(value)} is outside {limits}" + (f": {self.why}" if self.why else ""))
        return number

    def text(self, number: Decimal | float) -> str:
        """A number in `unit` in the syntax of a study file: "5.5 Mbit/s"."""
        return f"{_plain(Decimal(str(number)))} {self.unit}"

    def choice(self) -> str:
        """The listed values as a choice: "20 or 40 MHz"."""
        return f"{one_of([str(v) for v in self.values])} {self.unit}"

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema of the number and of the string. Only the loader checks the range of a string."""
        if self.values:
            return {"enum": [*(f"{v} {self.unit}" for v in self.values), *self.values]}
        number = {
            "type": "integer" if self.whole else "number",
            "minimum": _json_number(self.least),
            "maximum": _json_number(self.most),
        }
        digits = ("-?" if self.least < 0 else "") + ("[0-9]+" if self.whole else r"[0-9]+(\.[0-9]+)?")
        text = {"type": "string", "pattern": f"^{digits} ?({'|'.join(self._factors())})$"}
        return {"anyOf": [number, text], "examples": [self.example]}

    def _factors(self) -> dict[str, Decimal]:
        return {self.unit: Decimal(1), **dict(self.units)}

    def _read(self, value: Any) -> Decimal:
        if isinstance(value, str):
            match = _NUMBER_AND_UNIT.fullmatch(value)
            if match is None:
                raise ValueError(f"{show(value)} is not {self.noun}; {self._allowed()}")
            number, unit = match.groups()
            if unit is None:
                raise ValueError(f"{show(value)} has no unit; {self._allowed()}")
            if unit not in self._factors():
                raise ValueError(f"{show(value)} has the wrong unit; {self._allowed()}")
            return Decimal(number) * self._factors()[unit]
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
            raise ValueError(f"{show(value)} is not {self.noun}; {self._allowed()}")
        return Decimal(value)

    def _allowed(self) -> str:
        if self.values:
            return f"use {self.choice()}, such as '{self.example}'"
        units = one_of(list(self._factors()))
        return f"give a string in {units}, such as '{self.example}', or a plain number (in {self.unit})"


_TIMES = (("ms", Decimal("0.001")), ("min", Decimal(60)))
_SHORT_TIMES = (("ms", Decimal(1000)),)

DURATION = Quantity("a duration", "s", "1.5 s", Decimal("0.1"), Decimal(3600), units=_TIMES)
WARMUP = Quantity("a duration", "s", "0.2 s", Decimal(0), Decimal(600), units=_TIMES)
PACKET_SIZE = Quantity(
    "a packet size",
    "B",
    "1408 B",
    Decimal(16),
    Decimal(1472),
    whole=True,
    # iperf3 3.12 refuses UDP blocks below 16 B, the size of its time stamp and 64-bit counter.
    why="sockperf's header has 14 B and iperf3's 16 B; UDP over IPv4 carries 1472 B at an MTU of 1500 B",
)
SIMULATED_SIZE = Quantity(
    "a packet size",
    "B",
    "1472 B",
    Decimal(1),
    Decimal(2268),
    whole=True,
    why="an MSDU of 2304 B (IEEE Std 802.11-2020, 9.2.4.7.1) minus 8 B of LLC/SNAP and 28 B of IPv4 and UDP",
)
"""In virtual time, no program needs a header in the packet, and no host has an MTU of 1500 B."""


def _listed(noun: str, unit: str, example: str, values: tuple[float, ...]) -> Quantity:
    return Quantity(noun, unit, example, Decimal(min(values)), Decimal(max(values)), values)


def _upto(
    noun: str, unit: str, example: str, most: int, units: tuple[tuple[str, Decimal], ...] = ()
) -> Quantity:
    """A non-negative quantity. The medium itself checks the standard's limits."""
    return Quantity(noun, unit, example, Decimal(0), Decimal(most), units=units)


BANDWIDTH = _listed("a bandwidth", "MHz", "20 MHz", BANDWIDTHS_MHZ)
RATE = _listed("a rate", "Mbit/s", "54 Mbit/s", NON_HT_RATES_MBPS)
K_FACTOR = Quantity("a K factor", "dB", "6 dB", Decimal(-100), Decimal(100))
COHERENCE_TIME = Quantity(
    "a coherence time", "us", "50 ms", Decimal(1), Decimal(60_000_000), units=_SHORT_TIMES
)
SNR = Quantity("a signal-to-noise ratio", "dB", "25 dB", Decimal(-20), Decimal(100))
OCTETS = Quantity("a size", "B", "2347 B", Decimal(0), Decimal(2**32), whole=True)
BEACON_INTERVAL = Quantity(
    "a beacon interval", "TU", "100 TU", Decimal(0), Decimal(65535), whole=True, why="it has 16 bits"
)
TXOP_LIMIT = Quantity(
    "a TXOP limit", "us", "3008 us", Decimal(0), Decimal(2**31), units=_SHORT_TIMES, whole=True
)
DELAY = _upto("a delay", "us", "100 us", 60_000_000, _SHORT_TIMES)
FRAME_TIME = _upto("a time", "us", "5 us", 1_000_000, _SHORT_TIMES)
PERIOD = Quantity("a period", "us", "1000 us", Decimal(1), Decimal(60_000_000), units=_SHORT_TIMES)
OCTET_TIME = _upto("a time", "ns", "2.5 ns", 1_000_000)
PERCENT = Quantity("a percentage", "%", "5 %", Decimal("0.01"), Decimal(100))
CONFIDENCE = Quantity("a confidence", "%", "95 %", Decimal(50), Decimal("99.99"))
CLOCK = Quantity("a clock", "MHz", "240 MHz", Decimal(1), Decimal(1_000_000))
DATA_RATE = Quantity("a data rate", "Mbit/s", "100 Mbit/s", Decimal("0.001"), Decimal(1_000_000))


def plain_number(text: str) -> str | float:
    """The number in a text without a unit; any other text unchanged."""
    if not _PLAIN_NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def show(value: Any) -> str:
    """Format a value of a TOML file for a message: one printable, short line."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "a table"
        case list():
            return "a list"
        case str():
            return f"'{one_line(value)}'"
        case int() if value.bit_length() > 64:  # Python refuses to print integers with thousands of digits
            return "a number of more than 64 bits"
        case _:
            return one_line(str(value))


def is_finite(number: float) -> bool:
    """Whether a number is finite as a float: an integer of a JSON file may be larger than every float."""
    return abs(number) <= sys.float_info.max


def one_line(text: str, most: int = 60) -> str:
    """Make external text fit for a message: escape unprintable characters and truncate after `most`."""
    cut = text if len(text) <= most else text[:most] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def in_utf8(text: str) -> str:
    """A file name as a record stores it: octets that are not UTF-8 are U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def one_of(names: Sequence[str]) -> str:
    """Names as a choice: "a, b or c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _json_number(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)
