"""The probes of lab sim: the metrics of the real tools, from traffic models in virtual time.

They run no commands. The medium's answer is stored verbatim in raw/, so that samples can be derived again.

| probe      | traffic                                                                                 |
|------------|-----------------------------------------------------------------------------------------|
| throughput | UDP: saturated, or at the offered load, spaced as by iperf3; TCP: saturated             |
| rtt        | one request and its response at a time, like a ping-pong                                |
| irtt       | the same, and datagrams at a fixed interval in each direction, with one station         |
| ftp        | saturated TCP                                                                           |
| video      | the streams of the probe on real hosts, with the same metrics                           |

Each metric has one sample, over the whole window. If the medium gives a distribution, `rtt` and `delay` are its median,
and `rtt_p99` and `delay_p99` its 99th percentile; `delay_mean` and `video_rtt` are means. `throughput` also gives the
radio statistics (`radio`). Transfers have no beginning and no end: `ftp_rate`, like `ftp_rate_steady`, is the rate
after slow start.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from airtoll import _rust
from airtoll.errors import AirtollError
from airtoll.labs.base import Link
from airtoll.labs.sim import Answer, SimulatedLink
from airtoll.probes import radio
from airtoll.probes.base import Lacks, Measurement, Sample
from airtoll.probes.flows import ENDS, Way
from airtoll.probes.iperf3 import pacing_timer_us
from airtoll.probes.irtt import AIR_SHARE, INTERVAL_S
from airtoll.probes.video import offered_mbit_per_s
from airtoll.probes.window import NS_PER_S
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Direction

TOOL = "sim"
"""The probe name in the samples."""

_RECEIVER: Mapping[Direction, str] = {"up": "ap", "down": "sta", "both": "link"}


class SimulatedThroughput:
    """Throughput, delay, jitter, loss and shares of airtime."""

    name = "throughput"

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: this probe requires no tool."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once, in virtual time."""
        answer = simulated(link, method, **_load(link, cell, method))
        where = (_RECEIVER[cell.direction], cell.direction)
        values = [*_throughput(answer.values, *where), *_radio(answer.values)]
        return _measurement([answer], values, method)


def _load(link: Link, cell: Cell, method: Method) -> dict[str, float]:
    """The load of UDP and iperf3's timer at this load, as scenario keys; empty if the senders are saturated."""
    offered_mbps = method.udp_load if cell.offered == "max" else cell.offered
    if cell.transport == "tcp" or isinstance(offered_mbps, str):
        return {}
    return {"offered": offered_mbps, "pacing_timer": pacing_timer_us(link, cell, method, 1e6 * offered_mbps)}


class SimulatedRtt:
    """Round-trip time on an otherwise idle link."""

    name = "rtt"

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: this probe requires no tool."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:  # noqa: ARG002  (as every probe)
        """Measure the cell once, in virtual time."""
        answer = simulated(link, method, traffic="request-response", pause=1e6 * method.rtt_pause)
        return _measurement([answer], _percentiles(answer.values, "rtt", "sta", "both"), method)


class SimulatedVideo:
    """Delay, jitter, loss and late frames of HD video. Round trips are from a frame's last packet to its answer."""

    name = "video"

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: this probe requires no tool."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once, in virtual time."""
        offered_mbps = offered_mbit_per_s(cell)
        answer = simulated(link, method, traffic="video", offered=offered_mbps)
        where = (_RECEIVER[cell.direction], cell.direction)
        measured = _measurement([answer], _video(answer.values, *where), method)
        return replace(measured, facts={**measured.facts, "offered_bit_per_s": round(offered_mbps * 1e6)})


class SimulatedIrtt:
    """Delay and loss in each direction of an otherwise idle link."""

    name = "irtt"

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: this probe requires no tool."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once, in virtual time."""
        asked = simulated(link, method, traffic="request-response")
        values = [*_percentiles(asked.values, "rtt", "sta", "both")]
        rtt_ms = next((value for metric, _, _, _, value in values if metric == "rtt"), None) or 0.0
        interval_s = max(INTERVAL_S, math.ceil(rtt_ms / AIR_SHARE) / 1000)
        mbit_per_s = 8 * cell.packet_size / interval_s / 1e6
        ways: tuple[Way, ...] = ("up", "down")
        answers = {
            way: simulated(
                link, method, traffic="cbr", pacing="even", direction=way, offered=mbit_per_s, stations=1
            )
            for way in ways
        }
        for way, answer in answers.items():
            for metric, *path in (("delay_idle", "delay_ms", "p50"), ("loss_idle", "loss")):
                if (value := _number(answer.values, *path)) is not None:
                    unit = "ms" if metric == "delay_idle" else "1"
                    values.append((metric, unit, ENDS[way][1], way, value))
        measurement = _measurement([asked, *answers.values()], values, method)
        return replace(
            measurement, facts={**measurement.facts, "clocks": "shared", "interval_ms": 1000 * interval_s}
        )


class SimulatedFtp:
    """The transfer rate of a file so long that slow start does not matter."""

    name = "ftp"

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: this probe requires no tool."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell once, in virtual time."""
        answer = simulated(link, method, write_time=None)  # servers write files in blocks, not in packets
        mbit_per_s = _number(answer.values, "throughput_mbps")
        rate = None if mbit_per_s is None else mbit_per_s * 1e6 / 8
        where = (_RECEIVER[cell.direction], cell.direction)
        values = [(metric, "byte/s", *where, rate) for metric in ("ftp_rate", "ftp_rate_steady")]
        return _measurement([answer], values, method)


_Value = tuple[str, str, str, str, float | None]
"""Metric, unit, endpoint, direction, value."""


def simulated(link: Link, method: Method, **words: Any) -> Answer:
    if not isinstance(link, SimulatedLink):
        raise AirtollError("a simulated probe can only measure links of lab sim")
    return link.simulate(duration=method.duration, warmup=method.warmup, **words)


def _measurement(answers: Sequence[Answer], values: Iterable[_Value], method: Method) -> Measurement:
    t_ns, dur_ns = (round(seconds * NS_PER_S) for seconds in (method.warmup, method.duration))
    return Measurement(
        samples=[
            Sample(TOOL, metric, unit, endpoint, direction, t_ns, dur_ns, value)
            for metric, unit, endpoint, direction, value in values
        ],
        raw={
            f"{name}{'' if at == 0 else f'-{at + 1}'}.json": f"{text}\n".encode()
            for at, answer in enumerate(answers)
            for name, text in (("scenario", answer.scenario), ("answer", answer.text))
        },
        facts={"version": _rust.VERSION, "counters": answers[0].values.get("counters")},
    )


def _radio(values: Mapping[str, Any]) -> Iterator[_Value]:
    """The radio statistics in the medium's answer."""
    for metric, unit, endpoint, value in radio.of_signals(values.get("received") or {}):
        yield metric, unit, endpoint, "", value
    rate_kbit_per_s = _number(values, "facts", "rate_kbit_per_s")
    found = [] if rate_kbit_per_s is None else [("phy_rate", "bit/s", rate_kbit_per_s * 1e3)]
    counts = [_number(values, "counters", key) for key in ("mpdus", "retries", "drops_retry")]
    if None not in counts:
        retries = radio.retries_percent(*(count for count in counts if count is not None))
        found += [] if retries is None else [("retries", "%", retries)]
    if (idle := _number(values, "airtime", "ifs_backoff_idle")) is not None:
        found.append(("airtime", "%", 100.0 * (1.0 - idle)))
    for metric, unit, value in found:
        yield metric, unit, "link", "", value


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


def _video(values: Mapping[str, Any], receiver: str, direction: str) -> Iterator[_Value]:
    yield from _throughput(values, receiver, direction)
    for metric, unit, endpoint, way, *path in (
        ("delay_mean", "ms", receiver, direction, "delay_ms", "mean"),
        ("video_rtt", "ms", "link", "both", "rtt_ms", "mean"),
        ("late_frames", "1", receiver, direction, "late_frames"),
    ):
        if (value := _number(values, *path)) is not None:
            yield metric, unit, endpoint, way, value


def _percentiles(values: Mapping[str, Any], metric: str, endpoint: str, direction: str) -> Iterator[_Value]:
    for suffix, key in (("", "p50"), ("_p99", "p99")):
        if (value := _number(values, f"{metric}_ms", key)) is not None:
            yield f"{metric}{suffix}", "ms", endpoint, direction, value


def _number(values: Mapping[str, Any], *path: str) -> float | None:
    value: Any = values
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
