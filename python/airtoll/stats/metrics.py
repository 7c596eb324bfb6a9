"""What is measured: unit, scaling, which way is better, and how the samples of a run become its one number.

| metric       | one run's number                                                                      |
|--------------|---------------------------------------------------------------------------------------|
| throughput   | receiver's bit/s, mean over intervals weighted by their lengths; both directions add up |
| rtt, rtt_p99 | median and 99th percentile of the round trips; rtt_loaded their median under a load (flent) |
| jitter       | mean over intervals of the receiver's jitter of RFC 3550 section 6.4.1 (not IPDV)     |
| loss         | datagrams lost over datagrams sent, both summed over the run (iperf3)                 |
| delay, delay_p99 | median and 99th percentile of one-way delays (sim, video); of several flows their mean |
| ftp_rate     | whole transfer's byte/s at the client; stations and directions add up                 |
| ftp_rate_steady | receiver's byte/s, mean over intervals weighted by their lengths; all add up       |
| delay_idle_up, _down | median of one-way delays without a load (irtt)                                |
| ipdv_up, _down | mean of the absolute IPDVs without a load (irtt)                                    |
| loss_idle_up, _down | datagrams lost over datagrams sent in that direction without a load (irtt)     |
| delay_mean   | mean of one-way delays under video; of several flows their mean                       |
| video_rtt    | mean over the frames of a video of the time until their last packet was answered      |
| frame_delay  | mean over the frames that came as a whole of the time from capture to last packet     |
| late_frames  | frames that were not there as a whole by their deadline over frames sent              |
| cpu_*        | CPU time over elapsed time, mean over intervals weighted by their lengths             |
| snr, noise, phy_rate, retries, airtime | mean weighted by length                                     |
| mic_time, cipher_time, seal_time, open_time | median over batches of what a frame takes (engine)     |

What gives the number itself (sim: rtt_p99, loss, loss_idle too; video: loss, late_frames) has one sample of it. Where
several probes of a run give a metric, those of the probe that came first count.

Only samples of the phase "measure" count. A sample without a value was not measured: it takes no part, and a
run in which none has a value has no number for that metric.
"""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from airtoll.errors import AirtollError

Better = Literal["higher", "lower"]

P99_MIN_ROUND_TRIPS = 100
"""With fewer round trips the 99th percentile would be the largest of them under another name."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """`unit` is that of samples and of one run's number, `display_unit` that of tables and figures."""

    name: str
    title: str
    short: str  # title where there is little room
    unit: str
    display_unit: str
    scale: float = 1.0  # value in display_unit = value in unit * scale
    decimals: int  # digits after the point in display_unit
    better: Better
    main: bool = True  # False for what a brief table leaves out
    definition: str  # how one run's samples become its number, for readers

    @property
    def relative(self) -> bool:
        """Whether changes are told in percent of the baseline: of a percentage that would be misread."""
        return self.display_unit != "%"

    def display(self, value: float) -> float:
        """The value in `display_unit`."""
        return value * self.scale


def _time(name: str, title: str, short: str, definition: str, *, main: bool = True) -> Metric:
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
    )


def _cpu(name: str, title: str, short: str, whole: str, *, main: bool = True) -> Metric:
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
    )


def _ftp(name: str, title: str, short: str, definition: str, *, main: bool = True) -> Metric:
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
    )


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
        definition=f"{definition}, by the engine on one core, a frame at a time",
    )


def _percent(
    name: str, title: str, short: str, definition: str, *, unit: str = "%", decimals: int = 2
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
    )


_WAYS = ("up", "down")

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
        ),
        _time("rtt", "Round-trip time", "RTT", "median of the round trips"),
        _time(
            "rtt_p99",
            "Round-trip time, 99th percentile",
            "RTT p99",
            f"99th percentile of the round trips, where there are {P99_MIN_ROUND_TRIPS} or more",
            main=False,
        ),
        _time(
            "rtt_loaded",
            "Round-trip time under load",
            "Loaded RTT",
            "median of the round trips while others load the link",
            main=False,
        ),
        _time("delay", "One-way delay", "Delay", "median of the packets' delays under the load", main=False),
        _time(
            "delay_p99",
            "One-way delay, 99th percentile",
            "Delay p99",
            "99th percentile of the packets' delays under the load",
            main=False,
        ),
        _time(
            "delay_mean",
            "One-way delay, mean",
            "Delay mean",
            "mean of the video packets' delays from program to program",
            main=False,
        ),
        _time(
            "video_rtt",
            "Round-trip delay under video",
            "Video RTT",
            "from each video frame's last packet to the receiver's answer, mean over the frames",
        ),
        _time(
            "frame_delay",
            "Video frame delay",
            "Frame delay",
            "from each video frame's capture to its last packet's arrival, mean over the frames that came as a whole",
            main=False,
        ),
        _time(
            "jitter",
            "Jitter",
            "Jitter",
            "interarrival jitter of RFC 3550 section 6.4.1 by the receiver, mean over the intervals",
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
            definition="datagrams lost over datagrams sent under the load that throughput is measured with",
        ),
        _ftp("ftp_rate", "FTP transfer rate", "FTP", "the whole transfer, by the client"),
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
                unit="1",
                decimals=3,
            )
            for way in _WAYS
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
            definition="video frames that were not there as a whole 100 ms after their capture, over those sent",
        ),
        _cpu("cpu_system", "CPU, whole machine", "CPU", "all cores together"),
        _cpu("cpu_emulator", "CPU, emulator", "CPU emulator", "one core", main=False),
        _cpu("cpu_crypto", "CPU, sealing and opening", "CPU crypto", "one core"),
        _cpu("cpu_link", "CPU, ends of the link", "CPU link", "one core", main=False),
        _percent("airtime", "Airtime in use", "Airtime", "share of the time in which the medium was busy"),
        _percent("retries", "Retries", "Retries", "share of the transmissions of MPDUs that repeated one"),
        _radio("phy_rate", "PHY rate", "bit/s", "PHY rate of data frames", display=("Mbit/s", 1e-6)),
        _radio("snr", "Signal-to-noise ratio", "dB", "signal-to-noise ratio at the receiver"),
        _radio(
            "noise", "Noise", "dBm", "noise at the receiver over the width of the channel", better="lower"
        ),
        _part("mic_time", "MIC of a frame", "the MIC alone (of RC4 suites: Michael, ICV)"),
        _part("cipher_time", "Cipher of a frame", "enciphering alone (CTR; RC4 with its keys)"),
        _part("seal_time", "Sealing a frame", "MIC and cipher together, which overlap"),
        _part("open_time", "Opening a frame", "the same at the receiver"),
    )
}
"""Every metric that is reported, in the order of reports."""

_MEANS = ("rtt_p99", "jitter", "loss", "delay", "delay_p99", "delay_mean")
"""Metrics whose samples are numbers of the run, or of its parts."""

OF_ENGINE = ("mic_time", "cipher_time", "seal_time", "open_time")
"""What a frame takes on the CPU, by the probe engine."""

_OF_VIDEO = ("video_rtt", "frame_delay", "late_frames")
_RADIO = ("airtime", "retries", "phy_rate", "snr", "noise")
_RECEIVER = {"up": "ap", "down": "sta"}
_SCHEMA = {"run": pl.String, "metric": pl.String, "value": pl.Float64}


def per_run(samples: pl.DataFrame) -> pl.DataFrame:
    """One row per run and metric: run, metric, value in the metric's unit. What was not measured has no row.

    `samples` has the columns run, probe, metric, unit, endpoint, direction, t_ns, dur_ns, value and phase
    (probes.base.Sample). Metrics that are not in `METRICS` are left alone. Raises AirtollError if samples are
    in another unit than the metric's.
    """
    value = pl.col("value").cast(pl.Float64)
    measured = samples.filter(pl.col("phase").cast(pl.String) == "measure").with_columns(
        pl.col("run", "probe", "metric", "unit", "endpoint", "direction").cast(pl.String),
        value=pl.when(value.is_finite()).then(value),
    )
    _check_units(measured)
    known = measured.filter(pl.col("value").is_not_null()).filter(
        pl.col("probe") == pl.col("probe").first().over("run", "metric")
    )
    parts = [
        _throughput(known),
        *(_summed(known, name) for name in ("ftp_rate", "ftp_rate_steady")),
        *(_by_run(known, name, pl.col("value").median()) for name in ("rtt", "rtt_loaded")),
        _by_run(known, "rtt", _p99(), name="rtt_p99"),
        *(_by_run(known, name, pl.col("value").mean()) for name in (*_MEANS, *_OF_VIDEO, *OF_ENGINE)),
        _loss(measured),
        *(_of_way(known, "delay_idle", way, pl.col("value").median()) for way in _WAYS),
        *(_of_way(known, "ipdv", way, pl.col("value").abs().mean()) for way in _WAYS),
        *(_of_way(known, "loss_idle", way, pl.col("value").mean()) for way in _WAYS),
        *(_loss(measured, "irtt", way) for way in _WAYS),
        *(_by_run(known, name, _weighted_mean()) for name in METRICS if name.startswith("cpu_")),
        *(_by_run(known, name, _weighted_mean()) for name in _RADIO),
    ]
    order = pl.Enum(list(METRICS))
    return (
        pl.concat(
            [part.select(pl.col(name).cast(dtype) for name, dtype in _SCHEMA.items()) for part in parts]
        )
        .filter(pl.col("value").is_finite())
        .sort("run", pl.col("metric").cast(order))
    )


def _by_run(samples: pl.DataFrame, metric: str, number: pl.Expr, name: str | None = None) -> pl.DataFrame:
    rows = samples.filter(pl.col("metric") == metric)
    return rows.group_by("run").agg(number.alias("value")).with_columns(metric=pl.lit(name or metric))


def _weighted_mean() -> pl.Expr:
    """Mean of the values weighted by the lengths of their intervals; instants all weigh the same."""
    weight = pl.col("dur_ns").cast(pl.Float64)
    return (
        pl.when(weight.sum() > 0)
        .then((pl.col("value") * weight).sum() / weight.sum())
        .otherwise(pl.col("value").mean())
    )


def _p99() -> pl.Expr:
    enough = pl.len() >= P99_MIN_ROUND_TRIPS
    return pl.when(enough).then(pl.col("value").quantile(0.99, interpolation="linear"))


def _throughput(samples: pl.DataFrame) -> pl.DataFrame:
    """What the sender reports is what it handed to its own stack: only the receiver knows what arrived."""
    receiver = pl.col("direction").replace_strict(_RECEIVER, default=None, return_dtype=pl.String)
    return (
        samples.filter(pl.col("metric") == "throughput")
        .filter(receiver.is_null() | (pl.col("endpoint") == receiver))
        .group_by("run", "direction")
        .agg(_weighted_mean().alias("value"))
        .group_by("run")
        .agg(pl.col("value").sum())
        .with_columns(metric=pl.lit("throughput"))
    )


def _summed(samples: pl.DataFrame, metric: str) -> pl.DataFrame:
    """All stations and directions together; each by the end that tells of it."""
    return (
        samples.filter(pl.col("metric") == metric)
        .group_by("run", "endpoint", "direction")
        .agg(_weighted_mean().alias("value"))
        .group_by("run")
        .agg(pl.col("value").sum())
        .with_columns(metric=pl.lit(metric))
    )


def _of_way(samples: pl.DataFrame, metric: str, way: str, number: pl.Expr) -> pl.DataFrame:
    return _by_run(samples.filter(pl.col("direction") == way), metric, number, name=f"{metric}_{way}")


def _loss(measured: pl.DataFrame, probe: str = "iperf3", way: str | None = None) -> pl.DataFrame:
    """A count that is missing for one interval would bend the ratio of the rest: then the run has no loss.

    With a `way` it is the loss without load of that direction alone.
    """

    def total(metric: str) -> pl.Expr:
        counts = pl.col("value").filter(pl.col("metric") == metric)
        return pl.when(counts.is_not_null().all() & (counts.len() > 0)).then(counts.sum())

    return (
        measured.filter((pl.col("probe") == probe) & (way is None or pl.col("direction") == way))
        .group_by("run")
        .agg(lost=total("datagrams_lost"), sent=total("datagrams_sent"))
        .filter(pl.col("sent") > 0)
        .select(
            "run",
            metric=pl.lit("loss" if way is None else f"loss_idle_{way}"),
            value=pl.col("lost") / pl.col("sent"),
        )
    )


def _check_units(samples: pl.DataFrame) -> None:
    units = samples.select("run", "metric", "unit").unique(
        ["metric", "unit"], keep="first", maintain_order=True
    )
    for run, name, unit in units.iter_rows():
        metric = METRICS.get(name)
        if metric is not None and unit != metric.unit:
            raise AirtollError(
                f"run {run}: samples of {name} are in '{unit}' where '{metric.unit}' is expected"
            )
