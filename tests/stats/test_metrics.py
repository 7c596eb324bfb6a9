"""Computation of the number of a run from its samples."""

from collections.abc import Sequence
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtoll.errors import AirtollError
from airtoll.probes import Sample
from airtoll.stats import METRICS, per_run
from airtoll.stats.metrics import P99_MIN_ROUND_TRIPS
from airtoll.store import Samples
from airtoll.study.probes import PROBES_OF

S = 1_000_000_000


def sample(metric: str, value: float | None, **fields: Any) -> dict[str, Any]:
    unit = METRICS[metric].unit if metric in METRICS else "1"
    base = {
        "run": "r1",
        "probe": "iperf3",
        "metric": metric,
        "unit": unit,
        "endpoint": "ap",
        "direction": "up",
    }
    return base | {"t_ns": 0, "dur_ns": S, "value": value, "phase": "measure"} | fields


def numbers(*samples: dict[str, Any]) -> dict[str, float]:
    by_run: dict[str, list[Sample]] = {}
    for fields in samples:
        by_run.setdefault(fields["run"], []).append(
            Sample(**{name: value for name, value in fields.items() if name != "run"})
        )
    found = per_run(Samples.of(run, of_run) for run, of_run in by_run.items())
    return {f"{run}/{metric}": value for run, metric, value in found}


def test_throughput_weighs_intervals_by_their_length() -> None:
    assert numbers(
        sample("throughput", 10e6, dur_ns=S),
        sample("throughput", 40e6, t_ns=S, dur_ns=S // 2),
    ) == {"r1/throughput": pytest.approx(20e6)}


@given(st.floats(-1e3, 1e3), st.lists(st.integers(1, 10 * S), min_size=1, max_size=5))
def test_the_mean_of_equal_values_is_that_value(value: float, lengths_ns: list[int]) -> None:
    intervals = (sample("snr", value, probe="radio", endpoint="link", dur_ns=length) for length in lengths_ns)
    assert numbers(*intervals) == {"r1/snr": value}


def test_warm_up_does_not_count() -> None:
    assert numbers(
        sample("throughput", 1e6, phase="warmup"),
        sample("throughput", 10e6, t_ns=S),
    ) == {"r1/throughput": 10e6}


def test_throughput_is_taken_from_the_receiver() -> None:
    assert numbers(
        sample("throughput", 50e6, endpoint="sta", direction="up"),
        sample("throughput", 30e6, endpoint="ap", direction="up"),
    ) == {"r1/throughput": 30e6}


def test_both_directions_add_up() -> None:
    assert numbers(
        sample("throughput", 10e6, endpoint="ap", direction="up"),
        sample("throughput", 5e6, endpoint="sta", direction="down"),
    ) == {"r1/throughput": 15e6}


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=300))
def test_rtt_is_the_median_and_p99_needs_enough_round_trips(trips: list[float]) -> None:
    got = numbers(*(sample("rtt", trip, t_ns=i, dur_ns=0, probe="sockperf") for i, trip in enumerate(trips)))
    assert got["r1/rtt"] == pytest.approx(median(trips))
    assert ("r1/rtt_p99" in got) == (len(trips) >= P99_MIN_ROUND_TRIPS)
    if len(trips) >= P99_MIN_ROUND_TRIPS:
        assert sum(trip <= got["r1/rtt_p99"] + 1e-12 for trip in trips) >= 0.98 * len(trips)


def test_jitter_is_the_mean_over_intervals() -> None:
    assert numbers(sample("jitter", 0.2), sample("jitter", 0.4, t_ns=S)) == {"r1/jitter": pytest.approx(0.3)}


def test_loss_is_lost_over_sent_of_the_whole_run() -> None:
    # 50 % of a near-empty interval and 0 % of a full one: not 25 %
    assert numbers(
        sample("datagrams_lost", 1),
        sample("datagrams_sent", 2),
        sample("datagrams_lost", 0, t_ns=S),
        sample("datagrams_sent", 98, t_ns=S),
    ) == {"r1/loss": pytest.approx(0.01)}


def test_loss_without_datagrams_is_missing() -> None:
    assert numbers(sample("datagrams_lost", 0), sample("datagrams_sent", 100)) == {"r1/loss": 0.0}
    assert numbers(sample("datagrams_lost", 0), sample("datagrams_sent", 0)) == {}


@pytest.mark.parametrize(
    "samples",
    [
        [sample("datagrams_lost", 1)],
        [sample("datagrams_sent", 10)],
        [sample("datagrams_lost", None), sample("datagrams_sent", 10)],
        [sample("datagrams_lost", 1), sample("datagrams_lost", None, t_ns=S), sample("datagrams_sent", 10)],
    ],
)
def test_loss_needs_both_counts(samples: Sequence[dict[str, Any]]) -> None:
    assert numbers(*samples) == {}


@pytest.mark.parametrize("metric", ["throughput", "rtt", "jitter", "cpu_system"])
def test_missing_values_have_no_row(metric: str) -> None:
    assert numbers(sample(metric, None)) == {}
    assert numbers(sample(metric, None), sample(metric, 7.0, t_ns=S)) == {f"r1/{metric}": 7.0}


def test_cpu_is_its_value() -> None:
    assert numbers(
        sample("cpu_system", 41.5, probe="cpu", endpoint="machine", direction=""),
        sample("cpu_crypto", 3.5, probe="cpu", endpoint="link", direction=""),
    ) == {"r1/cpu_system": 41.5, "r1/cpu_crypto": 3.5}


def irtt(metric: str, value: float | None, direction: str, **fields: Any) -> dict[str, Any]:
    return sample(metric, value, **{"probe": "irtt", "direction": direction, "unit": "ms", **fields})


def test_idle_delays_are_medians_by_direction() -> None:
    delays = [irtt("delay_idle", value, way, t_ns=at) for way, values in (("up", (1.0, 9.0, 2.0)), ("down", (5.0, 6.0)))
              for at, value in enumerate(values)]  # fmt: skip
    assert numbers(*delays) == {"r1/delay_idle_up": 2.0, "r1/delay_idle_down": 5.5}


def test_ipdv_is_the_mean_absolute_delay_difference() -> None:
    assert numbers(irtt("ipdv", 0.5, "up"), irtt("ipdv", -0.25, "up", t_ns=1)) == {
        "r1/ipdv_up": pytest.approx(0.375)
    }


def test_idle_loss_is_counted_by_direction_and_apart_from_that_under_load() -> None:
    counts = {("up", "sent"): 100, ("up", "lost"): 20, ("down", "sent"): 80, ("down", "lost"): 8}
    counts |= {("both", "sent"): 100, ("both", "lost"): 28}
    rows = [irtt(f"datagrams_{what}", count, way, unit="1") for (way, what), count in counts.items()]
    under_load = [sample("datagrams_sent", 10), sample("datagrams_lost", 1)]
    assert numbers(*rows, *under_load) == {
        "r1/loss": pytest.approx(0.1),
        "r1/loss_idle_up": pytest.approx(0.2),
        "r1/loss_idle_down": pytest.approx(0.1),
    }


def test_an_unmeasured_direction_has_no_idle_loss() -> None:
    rows = [irtt(f"datagrams_{what}", 10, "both", unit="1") for what in ("sent", "lost")]
    unknown = [irtt("datagrams_sent", 10, "up", unit="1"), irtt("datagrams_lost", None, "up", unit="1")]
    assert numbers(*rows, *unknown) == {}


def test_idle_loss_of_lab_sim_is_taken_as_sampled() -> None:
    assert numbers(irtt("loss_idle", 0.25, "down", unit="1", probe="sim")) == {"r1/loss_idle_down": 0.25}


def test_transfers_of_all_stations_and_directions_add_up() -> None:
    whole = {"metric": "ftp_rate", "probe": "ftp", "dur_ns": 2 * S}
    steady = {"metric": "ftp_rate_steady", "probe": "ftp"}
    got = numbers(
        sample(value=1e6, endpoint="sta/sta1", **whole),
        sample(value=2e6, endpoint="sta/sta2", **whole),
        sample(value=4e6, endpoint="sta/sta1", direction="down", **whole),
        sample(value=1.0e6, endpoint="ap/sta1", dur_ns=S, **steady),
        sample(value=4.0e6, endpoint="ap/sta1", t_ns=S, dur_ns=S // 2, **steady),
        sample(value=8e6, endpoint="ap/sta2", **steady),
    )
    assert got == {"r1/ftp_rate": pytest.approx(7e6), "r1/ftp_rate_steady": pytest.approx(10e6)}
    assert METRICS["ftp_rate"].display(1_765_400.0) == pytest.approx(1765.4)  # kbyte/s of 1000 byte


def test_radio_metrics_are_taken_as_sampled() -> None:
    told = {"snr": 21.5, "noise": -93.99, "phy_rate": 54e6, "retries": 7.5, "airtime": 73.0}
    rows = [sample(name, value, probe="radio", endpoint="link", direction="") for name, value in told.items()]
    assert numbers(*rows) == {f"r1/{name}": value for name, value in told.items()}


def test_the_first_of_two_probes_gives_the_value() -> None:
    assert numbers(
        sample("rtt", 1.0, probe="sockperf", dur_ns=0),
        sample("rtt", 9.0, probe="irtt", dur_ns=0),
        sample("rtt", 7.0, run="r2", probe="irtt", dur_ns=0),
        sample("rtt", 1.0, run="r2", probe="sockperf", dur_ns=0),
    ) == {"r1/rtt": 1.0, "r2/rtt": 7.0}


def test_runs_are_separate_and_unknown_metrics_are_ignored() -> None:
    assert numbers(
        sample("throughput", 1e6),
        sample("throughput", 2e6, run="r2"),
        sample("retransmits", 3),
    ) == {"r1/throughput": 1e6, "r2/throughput": 2e6}


def test_another_unit_is_refused_by_name() -> None:
    with pytest.raises(AirtollError, match="run r1: samples of rtt are in 'us' where 'ms' is expected"):
        numbers(sample("rtt", 300.0, unit="us"))


def test_no_samples_at_all() -> None:
    assert per_run([]) == per_run([Samples.of("r1", [])]) == []


def test_every_metric_explains_itself() -> None:
    for name, metric in METRICS.items():
        assert name == metric.name
        assert metric.definition
        assert metric.display(1.0) == pytest.approx(metric.scale)


def test_a_video_has_means_over_its_frames_and_the_shares_that_its_probe_gives() -> None:
    def of_video(metric: str, value: float | None, **fields: Any) -> dict[str, Any]:
        return sample(metric, value, probe="video", **fields)

    assert numbers(
        *(of_video("video_rtt", value, endpoint="sta") for value in (2.0, None, 4.0)),
        *(of_video("frame_delay", value) for value in (30.0, 40.0, None)),
        of_video("late_frames", 0.25),
        of_video("loss", 0.125),
        of_video("delay_mean", 3.0, endpoint="ap/sta1"),
        of_video("delay_mean", 5.0, endpoint="ap/sta3"),
        of_video("frames_late", 4),
        of_video("datagrams_lost", 9),
    ) == {
        "r1/video_rtt": 3.0,
        "r1/frame_delay": 35.0,
        "r1/late_frames": 0.25,
        "r1/loss": 0.125,
        "r1/delay_mean": 4.0,
    }


def test_the_load_of_the_busiest_core_counts() -> None:
    cores = [sample("cpu_core", load, endpoint=f"ap/{core}") for core, load in enumerate((10.0, 70.0, 40.0))]
    assert numbers(*cores) == {"r1/cpu_core": 70.0}


def test_energy_per_payload_is_that_of_all_machines_over_what_the_receiver_got() -> None:
    energy = [
        sample("energy", 30.0, probe="cpu", endpoint=end, direction="", dur_ns=2 * S) for end in ("ap", "sta")
    ]
    throughput = [sample("throughput", 50e6), sample("throughput", 60e6, endpoint="sta")]
    found = numbers(*energy, *throughput)
    assert found["r1/energy"] == 60.0
    assert found["r1/energy_per_gbit"] == pytest.approx(30 / 0.05)  # 30 W at 0.05 Gbit/s
    assert "r1/energy_per_gbit" not in numbers(*throughput)  # no RAPL
    assert "r1/energy_per_gbit" not in numbers(*energy)


def test_the_probes_record_every_metric() -> None:
    assert set(METRICS) == set(PROBES_OF)
    assert all(metric.numbers for metric in METRICS.values())
