"""Decides whether a run is valid: a pure function of the measurements and of the link's facts and counters.

An invalid run stays stored and is excluded by name. Each reason therefore has a stable name, which
docs/reference/data-format.md explains. A value that the lab does not report never makes a run invalid: a missing
counter is unknown, not zero.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import zeros_allowed
from airtoll.store.machine import aggregates, limit_of, limits_in, spoiled_by_lateness, spoiled_by_senders
from airtoll.store.records import Verdict
from airtoll.study.cell import Method, Run
from airtoll.study.factors import Transport
from airtoll.study.probes import PROBES

NO_LOAD: Final = "no load"
"""Reason of a run that was not measured because no earlier run gave its load."""

HOST_LOST: Final = "host lost"
"""Reason of a run during which a host vanished or did not answer."""

LINK_CHANGED: Final = "link changed"
"""Reason of a run during which a station left, joined or roamed, or an interface lost its carrier."""

_CHANGES: Final = {
    *("carrier down", "carrier up", "interface removed"),
    *("associated", "connected", "roamed", "disconnected", "deauthenticated", "disassociated"),
    "channel switched",
}
"""The events after which the link is not the one before. Other stations of an access point join and leave at will."""

_OF_MEASURED: Final = (
    LINK_CHANGED,
    "no sample",
    "zero interval",
    "short window",
    "machine too slow",
    "emulation late",
    "emulator saturated",
    "wrong cipher",
    "wrong link",
    "open errors",
    "probe fault",
)
"""The reasons against a measured run, in the order of a verdict."""

REASONS: Final = (NO_LOAD, HOST_LOST, *_OF_MEASURED)
"""The names of all reasons."""

MIN_WINDOW_SHARE: Final = 0.90
"""Share of method.duration that a probe's measured window must cover."""

MAX_EMULATOR_CPU_CORES: Final = 0.90
"""Limit of the emulator's CPU load, in cores. Above it, the emulator limits the rate, not the emulated air."""

THROUGHPUT: Final = "throughput"
"""The metric that is above zero in every interval of a valid run."""


def verdict_of(
    run: Run,
    method: Method,
    measurements: Mapping[str, Measurement],
    link: Mapping[str, Any],
    counters: Mapping[str, Any],
    cipher: str | None = None,
    expected: Mapping[str, Any] | None = None,
) -> Verdict:
    """The verdict on a run, from its measurements by probe, the link's facts, and its counters over the run.

    `cipher` is the cipher of the run's security profile; None if its level is the cipher itself. `expected` are the
    values of other facts that the run's cell asks for. A probe that only cross-checks another one has no influence.
    """
    measurements = {
        probe: measurement
        for probe, measurement in measurements.items()
        if probe not in PROBES or not PROBES[probe].cross_check
    }
    measured = {
        probe: [sample for sample in measurement.samples if sample.phase == "measure"]
        for probe, measurement in measurements.items()
    }
    faults = (f"{probe}: {one_line(fault)}" for probe, m in measurements.items() for fault in m.faults)
    every = [sample for samples in measured.values() for sample in samples]
    observed = [limits for m in measurements.values() for limits in limits_in(m.facts)]
    spoiled = spoiled_by_lateness(every, counters, observed)
    for measurement in measurements.values():
        spoiled |= spoiled_by_senders(measurement.facts)
    delays = {sample.metric for sample in every if sample.unit == "ms"}
    rates = any(sample.metric == THROUGHPUT for sample in every)
    # Without its throughput, or without all delays if these are what it measures, the run is invalid as a whole.
    is_lost = THROUGHPUT in spoiled or (not rates and bool(spoiled) and delays <= spoiled.keys())
    found = (
        link_changes(link.get("events", ())),
        _without_sample(measured),
        _with_zero(measured, run.cell.transport),
        _short(measured, method),
        _limited(measurements, link),
        dict.fromkeys(spoiled.values()) if is_lost else (),
        _saturated(counters),
        _wrong_cipher(cipher or run.cell.security, link),
        _wrong_link(expected or {}, link),
        _open_errors(counters),
        faults,
    )
    reasons = tuple(f"{name}: {why}" for name, whys in zip(_OF_MEASURED, found, strict=True) for why in whys)
    return Verdict(valid=not reasons, reasons=reasons, spoiled={} if reasons else spoiled)


def link_changes(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The changes of the link among the events of a run: per host the first event and the number of the others."""
    by_host: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        if event["event"] in _CHANGES:
            by_host.setdefault(event["host"], []).append(event)
    for host, (first, *others) in by_host.items():
        code = "".join(f" ({word} {first[word]})" for word in ("reason", "status") if word in first)
        more = f", and {len(others)} more" if others else ""
        yield f"{host}: {first['event']}{code} at {first['at_s']:.3g} s{more}"


def one_line(text: str) -> str:
    """The text with each sequence of white space, including line ends, replaced by one space."""
    return " ".join(text.split())


def _without_sample(measured: Mapping[str, list[Sample]]) -> Iterator[str]:
    for probe, samples in measured.items():
        if all(sample.value is None for sample in samples):
            yield f"{probe} has no value in the measured window"
            continue
        for series, throughput in _throughput_series(samples):
            missing = [sample for sample in throughput if sample.value is None]
            if missing:
                yield f"{series}: {_which(missing, throughput)}"


def _with_zero(measured: Mapping[str, list[Sample]], transport: Transport) -> Iterator[str]:
    for samples in measured.values():
        for series, throughput in _throughput_series(samples):
            zero = [sample for sample in throughput if sample.value == 0]
            if len(zero) > zeros_allowed(transport, len(throughput)):
                yield f"{series}: {_which(zero, throughput)}"


def _short(measured: Mapping[str, list[Sample]], method: Method) -> Iterator[str]:
    wanted_s = MIN_WINDOW_SHARE * method.duration
    for probe, samples in measured.items():
        if probe in PROBES and PROBES[probe].of_cpu:
            continue  # has no window
        valued = [sample for sample in samples if sample.value is not None]
        if not valued:
            continue  # reported as "no sample"
        pause_s = method.rtt_pause if probe == "rtt" else 0.0
        if (window_s := _window_s(valued, pause_s)) < wanted_s:
            yield f"{probe} covers {window_s:.3g} s of {method.duration:g} s"
            continue
        for series, throughput in _throughput_series(valued):
            if (window_s := _window_s(throughput)) < wanted_s:
                yield f"{series} covers {window_s:.3g} s of {method.duration:g} s"


def _limited(measurements: Mapping[str, Measurement], link: Mapping[str, Any]) -> Iterator[str]:
    for probe, measurement in measurements.items():
        for limits in limits_in(measurement.facts):
            if (why := limit_of(limits, aggregating=aggregates(link))) is not None:
                yield f"{probe}: {why}"


def _saturated(counters: Mapping[str, Any]) -> Iterator[str]:
    cpu_s, elapsed_s = _number(counters, "emulator_cpu_s"), _number(counters, "elapsed_s")
    if cpu_s is not None and elapsed_s and cpu_s / elapsed_s > MAX_EMULATOR_CPU_CORES:
        yield f"used {cpu_s / elapsed_s:.2f} of a core, limit {MAX_EMULATOR_CPU_CORES:.2f}"


def _wrong_cipher(expected: str, link: Mapping[str, Any]) -> Iterator[str]:
    cipher = link.get("cipher")
    if cipher is not None and cipher != expected:
        yield f"link uses {cipher}, expected {expected}"


def _wrong_link(expected: Mapping[str, Any], link: Mapping[str, Any]) -> Iterator[str]:
    for fact, value in expected.items():
        if fact in link and link[fact] != value:
            yield f"{fact} is {_word(link[fact])}, expected {_word(value)}"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _open_errors(counters: Mapping[str, Any]) -> Iterator[str]:
    errors = _number(counters, "open_errors")
    if errors is not None and errors > 0:
        yield f"{errors:g} frames failed to open"


def _throughput_series(samples: Iterable[Sample]) -> Iterator[tuple[str, list[Sample]]]:
    """The throughput samples of each probe, endpoint and direction, with a name for them."""

    def name(sample: Sample) -> str:
        return " ".join(filter(None, (sample.probe, sample.metric, sample.endpoint, sample.direction)))

    throughput = sorted((sample for sample in samples if sample.metric == THROUGHPUT), key=name)
    for series, members in groupby(throughput, key=name):
        yield series, list(members)


def _window_s(samples: Iterable[Sample], pause_s: float = 0.0) -> float:
    """Covered time: the union of the intervals with the pause after each, or from first to last if all are instants."""
    pause_ns = round(pause_s * 1e9)
    spans = sorted((sample.t_ns, sample.t_ns + sample.dur_ns + pause_ns) for sample in samples)
    if all(start == end for start, end in spans):
        return (spans[-1][0] - spans[0][0]) / 1e9
    covered_ns, reached_ns = 0, spans[0][0]
    for start, end in spans:
        covered_ns += max(0, end - max(start, reached_ns))
        reached_ns = max(reached_ns, end)
    return covered_ns / 1e9


def _which(some: Sequence[Sample], series: Sequence[Sample]) -> str:
    first_s = min(sample.t_ns for sample in some) / 1e9
    return f"{len(some)} of {len(series)} intervals, the first at {first_s:.3g} s"


def _number(counters: Mapping[str, Any], *path: str) -> float | None:
    """The counter at that path, or None if it was not reported."""
    value: Any = counters
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
