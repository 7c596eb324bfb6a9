"""The metrics, each declared in one row of `METRICS`.

A row contains the unit, the format of values, which direction is better, and the functions that compute the one number
of a run from its samples. `airtoll.study.probes` declares which probes record the samples. Tables, charts, CSV files
and the reference page of the metrics derive from both.

Only samples of the phase "measure" count. A sample without a value was not measured and is ignored. A run in which no
sample has a value has no number for that metric. If several probes of a run record a metric, only the samples of the
first probe count. A probe that computes the number itself (lab sim: rtt_p99, loss, loss_idle; video: loss, late_frames)
records it as a single sample.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from airtoll.errors import AirtollError
from airtoll.study.probes import P99_OF, PROBES, PROBES_OF

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from airtoll.store.samples import Samples, Words

Better = Literal["higher", "lower"]

P99_MIN_ROUND_TRIPS = 100
"""With fewer round trips, the 99th percentile would equal the largest of them."""


class RunNumber(NamedTuple):
    """The number of one run for one metric, in the metric's unit."""

    run: str
    metric: str
    value: float


@dataclass(frozen=True)
class Rows:
    """Samples of one metric in one run, as columns with one row per sample."""

    probe: "Words"
    endpoint: "Words"
    direction: "Words"
    dur_ns: "NDArray[np.int64]"
    value: "NDArray[np.float64]"  # NaN if it was not measured

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.value)

    def where(self, chosen: "NDArray[np.bool_]") -> "Rows":
        """The chosen samples."""
        if chosen.all():
            return self
        return Rows(
            self.probe.where(chosen),
            self.endpoint.where(chosen),
            self.direction.where(chosen),
            self.dur_ns[chosen],
            self.value[chosen],
        )


@dataclass(frozen=True)
class Measured:
    """The samples of one run in the phase "measure", by metric."""

    every: dict[str, Rows]
    known: dict[str, Rows]  # samples with a value, from the first probe that records the metric


Number = Callable[[Measured, str], float | None]
"""The number of a run for the metric of that name; None without samples."""


class Units(NamedTuple):
    """The unit of samples and of a run's number, and that of tables and figures."""

    unit: str
    display_unit: str
    scale: float  # value in display_unit = value in unit * scale
    decimals: int  # digits after the point in display_unit
    better: Better


@dataclass(frozen=True)
class Metric:
    """A metric: a row of the table `METRICS`. The fields from `unit` to `better` are those of `Units`."""

    name: str
    title: str
    short: str  # title for narrow columns
    unit: str
    display_unit: str
    scale: float
    decimals: int
    better: Better
    numbers: tuple[Number, ...]  # its implementations; at most one applies to the samples of a run
    definition: str  # how a run's samples become its number, for readers
    _: KW_ONLY
    main: bool = True  # False: omitted from brief tables
    extreme: bool = False  # reports show its smallest and largest cost
    curve: bool = False  # reports fit a polynomial to it

    @property
    def probes(self) -> tuple[str, ...]:
        """The study names of the probes that record the samples."""
        return PROBES_OF[self.name]

    @property
    def relative(self) -> bool:
        """Whether changes are shown in percent of the baseline, which would be misread for a percentage."""
        return self.display_unit != "%"

    @property
    def change_unit(self) -> str:
        """The unit of differences: percentage points for a percentage."""
        return "points" if self.display_unit == "%" else self.display_unit

    def display(self, value: float) -> float:
        """The value in `display_unit`."""
        return value * self.scale


_WAYS = ("up", "down")
_RECEIVER = {"up": "ap", "down": "sta"}
_LOAD_TOOLS = ("iperf3", "iperf", "netperf", "wireshark")  # that count datagrams under load


def _mean(rows: Rows) -> float:
    return float(rows.value.sum()) / len(rows)


def _mean_size(rows: Rows) -> float:
    return float(abs(rows.value).sum()) / len(rows)


def _total(rows: Rows) -> float:
    return float(rows.value.sum())


def _median(rows: Rows) -> float:
    return _quantile(rows, 0.5)


def _weighted_mean(rows: Rows) -> float:
    """Mean of the values weighted by the lengths of their intervals; instants have equal weights."""
    weight = rows.dur_ns.astype(float)
    total = float(weight.sum())
    if total <= 0:
        return _mean(rows)
    # Differences from the first value, so that the mean of equal values is that value.
    first = float(rows.value[0])
    return first + float(((rows.value - first) * weight).sum()) / total


def _p99(rows: Rows) -> float | None:
    return _quantile(rows, 0.99) if len(rows) >= P99_MIN_ROUND_TRIPS else None


def _quantile(rows: Rows, share: float) -> float:
    """The quantile, interpolated linearly between the two nearest values."""
    ordered = rows.value.copy()
    ordered.sort()
    place = share * (len(ordered) - 1)
    below, above = float(ordered[math.floor(place)]), float(ordered[math.ceil(place)])
    return below + (above - below) * (place - math.floor(place))


def _received(rows: Rows) -> float | None:
    """Received rate. The sender's samples are excluded: they measure the data passed to its own stack."""
    for direction, receiver in _RECEIVER.items():
        rows = rows.where(~rows.direction.equal(direction) | rows.endpoint.equal(receiver))
    means = _weighted_means(rows, rows.direction.codes)
    return sum(means) if means else None


def _sum(rows: Rows) -> float:
    """Sum over all stations and directions, each by its reporting end."""
    return sum(_weighted_means(rows, rows.endpoint.codes * len(rows.direction.words) + rows.direction.codes))


def _busiest(rows: Rows) -> float:
    """The largest of the endpoints' weighted means."""
    return max(_weighted_means(rows, rows.endpoint.codes))


def _weighted_means(rows: Rows, keys: "NDArray[np.uint32]") -> list[float]:
    """The weighted means of the groups of samples with equal keys."""
    return [_weighted_mean(rows.where(keys == key)) for key in dict.fromkeys(keys.tolist())]


def _of(number: Callable[[Rows], float | None], samples: str | None = None, way: str | None = None) -> Number:
    """A number from the samples named like the metric, or named `samples`, of one direction or of all."""

    def of_run(measured: Measured, metric: str) -> float | None:
        rows = measured.known.get(samples or metric)
        if rows is not None and way is not None:
            rows = rows.where(rows.direction.equal(way))
        return number(rows) if rows else None

    return of_run


def _energy_per_gbit(measured: Measured, metric: str) -> float | None:  # noqa: ARG001  (as every number)
    """Mean power of all machines over the throughput: both are of the same window."""
    energy, bit_per_s = measured.known.get("energy"), _of(_received)(measured, "throughput")
    if not energy or not bit_per_s:
        return None
    power_w = float((energy.value / energy.dur_ns * 1e9).sum())
    return power_w / (bit_per_s / 1e9)


def _lost(tools: tuple[str, ...], way: str | None = None) -> Number:
    """Lost over sent datagrams, from the counts of the first of these tools, for one direction or for all.

    A missing count of one interval would bias the ratio of the others. Such a run has no loss.
    """

    def total(measured: Measured, counts_of: str) -> float | None:
        if (rows := measured.every.get(counts_of)) is None:
            return None
        tool = next((word for word in tools if rows.probe.equal(word).any()), tools[0])
        rows = rows.where(rows.probe.equal(tool))
        if way is not None:
            rows = rows.where(rows.direction.equal(way))
        found = _total(rows)  # NaN if a count is missing
        return found if rows and not math.isnan(found) else None

    def of_run(measured: Measured, metric: str) -> float | None:  # noqa: ARG001  (as every number)
        lost, sent = total(measured, "datagrams_lost"), total(measured, "datagrams_sent")
        return lost / sent if lost is not None and sent else None

    return of_run


_BIT_RATE = Units("bit/s", "Mbit/s", 1e-6, 2, "higher")
_FTP_RATE = Units("byte/s", "kbyte/s", 1e-3, 1, "higher")
_PER_MINUTE = Units("1/min", "1/min", 1.0, 0, "higher")
_TIME = Units("ms", "ms", 1.0, 3, "lower")
_CPU_TIME = Units("us", "us", 1.0, 3, "lower")
_PERCENT = Units("%", "%", 1.0, 2, "lower")
_SHARE = Units("1", "%", 100.0, 3, "lower")

_AS_SAMPLED, _MEDIAN, _WEIGHTED = (_of(_mean),), (_of(_median),), (_of(_weighted_mean),)

_CPU = "CPU time over elapsed time while throughput is measured"
_ALL_CORES = f"{_CPU}; all cores together = 100 %"
_ONE_CORE = f"{_CPU}; one core = 100 %"
_FTP = "; 1 kbyte = 1000 byte; stations and directions add up"
_RAPL = "; not measured on machines without readable RAPL"
_BY_ENGINE = ", by the engine on one core, one frame at a time"
_PRINTED = f"the lanes as Hayajneh et al. print them, whose frames can be forged{_BY_ENGINE}"

# fmt: off
METRICS: dict[str, Metric] = {metric.name: metric for metric in (
    Metric("throughput", "Throughput", "Throughput", *_BIT_RATE, (_of(_received),),
        "payload that reached the receiver, mean over the intervals weighted by their lengths",
        extreme=True, curve=True),
    Metric("rtt", "Round-trip time", "RTT", *_TIME, _MEDIAN, "median of the round trips", extreme=True),
    Metric("rtt_p99", "Round-trip time, 99th percentile", "RTT p99", *_TIME,
        (_of(_p99, P99_OF["rtt_p99"]), *_AS_SAMPLED),
        f"99th percentile of the round trips, if there are at least {P99_MIN_ROUND_TRIPS}", main=False),
    Metric("rtt_sockperf", "Round-trip time by sockperf", "RTT sockperf", *_TIME, _MEDIAN,
        "median of the round trips by sockperf, a cross-check of the round-trip time; only IPv4", main=False),
    Metric("rtt_loaded", "Round-trip time under load", "Loaded RTT", *_TIME, _MEDIAN,
        "median of the round trips while other traffic loads the link", main=False),
    *(metric for way in _WAYS for metric in (
        Metric(f"responsiveness_{way}", f"Responsiveness under load, {way}", f"RPM {way}", *_PER_MINUTE,
            (_of(_mean, "responsiveness", way),),
            "round trips per minute under load (draft-ietf-ippm-responsiveness, without TLS)", extreme=True),
        Metric(f"response_time_{way}", f"Response time under load, {way}", f"Response {way}", *_TIME,
            (_of(_mean, "response_time", way),), "60,000 ms over the responsiveness"),
        Metric(f"rtt_loaded_{way}", f"Round-trip time under load, {way}", f"Loaded RTT {way}", *_TIME,
            (_of(_median, "rtt_loaded", way),),
            "median round trip of datagrams at a fixed interval while TCP loads that direction"),
        Metric(f"rtt_loaded_p99_{way}", f"Round-trip time under load, {way}, 99th percentile", f"Loaded RTT p99 {way}",
            *_TIME, (_of(_p99, P99_OF[f"rtt_loaded_p99_{way}"], way),),
            "99th percentile of the same round trips", main=False),
        Metric(f"delay_loaded_{way}", f"One-way delay under load, {way}", f"Loaded delay {way}", *_TIME,
            (_of(_median, "delay_loaded", way),),
            "median one-way delay of the same datagrams in the direction of the load", main=False),
    )),
    Metric("delay", "One-way delay", "Delay", *_TIME, _AS_SAMPLED,
        "median of the packets' delays under the load", main=False, extreme=True),
    Metric("delay_p99", "One-way delay, 99th percentile", "Delay p99", *_TIME, _AS_SAMPLED,
        "99th percentile of the packets' delays under the load", main=False),
    Metric("delay_mean", "One-way delay, mean", "Delay mean", *_TIME, _AS_SAMPLED,
        "mean of the video packets' delays from program to program", main=False),
    Metric("video_rtt", "Round-trip delay under video", "Video RTT", *_TIME, _AS_SAMPLED,
        "from each video frame's last packet to the receiver's answer, mean over the frames"),
    Metric("frame_delay", "Video frame delay", "Frame delay", *_TIME, _AS_SAMPLED,
        "from each video frame's capture to its last packet's arrival, mean over complete frames", main=False),
    Metric("jitter", "Jitter", "Jitter", *_TIME, _AS_SAMPLED,
        "interarrival jitter of RFC 3550 section 6.4.1 by the receiver, mean over the intervals", extreme=True),
    Metric("loss", "Datagram loss", "Loss", *_SHARE, (*_AS_SAMPLED, _lost(_LOAD_TOOLS)),
        "datagrams lost over datagrams sent under the load of the throughput measurement", extreme=True),
    Metric("ftp_rate", "FTP transfer rate", "FTP", *_FTP_RATE, (_of(_sum),),
        f"the whole transfer, by the client{_FTP}", curve=True),
    Metric("ftp_rate_steady", "FTP transfer rate after slow start", "FTP steady", *_FTP_RATE, (_of(_sum),),
        f"payload that reached the receiver after the warm-up{_FTP}", main=False),
    *(Metric(f"delay_idle_{way}", f"One-way delay without load, {way}", f"Idle delay {way}", *_TIME,
            (_of(_median, "delay_idle", way),),
            "median of the one-way delays on an otherwise idle link", main=False)
        for way in _WAYS),
    *(Metric(f"ipdv_{way}", f"Delay variation without load, {way}", f"IPDV {way}", *_TIME,
            (_of(_mean_size, "ipdv", way),),
            "mean of the absolute differences between the delays of consecutive datagrams (IPDV, RFC 3393)", main=False)
        for way in _WAYS),
    *(Metric(f"loss_idle_{way}", f"Datagram loss without load, {way}", f"Idle loss {way}", *_SHARE,
            (_of(_mean, "loss_idle", way), _lost(("irtt",), way)),
            "datagrams lost over datagrams sent in that direction on an otherwise idle link", main=False)
        for way in _WAYS),
    Metric("clock_uncertainty", "Uncertainty of one-way delays", "Clock uncertainty", *_TIME, _AS_SAMPLED,
        "largest error of the one-way delays by the clocks of two hosts; absent if the hosts share a clock",
        main=False),
    Metric("late_frames", "Late video frames", "Late frames", *_SHARE, _AS_SAMPLED,
        "video frames that were incomplete 100 ms after their capture, over frames sent"),
    Metric("cpu_system", "CPU load of the machine", "CPU", *_PERCENT, _WEIGHTED, _ALL_CORES, main=False),
    Metric("cpu_hosts", "CPU load of the hosts", "CPU hosts", *_PERCENT, _WEIGHTED, _ALL_CORES, extreme=True),
    Metric("cpu_emulator", "CPU load of the emulator", "CPU emulator", *_PERCENT, _WEIGHTED, _ONE_CORE, main=False),
    Metric("cpu_crypto", "CPU load of sealing and opening", "CPU crypto", *_PERCENT, _WEIGHTED, _ONE_CORE),
    Metric("cpu_link", "CPU load of the ends of the link", "CPU link", *_PERCENT, _WEIGHTED, _ONE_CORE, main=False),
    Metric("cpu_core", "CPU load of the busiest core", "CPU core", *_PERCENT, (_of(_busiest),), _ONE_CORE, main=False),
    Metric("energy", "Energy of the machines", "Energy of the machines", "J", "J", 1.0, 2, "lower", (_of(_total),),
        f"RAPL, all packages, over the window{_RAPL}", main=False),
    Metric("energy_per_gbit", "Energy per payload", "Energy per payload", "J/Gbit", "J/Gbit", 1.0, 2, "lower",
        (_energy_per_gbit,),
        f"energy of the machines (RAPL) over the payload that reached the receiver in the same window{_RAPL}",
        main=False),
    Metric("airtime", "Airtime in use", "Airtime", *_PERCENT, _WEIGHTED,
        "share of the time in which the medium was busy", main=False),
    Metric("retries", "Retries", "Retries", *_PERCENT, _WEIGHTED,
        "share of retransmissions among all transmissions of MPDUs", main=False),
    Metric("channel_busy", "Channel occupancy", "Channel busy", *_PERCENT, _WEIGHTED,
        "share of the time in which the radios sensed their channel busy, mean over the radios", main=False),
    Metric("phy_rate", "PHY rate", "PHY rate", *_BIT_RATE._replace(decimals=1), _WEIGHTED,
        "PHY rate of data frames", main=False),
    Metric("snr", "Signal-to-noise ratio", "Signal-to-noise ratio", "dB", "dB", 1.0, 1, "higher", _WEIGHTED,
        "mean over the data PPDUs that the receivers decoded", main=False),
    Metric("noise", "Noise", "Noise", "dBm", "dBm", 1.0, 1, "lower", _WEIGHTED,
        "mean over the data PPDUs that the receivers decoded, over their width", main=False),
    Metric("mic_time", "Time of a frame's MIC", "Time of a frame's MIC", *_CPU_TIME, _AS_SAMPLED,
        f"only the MIC (for RC4 suites: Michael, ICV){_BY_ENGINE}", main=False),
    Metric("cipher_time", "Time of a frame's cipher", "Time of a frame's cipher", *_CPU_TIME, _AS_SAMPLED,
        f"only the cipher (CTR; for RC4 suites: RC4 with its keys){_BY_ENGINE}", main=False),
    Metric("seal_time", "Time to seal a frame", "Time to seal a frame", *_CPU_TIME, _AS_SAMPLED,
        f"MIC and cipher together, which overlap{_BY_ENGINE}", main=False),
    Metric("open_time", "Time to open a frame", "Time to open a frame", *_CPU_TIME, _AS_SAMPLED,
        f"the same at the receiver{_BY_ENGINE}", main=False),
    Metric("printed_mic_time", "Time of a frame's MIC, lanes as printed", "Time of a frame's MIC, lanes as printed",
        *_CPU_TIME, _AS_SAMPLED, f"only the MIC of {_PRINTED}", main=False),
    Metric("printed_cipher_time", "Time of a frame's cipher, lanes as printed",
        "Time of a frame's cipher, lanes as printed", *_CPU_TIME, _AS_SAMPLED,
        f"only the CTR of {_PRINTED}", main=False),
)}
# fmt: on
"""Every reported metric, in the order of reports."""

OF_PRINTED_LANES: Final = {
    name: printed for name in PROBES["engine"].metrics if (printed := f"printed_{name}") in METRICS
}
"""Metrics of a suite with lanes, and the same metrics of the lanes as printed."""

OF_ENGINE = tuple(name for name in PROBES["engine"].metrics if name not in OF_PRINTED_LANES.values())
"""CPU times per frame, from the probe engine."""


def per_run(
    samples: "Iterable[Samples]", spoiled: Mapping[str, Collection[str]] | None = None
) -> list[RunNumber]:
    """The numbers of runs, in the order of the runs' ids and of `METRICS`. Unmeasured metrics have no number.

    `spoiled` are metrics of a run, or of its samples, that do not count (`Verdict.spoiled`), by the run's id.

    Metrics that are not in `METRICS` are ignored. Raises AirtollError if samples have another unit than the metric.
    """
    found = []
    for of_run in sorted(samples, key=lambda each: each.run):
        excluded = (spoiled or {}).get(of_run.run, ())
        measured = _measured(of_run, excluded)
        for name, metric in METRICS.items():
            if name in excluded:
                continue
            values = (number(measured, name) for number in metric.numbers)
            found += [
                RunNumber(of_run.run, name, value)
                for value in values
                if value is not None and math.isfinite(value)
            ]
    return found


def _measured(samples: "Samples", excluded: Collection[str]) -> Measured:
    every: dict[str, Rows] = {}
    known: dict[str, Rows] = {}
    measure = samples.phase.equal("measure")
    for code, name in enumerate(samples.metric.words):
        chosen = (measure & (samples.metric.codes == code)).nonzero()[0]
        if not len(chosen) or name in excluded:
            continue
        if name in METRICS:
            _check_units(samples.run, METRICS[name], samples.unit.where(chosen))
        rows = Rows(
            samples.probe.where(chosen),
            samples.endpoint.where(chosen),
            samples.direction.where(chosen),
            samples.dur_ns[chosen],
            samples.value[chosen],
        )
        every[name] = rows
        rows = rows.where(abs(rows.value) < math.inf)
        if rows:
            known[name] = rows.where(rows.probe.codes == rows.probe.codes[0])
    return Measured(every, known)


def _check_units(run: str, metric: Metric, units: "Words") -> None:
    wrong = ~units.equal(metric.unit)
    if wrong.any():
        unit = units.where(wrong)[0]
        raise AirtollError(
            f"run {run}: samples of {metric.name} are in '{unit}' where '{metric.unit}' is expected"
        )
