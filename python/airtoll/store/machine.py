"""The influence of the machine on a run in real time: whether it limited the run, and which metrics it changed.

All rules read recorded facts only. They do not apply to real radios, because a measurement with them includes the
hosts, nor in virtual time, in which programs take no time.

Limit: with enough data, a station of the emulated air always holds frames. The air lacks data while no station holds a
frame, and while a sender aggregates all frames that its station holds. A legitimate cause is a TCP window, or a
congestion window after a loss. The machine is the cause if a program or the emulator could not run when it had work to
do: then every wait delays an acknowledgement, and lengthens the time in which the air lacks data.

Lateness: the emulator computes the air in ideal time, so a late frame does not change the times of the air. It changes
a delay by its lateness, a throughput by the time by which the air fell behind within the window, and a loss if a queue
overflowed meanwhile.

Load: a saturated link has the same throughput whatever the load above its capacity, but its loss is that of the load.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from airtoll.probes.base import Sample
from airtoll.probes.flows import ENDS
from airtoll.study.probes import P99_OF

LACKING_MOST: Final = 0.03
"""Share of the window in which the air may lack data: more could change a cost by more than 3 percentage points."""

BUSY_MOST: Final = 0.90
"""Share of the window in which a thread may run. Above it, the thread had no time left."""

WAITING_MOST: Final = 0.03
"""Share of the window in which a thread that can run may wait for a CPU, and of the CPU time that may be stolen."""

WITHOUT_DATA_MOST: Final = 0.05
"""Share of its life in which a TCP connection may lack data of a program that writes as fast as it can."""

BEHIND_MOST: Final = 0.01
"""Share of the window by which the air may fall behind: the error of a throughput."""

LATE_SHARE_MOST: Final = 0.10
"""Largest share of a delay that may be lateness of the emulator."""

LATE_LEAST_MS: Final = 0.1
"""Lateness that never matters."""

STOLEN_NAMED: Final = 0.01
"""Share of stolen CPU time from which a reason names it."""

MAX_LATENESS_P99_US: Final = 1000.0
"""Limit of the 99th percentile of the lateness in a lab that does not count by how much the air fell behind."""

LOAD_LEAST: Final = 0.99
"""Least share of the offered load that each sender must send for a loss to count: a smaller load loses less, by a
percentage point per percent at most."""

_RATE_UNITS: Final = {"bit/s", "byte/s"}
_LOSSES: Final = {"datagrams_lost", "loss", "loss_idle"}


def lacking_share(limits: Mapping[str, Any], *, aggregating: bool) -> float | None:
    """Share of the window in which the air lacked data; None if the lab does not report it.

    Without aggregation, a PPDU that takes the last frame is as long as any other.
    """
    if limits.get("air_idle_s") is None or not limits["window_s"]:
        return None
    idle = min(1.0, limits["air_idle_s"] / limits["window_s"])
    starved = (limits.get("starved") or 0.0) if aggregating else 0.0
    return float(idle + (1 - idle) * starved)


def aggregates(link: Mapping[str, Any]) -> bool:
    """Whether a PPDU grows with the frames that its station holds. Frames also wait in a modelled processor."""
    return bool(link.get("ampdu")) and link.get("processor") is None


def limits_in(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The facts `limits` of a probe: of its window, or of its window in each direction."""
    parts = [facts, *(part for way in ENDS if isinstance(part := facts.get(way), Mapping))]
    return [limits for part in parts if (limits := part.get("limits"))]


def limit_of(limits: Mapping[str, Any], *, aggregating: bool) -> str | None:
    """Why hosts or machine limited the traffic of a probe, from its facts `limits`; None if they did not."""
    lacking = lacking_share(limits, aggregating=aggregating) if limits.get("saturated") else None
    if lacking is None or lacking <= LACKING_MOST:
        return None
    causes = list(_causes(limits))
    if not causes:
        return None
    return f"{', '.join(causes)}; the air lacked data for {_percent(lacking)} of the run"


def _causes(limits: Mapping[str, Any]) -> Iterator[str]:
    window_s = limits["window_s"]
    for end, name in (
        ("sender", "sender's program"),
        ("receiver", "receiver's program"),
        ("emulator", "emulator"),
    ):
        times = limits.get(end)
        if not times:
            continue
        run, wait = times["run_s"] / window_s, times["wait_s"] / window_s
        if wait > WAITING_MOST:
            yield f"the {name} waited for a CPU for {_percent(wait)} of the run"
        # The emulator also runs while it awaits an exact time; `emulator saturated` has its limit.
        elif end != "emulator" and run > BUSY_MOST:
            yield f"the {end}'s CPU was busy for {_percent(run)} of the run"
    tcp = limits.get("tcp")
    if tcp and tcp["age_s"] > 0 and (without := 1 - tcp["busy_s"] / tcp["age_s"]) > WITHOUT_DATA_MOST:
        yield f"the sender's program left TCP without data for {_percent(without)} of the run"
    if (stolen := stolen_share(limits)) > WAITING_MOST:
        yield _stolen(stolen)


def stolen_share(facts: Mapping[str, Any]) -> float:
    """Share of the CPU time that the hypervisor took from the machine that lost most; 0 if no machine reports it."""
    machines = facts.get("machines") or {}
    return max((of["steal_s"] / of["all_s"] for of in machines.values() if of["all_s"]), default=0.0)


def _stolen(share: float) -> str:
    return f"the hypervisor took {_percent(share)} of the machine's CPU time"


def spoiled_by_lateness(
    samples: Sequence[Sample], counters: Mapping[str, Any], observed: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """The metrics whose values the emulator's lateness changed too much, with the reason.

    `samples` are those of the measured window, `counters` those of the run. A metric is that of the samples, or a 99th
    percentile that is taken from them. `observed` are the facts `limits` of the windows in which the link was loaded.
    """
    lateness = counters.get("lateness_us")
    lateness = lateness if isinstance(lateness, Mapping) else {}
    metrics = {sample.metric: sample.unit for sample in samples if sample.value is not None}
    found: dict[str, str] = {}
    behind = _behind(counters, observed, samples)
    if behind is None:
        p99_us = lateness.get("p99")
        if isinstance(p99_us, int | float) and p99_us > MAX_LATENESS_P99_US:
            slips = counters.get("slips")
            slipped = "" if slips is None else f", {slips:g} slips"
            why = f"p99 of the lateness {p99_us:.0f} us, limit {MAX_LATENESS_P99_US:.0f} us{slipped}"
            found = dict.fromkeys(metrics, why)
    else:
        for metric, unit in metrics.items():
            if unit == "ms":
                found |= _late_delays(metric, samples, lateness)
            elif (unit in _RATE_UNITS or metric in _LOSSES) and behind > BEHIND_MOST:
                found[metric] = (
                    f"the air fell behind by {_percent(behind)} of the window, limit {_percent(BEHIND_MOST)}"
                )
            elif metric in _LOSSES and (overflow := _overflow(counters, observed)) is not None:
                found[metric] = overflow
    if (stolen := stolen_share(counters)) > STOLEN_NAMED:
        found = {metric: f"{why}; {_stolen(stolen)}" for metric, why in found.items()}
    return found


def _behind(
    counters: Mapping[str, Any], observed: Sequence[Mapping[str, Any]], samples: Sequence[Sample]
) -> float | None:
    """The largest share of a window by which the air fell behind; None if the lab does not count it."""
    shares = [
        float(abs(of["behind_s"]) / of["window_s"]) for of in observed if of.get("behind_s") is not None
    ]
    if shares:
        return max(shares)
    behind_s = counters.get("behind_s")
    if behind_s is None or not samples:
        return None
    window_ns = max(each.t_ns + each.dur_ns for each in samples) - min(each.t_ns for each in samples)
    return float(abs(behind_s) / (window_ns / 1e9)) if window_ns > 0 else 0.0


def _late_delays(
    metric: str, samples: Sequence[Sample], lateness: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    values = sorted(
        abs(sample.value) for sample in samples if sample.metric == metric and sample.value is not None
    )
    highest = values[int(0.99 * (len(values) - 1))]
    judged = [] if metric in P99_OF else [("p50", metric, median(values))]
    judged += [("p99", name, highest) for name, samples_of in P99_OF.items() if samples_of == metric]
    for quantile, name, value_ms in judged:
        late_ms = lateness.get(quantile)
        if late_ms is None:
            continue
        late_ms /= 1000
        most_ms = max(LATE_LEAST_MS, LATE_SHARE_MOST * value_ms)
        if late_ms > most_ms:
            yield name, f"{quantile} of the lateness {late_ms:.3f} ms, limit {most_ms:.3f} ms"


def spoiled_by_senders(facts: Mapping[str, Any]) -> dict[str, str]:
    """The losses that a sender changed because it sent too little of the offered load, from the facts of a probe."""
    share = facts.get("sent_share")
    if share is None or share >= LOAD_LEAST:
        return {}
    why = f"a sender sent {_percent(share)} of the offered load, limit {_percent(LOAD_LEAST)}"
    return dict.fromkeys(("loss", "datagrams_lost"), why)


def _overflow(counters: Mapping[str, Any], observed: Sequence[Mapping[str, Any]]) -> str | None:
    """Whether queues overflowed in a run with late deliveries. A saturated sender fills its queue in any case."""
    slips = counters.get("slips")
    if not slips or any(of.get("saturated") for of in observed):
        return None
    stations = [of for of in counters.values() if isinstance(of, Mapping)]
    drops = sum(of.get("drops_queue") or 0 for of in stations) + (counters.get("refused") or 0)
    return f"queues dropped {drops} frames, and {slips:g} PPDUs were more than 5 ms late" if drops else None


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
