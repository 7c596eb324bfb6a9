"""What the radio did: SNR, noise, PHY rate, retries and airtime, over another probe's measured window.

This is no probe of its own, because retries and airtime mean nothing without the traffic that causes them: who makes
the traffic reads the link's counters at both ends of its window (`cpu.over` does), and `samples` makes samples of them.

| metric   | unit  | what it is                                                                                  |
|----------|-------|---------------------------------------------------------------------------------------------|
| snr      | dB    | of the cell; absent where no frame is lost to noise                                         |
| noise    | dBm   | thermal noise over the channel's width and the receiver's own; absent as SNR is             |
| phy_rate | bit/s | of data frames, as the link is set                                                          |
| retries  | %     | share of all transmissions of MPDUs that repeated one, by all senders                       |
| airtime  | %     | share of the time in which the medium was busy, SIFS within exchanges included               |

What a link does not report (a real radio counts other things) has no sample. SNR, noise and rate of an emulated link
do not change within a run: then they have one sample.
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
"""Of a receiver that says nothing else: what the medium takes (wlan-air), and ns-3."""

_DSSS_WIDTH_MHZ = 22
"""What an SNR of DSSS refers to (IEEE Std 802.11-2020, 15.4.5.5)."""

Value = tuple[str, str, float]
"""Metric, unit, value."""


def noise_dbm(width_mhz: float, noise_figure_db: float = NOISE_FIGURE_DB) -> float:
    """Noise at the receiver over a channel of that width."""
    return THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(width_mhz * 1e6) + noise_figure_db


def of_channel(cell: Cell, rate_kbit_per_s: float | None) -> Iterator[Value]:
    """What stays as it is in a run of the cell."""
    if cell.snr != "none":
        yield "snr", "dB", float(cell.snr)
        yield "noise", "dBm", noise_dbm(_DSSS_WIDTH_MHZ if cell.phy == "dsss" else cell.bandwidth)
    if rate_kbit_per_s is not None:
        yield "phy_rate", "bit/s", rate_kbit_per_s * 1e3


def retries_percent(mpdus: float, retries: float, drops_retry: float) -> float | None:
    """Of MPDUs that arrived, were sent again, were given up; None if there were none."""
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
    """Of a window between two readings of the link's counters."""
    values = [*of_channel(cell, known.rate_kbit_per_s), *_counted(before, after)]
    return [Sample("radio", metric, unit, "link", "", t_ns, dur_ns, value) for metric, unit, value in values]


def _counted(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Value]:
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
