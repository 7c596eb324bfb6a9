"""A run is valid unless it has a named reason against it; missing reports are not a reason."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from store_fakes import METHOD, make_plan, sample, throughput_samples

from airtoll.probes.base import Measurement, Sample
from airtoll.store import Verdict
from airtoll.store.verdict import HOST_LOST, NO_LOAD, REASONS, verdict_of

OPEN, CCMP = make_plan(2).runs


def reasons(
    samples: list[Sample] | None = None,
    link: dict[str, Any] | None = None,
    counters: dict[str, Any] | None = None,
    faults: tuple[str, ...] = (),
    expected: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    **others: list[Sample],
) -> list[str]:
    """The reasons why a CCMP run with these measurements is invalid."""
    own = throughput_samples() if samples is None else samples
    measurements = {"iperf3": Measurement(samples=own, facts=facts or {}, faults=faults)}
    measurements |= {probe: Measurement(samples=values) for probe, values in others.items()}
    verdict = verdict_of(CCMP, METHOD, measurements, link or {}, counters or {}, expected=expected)
    assert verdict.valid == (not verdict.reasons)
    assert all(reason.partition(": ")[0] in REASONS and "\n" not in reason for reason in verdict.reasons)
    return list(verdict.reasons)


def rtt(t_s: float, value: float | None = 0.3) -> Sample:
    return sample(t_s, value, probe="pingpong", metric="rtt", unit="ms", dur_ns=0)


def test_a_failed_cross_check_does_not_make_a_run_invalid() -> None:
    assert reasons(sockperf=[]) == []


def test_a_good_run_is_valid() -> None:
    link = {"cipher": "ccmp"}
    counters = {
        "lateness_us": {"p50": 1.0, "p99": 1000.0, "p999": 9000.0, "max": 40000.0},
        "slips": 3,
        "emulator_cpu_s": 9.0,
        "elapsed_s": 10.0,
        "open_errors": 0,
    }
    assert reasons(link=link, counters=counters, rtt=[rtt(0.0), rtt(2.9)]) == []


@pytest.mark.parametrize(
    "counters",
    [
        {},
        {"lateness_us": None, "open_errors": None, "emulator_cpu_s": None, "elapsed_s": None, "slips": None},
        {"lateness_us": {}, "elapsed_s": 10.0},
        {"emulator_cpu_s": 10.0},
        {"emulator_cpu_s": 10.0, "elapsed_s": 0.0},
        {"open_errors": "none", "lateness_us": 5000.0},
    ],
)
def test_values_that_a_lab_does_not_report_do_not_invalidate_a_run(counters: dict[str, Any]) -> None:
    assert reasons(counters=counters, link={"cipher": None}) == []


def test_a_probe_without_a_value_is_no_sample() -> None:
    whole = "no sample: iperf3 has no value in the measured window"
    assert reasons([]) == [whole]
    assert reasons([sample(float(t), None) for t in range(3)]) == [whole]
    assert reasons([sample(float(t), phase="warmup") for t in range(3)]) == [whole]
    assert reasons(rtt=[]) == ["no sample: rtt has no value in the measured window"]


def test_an_interval_without_a_throughput_is_no_sample() -> None:
    samples = [sample(0.0), sample(1.0, None), sample(2.0)]
    assert reasons(samples)[0] == "no sample: iperf3 throughput ap up: 1 of 3 intervals, the first at 1 s"


def test_other_metrics_may_lack_values() -> None:
    jitter = [sample(float(t), None, metric="jitter", unit="ms") for t in range(3)]
    assert reasons([*throughput_samples(), *jitter]) == []


def test_a_zero_interval_is_found_in_its_own_direction() -> None:
    up = throughput_samples()
    down = [
        sample(0.0, direction="down"),
        sample(1.0, 0.0, direction="down"),
        sample(2.0, 0.0, direction="down"),
    ]
    assert reasons([*up, *down]) == [
        "zero interval: iperf3 throughput ap down: 2 of 3 intervals, the first at 1 s"
    ]


def test_tcp_may_pause_to_repair_a_loss_but_not_for_most_of_the_time() -> None:
    def verdict(zeros: int) -> tuple[str, ...]:
        samples = [sample(float(t), 0.0 if t < zeros else 1e6) for t in range(5)]
        run = CCMP.model_copy(update={"cell": CCMP.cell.model_copy(update={"transport": "tcp"})})
        return verdict_of(run, METHOD, {"iperf3": Measurement(samples=samples)}, {}, {}).reasons

    assert verdict(2) == ()
    assert verdict(3) == ("zero interval: iperf3 throughput ap up: 3 of 5 intervals, the first at 0 s",)


def test_zeros_of_the_warm_up_and_of_other_metrics_are_fine() -> None:
    lost = [sample(float(t), 0.0, metric="datagrams_lost", unit="1") for t in range(3)]
    assert reasons([sample(-1.0, 0.0, phase="warmup"), *throughput_samples(), *lost]) == []


@pytest.mark.parametrize(("last_ns", "short"), [(700_000_000, False), (699_000_000, True)])
def test_nine_tenths_of_the_duration_are_enough(last_ns: int, short: bool) -> None:
    found = reasons([sample(0.0), sample(1.0), sample(2.0, dur_ns=last_ns)])
    assert found == (["short window: iperf3 covers 2.7 s of 3 s"] if short else [])


def test_overlapping_intervals_are_not_counted_twice() -> None:
    assert reasons([sample(0.0), sample(0.0, endpoint="sta"), sample(1.0), sample(0.5)]) == [
        "short window: iperf3 covers 2 s of 3 s"
    ]


def test_one_direction_that_ends_early_is_a_short_window() -> None:
    assert reasons([*throughput_samples(), sample(0.0, direction="down")]) == [
        "short window: iperf3 throughput ap down covers 1 s of 3 s"
    ]


def test_instants_cover_the_time_from_first_to_last() -> None:
    assert reasons(rtt=[rtt(t / 10) for t in range(28)]) == []
    assert reasons(rtt=[rtt(0.0), rtt(1.5)]) == ["short window: rtt covers 1.5 s of 3 s"]
    assert reasons(rtt=[rtt(0.0)]) == ["short window: rtt covers 0 s of 3 s"]


def test_a_pause_between_round_trips_belongs_to_the_window() -> None:
    def verdict(count: int) -> tuple[str, ...]:
        trips = [
            Sample("pingpong", "rtt", "ms", "sta", "both", 10_000_000 * at, 400_000, 0.4)
            for at in range(count)
        ]
        method = METHOD.model_copy(update={"rtt_pause": 0.01})
        return verdict_of(CCMP, method, {"rtt": Measurement(samples=trips)}, {}, {}).reasons

    assert verdict(300) == ()
    assert verdict(200) == ("short window: rtt covers 2 s of 3 s",)


@given(st.lists(st.integers(0, 3_000_000_000), max_size=12).map(sorted))
def test_a_window_may_be_cut_into_any_intervals(cuts: list[int]) -> None:
    edges = [0, *cuts, 3_000_000_000]
    samples = [sample(t_ns=a, dur_ns=b - a) for a, b in itertools.pairwise(edges)]
    assert reasons(samples) == []


def test_an_emulation_that_ran_late() -> None:
    counters = {"lateness_us": {"p99": 1000.4}, "slips": 4}
    assert reasons(counters=counters) == [
        "emulation late: p99 of the lateness 1000 us, limit 1000 us, 4 slips"
    ]
    assert reasons(counters={"lateness_us": {"p99": 2000}}) == [
        "emulation late: p99 of the lateness 2000 us, limit 1000 us"
    ]


def test_an_emulator_short_of_cpu() -> None:
    counters = {"emulator_cpu_s": 9.1, "elapsed_s": 10.0}
    assert reasons(counters=counters) == ["emulator saturated: used 0.91 of a core, limit 0.90"]


def test_a_cipher_other_than_the_requested_one() -> None:
    assert reasons(link={"cipher": "open"}) == ["wrong cipher: link uses open, expected ccmp"]
    good = {"iperf3": Measurement(samples=throughput_samples())}
    assert verdict_of(OPEN, METHOD, good, {"cipher": "open"}, {}).valid


def test_the_cipher_of_a_security_profile_is_expected_not_its_name() -> None:
    good = {"iperf3": Measurement(samples=throughput_samples())}
    cell = OPEN.cell.model_copy(update={"security": "mine"})
    mine = OPEN.model_copy(update={"cell": cell})
    assert verdict_of(mine, METHOD, good, {"cipher": "gcmp"}, {}, "gcmp").valid
    assert not verdict_of(mine, METHOD, good, {"cipher": "ccmp"}, {}, "gcmp").valid


def test_facts_of_the_link_other_than_the_cell_asks_for() -> None:
    expected = {"wpa_key_mgmt": "sae", "bandwidth_mhz": 80, "ieee80211w": True}
    assert reasons(link={"wpa_key_mgmt": "wpa-psk", "bandwidth_mhz": 40}, expected=expected) == [
        "wrong link: wpa_key_mgmt is wpa-psk, expected sae",
        "wrong link: bandwidth_mhz is 40, expected 80",
    ]
    assert reasons(link={"ieee80211w": None}, expected=expected) == [
        "wrong link: ieee80211w is null, expected true"
    ]
    assert reasons(link={"wpa_key_mgmt": "sae"}, expected=expected) == []


def test_changes_of_the_link_are_counted_per_host() -> None:
    def event(host: str, at_s: float, name: str, **words: Any) -> dict[str, Any]:
        return {"at_s": at_s, "host": host, "event": name, **words}

    events = [
        event("ap", 0.5, "station left", peer="02:00:00:00:00:07"),
        event("sta1", 0.5, "regulatory domain changed", country="DE"),
        event("sta1", 1.0, "deauthenticated", reason=7),
        event("sta2", 1.234567, "carrier down"),
        event("sta1", 2.0, "associated", status=0),
    ]
    assert reasons(link={"events": events}) == [
        "link changed: sta1: deauthenticated (reason 7) at 1 s, and 1 more",
        "link changed: sta2: carrier down at 1.23 s",
    ]
    assert reasons(link={"events": events[:2]}) == []


def test_frames_that_failed_to_open() -> None:
    assert reasons(counters={"open_errors": 2}) == ["open errors: 2 frames failed to open"]


def test_faults_of_a_probe_become_one_line_each() -> None:
    assert reasons(faults=("server ended:\n  signal 9", "clock went back")) == [
        "probe fault: iperf3: server ended: signal 9",
        "probe fault: iperf3: clock went back",
    ]


def test_all_reasons_against_a_measured_run_are_given_in_their_order() -> None:
    found = reasons(
        [sample(0.0), sample(1.0, 0.0)],
        link={
            "cipher": "tkip",
            "bandwidth_mhz": 40,
            "events": [{"event": "roamed", "host": "sta", "at_s": 1.0}],
        },
        expected={"bandwidth_mhz": 80},
        counters={"lateness_us": {"p99": 1e4}, "emulator_cpu_s": 5, "elapsed_s": 5, "open_errors": 1},
        faults=("x",),
        facts={
            "limits": {
                "saturated": True,
                "window_s": 2.0,
                "air_idle_s": 1.0,
                "sender": {"run_s": 2.0, "wait_s": 0.0},
            }
        },
        rtt=[],
    )
    assert [reason.partition(": ")[0] for reason in found] == [
        reason for reason in REASONS if reason not in (NO_LOAD, HOST_LOST)
    ]


def test_a_verdict_cannot_contradict_itself() -> None:
    with pytest.raises(ValidationError):
        Verdict(valid=True, reasons=("no sample: x",))
    with pytest.raises(ValidationError):
        Verdict(valid=False, reasons=())
