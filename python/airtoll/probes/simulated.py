"""The probes of lab sim: the same metrics as those of real tools, from traffic models in virtual time.

They run no command. What the medium answered is kept verbatim in raw/, so that samples can be made of it again.

| probe      | traffic                                                                                |
|------------|----------------------------------------------------------------------------------------|
| throughput | UDP: always a datagram waiting, or the load of [link] offered; TCP: always data to send |
| rtt        | a request and its response, one at a time, as a ping-pong does                          |

Each metric has one sample, over the whole window. Where the medium gives a distribution, `rtt` and `delay` are
its median, and `rtt_p99` and `delay_p99` its 99th percentile.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from airtoll import _rust
from airtoll.errors import AirtollError
from airtoll.labs.base import Link
from airtoll.labs.sim import Answer, SimulatedLink
from airtoll.probes.base import Measurement, Sample
from airtoll.probes.window import NS_PER_S
from airtoll.study.cell import Cell, Direction, Method

TOOL = "sim"
"""What the samples name as their probe."""

_RECEIVER: Mapping[Direction, str] = {"up": "ap", "down": "sta", "both": "link"}


class SimulatedThroughput:
    """Throughput, delay, jitter, loss and shares of airtime."""

    name = "throughput"

    def missing(self) -> str | None:
        """Nothing."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once, in virtual time."""
        answer = _simulate(link, method)
        where = (_RECEIVER[cell.direction], cell.direction)
        return _measurement(answer, _throughput(answer.values, *where), method)


class SimulatedRtt:
    """Round-trip time on an otherwise idle link."""

    name = "rtt"

    def missing(self) -> str | None:
        """Nothing."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:  # noqa: ARG002  (as every probe)
        """Measure the cell once, in virtual time."""
        answer = _simulate(link, method, traffic="request-response")
        return _measurement(answer, _percentiles(answer.values, "rtt", "sta", "both"), method)


_Value = tuple[str, str, str, str, float | None]
"""Metric, unit, endpoint, direction, value."""


def _simulate(link: Link, method: Method, **words: Any) -> Answer:
    if not isinstance(link, SimulatedLink):
        raise AirtollError("a simulated probe measures links of lab sim alone")
    return link.simulate(duration=method.duration, warmup=method.warmup, **words)


def _measurement(answer: Answer, values: Iterator[_Value], method: Method) -> Measurement:
    t_ns, dur_ns = (round(seconds * NS_PER_S) for seconds in (method.warmup, method.duration))
    return Measurement(
        samples=[
            Sample(TOOL, metric, unit, endpoint, direction, t_ns, dur_ns, value)
            for metric, unit, endpoint, direction, value in values
        ],
        raw={
            "scenario.json": f"{answer.scenario}\n".encode(),
            "answer.json": f"{answer.text}\n".encode(),
        },
        facts={"version": _rust.VERSION, "counters": answer.values.get("counters")},
    )


def _throughput(values: Mapping[str, Any], receiver: str, direction: str) -> Iterator[_Value]:
    mbit_per_s = _number(values, "throughput_mbps")
    bit_per_s = None if mbit_per_s is None else mbit_per_s * 1e6
    yield "throughput", "bit/s", receiver, direction, bit_per_s
    for metric, unit, key in (("jitter", "ms", "jitter_ms"), ("loss", "1", "loss")):
        if (value := _number(values, key)) is not None:
            yield metric, unit, receiver, direction, value
    yield from _percentiles(values, "delay", receiver, direction)
    for share in values.get("airtime") or {}:
        yield f"airtime_{share}", "1", "link", "", _number(values, "airtime", share)


def _percentiles(values: Mapping[str, Any], metric: str, endpoint: str, direction: str) -> Iterator[_Value]:
    for suffix, key in (("", "p50"), ("_p99", "p99")):
        if (value := _number(values, f"{metric}_ms", key)) is not None:
            yield f"{metric}{suffix}", "ms", endpoint, direction, value


def _number(values: Mapping[str, Any], *path: str) -> float | None:
    value: Any = values
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
