"""The processor of a wireless card, fitted to published figures.

A secured packet takes longer than an open packet by the time that its frames spend in processors: a fixed time per
frame plus a time per octet, multiplied by the number of processors on the path. Fitted to half of a paper's pairs of
figures, open and secured, the model predicts the other half. The prediction error shows how much of the paper's cost is
of this kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
from scipy.optimize import nnls


@dataclass(frozen=True)
class CardPoint:
    """A pair of published figures: the time of a packet of this size, open and secured."""

    name: str
    packet_size_b: int
    open_us: float
    secured_us: float

    @classmethod
    def of_throughput(
        cls, name: str, packet_size_b: int, open_mbps: float, secured_mbps: float
    ) -> "CardPoint":
        """From throughputs: a packet takes the time of its payload at that throughput."""
        return cls(name, packet_size_b, 8 * packet_size_b / open_mbps, 8 * packet_size_b / secured_mbps)

    @classmethod
    def of_rtt(cls, name: str, packet_size_b: int, open_ms: float, secured_ms: float) -> "CardPoint":
        """From round-trip times."""
        return cls(name, packet_size_b, 1e3 * open_ms, 1e3 * secured_ms)


@dataclass(frozen=True)
class Predicted:
    """A pair that was not used in the fit."""

    point: CardPoint
    secured_us: float

    @property
    def error_percent(self) -> float:
        """Error of the prediction, in percent of the published secured time."""
        return 100 * (self.secured_us / self.point.secured_us - 1)


@dataclass(frozen=True)
class CardFit:
    """The processor that best explains the fitted pairs, and its predictions for the other pairs."""

    frame_us: float
    byte_ns: float
    fitted: tuple[CardPoint, ...]
    predicted: tuple[Predicted, ...]
    splits: int  # number of ways to choose half of the pairs
    rms_error_percent: float  # of the predictions for the other half, over all splits


MIN_POINTS = 4
"""Two halves of two pairs: a line fits fewer points exactly."""


def fit_card(points: Sequence[CardPoint]) -> CardFit | None:
    """Fit every second point, in order of packet size, and predict the others; None with fewer than `MIN_POINTS`.

    Least squares of the added time, with both terms non-negative. Which half is fitted is arbitrary, so
    `rms_error_percent` covers every split into halves.
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
    """Time per frame in us and time per octet in ns."""
    matrix = np.array([[1.0, point.packet_size_b / 1e3] for point in points])
    added = np.array([point.secured_us - point.open_us for point in points])
    (frame_us, byte_ns), _ = nnls(matrix, added)
    return float(frame_us), float(byte_ns)


def _secured_us(processor: tuple[float, float], point: CardPoint) -> float:
    frame_us, byte_ns = processor
    return point.open_us + frame_us + byte_ns * point.packet_size_b / 1e3
