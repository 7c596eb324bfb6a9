"""What is measured: unit, scaling, which way is better, and how the samples of a run become its one number.

| metric       | one run's number                                                                      |
|--------------|---------------------------------------------------------------------------------------|
| throughput   | receiver's bit/s, mean over intervals weighted by their lengths; both directions add up |
| rtt, rtt_p99 | median and 99th percentile of the round trips                                         |
| jitter       | mean over intervals of the receiver's jitter of RFC 3550 section 6.4.1 (not IPDV)     |
| loss         | datagrams lost over datagrams sent, both summed over the run (iperf3)                 |
| delay, delay_p99 | median and 99th percentile of one-way delays, where the lab knows them (sim)      |
| cpu_*        | CPU time over elapsed time, mean over intervals weighted by their lengths             |

A lab that gives the number itself (sim: rtt_p99, loss, delay, delay_p99) has one sample of it.

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
        _time("delay", "One-way delay", "Delay", "median of the packets' delays under the load", main=False),
        _time(
            "delay_p99",
            "One-way delay, 99th percentile",
            "Delay p99",
            "99th percentile of the packets' delays under the load",
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
        _cpu("cpu_system", "CPU, whole machine", "CPU", "all cores together"),
        _cpu("cpu_emulator", "CPU, emulator", "CPU emulator", "one core", main=False),
        _cpu("cpu_crypto", "CPU, sealing and opening", "CPU crypto", "one core"),
        _cpu("cpu_link", "CPU, ends of the link", "CPU link", "one core", main=False),
    )
}
"""Every metric that is reported, in the order of reports."""

_DELAYS = ("delay", "delay_p99")
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
    known = measured.filter(pl.col("value").is_not_null())
    parts = [
        _throughput(known),
        _by_run(known, "rtt", pl.col("value").median()),
        _by_run(known, "rtt", _p99(), name="rtt_p99"),
        *(_by_run(known, name, pl.col("value").mean()) for name in ("rtt_p99", "jitter", "loss", *_DELAYS)),
        _loss(measured),
        *(_by_run(known, name, _weighted_mean()) for name in METRICS if name.startswith("cpu_")),
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


def _loss(measured: pl.DataFrame) -> pl.DataFrame:
    """A count that is missing for one interval would bend the ratio of the rest: then the run has no loss."""

    def total(metric: str) -> pl.Expr:
        counts = pl.col("value").filter(pl.col("metric") == metric)
        return pl.when(counts.is_not_null().all() & (counts.len() > 0)).then(counts.sum())

    return (
        measured.filter(pl.col("probe") == "iperf3")
        .group_by("run")
        .agg(lost=total("datagrams_lost"), sent=total("datagrams_sent"))
        .filter(pl.col("sent") > 0)
        .select("run", metric=pl.lit("loss"), value=pl.col("lost") / pl.col("sent"))
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
