"""Radio statistics over another probe's measured window: SNR, noise, PHY rate, retries and airtime.

Retries and airtime mean nothing without the traffic that causes them. This is therefore not a probe of its own: a probe
that generates traffic reads the link's counters and the statistics of the radios over its window (`cpu.over`), and
passes them to `samples`.

| metric   | unit  | meaning                                                                                     |
|----------|-------|---------------------------------------------------------------------------------------------|
| snr      | dB    | of the cell; absent if no frame is lost to noise                                            |
| noise    | dBm   | thermal noise over the channel width plus the receiver's noise figure; absent if snr is     |
| phy_rate | bit/s | configured rate of data frames; if rate control chooses it, the mean over the transmissions |
| retries  | %     | share of retransmissions among all transmissions of MPDUs, by all senders                   |
| airtime  | %     | share of time in which the medium was busy, including SIFS within exchanges                 |

The radios of lab linux also report about each of their peers, at the end of each interval of `cpu.INTERVAL_S`:

| metric                       | unit        | meaning                                                              |
|------------------------------|-------------|----------------------------------------------------------------------|
| signal                       | dBm         | of the last received frame                                           |
| tx_rate, rx_rate             | bit/s       | PHY rate of the last Data frame that was sent or received            |
| tx_mcs, tx_streams, tx_width | 1, 1, MHz   | MCS, spatial streams and width of that rate; the same with rx        |
| tx_packets                   | 1           | frames that were sent in the interval                                |
| tx_retries, tx_failed        | 1           | retransmissions, and frames without Ack, in the interval             |
| tx_airtime, rx_airtime       | us          | airtime of the frames in the interval, if the driver measures it     |

A value that a link does not report (a real radio has other counters) has no sample. SNR, noise and rate of an emulated
link are constant during a run and have one sample each.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from airtoll.labs.base import Known, PeerStatistics, RadioRate
from airtoll.probes.base import Sample
from airtoll.probes.cpu import Snapshot
from airtoll.study.cell import Cell

THERMAL_NOISE_DBM_PER_HZ = -174.0
"""At 290 K."""

NOISE_FIGURE_DB = 7.0
"""Default noise figure of a receiver, in the medium (wlan-air) and in ns-3."""

_DSSS_WIDTH_MHZ = 22
"""Reference bandwidth of a DSSS SNR (IEEE Std 802.11-2020, 15.4.5.5)."""

RadioValue = tuple[str, str, float]
"""Metric, unit, value."""


def noise_dbm(width_mhz: float, noise_figure_db: float = NOISE_FIGURE_DB) -> float:
    """Noise at the receiver over a channel of that width, in dBm."""
    return THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(width_mhz * 1e6) + noise_figure_db


def of_channel(cell: Cell, rate_kbit_per_s: float | None) -> Iterator[RadioValue]:
    """The values that are constant during a run of the cell."""
    if cell.snr != "none":
        yield "snr", "dB", float(cell.snr)
        yield "noise", "dBm", noise_dbm(_DSSS_WIDTH_MHZ if cell.phy == "dsss" else cell.bandwidth)
    if rate_kbit_per_s is not None:
        yield "phy_rate", "bit/s", rate_kbit_per_s * 1e3


def retries_percent(mpdus: float, retries: float, drops_retry: float) -> float | None:
    """Share of retransmissions, from counts of delivered, retried and dropped MPDUs; None without transmissions."""
    transmissions = mpdus + retries + drops_retry
    return 100.0 * retries / transmissions if transmissions > 0 else None


def samples(cell: Cell, known: Known, snapshots: Sequence[Snapshot], t_ns: int) -> list[Sample]:
    """Samples of the window of the snapshots. `t_ns` is the time of the first one since the start of the probe."""
    opening, closing = snapshots[0], snapshots[-1]
    dur_ns = closing.monotonic_ns - opening.monotonic_ns
    values = [
        *of_channel(cell, known.rate_kbit_per_s),
        *([] if known.rate_kbit_per_s is not None else _mean_rate(snapshots)),
        *_counted(opening.counters, closing.counters),
    ]
    return [
        *(Sample("radio", metric, unit, "link", "", t_ns, dur_ns, value) for metric, unit, value in values),
        *_of_peers(snapshots, t_ns),
    ]


def _counted(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[RadioValue]:
    senders = [name for name, own in after.items() if isinstance(own, Mapping) and "retries" in own]
    if senders and all(name in before for name in senders):
        counts = ("mpdus", "retries", "drops_retry")
        mpdus, retries, drops = (sum(after[n][key] - before[n][key] for n in senders) for key in counts)
        if (share := retries_percent(mpdus, retries, drops)) is not None:
            yield "retries", "%", share
    if all({"air_busy_s", "elapsed_s"} <= reading.keys() for reading in (before, after)):
        busy_s, elapsed_s = (after[key] - before[key] for key in ("air_busy_s", "elapsed_s"))
        if elapsed_s > 0:
            yield "airtime", "%", 100.0 * busy_s / elapsed_s


def rates(snapshots: Sequence[Snapshot]) -> dict[str, dict[str, int]]:
    """Transmissions in the window of the snapshots by endpoint and rate; none if the radios do not report them."""
    return {
        endpoint: {str(rate): attempts for rate, attempts in by_rate.items()}
        for endpoint, by_rate in _attempts(snapshots).items()
    }


def _attempts(snapshots: Sequence[Snapshot]) -> dict[str, dict[RadioRate, int]]:
    before, after = snapshots[0].peers, snapshots[-1].peers
    found: dict[str, dict[RadioRate, int]] = {}
    for ends, statistics in after.items():
        earlier = before[ends].attempts if ends in before else {}
        for rate, total in sorted(statistics.attempts.items(), key=lambda each: each[0].bit_per_s):
            if attempts := total - earlier.get(rate, 0):
                found.setdefault(_endpoint(ends, after), {})[rate] = attempts
    return found


def _mean_rate(snapshots: Sequence[Snapshot]) -> Iterator[RadioValue]:
    """The mean rate of all transmissions in the window, if the radios report them."""
    every = [pair for by_rate in _attempts(snapshots).values() for pair in by_rate.items()]
    if every:
        sum_bit_per_s = sum(rate.bit_per_s * attempts for rate, attempts in every)
        yield "phy_rate", "bit/s", sum_bit_per_s / sum(attempts for _, attempts in every)


def _endpoint(ends: tuple[str, str], peers: Mapping[tuple[str, str], PeerStatistics]) -> str:
    """The name of a radio. If it has several peers, it is named with its peer, as in the samples of throughput."""
    role, peer = ends
    return f"{role}/{peer}" if sum(other == role for other, _ in peers) > 1 else role


def _of_peers(snapshots: Sequence[Snapshot], t_ns: int) -> Iterator[Sample]:
    """The values of each radio and peer in each interval between snapshots."""
    for before, after in pairwise(snapshots):
        start_ns = before.monotonic_ns - snapshots[0].monotonic_ns
        dur_ns = after.monotonic_ns - before.monotonic_ns
        for ends, statistics in after.peers.items():
            endpoint = _endpoint(ends, after.peers)
            for metric, unit, value in _of_peer(before.peers.get(ends), statistics):
                yield Sample("radio", metric, unit, endpoint, "", t_ns + start_ns, dur_ns, value)


def _of_peer(before: PeerStatistics | None, after: PeerStatistics) -> Iterator[RadioValue]:
    if after.signal_dbm is not None:
        yield "signal", "dBm", after.signal_dbm
    for way, rate in (("tx", after.tx_rate), ("rx", after.rx_rate)):
        yield from _of_rate(way, rate)
    for total in ("tx_packets", "tx_retries", "tx_failed", "tx_airtime_us", "rx_airtime_us"):
        earlier, later = getattr(before, total, None), getattr(after, total)
        if earlier is not None and later is not None:
            metric, of_time, _ = total.partition("_us")
            yield metric, "us" if of_time else "1", float(later - earlier)


def _of_rate(way: str, rate: RadioRate | None) -> Iterator[RadioValue]:
    if rate is None:
        return
    yield f"{way}_rate", "bit/s", rate.bit_per_s
    for name, unit, value in (
        ("mcs", "1", rate.mcs),
        ("streams", "1", rate.streams),
        ("width", "MHz", rate.width_mhz),
    ):
        if value is not None:
            yield f"{way}_{name}", unit, float(value)
