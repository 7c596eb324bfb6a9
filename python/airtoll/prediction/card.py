"""The processor of wireless cards, fitted to published figures by simulation.

A fit adjusts settings of [link] until the predictions of a study's cells with `crypto_at` card match the paper's
figures. Cross-validation shows how well the card explains the paper: each figure is also predicted by a card that is
fitted without it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, median
from typing import Final

import numpy as np

from airtoll.errors import UsageError
from airtoll.prediction.predictions import Case, Predictions
from airtoll.published import Point, Publication, implied_points, merged
from airtoll.stats import METRICS
from airtoll.study.cell import Cell

FITTED: Final = (
    "forward_ipv4",
    "forward_ipv6",
    "forward_byte",
    "forward_latency",
    "processor_frame",
    "processor_byte",
    "processor_latency",
    "processor_clock",
)
"""The settings of [link] that a fit can adjust."""

_DISPENSABLE: Final = ("processor_frame", "processor_latency", "forward_byte", "forward_latency")
"""Settings to leave out, in this order, if as many settings as figures remain."""

FOLDS: Final = 4
"""Folds of the cross-validation."""

_TYPICAL: Final = 0.05
"""Logarithm of a typical error. Larger errors count less: a figure that the model cannot explain is no evidence."""

_SMALL: Final = 0.1
"""A second start is smaller by this factor."""

_STEP: Final = 0.1
"""Relative step of the numerical derivatives. Smaller steps drown in the chance of backoffs."""


@dataclass(frozen=True)
class CardTarget:
    """A published figure: the statistic of the predictions of some cells, or of their ratios to the open network."""

    name: str
    metric: str
    value: float  # in the metric's unit; with `to_open`, a ratio
    cells: tuple[Cell, ...]
    merge: Callable[[Collection[float]], float]
    to_open: bool = False

    def cases(self, predictions: Predictions, settings: Mapping[str, float]) -> list[Case]:
        """The cases to predict with these settings of the card."""
        secured = [predictions.case(cell).with_link(**settings) for cell in self.cells]
        return [*secured, *(case.with_cell(security="open") for case in secured if self.to_open)]

    def predicted(self, predictions: Predictions, settings: Mapping[str, float]) -> float:
        """The prediction with these settings of the card."""
        cases = self.cases(predictions, settings)
        values = [predictions[case].values[self.metric] for case in cases]
        if self.to_open:
            half = len(self.cells)
            values = [secured / plain for secured, plain in zip(values[:half], values[half:], strict=True)]
        return self.merge(values)


PREDICTED: Final = ("throughput", "rtt", "ftp_rate")
"""The metrics that depend on the processor of a card and that papers print."""


def targets_of(publication: Publication, cells: Collection[Cell]) -> tuple[CardTarget, ...]:
    """The paper's own figures of these cells, sorted by kind. A figure that is printed twice counts once.

    Decreases are relative to the open network. Where a printed and an implied figure have one condition, the printed
    figure counts. Extremes over a factor repeat the figure of one cell.
    """
    found: dict[tuple[object, ...], CardTarget] = {}
    for point in (*publication.points, *implied_points(publication)):
        if point.metric not in PREDICTED or point.quoted:
            continue
        agreeing = tuple(cell for cell in cells if point.condition.agrees(cell.model_dump(exclude={"lab"})))
        is_extreme = point.over and point.change is None and point.statistic not in (None, "mean")
        if agreeing and not is_extreme and (point.over or len(agreeing) == 1):
            key = (point.metric, point.change, point.statistic, agreeing)
            found.setdefault(key, _target(point, agreeing))
    return tuple(sorted(found.values(), key=_order))


def _order(target: CardTarget) -> tuple[object, ...]:
    """The kind of a figure, then its packet size and its name."""
    first = target.cells[0]
    kind = (target.metric, target.to_open, first.transport, first.phy, first.security, first.ip)
    return *kind, first.packet_size, target.name


def _target(point: Point, cells: tuple[Cell, ...]) -> CardTarget:
    metric = METRICS[point.metric]
    value = float(point.standard_value)
    over = f", {point.statistic or 'mean'} over {' and '.join(point.over)}" if point.over else ""
    change = f" {point.change} than open" if point.change else ""
    return CardTarget(
        f"{point.metric}{change}: {point.condition.text()}{over}",
        point.metric,
        value if point.change else value / metric.scale,
        cells,
        lambda values: merged(point, values),
        to_open=point.change is not None,
    )


@dataclass(frozen=True)
class Residual:
    """A published figure and its prediction."""

    target: CardTarget
    predicted: float

    @property
    def log_error(self) -> float:
        """The logarithm of predicted / published."""
        return log(self.predicted / self.target.value)

    @property
    def error_percent(self) -> float:
        """The deviation of the prediction from the published figure, in percent."""
        return 100 * (self.predicted / self.target.value - 1)


@dataclass(frozen=True)
class CardFit:
    """The card that best explains the figures of a paper."""

    settings: Mapping[str, float]
    fitted: tuple[Residual, ...]
    held_out: tuple[Residual, ...]
    """The same figures, each predicted by a card that is fitted without it, and the figures of TCP."""


def rms_percent(residuals: Collection[Residual]) -> float:
    """The root mean square of relative errors in percent; the residuals must not be empty."""
    return 100 * (exp(sqrt(sum(each.log_error**2 for each in residuals) / len(residuals))) - 1)


def start_of(targets: Sequence[CardTarget]) -> dict[str, float]:
    """The settings that these figures can determine, with initial values: a fraction of the time of a packet.

    Times of forwarding require absolute figures, times per packet and per octet require several packet sizes, and
    latencies require round-trip times. Several secured levels differ in their cost by the clock of the processor alone.
    """
    cells = [cell for target in targets for cell in target.cells]
    absolute = [target for target in targets if not target.to_open]
    has_sizes = len({cell.packet_size for cell in cells}) > 1
    has_rtt = any(target.metric == "rtt" for target in targets)
    packet_b = fmean(cell.packet_size for cell in cells)
    packet_us = median(_packet_us(target) for target in absolute) if absolute else packet_b / 10
    start: dict[str, float] = {}
    if absolute:
        start |= {f"forward_{ip}": 0.3 * packet_us for ip in sorted({cell.ip for cell in cells})}
        if has_sizes:
            start["forward_byte"] = 0.1e3 * packet_us / packet_b
        if has_rtt:
            start["forward_latency"] = 0.3 * packet_us
    if len({cell.security for cell in cells} - {"open"}) > 1:
        return start | {"processor_clock": 400.0}
    start["processor_byte"] = 0.2e3 * packet_us / packet_b
    if has_sizes and absolute:
        start["processor_frame"] = 0.1 * packet_us
    if has_rtt:
        start["processor_latency"] = 0.3e3 * packet_us / packet_b
    return start


def _is_of_tcp(target: CardTarget) -> bool:
    """Whether it is an absolute throughput of TCP."""
    absolute = target.metric != "rtt" and not target.to_open
    return absolute and any(cell.transport == "tcp" for cell in target.cells)


def _packet_us(target: CardTarget) -> float:
    """The time of a packet: from its throughput, or half of its round trip."""
    if target.metric == "rtt":
        return 1e3 * target.value / 2
    bit_per_s = 8 * target.value if METRICS[target.metric].unit == "byte/s" else target.value
    return 8e6 * fmean(cell.packet_size for cell in target.cells) / bit_per_s


def fit_card(
    targets: Sequence[CardTarget],
    predictions: Predictions,
    *,
    progress: Callable[[], None] = lambda: None,
) -> CardFit:
    """Fit the targets, and predict each one by a card that is fitted to the targets of the other folds.

    The throughput of TCP also depends on the sender's writes and on congestion control. It is only predicted if the
    paper prints the throughput of UDP, too. Settings that the figures cannot determine are 0. `progress` is called
    after each evaluation of the model. Raises UsageError with fewer than three figures.
    """
    has_udp = any(target.metric == "throughput" and not _is_of_tcp(target) for target in targets)
    fitted = [target for target in targets if not (has_udp and _is_of_tcp(target))]
    folds = [fold for fold in (fitted[index::FOLDS] for index in range(FOLDS)) if fold]
    if len(folds) < FOLDS - 1:
        raise UsageError(
            f"{len(targets)} figures are too few to fit a card: at least {FOLDS - 1} are required"
        )
    model = _Model(predictions, progress)
    start = start_of(targets)
    for name in _DISPENSABLE:
        if len(start) >= len(fitted) - len(folds[0]):
            start.pop(name, None)
    # Far from the solution, a processor that is faster than the air has no effect, and so no derivative.
    starts = (start, {name: _SMALL * value for name, value in start.items()})
    best = min((model.fit(fitted, each) for each in starts), key=lambda found: model.loss(fitted, found))
    near = {name: max(best[name], 0.1 * value) for name, value in start.items()}
    held_out = [
        residual
        for fold in folds
        for residual in model.residuals(
            fold, model.fit([target for target in fitted if target not in fold], near)
        )
    ]
    predicted = model.residuals([target for target in targets if target not in fitted], best)
    return CardFit(best, tuple(model.residuals(fitted, best)), (*held_out, *predicted))


@dataclass(frozen=True)
class _Model:
    """The predictions of figures as a function of the card's settings."""

    predictions: Predictions
    progress: Callable[[], None]

    def residuals(self, targets: Sequence[CardTarget], settings: Mapping[str, float]) -> list[Residual]:
        self.predictions.all(case for target in targets for case in target.cases(self.predictions, settings))
        self.progress()
        return [Residual(target, target.predicted(self.predictions, settings)) for target in targets]

    def loss(self, targets: Sequence[CardTarget], settings: Mapping[str, float]) -> float:
        """The soft-L1 loss of the logarithms of predicted / published."""
        errors = (each.log_error / _TYPICAL for each in self.residuals(targets, settings))
        return sum(sqrt(1 + error**2) - 1 for error in errors)

    def fit(self, targets: Sequence[CardTarget], start: Mapping[str, float]) -> dict[str, float]:
        """The settings that minimise the loss."""
        # With a clock, the costs of the suites are those of the modelled card.
        none = {} if "processor_clock" in start else dict.fromkeys(FITTED[:-1], 0.0)

        def settings(vector: Iterable[float]) -> dict[str, float]:
            found = zip(start, vector, strict=True)
            return {**none, **{name: float(f"{value:.3g}") for name, value in found}}

        def errors(vector: Iterable[float]) -> list[float]:
            return [each.log_error for each in self.residuals(targets, settings(vector))]

        from scipy.optimize import least_squares  # imported here: it is slow, and few commands fit a card

        first = np.array(list(start.values()))
        found = least_squares(
            errors,
            first,
            bounds=(0.0, np.inf),
            x_scale=first,
            diff_step=[_STEP] * len(start),
            loss="soft_l1",
            f_scale=_TYPICAL,
            xtol=1e-2,
            ftol=1e-3,
            max_nfev=15,
        )
        return settings(found.x)
