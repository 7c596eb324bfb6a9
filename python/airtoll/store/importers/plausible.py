"""Figures that contradict each other or their cell: an importer never turns them into results.

A tool may print counters that wrapped, counters of another test, or a jitter that contains the difference of two
clocks. If the contradiction concerns one metric only, that metric does not count. Otherwise the run is invalid.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import ValidationError

from airtoll.errors import UsageError
from airtoll.labs.sim import simulate
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.flows import ENDS
from airtoll.study.phys import PHYS, is_implying_streams
from airtoll.study.scenario import Scenario

LOSS: Final = "loss"
JITTER: Final = "jitter"

_RECEIVERS: Final[Mapping[str, str]] = {way: receiver for way, (_, receiver) in ENDS.items()}

_REORDERED: Final = 0.01
"""Share of the datagrams below which a negative loss is late or repeated datagrams."""

_MISCOUNTED: Final = 0.02
"""Share of the datagrams by which the counters may differ from the octets."""

_IN_FLIGHT: Final = 16
"""Datagrams by which they may differ in a short test."""

_WRAPPED: Final = 2.0**53
"""Counts above it are negative counts without their sign. No test has more datagrams."""

_SHORTEST_S: Final = 0.1
"""The shortest simulation, whose only use is the PHY rate in its facts."""

_ROUNDED: Final = 1.01
"""Ratio of a throughput to the PHY rate above which they contradict each other. Tools print three digits."""


def contradictions(
    measurements: Iterable[Measurement], duration_s: float
) -> tuple[list[str], dict[str, str]]:
    """The contradictions in a test: faults of the complete run, and metrics that do not count, with the reason."""
    faults: list[str] = []
    absent: dict[str, str] = {}
    for measurement in measurements:
        measured = [sample for sample in measurement.samples if sample.phase == "measure"]
        for lost, sent, way in _counts(measured):
            if lost > sent:
                faults.append(f"{lost:g} datagrams lost {way} of {sent:g} sent")
            elif lost < -_REORDERED * sent:
                faults.append(f"{lost:g} datagrams lost {way} of {sent:g} sent: the loss is negative")
            elif lost < 0:
                absent[LOSS] = (
                    f"{lost:g} datagrams lost {way} of {sent:g} sent: datagrams were late or repeated"
                )
        longest = max((s.value for s in measured if s.metric == JITTER and s.value is not None), default=0.0)
        if longest > 1e3 * duration_s:
            absent[JITTER] = (
                f"a jitter of {longest:g} ms exceeds the {duration_s:g} s of the test: the two clocks differ"
            )
    return faults, absent


def _counts(samples: Sequence[Sample]) -> Iterator[tuple[float, float, str]]:
    """Lost and sent datagrams of each series, from its beginning to the first contradiction or to its end.

    A datagram that arrives an interval late makes the loss of that interval negative, but not the loss until then.
    """
    series: dict[tuple[str, str, str], dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for sample in samples:
        if sample.metric in ("datagrams_lost", "datagrams_sent") and sample.value is not None:
            key = (sample.probe, sample.endpoint, sample.direction)
            series[key][sample.t_ns][sample.metric] = sample.value
    for (*_, way), intervals in series.items():
        lost = sent = 0.0
        for _, counts in sorted(intervals.items()):
            if len(counts) == 2:
                lost += counts["datagrams_lost"]
                sent += counts["datagrams_sent"]
            if not 0 <= lost <= sent:
                break
        if sent or lost:
            yield lost, sent, way


def miscounted(received_b: float, rounding_b: float, size_b: int, lost: int, sent: int) -> str | None:
    """Return why the octets received contradict the counters of datagrams, or None if they agree.

    `rounding_b` is half the last printed digit of the octets. `contradictions` compares the counters with each other.
    """
    if max(abs(lost), abs(sent)) >= _WRAPPED:
        return f"a counter of datagrams wrapped: {lost} lost of {sent}"
    if lost > sent or lost < -_REORDERED * sent:
        return None
    arrived, counted = received_b / size_b, sent - lost
    tolerance = max(_MISCOUNTED * abs(sent), _IN_FLIGHT) + rounding_b / size_b
    if abs(arrived - counted) <= tolerance:
        return None
    return (
        f"the octets received are {arrived:.0f} datagrams of {size_b} B, but the counters say {counted} "
        f"({lost} lost of {sent})"
    )


def too_fast(levels: Mapping[str, Any], measurements: Iterable[Measurement]) -> str | None:
    """Return why the throughput is impossible at the known `levels`, or None if it is possible."""
    limit = _phy_rate_bit_per_s(levels)
    bits: dict[str, float] = defaultdict(float)
    times: dict[str, float] = defaultdict(float)
    for measurement in measurements:
        for sample in measurement.samples:
            # A sender's queue may drop data before the air.
            is_received = sample.metric == "throughput" and sample.endpoint == _RECEIVERS.get(
                sample.direction
            )
            if is_received and sample.phase == "measure" and sample.value is not None:
                bits[sample.direction] += sample.value * sample.dur_ns
                times[sample.direction] += sample.dur_ns
    found = sum(bits[way] / time for way, time in times.items() if time)
    if limit is None or found <= _ROUNDED * limit:
        return None
    return f"a throughput of {found / 1e6:.4g} Mbit/s exceeds the PHY rate of {limit / 1e6:g} Mbit/s"


def _phy_rate_bit_per_s(levels: Mapping[str, Any]) -> float | None:
    """The highest PHY rate of the known levels; None if the PHY is not known."""
    if levels.get("phy") not in PHYS:
        return None
    phy = PHYS[levels["phy"]]
    known = levels.get("rate")
    streams = levels.get("streams", phy.max_streams)
    for rate in [known] if known in phy.rates else phy.rates[::-1]:
        words = {
            "phy": phy.word,
            "rate": rate,
            "bandwidth": levels.get("bandwidth", phy.bandwidths_mhz[-1]),
            "gi": levels.get("gi", phy.guard_intervals[-1]),
            "streams": 1 if is_implying_streams(phy.word, rate) else streams,
        }
        if (found := _rate_of(tuple(words.items()))) is not None:
            return found
    return None


@cache
def _rate_of(words: tuple[tuple[str, Any], ...]) -> float | None:
    """The PHY rate of a mode, as the medium computes it; None for a mode that does not exist."""
    try:
        facts = simulate(Scenario(**dict(words), duration=_SHORTEST_S, warmup=0.0)).values["facts"]
    except (UsageError, ValidationError):
        return None
    return 1e3 * float(facts["rate_kbit_per_s"])
