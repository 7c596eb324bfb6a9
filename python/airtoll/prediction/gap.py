"""The difference between the air alone and a published figure, split by mechanism.

The chain starts with the cells on their air alone: no noise, no limit of the queue, a card and a host that take no
time, and no window of TCP. Each step adds one mechanism of the study. The last step is the study itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airtoll.prediction.fitting import FITTED
from airtoll.prediction.predictions import Case, Predictions
from airtoll.prediction.targets import AGREES_PERCENT, Target
from airtoll.stats import METRICS, Interval

MECHANISMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "noise": dict.fromkeys(("path_loss", "fading", "k_factor", "coherence_time")),
    "queue": dict.fromkeys(("queue_limit", "udp_buffer")),
    "card": {**dict.fromkeys(FITTED, 0.0), "processor_clock": None},
    "host": dict.fromkeys(
        (
            "write_time",
            "packet_time",
            "host_frame",
            "host_byte",
            "wake_up",
            "wake_up_mean",
            "wake_up_deviation",
        )
    ),
    "TCP window": dict.fromkeys(("window", "receive_buffer")),
}
"""The settings of [link] of each mechanism, with their values without it, in the order of the chain."""

CHANGE_FACTOR: Final = 1.5
"""A change against open within this factor of the published change is explained."""

_POINT: Final = 0.01
"""Changes that differ by at most one percentage point count as equal."""

_MANY: Final = 2.0
"""The air carries much more than a published rate if it carries more than this many times as much."""

_SHARE: Final = 0.25
"""The share of the gap from which a mechanism is named."""


def air_alone(case: Case) -> Case:
    """The case without any mechanism."""
    for mechanism in MECHANISMS:
        case = _without(case, mechanism)
    return case


def _without(case: Case, mechanism: str) -> Case:
    if mechanism == "card" and (case.cell.sealed_at != "card" or _is_idle(case)):
        return case
    without = case.with_link(**MECHANISMS[mechanism])
    return without.with_cell(snr="none") if mechanism == "noise" else without


def _is_idle(case: Case) -> bool:
    """Whether the card neither seals nor forwards."""
    return case.cell.security == "open" and all(getattr(case.link, name) is None for name in FITTED)


def _chain(case: Case) -> Iterator[tuple[str, Case]]:
    """The case with each mechanism in addition to those before it; the first one is the air alone."""
    yield "", air_alone(case)
    for index, mechanism in enumerate(MECHANISMS):
        reached = case
        for later in list(MECHANISMS)[index + 1 :]:
            reached = _without(reached, later)
        yield mechanism, reached


@dataclass(frozen=True)
class Gap:
    """A published figure, the air alone, and what each mechanism of the study adds, in the metric's unit.

    A figure that is a change against open is a ratio to open.
    """

    target: Target
    air: float
    parts: Mapping[str, float]  # by mechanism: the difference that it makes; only mechanisms of the study
    model: float

    @property
    def carried(self) -> str | None:
        """A sentence about a rate that the air alone cannot carry, or carries more than twice; otherwise None."""
        unit = METRICS[self.target.metric].display_unit
        if self.target.to_open or unit not in ("Mbit/s", "kbyte/s") or not self.air:
            return None
        most = max(self.air, self.model)  # cards that delay packets may prevent collisions
        if self.target.value > (1 + AGREES_PERCENT / 100) * most:
            return f"the air alone carries at most {self.target.shown(most):.4g} {unit}"
        times = most / self.target.value
        return f"the air alone carries {times:.1f} times as much" if times > _MANY else None

    def agrees(self, value: float, interval: Interval | None = None) -> bool:
        """Whether a value is near the published one, or its interval contains the published one."""
        published = self.target.value
        if interval is not None and interval.contains(published):
            return True
        if not self.target.to_open:
            return abs(value / published - 1) <= AGREES_PERCENT / 100
        ours, theirs = value - 1, published - 1
        if abs(ours - theirs) <= _POINT:
            return True
        return ours * theirs > 0 and 1 / CHANGE_FACTOR <= ours / theirs <= CHANGE_FACTOR

    def explanation(self, ours: float, interval: Interval | None = None) -> str:
        """The mechanisms that lead from the air alone to the published figure, or "not explained"."""
        whole = self.target.value - self.air
        named = [name for name, part in self.parts.items() if whole and part / whole >= _SHARE]
        by = " and ".join(named)
        if not self.agrees(ours, interval):
            nearer = abs(ours - self.target.value) <= abs(whole) / 2
            words = f"in part by {by}" if named and nearer else "not explained"
        elif self.agrees(self.air) or not named:
            words = "air alone" if self.agrees(self.air) else "as published"
        else:
            words = by
        return f"{words}; {self.carried}" if self.carried else words


def gap_of(predictions: Predictions, target: Target, cases: Sequence[Case]) -> Gap | None:
    """Split the gap of a figure. `cases` are its cells, as the study has them; None without a prediction.

    To split many gaps, call `Predictions.all` for the cases of `cases_of` first.
    """
    steps = _steps(cases)
    reached = target.value_of(predictions, steps.pop(""))
    if reached is None:
        return None
    air, parts = reached, {}
    for mechanism, of_step in steps.items():
        if (value := target.value_of(predictions, of_step)) is None:
            return None
        parts[mechanism], reached = value - reached, value
    return Gap(target, air, parts, reached)


def cases_of(target: Target, cases: Sequence[Case]) -> Iterator[Case]:
    """The cases that `gap_of` predicts."""
    for of_step in _steps(cases).values():
        yield from target.with_open(of_step)


def _steps(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The steps of the chain, without mechanisms that change no case."""
    steps: dict[str, list[Case]] = {}
    last: list[Case] = []
    for together in zip(*(_chain(case) for case in cases), strict=True):
        reached = [case for _, case in together]
        if reached != last:
            steps[together[0][0]] = last = reached
    return steps
