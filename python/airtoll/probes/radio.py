"""Radio statistics over another probe's measured window: SNR, noise, PHY rate, retries and airtime.

Retries and airtime mean nothing without the traffic that causes them. This is therefore not a probe of its own: a probe
that generates traffic reads the link's counters at both ends of its window (`cpu.over`) and passes them to `samples`.

| metric   | unit  | meaning                                                                                     |
|----------|-------|---------------------------------------------------------------------------------------------|
| snr      | dB    | of the cell; absent if no frame is lost to noise                                            |
| noise    | dBm   | thermal noise over the channel width plus the receiver's noise figure; absent if snr is     |
| phy_rate | bit/s | configured rate of data frames                                                              |
| retries  | %     | share of retransmissions among all transmissions of MPDUs, by all senders                   |
| airtime  | %     | share of time in which the medium was busy, including SIFS within exchanges                 |

A value that a link does not report (a real radio has other counters) has no sample. SNR, noise and rate of an emulated
link are constant during a run and have one sample each.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from airtoll.labs.base import Known
from airtoll.probes.base import Sample
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


def samples(
    cell: Cell,
    known: Known,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    t_ns: int,
    dur_ns: int,
) -> list[Sample]:
    """Samples of a window between two readings of the link's counters."""
    values = [*of_channel(cell, known.rate_kbit_per_s), *_counted(before, after)]
    return [Sample("radio", metric, unit, "link", "", t_ns, dur_ns, value) for metric, unit, value in values]


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
