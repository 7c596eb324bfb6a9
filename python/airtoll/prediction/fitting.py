"""Settings of a study, fitted to published figures by simulation.

A fit adjusts settings of [link], or the SNR, until the predictions of a study's cells match the published figures.
Cross-validation shows how well the settings explain the figures: each figure is also predicted by settings that are
fitted without it. `explain` fits each group of settings alone, and then adds one group after the other.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import fmean, median
from typing import Final

import numpy as np

from airtoll.errors import UsageError
from airtoll.prediction.predictions import Predictions
from airtoll.prediction.targets import AGREES_PERCENT, Residual, Settings, Target, mean_percent
from airtoll.stats import METRICS
from airtoll.study.cell import Cell
from airtoll.study.security import READY_MADE

FORWARDING: Final = ("forward_ipv4", "forward_ipv6", "forward_byte", "forward_latency")
PROCESSOR: Final = ("processor_frame", "processor_byte", "processor_latency", "processor_clock")
FITTED: Final = (*FORWARDING, *PROCESSOR)
"""The settings of a card that a fit can adjust."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "window": ("window",),
    "write_time": ("write_time",),
    "packet_time": ("packet_time",),
    "forwarding": FORWARDING,
    "processor": PROCESSOR,
    "queue": ("queue_limit",),
    "snr": ("snr",),
}
"""The groups that a fit can vary, with their settings."""

OF_CARD: Final = frozenset({"forwarding", "processor"})
"""The settings of a card. They alone cannot explain the throughput of TCP, which also depends on its sender."""

_SCANNED: Final[Mapping[str, tuple[float, ...]]] = {
    "window": (8192.0, 16384.0, 32768.0, 65536.0, 131072.0, 262144.0),
    "queue_limit": (2.0, 8.0, 32.0, 128.0, 512.0),
    "snr": (8.0, 12.0, 16.0, 20.0, 25.0, 30.0),
}
"""Initial values of settings whose effect has a limit, so that derivatives exist near one of them alone."""

_LOWEST: Final[Mapping[str, float]] = {"window": 1500.0, "queue_limit": 1.0}
_HIGHEST: Final[Mapping[str, float]] = {"window": 2.0**24, "queue_limit": 1e6, "snr": 60.0}

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

WORTH: Final = 0.9
WORTH_PERCENT: Final = 1.0
"""A further group of settings is kept if the mean error at held-out figures falls to this share, and by this much."""

Progress = Callable[[], None]


@dataclass(frozen=True)
class Fit:
    """The settings that best explain published figures."""

    varied: tuple[str, ...]  # groups of settings
    settings: Mapping[str, float]
    fitted: tuple[Residual, ...]
    held_out: tuple[Residual, ...] = ()
    """The same figures, each predicted by settings that are fitted without it, and the figures outside the fit."""

    @property
    def residuals(self) -> tuple[Residual, ...]:
        """All figures: the fitted figures, then the figures that are only predicted."""
        fitted = {id(each.target) for each in self.fitted}
        return (*self.fitted, *(each for each in self.held_out if id(each.target) not in fitted))


@dataclass(frozen=True)
class Explanation:
    """How far each group of settings explains published figures."""

    unvaried: tuple[Residual, ...]  # the figures without any of the settings
    alone: tuple[Fit, ...]  # each group alone, the best first
    together: tuple[Fit, ...]  # the best group, and with each further group that is worth its settings

    @property
    def best(self) -> Fit:
        """The fit of the groups that together explain the figures best."""
        return self.together[-1]

    def of(self, target: Target) -> str:
        """The group that alone explains the figure best, if it at least halves the figure's deviation."""
        (before,) = (each for each in self.unvaried if each.target is target)
        if abs(before.error_percent) <= AGREES_PERCENT:
            return "no setting"
        errors = [
            (abs(each.log_error), "+".join(fit.varied))
            for fit in self.alone
            for each in fit.residuals
            if each.target is target
        ]
        error, group = min(errors)
        return group if error <= abs(before.log_error) / 2 else "not explained"


def start_of(targets: Sequence[Target]) -> dict[str, float]:
    """The settings of a card that these figures can determine, with initial values: a fraction of the time of a packet.

    Times of forwarding require absolute figures, times per packet and per octet require several packet sizes, and
    latencies require round-trip times. Several secured levels differ in their cost by the clock of the processor alone.
    """
    cells = [cell for target in targets for cell in target.cells]
    absolute = [target for target in targets if not target.to_open]
    has_sizes = len({cell.packet_size for cell in cells}) > 1
    has_rtt = any(target.metric == "rtt" for target in targets)
    packet_b = fmean(cell.packet_size for cell in cells)
    packet_us = _typical_packet_us(targets)
    start: dict[str, float] = {}
    if absolute:
        start |= {f"forward_{ip}": 0.3 * packet_us for ip in sorted({cell.ip for cell in cells})}
        if has_sizes:
            start["forward_byte"] = 0.1e3 * packet_us / packet_b
        if has_rtt:
            start["forward_latency"] = 0.3 * packet_us
    if len({_cipher(cell) for cell in cells} - {"open"}) > 1:
        return start | {"processor_clock": 400.0}
    if all(_cipher(cell) == "open" for cell in cells):
        return start
    start["processor_byte"] = 0.2e3 * packet_us / packet_b
    if has_sizes and absolute:
        start["processor_frame"] = 0.1 * packet_us
    if has_rtt:
        start["processor_latency"] = 0.3e3 * packet_us / packet_b
    return start


def _cipher(cell: Cell) -> str:
    """The level of the cell's cipher: that of sae is ccmp."""
    return READY_MADE[cell.security].cipher if cell.security in READY_MADE else cell.security


def _is_of_tcp(target: Target) -> bool:
    """Whether it is an absolute throughput of TCP."""
    absolute = METRICS[target.metric].display_unit in ("Mbit/s", "kbyte/s") and not target.to_open
    return absolute and any(cell.transport == "tcp" for cell in target.cells)


def _typical_packet_us(targets: Sequence[Target]) -> float:
    known = [_packet_us(target) for target in targets if not target.to_open and target.metric in _TIMED]
    return median(known) if known else fmean(cell.packet_size for t in targets for cell in t.cells) / 10


_TIMED: Final = ("throughput", "rtt", "ftp_rate")
"""The metrics that tell the time of a packet."""


def _packet_us(target: Target) -> float:
    """The time of a packet: from its throughput, or half of its round trip."""
    if target.metric == "rtt":
        return 1e3 * target.value / 2
    bit_per_s = 8 * target.value if METRICS[target.metric].unit == "byte/s" else target.value
    return 8e6 * fmean(cell.packet_size for cell in target.cells) / bit_per_s


def _starts(varied: Collection[str], targets: Sequence[Target], given: Settings) -> list[dict[str, float]]:
    """Initial values of the settings of these groups: the given value, or several values to choose from."""
    of_card = start_of(targets)
    packet_us = _typical_packet_us(targets)
    first: dict[str, float] = {}
    scanned: list[tuple[str, tuple[float, ...]]] = []
    for key in (key for group in varied for key in GROUPS[group]):
        if key in FITTED:
            first |= {key: of_card[key]} if key in of_card else {}
        else:
            values = _SCANNED.get(key, tuple(share * packet_us for share in (0.05, 0.2, 0.5, 1.0)))
            first[key] = values[len(values) // 2]
            scanned.append((key, values))
    known = {
        key: max(value, _SMALL * first[key])
        for key, value in given.items()
        if key in first and value is not None
    }
    starts = [first | {key: value} | known for key, values in scanned for value in values] or [first | known]
    # Far from the solution, a processor that is faster than the air has no effect, and so no derivative.
    small = {key: _SMALL * value for key, value in first.items() if key in FITTED}
    return list({tuple(each.values()): each for each in (*starts, first | small | known)}.values())


def fit(
    targets: Sequence[Target],
    predictions: Predictions,
    varied: Sequence[str] = ("forwarding", "processor"),
    *,
    base: Settings | None = None,
    given: Settings | None = None,
    held_out: bool = True,
    progress: Progress = lambda: None,
) -> Fit:
    """Fit these groups of settings to the targets, and predict each target by a fit to the targets of the other folds.

    The throughput of TCP also depends on the sender's writes and on congestion control. A fit of a card only predicts
    it if the publication has the throughput of UDP, too. Settings that the figures cannot determine are 0. `base` has
    the settings that are not varied, `given` the settings with which the fit starts. `progress` is called after each
    evaluation of the model. Raises UsageError with fewer than three figures.
    """
    has_udp = any(target.metric == "throughput" and not _is_of_tcp(target) for target in targets)
    without_tcp = has_udp and set(varied) <= OF_CARD
    fitted = [target for target in targets if not (without_tcp and _is_of_tcp(target))]
    folds = [fold for fold in (fitted[index::FOLDS] for index in range(FOLDS)) if fold]
    if len(folds) < FOLDS - 1:
        raise UsageError(
            f"{len(targets)} figures are too few to fit settings: at least {FOLDS - 1} are required"
        )
    model = _Model(predictions, {**neutral([varied]), **(base or {})}, progress)
    starts = _starts(varied, fitted, given or {})
    for start in starts:
        for name in _DISPENSABLE:
            if len(start) >= len(fitted) - len(folds[0]):
                start.pop(name, None)
    if len(starts) > _FROM_ALL:  # from the best start only, and from the best one near it
        for near in ((), *((key,) for group in varied for key in GROUPS[group] if key not in (given or {}))):
            starts = [min(_near(starts, near), key=lambda start: model.loss(fitted, start))]
    best = min((model.fit(fitted, each) for each in starts), key=lambda found: model.loss(fitted, found))
    first = {name: max(best[name], 0.1 * value) for name, value in starts[0].items()}
    others = [
        residual
        for fold in (folds if held_out else ())
        for residual in model.residuals(
            fold, model.fit([target for target in fitted if target not in fold], first)
        )
    ]
    predicted = model.residuals([target for target in targets if target not in fitted], best)
    keys = [key for group in varied for key in GROUPS[group]]
    settings = {
        key: value for key, value in model.settings(best).items() if key in keys and value is not None
    }
    return Fit(tuple(varied), settings, tuple(model.residuals(fitted, best)), (*others, *predicted))


def _near(starts: Sequence[dict[str, float]], keys: Collection[str]) -> list[dict[str, float]]:
    """The starts, and starts with nearby values of a setting whose effect is not smooth, such as TCP's window."""
    return [
        start | {key: factor * start[key] for key in keys if key in start and key not in FITTED}
        for start in starts
        for factor in (_NEAR if keys else (1.0,))
    ]


_NEAR: Final = (1.0, 0.7, 0.8, 0.9, 1.1, 1.25, 1.4)
"""Factors between two values of a scan."""

_FROM_ALL: Final = 2
"""If there are more starts, a fit begins at the best one only."""


def explain(
    targets: Sequence[Target],
    predictions: Predictions,
    candidates: Sequence[Sequence[str]],
    *,
    progress: Progress = lambda: None,
) -> Explanation:
    """Fit each candidate alone, and the best one together with others as long as held-out figures gain by it.

    A candidate is one group of settings, or several that are only varied together. Targets that the medium does not
    predict must not be among `targets`. Raises UsageError with fewer than three figures.
    """
    base = neutral(candidates)
    unvaried = _Model(predictions, base, progress).residuals(targets, {})

    def tried(varied: Sequence[str], given: Settings, *, held_out: bool = False) -> Fit:
        return fit(targets, predictions, varied, base=base, given=given, held_out=held_out, progress=progress)

    alone = sorted((tried(each, {}) for each in candidates), key=lambda found: _loss(found.residuals))
    together = [tried(alone[0].varied, {}, held_out=True)]
    while remaining := [each for each in candidates if not set(each) <= set(together[-1].varied)]:
        last = together[-1]
        trials = [tried((*last.varied, *each), last.settings) for each in remaining]
        best = min(trials, key=lambda found: _loss(found.residuals))
        best = tried(best.varied, last.settings, held_out=True)
        before, after = mean_percent(last.held_out), mean_percent(best.held_out)
        if after > min(WORTH * before, before - WORTH_PERCENT):
            break
        together.append(best)
    return Explanation(tuple(unvaried), tuple(alone), tuple(together))


def neutral(candidates: Iterable[Sequence[str]]) -> dict[str, float | None]:
    """The settings without any of these groups: cards that take no time, and hosts as in the study otherwise."""
    keys = [key for each in candidates for group in each for key in GROUPS[group]]
    return {key: 0.0 if key in FITTED and key != "processor_clock" else None for key in keys}


def _loss(residuals: Iterable[Residual]) -> float:
    """The soft-L1 loss of the logarithms of predicted / published."""
    return sum(sqrt(1 + (each.log_error / _TYPICAL) ** 2) - 1 for each in residuals)


@dataclass(frozen=True)
class _Model:
    """The predictions of figures as a function of settings."""

    predictions: Predictions
    base: Settings  # the settings that are not varied
    progress: Progress

    def residuals(self, targets: Sequence[Target], varied: Settings) -> list[Residual]:
        settings = self.settings(varied)
        self.predictions.all(case for target in targets for case in target.cases(self.predictions, settings))
        self.progress()
        # A link that carries nothing with these settings has no value: the worst possible prediction.
        return [Residual(target, target.predicted(self.predictions, settings) or 0.0) for target in targets]

    def loss(self, targets: Sequence[Target], varied: Settings) -> float:
        return _loss(self.residuals(targets, varied))

    def settings(self, varied: Settings) -> dict[str, float | None]:
        """All settings, the varied ones with three digits."""
        found = {name: value and float(f"{value:.3g}") for name, value in varied.items()}
        # With a clock, the costs of the suites are those of the modelled card.
        modelled = dict.fromkeys(PROCESSOR, None) if "processor_clock" in found else {}
        return {**self.base, **modelled, **found}

    def fit(self, targets: Sequence[Target], start: Mapping[str, float]) -> dict[str, float]:
        """The settings that minimise the loss."""

        def errors(vector: Iterable[float]) -> list[float]:
            return [each.log_error for each in self.residuals(targets, dict(zip(start, vector, strict=True)))]

        from scipy.optimize import least_squares  # imported here: it is slow, and few commands fit settings

        first = np.array(list(start.values()))
        found = least_squares(
            errors,
            first,
            bounds=(
                [_LOWEST.get(name, 0.0) for name in start],
                [_HIGHEST.get(name, inf) for name in start],
            ),
            x_scale=first,
            diff_step=[_STEP] * len(start),
            loss="soft_l1",
            f_scale=_TYPICAL,
            xtol=1e-2,
            ftol=1e-3,
            max_nfev=15,
        )
        return {name: float(f"{value:.3g}") for name, value in zip(start, found.x, strict=True)}
