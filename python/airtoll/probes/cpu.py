"""CPU time of the machines and of the link itself, taken around another probe's measured window.

CPU load means nothing without the traffic that causes it, and must not include the warm-up. This is therefore not a
probe of its own: a probe that generates traffic calls `over` when its window opens, which returns when the window
closes, and passes the result to `samples`.

| metric       | endpoint | 100 % is               | source                                    | samples          |
|--------------|----------|------------------------|-------------------------------------------|------------------|
| cpu_system   | machine  | all cores busy         | Host.cpu()                                | one per interval |
| cpu_hosts    | machine  | all cores busy         | Host.cpu() without the emulator's work    | one per window   |
| cpu_emulator | link     | one core busy          | the link's counter emulator_cpu_s         | one per window   |
| cpu_crypto   | link     | one core busy          | the link's counter crypto_s               | one per window   |
| cpu_link     | link     | one core busy          | the link's counter link_cpu_s             | one per window   |

Hosts on the same machine (`machines`) are sampled once. With several machines, the endpoint is the role of the
machine's first host instead of `machine`. A reading of cpu_system takes this process some 0.4 ms, 0.2 % of a core. The
link's counters are read only at both ends of the window, because the emulator answers from the thread that keeps the
air's time. A link that does not count its CPU time (a real radio) has no samples of it.

The kernel reports idle time in steps of 1/100 s per core. A sample of cpu_system over 0.25 s is therefore accurate to
4 percentage points, and a window of one second to 1.

cpu_hosts is cpu_system without the work that only the emulator causes (emulator_cpu_s - host_crypto_s): programs and IP
stacks of the hosts, and other work on the machine. Frames that hosts seal and open are their work, although the
emulator does it; frames that cards seal and open are not. The IP stacks of receivers run in the emulator
(`docs/reference/data-format.md`). On a link without an emulator, cpu_hosts is cpu_system over the window.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from airtoll.labs.base import CpuTimes, Known, Link, PeerStatistics, Process
from airtoll.probes.base import Sample
from airtoll.probes.machines import machines
from airtoll.probes.window import NS_PER_S

INTERVAL_S = 0.25

METRICS = ("cpu_system", "cpu_hosts", "cpu_emulator", "cpu_crypto", "cpu_link", "cpu_process")
"""The metrics of CPU load, including that of a tool's own process."""

_LINK_COUNTERS = {"cpu_emulator": "emulator_cpu_s", "cpu_crypto": "crypto_s", "cpu_link": "link_cpu_s"}


@dataclass(frozen=True)
class Snapshot:
    """CPU times, counters and statistics of the radios up to one instant."""

    monotonic_ns: int
    machines: Mapping[str, CpuTimes]  # by the endpoint of the samples
    counters: Mapping[str, Any]  # the link's; empty inside a window
    peers: Mapping[tuple[str, str], PeerStatistics] = field(default_factory=dict)  # of the hosts' radios


def over(link: Link, running: Process, until_s: float) -> list[Snapshot]:
    """Snapshots from now to `until_s` (time.monotonic), some `INTERVAL_S` apart. Stops early if the process ends."""
    hosts = machines(link)

    def snapshot(counters: Mapping[str, Any]) -> Snapshot:
        loads = {role: host.cpu() for role, host in hosts.items()}
        return Snapshot(time.monotonic_ns(), loads, counters, link.peers())

    snapshots = [snapshot(link.counters())]
    began_s = snapshots[0].monotonic_ns / NS_PER_S
    intervals = max(1, round((until_s - began_s) / INTERVAL_S))
    for interval in range(1, intervals + 1):
        # Popen.wait with a timeout would poll every few ms.
        time.sleep(max(0.0, began_s + (until_s - began_s) * interval / intervals - time.monotonic()))
        if interval == intervals or running.poll() is not None:
            break
        snapshots.append(snapshot({}))
    return [*snapshots, snapshot(link.counters())]


def samples(snapshots: Sequence[Snapshot], t_ns: int) -> list[Sample]:
    """The load between the snapshots. `t_ns` is the time of the first one since the start of the probe."""
    opening, closing = snapshots[0], snapshots[-1]

    def sample(
        metric: str, endpoint: str, ends: tuple[Snapshot, Snapshot], busy_s: float, of_s: float
    ) -> Sample:
        start_ns, end_ns = (shot.monotonic_ns - opening.monotonic_ns for shot in ends)
        load = 100.0 * busy_s / of_s if of_s > 0 else None
        return Sample("cpu", metric, "%", endpoint, "", t_ns + start_ns, end_ns - start_ns, load)

    found = []
    for ends in pairwise(snapshots):
        for role, before in ends[0].machines.items():
            after = ends[1].machines[role]
            busy_s, idle_s = _between(before, after)
            found.append(sample("cpu_system", role, ends, busy_s, busy_s + idle_s))
    whole = opening, closing
    spent_s = {metric: _counted_s(whole, counter) for metric, counter in _LINK_COUNTERS.items()}
    elapsed_s = _counted_s(whole, "elapsed_s")
    for metric, of_link_s in spent_s.items():
        if of_link_s is not None and elapsed_s is not None:
            found.append(sample(metric, "link", whole, of_link_s, elapsed_s))
    air_s = (spent_s["cpu_emulator"] or 0.0) - (_counted_s(whole, "host_crypto_s") or 0.0)
    for machine, before in opening.machines.items():
        busy_s, idle_s = _between(before, closing.machines[machine])
        found.append(sample("cpu_hosts", machine, whole, max(0.0, busy_s - air_s), busy_s + idle_s))
    return found


def _counted_s(ends: tuple[Snapshot, Snapshot], counter: str) -> float | None:
    """The increase of a counter of the link; None if the link does not have it."""
    before, after = (shot.counters.get(counter) for shot in ends)
    return None if before is None or after is None else after - before


def _between(before: CpuTimes, after: CpuTimes) -> tuple[float, float]:
    """Busy and idle time between two readings. On an idle machine the resolution could make busy time negative."""
    return max(0.0, after.busy_s - before.busy_s), after.idle_s - before.idle_s


def meaningful(samples: Sequence[Sample], known: Known) -> Sequence[Sample]:
    """The samples without those of CPU load if the link's hosts are in virtual time, in which programs take no time."""
    return [sample for sample in samples if sample.metric not in METRICS] if known.virtual_time else samples
