"""The times of the machine while a probe loads the link, from which `airtoll.store.machine` derives a run's limit.

| fact | unit | meaning |
|---|---|---|
| saturated | | whether the senders always have data to send |
| window_s | s | length of the observed window; the other facts apply to it |
| air_idle_s | s | time in which no station, processor or wire of the emulated air held a frame |
| starved | 1 | share of the senders' data airtime in PPDUs that took all frames which their station held |
| behind_s | s | by how much the emulated air fell behind the clock |
| emulator | | `run_s` and `wait_s` of the emulator's MAC thread |
| sender, receiver | | `run_s` and `wait_s` of the thread of these programs that ran or waited for longest |
| tcp | | state of the first flow's connection since it began, `age_s` before the end of the window (tcp_info) |
| machines | | by machine: `steal_s`, `softirq_s` and `all_s` (the sum over all cores and states) |

`run_s` is time on a CPU, and `wait_s` is time in which a thread could run but waited for a CPU (schedstat). A fact
that a lab, kernel or host does not report is null or absent.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from airtoll.host import ThreadTimes
from airtoll.probes.flows import Way
from airtoll.probes.watch import Watched

_MS: Final = ("busy", "rwnd_limited", "sndbuf_limited")


def facts(
    watched: Watched, ways: Iterable[Way], *, saturated: bool, tcp: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The facts of a window with traffic in these directions. `tcp`: a connection's state (`connection_in`)."""
    before, after = watched.before, watched.after

    def counted(counter: str, *, of: str | None = None) -> float | None:
        first, last = (totals.counters if of is None else totals.counters[of] for totals in (before, after))
        if first.get(counter) is None or last.get(counter) is None:
            return None
        return float(last[counter] - first[counter])

    def starved(way: Way) -> float | None:
        senders = [
            name
            for name, of_station in after.counters.items()
            if isinstance(of_station, dict)
            and "data_air_s" in of_station
            and (name == "ap") == (way == "down")
        ]
        data_s, starved_s = (
            sum(counted(counter, of=name) or 0.0 for name in senders)
            for counter in ("data_air_s", "starved_air_s")
        )
        return starved_s / data_s if data_s > 0 else None

    emulator = [counted(name) for name in ("emulator_run_s", "emulator_wait_s")]
    return {
        "saturated": saturated,
        "window_s": watched.dur_ns / 1e9,
        "air_idle_s": counted("air_idle_s"),
        # If one direction has data, the air is not short of it.
        "starved": min((share for way in ways if (share := starved(way)) is not None), default=None),
        "behind_s": counted("behind_s"),
        "emulator": None if None in emulator else dict(zip(("run_s", "wait_s"), emulator, strict=True)),
        **{end: _longest(before.threads.get(end, {}), threads) for end, threads in after.threads.items()},
        "tcp": tcp,
        "machines": {
            name: {key: value - asdict(before.machines[name])[key] for key, value in asdict(times).items()}
            for name, times in after.machines.items()
            if name in before.machines
        },
    }


def _longest(before: Mapping[str, ThreadTimes], after: Mapping[str, ThreadTimes]) -> dict[str, float] | None:
    """The times of the thread that ran or waited for longest; None if no thread was seen."""
    spent = [times.since(before[thread]) for thread, times in after.items() if thread in before]
    longest = max(spent, key=lambda times: times.run_s + times.wait_s, default=None)
    return None if longest is None else asdict(longest)


def connection_in(said: str, age_s: float) -> dict[str, Any] | None:
    """The state of the connection in the output of `ss -ti` that was busy for longest; None if none has a state.

    busy_s is the time in which the socket held data that was not acknowledged. In rwnd_limited_s of it, the receiver's
    window was full, and in sndbuf_limited_s the send buffer. notsent_bytes is the data that waited at the end.
    """
    states = []
    for line in said.splitlines():
        # ss prints times that are not zero, with a share in parentheses.
        found = {
            f"{name}_s": int(of[1]) / 1000 if (of := re.search(rf"\b{name}:(\d+)ms", line)) else 0.0
            for name in _MS
        }
        notsent = re.search(r"\bnotsent:(\d+)", line)
        states.append({"age_s": age_s, **found, "notsent_bytes": int(notsent[1]) if notsent else 0})
    longest = max(states, key=lambda state: state["busy_s"], default=None)
    return longest if longest is not None and longest["busy_s"] > 0 else None
