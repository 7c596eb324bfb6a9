"""Metrics, units and conditions of a publication's data, in the words of study files."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from airtoll import stats
from airtoll.study import claims, factors, level_text
from airtoll.study.security import Security
from airtoll.study.values import (
    Bandwidth,
    Name,
    OfferedLevel,
    PacketSize,
    Rate,
    SnrLevel,
    Stations,
    Streams,
)


@dataclass(frozen=True, kw_only=True)
class MetricWords:
    """A metric of published numbers: its unit, and the direction that is better."""

    unit: str
    better: Literal["higher", "lower"]


METRICS: Final[dict[str, MetricWords]] = {
    "crypto_time": MetricWords(unit="us", better="lower"),  # time to seal a frame or to compute its MIC
    "hardware_time": MetricWords(unit="ns", better="lower"),  # time of a design in simulation
    "hardware_rate": MetricWords(unit="Mbit/s", better="higher"),
    "hardware_area": MetricWords(unit="1", better="lower"),  # logic elements or slices
    "hardware_power": MetricWords(unit="1", better="lower"),  # relative to another design
    "hardware_energy": MetricWords(unit="1", better="lower"),  # relative to another design
    "clock": MetricWords(unit="MHz", better="higher"),
    "speed": MetricWords(unit="1", better="higher"),  # always a ratio
    "overhead": MetricWords(unit="B", better="lower"),  # per packet
    "traffic_rate": MetricWords(unit="Mbit/s", better="higher"),  # offered load
    "tx_power": MetricWords(unit="dBm", better="higher"),
    "radius": MetricWords(unit="m", better="higher"),
    **{
        name: MetricWords(unit=metric.display_unit, better=metric.better)
        for name, metric in stats.METRICS.items()
    },
}
"""The metrics of `airtoll.stats`, in their display units, and metrics that only publications have."""

UNITS: Final[dict[str, tuple[str, Decimal]]] = {
    **{name: ("bit/s", Decimal(10) ** 6) for name in ("Mbit/s", "Mbps", "Mb/s")},
    **{name: ("bit/s", Decimal(10) ** 9) for name in ("Gbps", "Gb/s")},
    "kbyte/s": ("byte/s", Decimal(1000)),  # possibly 1024: no paper says, so it is never converted
    "ms": ("s", Decimal("1e-3")),
    "us": ("s", Decimal("1e-6")),
    "ns": ("s", Decimal("1e-9")),
    "%": ("1", Decimal("0.01")),
    "1": ("1", Decimal(1)),
    "x": ("1", Decimal(1)),  # times the baseline
    "slices": ("1", Decimal(1)),
    "B": ("B", Decimal(1)),
    "MHz": ("Hz", Decimal(10) ** 6),
    "m": ("m", Decimal(1)),
    "dBm": ("dBm", Decimal(1)),
    "mW": ("dBm", Decimal(1)),  # logarithmic, see `convert`
}
"""Units as printed, with the standard unit of their quantity and the factor that converts to it."""


def convert(value: Decimal, unit: str, to: str) -> Decimal:
    """Convert a value from one printed unit to another of the same quantity."""
    if unit == "mW" and to == "dBm":
        return 10 * value.log10()
    return value * UNITS[unit][1] / UNITS[to][1]


class Condition(claims.CellCondition):
    """The factor levels of a number or of a claim; None if the text does not state the level."""

    phy: factors.PhyLevel | None = None
    rate: Rate | None = None
    bandwidth: Bandwidth | None = None  # MHz
    gi: factors.GiLevel | None = None
    streams: Streams | None = None
    topology: factors.TopologyLevel | None = None
    stations: Stations | None = None
    direction: factors.DirectionLevel | None = None
    snr: SnrLevel | None = None  # dB
    security: Security | None = None
    crypto_at: factors.CryptoAtLevel | None = None
    transport: factors.TransportLevel | None = None
    ip: factors.IpLevel | None = None
    packet_size: PacketSize | None = None  # bytes
    stack: Name | None = None  # an operating system with its version: windows-8, ubuntu-13.04
    tcp_size: factors.TcpSizeLevel | None = None
    offered: OfferedLevel | None = None  # Mbit/s per sender

    def with_base(self, base: "Condition") -> "Condition":
        """The condition with the levels of `base` added for factors that are not stated."""
        return Condition.model_validate({**base.given(), **self.given()})

    def text(self, apart_from: "Condition | None" = None) -> str:
        """The levels as text, without levels that the base condition states already."""
        known = {} if apart_from is None else apart_from.given()
        return " ".join(
            level_text(name, level) for name, level in self.given().items() if known.get(name) != level
        )


FACTORS: Final = tuple(Condition.model_fields)
