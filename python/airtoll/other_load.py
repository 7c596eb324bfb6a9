"""CPU time that other programs and other virtual machines take from this machine, by /proc/stat (proc_stat(5))."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from airtoll import proc_stat

CORES_OF_A_RUN: Final = 3
"""Cores that a run in real time uses at most: the emulator, the sender and the receiver."""

SPARE_CORES: Final = 0.5
"""Part of these cores that a run can do without, because its three programs are rarely busy at the same time."""

STOLEN_CORES_MAX: Final = 0.1
"""Stolen CPU time above which the machine counts as disturbed: more than two ticks in a window."""

WINDOW_S: Final = 0.25
"""Time over which the load is measured: 25 ticks of 10 ms per core, the unit of /proc/stat."""

PAUSE_S: Final = 1.0
"""Time between two measurements of a wait, which themselves use a core."""

_STEP: Final = 100_000
_STEPS_MOST: Final = 500
"""Additions between two readings of the clock, some milliseconds, and the number of readings after which time stands
still."""

_NOT_BUSY: Final = ("idle", "iowait", "steal")


@dataclass(frozen=True)
class OtherLoad:
    """The mean load of this machine's cores over a time, without this process."""

    cores: int  # that this process may use
    busy_cores: float  # used by other programs, at any priority: those with a low one delay frames too
    stolen_cores: float  # used by other virtual machines while this one was ready to run

    def obstacle(self) -> str | None:
        """Return why a run in real time would be disturbed, or None if it would not."""
        if self.stolen_cores > STOLEN_CORES_MAX:
            return f"other virtual machines take {self.stolen_cores:.2f} of {self.cores} cores"
        if self.cores - self.busy_cores < min(self.cores, CORES_OF_A_RUN) - SPARE_CORES:
            return f"other programs use {self.busy_cores:.1f} of {self.cores} cores"
        return None


def measure() -> OtherLoad:
    """The load over the next `WINDOW_S`. This process is busy meanwhile: an idle machine shows no stolen time.

    In a guest with virtual time, which does not move while a program is busy, there is no other load.
    """
    cores = len(os.sched_getaffinity(0))
    began_s, own_s, before = time.monotonic(), time.process_time(), _times_s()
    for _ in range(_STEPS_MOST):
        sum(range(_STEP))
        if (lasted_s := time.monotonic() - began_s) >= WINDOW_S:
            break
    else:
        return OtherLoad(cores, 0.0, 0.0)
    own_s, after = time.process_time() - own_s, _times_s()
    busy_s, stolen_s = (end - start for start, end in zip(before, after, strict=True))
    return OtherLoad(cores, max(0.0, busy_s - own_s) / lasted_s, stolen_s / lasted_s)


def wait_until_over(
    limit_s: float, on_obstacle: Callable[[str], None], load: Callable[[], OtherLoad] = measure
) -> str | None:
    """Wait until nothing would disturb a run in real time, at most `limit_s`. Returns what still disturbs, or None.

    Calls `on_obstacle` after each measurement that finds a disturbance.
    """
    until_s = time.monotonic() + limit_s
    while (obstacle := load().obstacle()) is not None:
        on_obstacle(obstacle)
        if time.monotonic() >= until_s:
            return obstacle
        time.sleep(PAUSE_S)
    return None


def _times_s() -> tuple[float, float]:
    """Busy and stolen time of the cores that this process may use, since the machine started."""
    times = proc_stat.times_s(proc_stat.PATH.read_text(encoding="ascii"))
    cores = [times[f"cpu{core}"] for core in os.sched_getaffinity(0)]
    busy_s = sum(sum(core.values()) - sum(core[state] for state in _NOT_BUSY) for core in cores)
    return busy_s, sum(core["steal"] for core in cores)
