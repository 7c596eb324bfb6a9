"""A run that hosts or machine limited is invalid, and lateness counts only against the metrics that it changed."""

from typing import Any

import pytest
from store_fakes import METHOD, make_plan, sample, throughput_samples

from airtoll.probes.base import Measurement, Sample
from airtoll.store import Verdict
from airtoll.store.machine import lacking_share, limit_of
from airtoll.store.verdict import verdict_of

RUN = make_plan(2).runs[0]

AIR_LIMITED: dict[str, Any] = {
    "saturated": True,
    "window_s": 2.0,
    "air_idle_s": 0.004,
    "starved": 0.01,
    "behind_s": 0.001,
    "emulator": {"run_s": 0.9, "wait_s": 0.3},
    "sender": {"run_s": 0.4, "wait_s": 0.5},
    "receiver": {"run_s": 0.3, "wait_s": 0.4},
    "tcp": {
        "age_s": 2.5,
        "busy_s": 2.49,
        "rwnd_limited_s": 0.0,
        "sndbuf_limited_s": 2.0,
        "notsent_bytes": 99,
    },
    "machines": {"machine": {"steal_s": 0.0, "softirq_s": 0.1, "all_s": 4.0}},
}
"""The facts of a run beside other load: programs waited for a CPU, but the queues of the air never ran empty."""

IDLE: dict[str, Any] = {
    "air_idle_s": 0.62,
    "emulator": {"run_s": 0.9, "wait_s": 0.01},
    "sender": {"run_s": 0.4, "wait_s": 0.01},
    "receiver": {"run_s": 0.3, "wait_s": 0.01},
}
"""The changes of these facts if the window of TCP leaves the air idle on a machine with spare time."""


def limit(**changes: Any) -> str | None:
    return limit_of({**AIR_LIMITED, **changes}, aggregating=True)


def test_waiting_programs_do_not_matter_while_the_air_has_data() -> None:
    assert limit() is None


def test_a_window_or_a_modelled_processor_may_leave_the_air_idle() -> None:
    assert limit(**IDLE) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"receiver": {"run_s": 1.94, "wait_s": 0.0}}, "the receiver's CPU was busy for 97 % of the run"),
        ({"sender": {"run_s": 1.9, "wait_s": 0.0}}, "the sender's CPU was busy for 95 % of the run"),
        (
            {"emulator": {"run_s": 0.5, "wait_s": 0.24}},
            "the emulator waited for a CPU for 12 % of the run",
        ),
        (
            {"receiver": {"run_s": 0.2, "wait_s": 0.08}},
            "the receiver's program waited for a CPU for 4.0 % of the run",
        ),
        (
            {"tcp": {"age_s": 2.5, "busy_s": 1.5}},
            "the sender's program left TCP without data for 40 % of the run",
        ),
        (
            {"machines": {"machine": {"steal_s": 0.4, "softirq_s": 0.1, "all_s": 4.0}}},
            "the hypervisor took 10 % of the machine's CPU time",
        ),
    ],
)
def test_the_machine_is_named_if_the_air_lacked_data_meanwhile(changes: dict[str, Any], reason: str) -> None:
    assert limit(**{**IDLE, **changes}) == f"{reason}; the air lacked data for 32 % of the run"


def test_short_aggregates_count_as_lack_of_data_only_where_frames_are_aggregated() -> None:
    facts = {**AIR_LIMITED, "starved": 0.5}
    assert lacking_share(facts, aggregating=True) == pytest.approx(0.002 + 0.998 * 0.5)
    assert lacking_share(facts, aggregating=False) == pytest.approx(0.002)
    assert limit_of(facts, aggregating=False) is None
    assert "lacked data for 50 %" in str(limit_of(facts, aggregating=True))


@pytest.mark.parametrize(
    "changes",
    [
        {"saturated": False},  # a load set by the study
        {"air_idle_s": None},  # real radios
        {"emulator": None, "sender": None, "receiver": None, "tcp": None, "machines": {}},  # virtual time
    ],
)
def test_without_a_measure_of_the_machine_there_is_no_limit(changes: dict[str, Any]) -> None:
    busy = {"air_idle_s": 0.62, "sender": {"run_s": 2.0, "wait_s": 0.0}}
    assert limit(**{**IDLE, **busy, **changes}) is None


def verdict(samples: list[Sample], counters: dict[str, Any], limits: dict[str, Any] | None = None) -> Verdict:
    facts = {} if limits is None else {"limits": limits}
    return verdict_of(
        RUN, METHOD, {"throughput": Measurement(samples=samples, facts=facts)}, {"ampdu": True}, counters
    )


def delays(value_ms: float) -> list[Sample]:
    return [sample(0.03 * at, value_ms, metric="rtt", unit="ms", dur_ns=0) for at in range(101)]


def late(p50_us: float, p99_us: float, behind_s: float = 0.0, **others: Any) -> dict[str, Any]:
    return {"lateness_us": {"p50": p50_us, "p99": p99_us}, "behind_s": behind_s, **others}


def test_a_limited_run_is_invalid_whatever_the_transport() -> None:
    busy = {**AIR_LIMITED, **IDLE, "receiver": {"run_s": 1.94, "wait_s": 0.0}}
    for transport in ("tcp", "udp"):
        run = RUN.model_copy(update={"cell": RUN.cell.model_copy(update={"transport": transport})})
        measured = {"throughput": Measurement(samples=throughput_samples(), facts={"limits": busy})}
        assert verdict_of(run, METHOD, measured, {}, {}).reasons == (
            "machine too slow: throughput: the receiver's CPU was busy for 97 % of the run; "
            "the air lacked data for 31 % of the run",
        )


def test_a_probe_that_loads_each_direction_is_limited_in_any_of_them() -> None:
    busy = {**AIR_LIMITED, **IDLE, "sender": {"run_s": 1.0, "wait_s": 0.4}}
    facts = {"up": {"reached": True, "limits": AIR_LIMITED}, "down": {"reached": True, "limits": busy}}
    measured = {"responsiveness": Measurement(samples=delays(5.0), facts=facts)}
    assert verdict_of(RUN, METHOD, measured, {}, {}).reasons == (
        "machine too slow: responsiveness: the sender's program waited for a CPU for 20 % of the run; "
        "the air lacked data for 31 % of the run",
    )


def test_a_throughput_survives_a_late_frame_that_a_delay_does_not() -> None:
    found = verdict([*throughput_samples(), *delays(0.4)], late(150, 5000))
    assert found.valid
    assert found.spoiled == {
        "rtt": "p50 of the lateness 0.150 ms, limit 0.100 ms",
        "rtt_p99": "p99 of the lateness 5.000 ms, limit 0.100 ms",
    }
    assert found.valid_for("throughput")
    assert not found.valid_for("rtt")


def test_a_long_delay_bears_more_lateness_than_a_short_one() -> None:
    assert verdict([*throughput_samples(), *delays(20.0)], late(150, 1900)).spoiled == {}
    assert set(verdict([*throughput_samples(), *delays(20.0)], late(150, 2100)).spoiled) == {"rtt_p99"}


def test_a_percentile_is_compared_with_the_same_percentile_of_the_lateness() -> None:
    measured = [sample(0.0, 2.0, metric="delay_p99", unit="ms"), sample(0.0, 2.0, metric="jitter", unit="ms")]
    assert verdict([*throughput_samples(), *measured], late(50, 500)).spoiled == {
        "delay_p99": "p99 of the lateness 0.500 ms, limit 0.200 ms"
    }


def test_without_its_delays_a_run_of_delays_is_invalid() -> None:
    found = verdict(delays(0.4), late(150, 150))
    assert found.reasons == (
        "emulation late: p50 of the lateness 0.150 ms, limit 0.100 ms",
        "emulation late: p99 of the lateness 0.150 ms, limit 0.100 ms",
    )
    assert not found.valid_for("rtt")


def test_a_throughput_bears_little_time_by_which_the_air_fell_behind() -> None:
    assert verdict(throughput_samples(), late(9000, 9000, 0.029)).valid  # in 3 s
    found = verdict(throughput_samples(), late(9000, 9000, -0.06))
    assert found.reasons == ("emulation late: the air fell behind by 2.0 % of the window, limit 1.0 %",)
    # The window of the probe is more exact than the run.
    assert verdict(throughput_samples(), late(9000, 9000, 0.06), AIR_LIMITED).valid


def test_stolen_time_is_named_where_it_made_the_air_late() -> None:
    stolen = {"machines": {"machine": {"steal_s": 0.4, "all_s": 4.0}}}
    found = verdict(throughput_samples(), late(1, 1, 0.06, **stolen))
    assert found.reasons[0].endswith("limit 1.0 %; the hypervisor took 10 % of the machine's CPU time")
    assert verdict(throughput_samples(), late(1, 1, 0.0, **stolen)).valid


def test_a_loss_does_not_count_if_queues_overflowed_while_the_air_was_late() -> None:
    samples = [*throughput_samples(), sample(0.0, 5.0, metric="datagrams_lost", unit="1")]
    light = {**AIR_LIMITED, "saturated": False}
    full = late(10, 10, slips=3, ap={"drops_queue": 5}, refused=1)
    assert verdict(samples, full, light).spoiled == {
        "datagrams_lost": "queues dropped 6 frames, and 3 PPDUs were more than 5 ms late"
    }
    assert verdict(samples, full, AIR_LIMITED).spoiled == {}  # its queue is full in any case
    assert verdict(samples, late(10, 10, slips=3, ap={"drops_queue": 0}), light).spoiled == {}
    assert verdict(samples, late(10, 10, slips=0, ap={"drops_queue": 5}), light).spoiled == {}


@pytest.mark.parametrize(("share", "counts"), [(None, True), (1.0, True), (0.992, True), (0.98, False)])
def test_a_loss_counts_only_for_the_load_that_was_asked_for(share: float | None, counts: bool) -> None:
    samples = [*throughput_samples(), sample(0.0, 5.0, metric="datagrams_lost", unit="1")]
    measured = {"throughput": Measurement(samples=samples, facts={"sent_share": share})}
    found = verdict_of(RUN, METHOD, measured, {}, {})
    assert found.valid
    why = "a sender sent 98 % of the offered load, limit 99 %"
    assert found.spoiled == ({} if counts else {"loss": why, "datagrams_lost": why})


def test_a_lab_that_does_not_count_how_far_the_air_fell_behind_has_one_limit_for_all_metrics() -> None:
    found = verdict([*throughput_samples(), *delays(50.0)], {"lateness_us": {"p50": 1.0, "p99": 1000.4}})
    assert found.reasons == ("emulation late: p99 of the lateness 1000 us, limit 1000 us",)


def test_frames_that_wait_in_a_modelled_processor_are_data() -> None:
    busy = {**AIR_LIMITED, "starved": 1.0}
    measured = {"throughput": Measurement(samples=throughput_samples(), facts={"limits": busy})}
    assert verdict_of(RUN, METHOD, measured, {"ampdu": True, "processor": {"frame_us": 50.0}}, {}).valid
    assert not verdict_of(RUN, METHOD, measured, {"ampdu": True, "processor": None}, {}).valid
