"""Radio statistics over another probe's measured window: SNR, noise, PHY rate, retries and airtime.

A probe that generates traffic observes the link's counters and the radios over its window (`watch`), and passes them to
`samples`.

| metric          | unit  | meaning                                                                                    |
|-----------------|-------|--------------------------------------------------------------------------------------------|
| snr             | dB    | mean over the data PPDUs that the receivers decoded, to 0.01 dB                            |
| snr_p5, snr_p95 | dB    | percentiles of these PPDUs                                                                 |
| noise           | dBm   | mean over these PPDUs: thermal noise over their width plus the receiver's noise figure     |
| rssi            | dBm   | mean received power of the data PPDUs that the endpoint decoded                            |
| phy_rate        | bit/s | configured rate of data frames; with rate control, the mean over the transmissions         |
| retries         | %     | share of retransmissions among all transmissions of MPDUs, by all senders                  |
| airtime         | %     | share of time in which the medium was busy, including SIFS within exchanges                |

SNR, noise and RSSI come from the medium's channel, PPDU by PPDU. A medium without a channel has none of them.

Real radios and those of lab linux also report about each of their peers, in intervals of 1/`watch.RADIO_HZ`:

| metric                       | unit        | meaning                                                              |
|------------------------------|-------------|----------------------------------------------------------------------|
| signal                       | dBm         | of the last received frame                                           |
| tx_rate, rx_rate             | bit/s       | PHY rate of the last Data frame that was sent or received            |
| tx_mcs, tx_streams, tx_width | 1, 1, MHz   | MCS, spatial streams and width of that rate; the same with rx        |
| tx_packets                   | 1           | frames that were sent in the interval                                |
| tx_retries, tx_failed        | 1           | retransmissions, and frames without Ack, in the interval             |
| tx_airtime, rx_airtime       | us          | airtime of the frames in the interval, if the driver measures it     |

and about themselves, over the window:

| metric       | unit | meaning                                                                            |
|--------------|------|------------------------------------------------------------------------------------|
| channel_busy | %    | share of the time in which the radio sensed its primary channel busy               |
| link_events  | 1    | changes of the carrier, associations and their ends, and roams                     |

A value that a link does not report (a real radio has other counters) has no sample.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from airtoll.host import ChannelTimes, HostReading, PeerStatistics, RadioRate
from airtoll.labs.base import Known
from airtoll.probes.base import Sample
from airtoll.probes.watch import Watched

RadioValue = tuple[str, str, float]
"""Metric, unit, value."""

_Counts = Mapping[str, float]
"""Numbers of PPDUs by a value in dB or dBm."""


def of_signals(received: Mapping[str, Mapping[str, _Counts]]) -> Iterator[tuple[str, str, str, float]]:
    """Metric, unit, endpoint and value of the signals that the stations received.

    `received` has, by station, the PPDUs by `snr_db`, `power_dbm` and `noise_dbm`.
    """
    snr_db, noise_dbm = (_all(counts[key] for counts in received.values()) for key in ("snr_db", "noise_dbm"))
    if not snr_db:
        return
    yield "snr", "dB", "link", _mean(snr_db)
    for percent in (5, 95):
        yield f"snr_p{percent}", "dB", "link", _percentile(snr_db, percent)
    yield "noise", "dBm", "link", _mean(noise_dbm)
    for station, counts in received.items():
        if power_dbm := _all([counts["power_dbm"]]):
            yield "rssi", "dBm", station, _mean(power_dbm)


def _all(counted: Iterable[_Counts]) -> Counter[float]:
    """The PPDUs of all counts by value."""
    total: Counter[float] = Counter()
    for counts in counted:
        total.update({float(value): round(ppdus) for value, ppdus in counts.items() if ppdus > 0})
    return total


def _mean(counts: Counter[float]) -> float:
    # In hundredths, so that the mean of equal values is that value.
    return sum(round(100 * value) * ppdus for value, ppdus in counts.items()) / counts.total() / 100


def _percentile(counts: Counter[float], percent: float) -> float:
    """The smallest value such that this share of the PPDUs has at most this value."""
    least = counts.total() * percent / 100
    so_far = 0
    for value in sorted(counts):
        so_far += counts[value]
        if so_far >= least:
            break
    return value


def retries_percent(mpdus: float, retries: float, drops_retry: float) -> float | None:
    """Share of retransmissions, from counts of delivered, retried and dropped MPDUs; None without transmissions."""
    transmissions = mpdus + retries + drops_retry
    return 100.0 * retries / transmissions if transmissions > 0 else None


def samples(known: Known, watched: Watched, t_ns: int) -> list[Sample]:
    """Samples of the window. `t_ns` is its start since the start of the probe."""
    before, after = watched.before.counters, watched.after.counters
    rate_kbit_per_s = known.rate_kbit_per_s
    of_link = [
        *(_mean_rate(watched) if rate_kbit_per_s is None else [("phy_rate", "bit/s", rate_kbit_per_s * 1e3)]),
        *_counted(before, after),
    ]
    values = [
        *of_signals(_received(before, after)),
        *((metric, unit, "link", value) for metric, unit, value in of_link),
        *(
            (metric, unit, role, value)
            for role, readings in watched.radios.items()
            for metric, unit, value in _of_radio(readings)
        ),
    ]
    return [
        *(
            Sample("radio", metric, unit, endpoint, "", t_ns, watched.dur_ns, value)
            for metric, unit, endpoint, value in values
        ),
        *_of_peers(watched, t_ns),
    ]


def _of_radio(readings: Sequence[HostReading]) -> Iterator[RadioValue]:
    """The values of a radio about its channel and its link over the window."""
    if not readings:
        return
    opening, closing = (
        next(iter(reading.channels.values()), ChannelTimes()) for reading in (readings[0], readings[-1])
    )
    if (share := _busy_percent(opening, closing)) is not None:
        yield "channel_busy", "%", share
    if any(reading.peers for reading in readings):
        own = [event for reading in readings[1:] for event in reading.events if event.interface is not None]
        yield "link_events", "1", float(len(own))


def _busy_percent(before: ChannelTimes, after: ChannelTimes) -> float | None:
    """The share of busy time; None if the driver does not count it, or changed the channel."""
    times = (before.active_ms, after.active_ms, before.busy_ms, after.busy_ms)
    if None in times or before.frequency_mhz != after.frequency_mhz:
        return None
    active_ms, busy_ms = ((later or 0) - (earlier or 0) for earlier, later in (times[:2], times[2:]))
    return 100.0 * busy_ms / active_ms if active_ms > 0 and busy_ms >= 0 else None


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


def _received(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """The signals that each station received between two readings of the counters."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for station, totals in after.items():
        received = totals.get("received") if isinstance(totals, Mapping) else None
        if received:
            earlier = (before.get(station) or {}).get("received") or {}
            found[station] = {
                key: {value: ppdus - earlier.get(key, {}).get(value, 0) for value, ppdus in counts.items()}
                for key, counts in received.items()
            }
    return found


def rates(watched: Watched) -> dict[str, dict[str, int]]:
    """Transmissions in the window by endpoint and rate; none if the radios do not report them."""
    return {
        endpoint: {str(rate): attempts for rate, attempts in by_rate.items()}
        for endpoint, by_rate in _attempts(watched).items()
    }


def _attempts(watched: Watched) -> dict[str, dict[RadioRate, int]]:
    before, after = watched.before.attempts, watched.after.attempts
    found: dict[str, dict[RadioRate, int]] = {}
    for ends, totals in after.items():
        earlier = before.get(ends, {})
        for rate, total in sorted(totals.items(), key=lambda each: each[0].bit_per_s):
            if attempts := total - earlier.get(rate, 0):
                found.setdefault(_endpoint(ends, after), {})[rate] = attempts
    return found


def _mean_rate(watched: Watched) -> Iterator[RadioValue]:
    """The mean rate of all transmissions in the window, if the radios report them."""
    every = [pair for by_rate in _attempts(watched).values() for pair in by_rate.items()]
    if every:
        sum_bit_per_s = sum(rate.bit_per_s * attempts for rate, attempts in every)
        yield "phy_rate", "bit/s", sum_bit_per_s / sum(attempts for _, attempts in every)


def _endpoint(ends: tuple[str, str], every: Iterable[tuple[str, str]]) -> str:
    """The name of a radio. If it has several peers, it is named with its peer, as in the samples of throughput."""
    role, peer = ends
    return f"{role}/{peer}" if sum(other == role for other, _ in every) > 1 else role


def _of_peers(watched: Watched, t_ns: int) -> Iterator[Sample]:
    """The values of each radio and peer in each interval between readings."""
    for role, readings in watched.radios.items():
        for before, after in pairwise(readings):
            start_ns, dur_ns = before.at_ns - readings[0].at_ns, after.at_ns - before.at_ns
            earlier, later = (_by_role(reading, role, watched.macs) for reading in (before, after))
            for ends, statistics in later.items():
                endpoint = _endpoint(ends, later)
                for metric, unit, value in _of_peer(earlier.get(ends), statistics):
                    yield Sample("radio", metric, unit, endpoint, "", t_ns + start_ns, dur_ns, value)


def _by_role(
    reading: HostReading, role: str, macs: Mapping[str, str]
) -> dict[tuple[str, str], PeerStatistics]:
    """The peers of the host's radio. A peer outside the link is named by its MAC address."""
    return {
        (role, macs.get(mac, mac)): statistics
        for of_interface in reading.peers.values()
        for mac, statistics in of_interface.items()
    }


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
