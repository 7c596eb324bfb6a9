"""CPU time of the machine and of the link itself, taken around another probe's measured window.

This is no probe of its own, because CPU load means nothing without the traffic that causes it, and the
warm-up must be left out of it: `Throughput` takes one snapshot when its window opens and one when it closes,
and `between` makes samples of the two. Nothing is sampled in between, so it costs the measurement nothing.

| metric       | endpoint | 100 % is               | from                                      |
|--------------|----------|------------------------|-------------------------------------------|
| cpu_system   | machine  | all cores busy         | Host.cpu(), of the access point's machine |
| cpu_emulator | link     | one core busy          | the link's counter emulator_cpu_s         |
| cpu_crypto   | link     | one core busy          | the link's counter crypto_s               |
| cpu_link     | link     | one core busy          | the link's counter link_cpu_s             |

The kernel counts cpu_system in ticks of 1/100 s a core: over one second of two cores it is good to 0.5 %. A
link that does not count its CPU time (a real radio) has no samples of it.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airtoll.labs.base import CpuTimes, Link
from airtoll.probes.base import Sample

_LINK_COUNTERS = {"cpu_emulator": "emulator_cpu_s", "cpu_crypto": "crypto_s", "cpu_link": "link_cpu_s"}


@dataclass(frozen=True)
class Snapshot:
    """CPU times up to one moment."""

    monotonic_ns: int
    machine: CpuTimes
    counters: Mapping[str, Any]


def snapshot(link: Link) -> Snapshot:
    """CPU times until now."""
    return Snapshot(time.monotonic_ns(), link.hosts["ap"].cpu(), link.counters())


def between(opening: Snapshot, closing: Snapshot, t_ns: int) -> list[Sample]:
    """The load between two snapshots as samples; `t_ns` is the opening's time from the start of the probe."""
    dur_ns = closing.monotonic_ns - opening.monotonic_ns

    def sample(metric: str, endpoint: str, busy_s: float, available_s: float) -> Sample:
        load = 100.0 * busy_s / available_s if available_s > 0 else None
        return Sample("cpu", metric, "%", endpoint, "", t_ns, dur_ns, load)

    busy_s = closing.machine.busy_s - opening.machine.busy_s
    idle_s = closing.machine.idle_s - opening.machine.idle_s
    samples = [sample("cpu_system", "machine", busy_s, busy_s + idle_s)]
    for metric, counter in _LINK_COUNTERS.items():
        if all({counter, "elapsed_s"} <= shot.counters.keys() for shot in (opening, closing)):
            spent_s, elapsed_s = (
                closing.counters[key] - opening.counters[key] for key in (counter, "elapsed_s")
            )
            samples.append(sample(metric, "link", spent_s, elapsed_s))
    return samples
