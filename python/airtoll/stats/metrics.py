"""The metrics, each declared once, in `METRICS`.

A declaration contains the unit, the format of values, which direction is better, which probes record the samples, and
how the samples of a run become its one number. Tables, charts and the reference page of the metrics derive from these
declarations.

Only samples of the phase "measure" count. A sample without a value was not measured and is ignored. A run in which no
sample has a value has no number for that metric. If several probes of a run record a metric, only the samples of the
first probe count. A probe that computes the number itself (lab sim: rtt_p99, loss, loss_idle; video: loss, late_frames)
records it as a single sample.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from airtoll.errors import AirtollError
from airtoll.study.probes import P99_OF, PROBES_OF

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


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric. `unit` is the unit of samples and of a run's number, `display_unit` that of tables and figures."""

    name: str
    title: str
    short: str  # title for narrow columns
    unit: str
    display_unit: str
    scale: float = 1.0  # value in display_unit = value in unit * scale
    decimals: int  # digits after the point in display_unit
    better: Better
    main: bool = True  # False: omitted from brief tables
    definition: str  # how a run's samples become its number, for readers
    numbers: tuple[Number, ...]  # its implementations; at most one applies to the samples of a run
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


def _of(number: Callable[[Rows], float | None], samples: str | None = None, way: str | None = None) -> Number:
    """A number from the samples named like the metric, or named `samples`, of one direction or of all."""

    def of_run(measured: Measured, metric: str) -> float | None:
        rows = measured.known.get(samples or metric)
        if rows is not None and way is not None:
            rows = rows.where(rows.direction.equal(way))
        return number(rows) if rows else None

    return of_run


def _received(measured: Measured, metric: str) -> float | None:
    """Received rate. The sender's samples are excluded: they measure the data passed to its own stack."""
    if (rows := measured.known.get(metric)) is None:
        return None
    for direction, receiver in _RECEIVER.items():
        rows = rows.where(~rows.direction.equal(direction) | rows.endpoint.equal(receiver))
    return _sum_of_means(rows, rows.direction.codes)


def _sum(measured: Measured, metric: str) -> float | None:
    """Sum over all stations and directions, each by its reporting end."""
    if (rows := measured.known.get(metric)) is None:
        return None
    return _sum_of_means(rows, rows.endpoint.codes * len(rows.direction.words) + rows.direction.codes)


def _sum_of_means(rows: Rows, keys: "NDArray[np.uint32]") -> float | None:
    """The sum of the weighted means of the groups of samples with equal keys."""
    means = [_weighted_mean(rows.where(keys == key)) for key in dict.fromkeys(keys.tolist())]
    return sum(means) if means else None


def _busiest(measured: Measured, metric: str) -> float | None:
    """The largest of the endpoints' weighted means."""
    if (rows := measured.known.get(metric)) is None:
        return None
    keys = rows.endpoint.codes
    means = [_weighted_mean(rows.where(keys == key)) for key in dict.fromkeys(keys.tolist())]
    return max(means, default=None)


def _energy_j(measured: Measured, metric: str) -> float | None:
    """Energy of all machines together."""
    rows = measured.known.get(metric)
    return float(rows.value.sum()) if rows else None


def _energy_per_gbit(measured: Measured, metric: str) -> float | None:  # noqa: ARG001  (as every number)
    """Mean power of all machines over the throughput: both are of the same window."""
    energy, bit_per_s = measured.known.get("energy"), _received(measured, "throughput")
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
        found = float(rows.value.sum())  # NaN if a count is missing
        return found if rows and not math.isnan(found) else None

    def of_run(measured: Measured, metric: str) -> float | None:  # noqa: ARG001  (as every number)
        lost, sent = total(measured, "datagrams_lost"), total(measured, "datagrams_sent")
        return lost / sent if lost is not None and sent else None

    return of_run


def _time(
    name: str,
    title: str,
    short: str,
    definition: str,
    *numbers: Number,
    main: bool = True,
    extreme: bool = False,
) -> Metric:
    return Metric(
        name=name,
        title=title,
        short=short,
        unit="ms",
        display_unit="ms",
        decimals=3,
        better="lower",
        main=main,
        definition=definition,
        numbers=numbers,
        extreme=extreme,
    )


def _cpu(
    name: str,
    title: str,
    short: str,
    whole: str,
    *,
    main: bool = True,
    extreme: bool = False,
    number: Number | None = None,
) -> Metric:
    return Metric(
        name=name,
        title=title,
        short=short,
        unit="%",
        display_unit="%",
        decimals=2,
        better="lower",
        main=main,
        definition=f"CPU time over elapsed time while throughput is measured; {whole} = 100 %",
        numbers=(number or _of(_weighted_mean),),
        extreme=extreme,
    )


def _energy(name: str, title: str, unit: str, definition: str, number: Number) -> Metric:
    return Metric(
        name=name,
        title=title,
        short=title,
        unit=unit,
        display_unit=unit,
        decimals=2,
        better="lower",
        main=False,
        definition=f"{definition}; not measured on machines without readable RAPL",
        numbers=(number,),
    )


def _ftp(
    name: str, title: str, short: str, definition: str, *, main: bool = True, curve: bool = False
) -> Metric:
    return Metric(
        name=name,
        title=title,
        short=short,
        unit="byte/s",
        display_unit="kbyte/s",
        scale=1e-3,
        decimals=1,
        better="higher",
        main=main,
        definition=f"{definition}; 1 kbyte = 1000 byte; stations and directions add up",
        numbers=(_sum,),
        curve=curve,
    )


_PRINTED = "the lanes as Hayajneh et al. print them, whose frames can be forged"


def _part(name: str, title: str, definition: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        short=title,
        unit="us",
        display_unit="us",
        decimals=3,
        better="lower",
        main=False,
        definition=f"{definition}, by the engine on one core, one frame at a time",
        numbers=(_of(_mean),),
    )


def _percent(
    name: str,
    title: str,
    short: str,
    definition: str,
    *numbers: Number,
    unit: str = "%",
    decimals: int = 2,
) -> Metric:
    return Metric(
        name=name,
        title=title,
        short=short,
        unit=unit,
        display_unit="%",
        scale=100.0 if unit == "1" else 1.0,
        decimals=decimals,
        better="lower",
        main=False,
        definition=definition,
        numbers=numbers,
    )


def _radio(
    name: str,
    title: str,
    unit: str,
    definition: str,
    *,
    display: tuple[str, float] | None = None,
    better: Better = "higher",
) -> Metric:
    display_unit, scale = display or (unit, 1.0)
    return Metric(
        name=name,
        title=title,
        short=title,
        unit=unit,
        display_unit=display_unit,
        scale=scale,
        decimals=1,
        better=better,
        main=False,
        definition=definition,
        numbers=(_of(_weighted_mean),),
    )


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="throughput",
            title="Throughput",
            short="Throughput",
            unit="bit/s",
            display_unit="Mbit/s",
            scale=1e-6,
            decimals=2,
            better="higher",
            definition="payload that reached the receiver, mean over the intervals weighted by their lengths",
            numbers=(_received,),
            extreme=True,
            curve=True,
        ),
        _time(
            "rtt",
            "Round-trip time",
            "RTT",
            "median of the round trips",
            _of(_median),
            extreme=True,
        ),
        _time(
            "rtt_p99",
            "Round-trip time, 99th percentile",
            "RTT p99",
            f"99th percentile of the round trips, if there are at least {P99_MIN_ROUND_TRIPS}",
            _of(_p99, P99_OF["rtt_p99"]),
            _of(_mean),
            main=False,
        ),
        _time(
            "rtt_sockperf",
            "Round-trip time by sockperf",
            "RTT sockperf",
            "median of the round trips by sockperf, a cross-check of the round-trip time; only IPv4",
            _of(_median),
            main=False,
        ),
        _time(
            "rtt_loaded",
            "Round-trip time under load",
            "Loaded RTT",
            "median of the round trips while other traffic loads the link",
            _of(_median),
            main=False,
        ),
        *(
            metric
            for way in _WAYS
            for metric in (
                Metric(
                    name=f"responsiveness_{way}",
                    title=f"Responsiveness under load, {way}",
                    short=f"RPM {way}",
                    unit="1/min",
                    display_unit="1/min",
                    decimals=0,
                    better="higher",
                    definition="round trips per minute under load (draft-ietf-ippm-responsiveness, without TLS)",
                    numbers=(_of(_mean, "responsiveness", way),),
                    extreme=True,
                ),
                _time(
                    f"response_time_{way}",
                    f"Response time under load, {way}",
                    f"Response {way}",
                    "60,000 ms over the responsiveness",
                    _of(_mean, "response_time", way),
                ),
                _time(
                    f"rtt_loaded_{way}",
                    f"Round-trip time under load, {way}",
                    f"Loaded RTT {way}",
                    "median round trip of datagrams at a fixed interval while TCP loads that direction",
                    _of(_median, "rtt_loaded", way),
                ),
                _time(
                    f"rtt_loaded_p99_{way}",
                    f"Round-trip time under load, {way}, 99th percentile",
                    f"Loaded RTT p99 {way}",
                    "99th percentile of the same round trips",
                    _of(_p99, P99_OF[f"rtt_loaded_p99_{way}"], way),
                    main=False,
                ),
                _time(
                    f"delay_loaded_{way}",
                    f"One-way delay under load, {way}",
                    f"Loaded delay {way}",
                    "median one-way delay of the same datagrams in the direction of the load",
                    _of(_median, "delay_loaded", way),
                    main=False,
                ),
            )
        ),
        _time(
            "delay",
            "One-way delay",
            "Delay",
            "median of the packets' delays under the load",
            _of(_mean),
            main=False,
            extreme=True,
        ),
        _time(
            "delay_p99",
            "One-way delay, 99th percentile",
            "Delay p99",
            "99th percentile of the packets' delays under the load",
            _of(_mean),
            main=False,
        ),
        _time(
            "delay_mean",
            "One-way delay, mean",
            "Delay mean",
            "mean of the video packets' delays from program to program",
            _of(_mean),
            main=False,
        ),
        _time(
            "video_rtt",
            "Round-trip delay under video",
            "Video RTT",
            "from each video frame's last packet to the receiver's answer, mean over the frames",
            _of(_mean),
        ),
        _time(
            "frame_delay",
            "Video frame delay",
            "Frame delay",
            "from each video frame's capture to its last packet's arrival, mean over complete frames",
            _of(_mean),
            main=False,
        ),
        _time(
            "jitter",
            "Jitter",
            "Jitter",
            "interarrival jitter of RFC 3550 section 6.4.1 by the receiver, mean over the intervals",
            _of(_mean),
            extreme=True,
        ),
        Metric(
            name="loss",
            title="Datagram loss",
            short="Loss",
            unit="1",
            display_unit="%",
            scale=100.0,
            decimals=3,
            better="lower",
            definition="datagrams lost over datagrams sent under the load of the throughput measurement",
            numbers=(_of(_mean), _lost(_LOAD_TOOLS)),
            extreme=True,
        ),
        _ftp("ftp_rate", "FTP transfer rate", "FTP", "the whole transfer, by the client", curve=True),
        _ftp(
            "ftp_rate_steady",
            "FTP transfer rate after slow start",
            "FTP steady",
            "payload that reached the receiver after the warm-up",
            main=False,
        ),
        *(
            _time(
                f"delay_idle_{way}",
                f"One-way delay without load, {way}",
                f"Idle delay {way}",
                "median of the one-way delays on an otherwise idle link",
                _of(_median, "delay_idle", way),
                main=False,
            )
            for way in _WAYS
        ),
        *(
            _time(
                f"ipdv_{way}",
                f"Delay variation without load, {way}",
                f"IPDV {way}",
                "mean of the absolute differences between the delays of consecutive datagrams (IPDV, RFC 3393)",
                _of(_mean_size, "ipdv", way),
                main=False,
            )
            for way in _WAYS
        ),
        *(
            _percent(
                f"loss_idle_{way}",
                f"Datagram loss without load, {way}",
                f"Idle loss {way}",
                "datagrams lost over datagrams sent in that direction on an otherwise idle link",
                _of(_mean, "loss_idle", way),
                _lost(("irtt",), way),
                unit="1",
                decimals=3,
            )
            for way in _WAYS
        ),
        _time(
            "clock_uncertainty",
            "Uncertainty of one-way delays",
            "Clock uncertainty",
            "largest error of the one-way delays by the clocks of two hosts; absent if the hosts share a clock",
            _of(_mean),
            main=False,
        ),
        Metric(
            name="late_frames",
            title="Late video frames",
            short="Late frames",
            unit="1",
            display_unit="%",
            scale=100.0,
            decimals=3,
            better="lower",
            definition="video frames that were incomplete 100 ms after their capture, over frames sent",
            numbers=(_of(_mean),),
        ),
        _cpu("cpu_system", "CPU load of the machine", "CPU", "all cores together", main=False),
        _cpu("cpu_hosts", "CPU load of the hosts", "CPU hosts", "all cores together", extreme=True),
        _cpu("cpu_emulator", "CPU load of the emulator", "CPU emulator", "one core", main=False),
        _cpu("cpu_crypto", "CPU load of sealing and opening", "CPU crypto", "one core"),
        _cpu("cpu_link", "CPU load of the ends of the link", "CPU link", "one core", main=False),
        _cpu("cpu_core", "CPU load of the busiest core", "CPU core", "one core", main=False, number=_busiest),
        _energy("energy", "Energy of the machines", "J", "RAPL, all packages, over the window", _energy_j),
        _energy(
            "energy_per_gbit",
            "Energy per payload",
            "J/Gbit",
            "energy of the machines (RAPL) over the payload that reached the receiver in the same window",
            _energy_per_gbit,
        ),
        _percent(
            "airtime",
            "Airtime in use",
            "Airtime",
            "share of the time in which the medium was busy",
            _of(_weighted_mean),
        ),
        _percent(
            "retries",
            "Retries",
            "Retries",
            "share of retransmissions among all transmissions of MPDUs",
            _of(_weighted_mean),
        ),
        _percent(
            "channel_busy",
            "Channel occupancy",
            "Channel busy",
            "share of the time in which the radios sensed their channel busy, mean over the radios",
            _of(_weighted_mean),
        ),
        _radio("phy_rate", "PHY rate", "bit/s", "PHY rate of data frames", display=("Mbit/s", 1e-6)),
        _radio("snr", "Signal-to-noise ratio", "dB", "mean over the data PPDUs that the receivers decoded"),
        _radio(
            "noise",
            "Noise",
            "dBm",
            "mean over the data PPDUs that the receivers decoded, over their width",
            better="lower",
        ),
        _part("mic_time", "Time of a frame's MIC", "only the MIC (for RC4 suites: Michael, ICV)"),
        _part(
            "cipher_time",
            "Time of a frame's cipher",
            "only the cipher (CTR; for RC4 suites: RC4 with its keys)",
        ),
        _part("seal_time", "Time to seal a frame", "MIC and cipher together, which overlap"),
        _part("open_time", "Time to open a frame", "the same at the receiver"),
        _part("printed_mic_time", "Time of a frame's MIC, lanes as printed", f"only the MIC of {_PRINTED}"),
        _part(
            "printed_cipher_time", "Time of a frame's cipher, lanes as printed", f"only the CTR of {_PRINTED}"
        ),
    )
}
"""Every reported metric, in the order of reports."""

OF_ENGINE = ("mic_time", "cipher_time", "seal_time", "open_time")
"""CPU times per frame, from the probe engine."""

OF_PRINTED_LANES: Final = {"mic_time": "printed_mic_time", "cipher_time": "printed_cipher_time"}
"""Metrics of a suite with lanes, and the same metrics of the lanes as printed."""


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
