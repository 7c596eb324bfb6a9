"""The processor of a wireless card, fitted to published figures.

A secured packet takes longer than an open one by what its frames spend in processors: a fixed time a frame and a time
an octet, times what they pass on the way. Fitted to half of a paper's pairs of figures, open and secured, the model
predicts the other half; how far off it is says how much of the paper's cost is of this kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from scipy.optimize import nnls


@dataclass(frozen=True)
class CardPoint:
    """A pair of published figures: what a packet of this size takes, open and secured."""

    name: str
    packet_size_b: int
    open_us: float
    secured_us: float

    @classmethod
    def of_throughput(
        cls, name: str, packet_size_b: int, open_mbps: float, secured_mbps: float
    ) -> "CardPoint":
        """From throughputs: a packet's time is that of its payload at them."""
        return cls(name, packet_size_b, 8 * packet_size_b / open_mbps, 8 * packet_size_b / secured_mbps)

    @classmethod
    def of_rtt(cls, name: str, packet_size_b: int, open_ms: float, secured_ms: float) -> "CardPoint":
        """From round-trip times."""
        return cls(name, packet_size_b, 1e3 * open_ms, 1e3 * secured_ms)


@dataclass(frozen=True)
class Predicted:
    """A pair that took no part in the fit."""

    point: CardPoint
    secured_us: float

    @property
    def error_percent(self) -> float:
        """Of the published secured time."""
        return 100 * (self.secured_us / self.point.secured_us - 1)


@dataclass(frozen=True)
class CardFit:
    """A processor that explains the fitted pairs best, and what it makes of the others."""

    frame_us: float
    byte_ns: float
    fitted: tuple[CardPoint, ...]
    predicted: tuple[Predicted, ...]
    splits: int  # ways to take half of the pairs
    rms_error_percent: float  # of what the fitted half says of the other, over all of them


MIN_POINTS = 4
"""Two halves of two: a line through fewer is a line through anything."""


def fit_card(points: Sequence[CardPoint]) -> CardFit | None:
    """Fit every second point, in the order of packet sizes, and predict the others; None with fewer than `MIN_POINTS`.

    Least squares of the added time with neither term below 0. Which half is fitted is a choice; `rms_error_percent` is
    over every split into halves.
    """
    if len(points) < MIN_POINTS:
        return None
    ordered = sorted(points, key=lambda point: (point.packet_size_b, point.name))
    fitted, others = ordered[::2], ordered[1::2]
    processor = _fit(fitted)
    halves = list(combinations(ordered, len(fitted)))
    errors = [
        Predicted(point, _secured_us(_fit(half), point)).error_percent
        for half in halves
        for point in ordered
        if point not in half
    ]
    return CardFit(
        *processor,
        fitted=tuple(fitted),
        predicted=tuple(Predicted(point, _secured_us(processor, point)) for point in others),
        splits=len(halves),
        rms_error_percent=sqrt(sum(error**2 for error in errors) / len(errors)),
    )


def _fit(points: Sequence[CardPoint]) -> tuple[float, float]:
    """Time a frame in us, time an octet in ns."""
    matrix = np.array([[1.0, point.packet_size_b / 1e3] for point in points])
    added = np.array([point.secured_us - point.open_us for point in points])
    (frame_us, byte_ns), _ = nnls(matrix, added)
    return float(frame_us), float(byte_ns)


def _secured_us(processor: tuple[float, float], point: CardPoint) -> float:
    frame_us, byte_ns = processor
    return point.open_us + frame_us + byte_ns * point.packet_size_b / 1e3
