"""One-way delays between hosts: the difference of their clocks, and its uncertainty.

Hosts on one machine read the same clock. Otherwise, the clock of each host is compared with this machine's before and
after the measurement, by the shortest of several round trips: the error of the comparison is at most half of this round
trip. Between both times, the difference is interpolated. The rate of a clock may vary meanwhile: `WANDER` allows for
this.

A delay is given with the uncertainty of its clocks, as the metric `clock_uncertainty`, if the uncertainty is at most
`SHARE_MOST` of the median delay. Otherwise the delay is absent.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from airtoll.host import ClockOffset, Host
from airtoll.probes.base import Sample
from airtoll.probes.machines import machine_of, share_clocks

SHARE_MOST: Final = 0.1
"""Largest uncertainty of a one-way delay, over its median."""

WANDER: Final = 1e-6
"""Largest change of a clock's rate during a measurement, over the rate: crystals drift by less in some minutes, and NTP
adjusts rates by a few ppm at a time."""

STEP_NS: Final = 1_000_000
"""A time of day that moved by more than this against the monotonic clock was set."""

METRIC: Final = "clock_uncertainty"

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class ClockDifference:
    """The clock of one host minus that of another, at some time."""

    offset_ns: float
    uncertainty_ns: float


class HostClock:
    """The clock of a host relative to this machine's."""

    def __init__(self, host: Host) -> None:
        """Compare the clocks now."""
        self._host = host
        self.before = _compared(host)
        self.after = self.before

    def close(self) -> None:
        """Compare the clocks again, after the measurement."""
        self.after = _compared(self._host)

    def there_ns(self, here_ns: int) -> int:
        """The host's monotonic clock at a time of this machine's, by the comparison before the measurement."""
        return here_ns + self.before.offset_ns

    def at(self, here_ns: float) -> ClockDifference:
        """The host's monotonic clock minus this machine's."""
        before, after = self.before, self.after
        span_ns = after.at_ns - before.at_ns
        share = min(max((here_ns - before.at_ns) / span_ns, 0.0), 1.0) if span_ns > 0 else 0.0
        wander_ns = WANDER * max(0.0, min(here_ns - before.at_ns, after.at_ns - here_ns))
        if before.uncertainty_ns == after.uncertainty_ns == 0:
            wander_ns = 0.0  # the same clock
        return ClockDifference(
            before.offset_ns + share * (after.offset_ns - before.offset_ns),
            before.uncertainty_ns + share * (after.uncertainty_ns - before.uncertainty_ns) + wander_ns,
        )

    def wall_at(self, here_ns: float) -> ClockDifference | None:
        """The host's time of day minus this machine's monotonic clock; None if the time of day was set meanwhile."""
        before, after = self.before, self.after
        if abs(after.wall_ahead_ns - before.wall_ahead_ns) > STEP_NS:
            return None
        monotonic = self.at(here_ns)
        uncertainty_ns = max(before.wall_uncertainty_ns, after.wall_uncertainty_ns)
        ahead_ns = (before.wall_ahead_ns + after.wall_ahead_ns) / 2
        return ClockDifference(monotonic.offset_ns + ahead_ns, monotonic.uncertainty_ns + uncertainty_ns)


class ClockPair:
    """The clocks of a sender and a receiver."""

    def __init__(self, sender: Host, receiver: Host) -> None:
        """Compare the clocks now."""
        self.shared = share_clocks(sender, receiver)
        self.sender, self.receiver = HostClock(sender), HostClock(receiver)

    def close(self) -> None:
        """Compare the clocks again, after the measurement."""
        if not self.shared:
            self.sender.close()
            self.receiver.close()

    def ahead_ns(self) -> int:
        """The receiver's monotonic clock minus the sender's, by the comparison before the measurement."""
        return 0 if self.shared else self.receiver.before.offset_ns - self.sender.before.offset_ns

    def at(self, here_ns: float) -> ClockDifference:
        """The receiver's monotonic clock minus the sender's, at a time of this machine's."""
        if self.shared:
            return ClockDifference(0.0, 0.0)
        return _minus(self.receiver.at(here_ns), self.sender.at(here_ns))

    def wall_at(self, here_ns: float) -> ClockDifference | None:
        """The receiver's time of day minus the sender's; None if one of them was set during the measurement."""
        if self.shared:
            return ClockDifference(0.0, 0.0)
        receiver, sender = self.receiver.wall_at(here_ns), self.sender.wall_at(here_ns)
        return None if receiver is None or sender is None else _minus(receiver, sender)

    def drift_ns(self) -> float:
        """The change of the difference between both comparisons."""
        if self.shared:
            return 0.0
        first, last = (self.at(moment_ns).offset_ns for moment_ns in self._compared_ns)
        return last - first

    @property
    def _compared_ns(self) -> tuple[int, int]:
        """The times of both comparisons, by this machine's monotonic clock."""
        return self.receiver.before.at_ns, self.receiver.after.at_ns

    def facts(self) -> dict[str, Any]:
        """The comparisons, for the record."""
        if self.shared:
            return {"clocks": "shared"}
        middle = self.at(sum(self._compared_ns) / 2)
        return {
            "clocks": "apart",
            "clock_difference_us": middle.offset_ns / 1e3,
            "clock_uncertainty_us": middle.uncertainty_ns / 1e3,
            "clock_drift_us": self.drift_ns() / 1e3,
        }


def _compared(host: Host) -> ClockOffset:
    if machine_of(host) != _BOOT_ID.read_text(encoding="ascii").strip():
        return host.clock()
    before_ns, wall_ns, at_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    held_ns = at_ns - before_ns
    return ClockOffset(0, 0, at_ns, wall_ns - (before_ns + at_ns) // 2, (held_ns + 1) // 2)


def _minus(one: ClockDifference, other: ClockDifference) -> ClockDifference:
    return ClockDifference(one.offset_ns - other.offset_ns, one.uncertainty_ns + other.uncertainty_ns)


def known(samples: Sequence[Sample], uncertainty_ns: float) -> list[Sample]:
    """The samples of one-way delays (ms) with one of their uncertainty, or none if the uncertainty is too large."""
    if uncertainty_ns == 0:
        return list(samples)
    values = [sample.value for sample in samples if sample.value is not None and sample.phase == "measure"]
    if not values or uncertainty_ns / 1e6 > SHARE_MOST * median(values):
        return []
    first, last = samples[0], samples[-1]
    dur_ns = last.t_ns + last.dur_ns - first.t_ns
    where = (first.endpoint, first.direction, first.t_ns, dur_ns)
    return [*samples, Sample(first.probe, METRIC, "ms", *where, uncertainty_ns / 1e6)]
