"""CPU time and energy of the machines and of the link itself, over another probe's measured window (`watch`).

| metric       | endpoint  | unit, or what 100 % is | source                                    | samples          |
|--------------|-----------|------------------------|-------------------------------------------|------------------|
| cpu_system   | machine   | all cores busy         | readings of the machine                   | one per interval |
| cpu_core     | machine/0 | this core busy         | readings of the machine                   | one per window   |
| cpu_hosts    | machine   | all cores busy         | cpu_system without the emulator's work    | one per window   |
| cpu_emulator | link      | one core busy          | the link's counter emulator_cpu_s         | one per window   |
| cpu_crypto   | link      | one core busy          | the link's counter crypto_s               | one per window   |
| cpu_link     | link      | one core busy          | the link's counter link_cpu_s             | one per window   |
| energy       | machine   | J                      | RAPL: all packages of the processor       | one per window   |

Hosts on the same machine (`machines`) are sampled once. With several machines, the endpoint is the role of the
machine's first host instead of `machine`. A link that does not count its CPU time (a real radio) has no samples of it,
and a machine without readable RAPL (a guest, most Arm boards) has no samples of energy.

The kernel reports idle time in steps of 1/100 s per core. A sample of cpu_system over 0.25 s is therefore accurate to
4 percentage points, and a window of one second to 1. A core that waits for the hypervisor when it wakes is idle and
stolen at once: the load is then too low, by the stolen time at most. A run with much stolen time is invalid (`limits`).

cpu_hosts is cpu_system without the work that only the emulator causes (emulator_cpu_s - host_crypto_s): programs and IP
stacks of the hosts, and other work on the machine. Frames that hosts seal and open are their work, although the
emulator does it; frames that cards seal and open are not. The IP stacks of receivers run in the emulator
(`docs/reference/data-format.md`). On a link without an emulator, cpu_hosts is cpu_system over the window.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from airtoll.host import HostReading
from airtoll.labs.base import Known
from airtoll.probes.base import Sample
from airtoll.probes.watch import Watched
from airtoll.probes.window import NS_PER_S
from airtoll.study.probes import OF_MACHINES

METRICS = (*OF_MACHINES, "cpu_process")
"""The metrics of CPU load, including that of a tool's own process, and of energy."""

_LINK_COUNTERS = {"cpu_emulator": "emulator_cpu_s", "cpu_crypto": "crypto_s", "cpu_link": "link_cpu_s"}


def samples(watched: Watched, t_ns: int) -> list[Sample]:
    """The load and the energy of the window. `t_ns` is the start of the window since the start of the probe."""
    found = []
    spent_s = {metric: _counted_s(watched, counter) for metric, counter in _LINK_COUNTERS.items()}
    elapsed_s = _counted_s(watched, "elapsed_s")
    for metric, of_link_s in spent_s.items():
        if of_link_s is not None and elapsed_s is not None:
            load = _percent(of_link_s, elapsed_s)
            found.append(Sample("cpu", metric, "%", "link", "", t_ns, watched.dur_ns, load))
    air_s = (spent_s["cpu_emulator"] or 0.0) - (_counted_s(watched, "host_crypto_s") or 0.0)
    for endpoint, readings in watched.machines.items():
        if len(readings) > 1:
            found += _of_machine(endpoint, readings, t_ns, air_s)
    return found


def _of_machine(endpoint: str, readings: Sequence[HostReading], t_ns: int, air_s: float) -> Iterator[Sample]:
    opening, closing = readings[0], readings[-1]
    for before, after in pairwise(readings):
        busy_s, all_s = _between(before, after)
        span = t_ns + before.at_ns - opening.at_ns, after.at_ns - before.at_ns
        yield Sample("cpu", "cpu_system", "%", endpoint, "", *span, _percent(sum(busy_s), all_s))
    whole = t_ns, closing.at_ns - opening.at_ns
    busy_s, all_s = _between(opening, closing)
    for core, core_s in enumerate(busy_s):
        load = _percent(core_s, all_s / len(busy_s))
        yield Sample("cpu", "cpu_core", "%", f"{endpoint}/{core}", "", *whole, load)
    load = _percent(max(0.0, sum(busy_s) - air_s), all_s)
    yield Sample("cpu", "cpu_hosts", "%", endpoint, "", *whole, load)
    if closing.energy_j and len(closing.energy_j) == len(opening.energy_j):
        energy_j = sum(closing.energy_j) - sum(opening.energy_j)
        yield Sample("cpu", "energy", "J", endpoint, "", *whole, energy_j)


def busy_s(before: HostReading, after: HostReading) -> float:
    """CPU time of all cores between two readings."""
    return sum(_between(before, after)[0])


def _counted_s(watched: Watched, counter: str) -> float | None:
    """The increase of a counter of the link; None if the link does not have it."""
    before, after = (totals.counters.get(counter) for totals in (watched.before, watched.after))
    return None if before is None or after is None else after - before


def _between(before: HostReading, after: HostReading) -> tuple[list[float], float]:
    """Busy time per core between two readings, and the time of all cores without that of the hypervisor.

    Linux measures idle time, but counts busy time only at ticks of its clock. The rest of a core's time is therefore
    busy. On an idle machine, the resolution could make it negative.
    """
    elapsed_s = (after.at_ns - before.at_ns) / NS_PER_S
    busy_s, all_s = [], 0.0
    if len(before.idle_s) != len(after.idle_s):
        return [], 0.0  # a core went offline, and the kernel numbers the others anew
    for earlier, later in zip(_cores(before), _cores(after), strict=True):
        idle_s, steal_s = (now - then for then, now in zip(earlier, later, strict=True))
        # The steps of the readings can exceed the time between them.
        busy_s.append(max(0.0, elapsed_s - idle_s - steal_s))
        all_s += max(elapsed_s - steal_s, 0.0)
    return busy_s, all_s


def _cores(reading: HostReading) -> list[tuple[float, float]]:
    return list(zip(reading.idle_s, reading.steal_s, strict=True))


def _percent(some_s: float, all_s: float) -> float | None:
    return 100.0 * some_s / all_s if all_s > 0 else None


def meaningful(samples: Sequence[Sample], known: Known) -> Sequence[Sample]:
    """The samples without those of CPU load if the link's hosts are in virtual time, in which programs take no time."""
    return [sample for sample in samples if sample.metric not in METRICS] if known.virtual_time else samples
