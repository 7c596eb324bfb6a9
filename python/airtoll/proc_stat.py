"""The text of /proc/stat: the CPU time of a machine by state (proc_stat(5))."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PATH: Final = Path("/proc/stat")

STATES: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""The states in the order of the file. The file also has times of guests, which are part of user and nice."""

_TICKS_PER_S: Final = 100  # USER_HZ of every Linux
_LINE: Final = re.compile(rf"(cpu\d*) +((?:\d{{1,18}} +){{{len(STATES) - 1}}}\d{{1,18}})\b")


def times_s(text: str) -> dict[str, Mapping[str, float]]:
    """The times since boot in s by state, of all cores together (`cpu`) and of each core (`cpu0`).

    Lines of another form are left out.
    """
    return {
        line[1]: {
            state: int(ticks) / _TICKS_PER_S for state, ticks in zip(STATES, line[2].split(), strict=True)
        }
        for line in map(_LINE.match, text.splitlines())
        if line is not None
    }
