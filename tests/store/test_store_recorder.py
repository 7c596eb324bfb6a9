"""Recording performs the remaining runs in order, on one link at a time, and keeps finished runs."""

import json
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import store_fakes
from store_fakes import METHOD, STUDY, FakeLab, FakeProbe, content_of, ignore, make_plan, sample

from airtoll import other_load
from airtoll.course import Course
from airtoll.errors import AirtollError, UsageError
from airtoll.host import HostEvent
from airtoll.store import (
    Event,
    FinishedRun,
    NoLoadError,
    ProbeStarted,
    RepeatWaits,
    Result,
    RunFinished,
    RunStarted,
    check_ready,
    record,
)
from airtoll.store.recorder import difference
from airtoll.store.records import Facts
from airtoll.study.cell import Method, Run


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return Result.create(tmp_path / "r", STUDY, make_plan(), "fake", quick=True)


def raise_at(number: int, error: BaseException) -> FakeProbe:
    """A probe whose measurement with this number fails."""

    def before(measurement: int) -> None:
        if measurement == number:
            raise error

    return FakeProbe(before=before)


def test_every_run_is_measured_once_in_order_with_its_own_seed(result: Result) -> None:
    lab, probes = FakeLab(), [FakeProbe("iperf3"), FakeProbe("sockperf")]
    record(result, lab, probes, ignore)
    plan = make_plan()
    assert lab.opened == [(run.cell, run.seed) for run in plan.runs]
    assert (lab.open_now, lab.most_open) == (0, 1)
    for probe in probes:
        assert probe.measured == [run.cell for run in plan.runs]
    assert [one.run for one in result.records()] == list(plan.runs)
    assert result.verify() == []
    assert sum(map(len, result.samples())) == 3 * 2 * 4


def test_a_record_has_times_versions_facts_and_faults(result: Result) -> None:
    record(result, FakeLab(facts={"rate_bit_per_s": 54e6}), [FakeProbe()], ignore)
    one = result.records()[1]
    assert one.started <= one.finished
    assert one.started.utcoffset() == one.finished.utcoffset()
    assert one.versions.tools == {"iperf3": "3.12"}
    assert one.hosts == {"ap": {"kernel": "6.1", "role": "ap"}, "sta": {"kernel": "6.1", "role": "sta"}}
    assert one.link == {"cipher": "ccmp", "rate_bit_per_s": 54e6}
    assert one.probes["iperf3"]["commands"] == [["iperf3", "-s"]]
    assert one.verdict.valid
    assert result.plan_record.quick
    raw = content_of(result.run_directory(one.run.id) / "raw")
    assert raw["iperf3/out.json"] == b"iperf3 on ccmp\n"
    assert set(raw) == {"iperf3/out.json", "counters-before.json", "counters-after.json"}


def _event(name: str, at_s: float, **words: Any) -> HostEvent:
    return HostEvent(event=name, interface="wlan0", t_ns=round(at_s * 1e9), **words)


LEFT = [_event("disconnected", 0.25, reason=3), _event("connected", 0.75)]


def test_a_run_in_which_a_link_changed_is_invalid(result: Result) -> None:
    joined = [_event("station joined", 0.5, peer="02:00:00:00:00:09")]
    record(result, FakeLab(events={2: LEFT, 3: joined}), [FakeProbe()], ignore)
    first, second, third = result.records()
    assert second.verdict.reasons == ("link changed: sta: disconnected (reason 3) at 0.25 s, and 1 more",)
    assert second.link["events"] == [
        {"at_s": 0.25, "host": "sta", "event": "disconnected", "reason": 3},
        {"at_s": 0.75, "host": "sta", "event": "connected"},
    ]
    assert len(list(result.samples())[1]) > 0
    assert (first.verdict.valid, first.link["events"]) == (True, [])
    assert (third.verdict.valid, len(third.link["events"])) == (True, 1)


def test_a_probe_that_fails_because_a_link_changed_costs_its_run(result: Result) -> None:
    lab = FakeLab(events={2: LEFT}, survives_loss=True)
    outcomes = iter([None, AirtollError("iperf3: no answer"), None])

    def fail_once(_: int) -> None:
        if (error := next(outcomes)) is not None:
            raise error

    record(result, lab, [FakeProbe(before=fail_once)], ignore)
    first, second, third = result.records()
    assert second.verdict.reasons == (
        "link changed: sta: disconnected (reason 3) at 0.25 s, and 1 more: iperf3: no answer",
    )
    assert first.verdict.valid
    assert third.verdict.valid


@pytest.mark.parametrize("survives_loss", [True, False])
def test_a_probe_that_fails_on_an_unchanged_link_ends_the_study(result: Result, survives_loss: bool) -> None:
    lab = FakeLab(events={2 if not survives_loss else 1: LEFT}, survives_loss=survives_loss)
    with pytest.raises(AirtollError, match=r"^run 0002-.*: .*iperf3: no answer$"):
        record(result, lab, [raise_at(2, AirtollError("iperf3: no answer"))], ignore)
    assert len(result.records()) == 1


def test_counters_are_differences_and_both_readings_are_kept(result: Result) -> None:
    record(result, FakeLab(), [FakeProbe()], ignore)
    first = result.records()[0]
    late = {"p50": 1.0, "p99": 60.0, "p999": 40.0, "max": 50.0}
    assert first.counters == {"delivered": 10, "elapsed_s": 5.0, "lateness_us": late}
    raw = result.run_directory(first.run.id) / "raw"
    assert json.loads((raw / "counters-before.json").read_text())["delivered"] == 10
    assert json.loads((raw / "counters-after.json").read_text())["delivered"] == 20


def test_the_difference_of_counters() -> None:
    before: Facts = {
        "frames": {"up": 1, "down": 2},
        "gone": 1,
        "slips": 0,
        "state": "a",
        "on": True,
        "late_us": None,
    }
    after: Facts = {
        "frames": {"up": 5, "down": 2, "new": 7},
        "slips": 0,
        "state": "b",
        "on": True,
        "late_us": {"p50": 3.0},
        "list": [1],
        "received": {"snr_db": {"24.00": 9, "-3.50": 2}},
    }
    assert difference(before, after) == {
        "frames": {"up": 4, "down": 0, "new": None},
        "slips": 0,
        "state": "b",
        "on": True,
        "late_us": {"p50": 3.0},
        "list": [1],
        "received": {"snr_db": {"24.00": 9, "-3.50": 2}},
    }


def test_an_invalid_run_is_stored_with_its_reasons(result: Result) -> None:
    probe = FakeProbe(faults=["the server\nended early"], samples=[sample(float(t), 0.0) for t in range(3)])
    record(result, FakeLab(), [probe], ignore)
    assert len(result.finished()) == 3
    for one in result.records():
        assert not one.verdict.valid
        assert [reason.partition(":")[0] for reason in one.verdict.reasons] == [
            "zero interval",
            "probe fault",
        ]


def test_a_run_without_load_is_skipped_with_the_reason(result: Result) -> None:
    class SecondHasNone:
        def left(self) -> Iterator[Run]:
            return iter(make_plan().runs)

        def method(self, run: Run) -> Method:
            if run.order == 2:
                raise NoLoadError("nothing\nbefore it counts")
            return METHOD

        def add(self, run: FinishedRun) -> None:
            added.append(run.record.verdict.valid)

    added: list[bool] = []
    probe = FakeProbe()
    record(result, FakeLab(), [probe], ignore, course=SecondHasNone())
    assert added == [True, False, True]
    assert len(probe.measured) == 2
    passed_over = result.records()[1]
    assert passed_over.verdict.reasons == ("no load: nothing before it counts",)
    assert (passed_over.hosts, passed_over.link, passed_over.probes) == ({}, {}, {})
    assert result.pending() == ()
    assert result.verify() == []


def test_the_link_and_the_plan_are_judged_together(result: Result) -> None:
    lab = FakeLab(facts={"cipher": "open"})
    record(result, lab, [FakeProbe()], ignore)
    assert [one.verdict.valid for one in result.records()] == [True, False, True]


def test_progress_events_are_sent_as_they_occur(result: Result) -> None:
    events: list[Event] = []
    record(result, FakeLab(), [FakeProbe("a"), FakeProbe("b")], events.append)
    runs = make_plan().runs
    assert events[:4] == [
        RunStarted(runs[0], 0, 3),
        ProbeStarted(runs[0], "a"),
        ProbeStarted(runs[0], "b"),
        RunFinished(result.records()[0], 1, 3),
    ]
    assert [(event.done, event.total) for event in events if isinstance(event, RunFinished)] == [
        (1, 3),
        (2, 3),
        (3, 3),
    ]


def test_resume_performs_only_the_remaining_runs(result: Result) -> None:
    with pytest.raises(AirtollError):
        record(result, FakeLab(), [raise_at(2, AirtollError("x"))], ignore)
    result.close()
    kept = content_of(result.directory / "runs")
    probe, events = FakeProbe(), list[Event]()
    with Result.resume(result.directory, STUDY, make_plan()) as again:
        record(again, FakeLab(), [probe], events.append)
        assert again.pending() == ()
        assert again.verify() == []
    assert [cell.security for cell in probe.measured] == ["ccmp", "open"]
    assert events[0] == RunStarted(make_plan().runs[1], 1, 3)
    assert kept.items() <= content_of(result.directory / "runs").items()


def test_a_complete_result_needs_neither_tools_nor_lab(result: Result) -> None:
    record(result, FakeLab(), [FakeProbe()], ignore)
    lab = FakeLab(cannot="no device")
    record(result, lab, [FakeProbe(absent="apt-get install iperf3")], ignore)
    assert lab.opened == []


@pytest.mark.parametrize(
    "error",
    [
        AirtollError("iperf3: unable to connect\nto server"),
        UsageError("iperf3 went missing"),
        OSError(24, "Too many open files"),
        subprocess.TimeoutExpired(["iperf3"], 5.0),
    ],
)
def test_a_failing_probe_ends_the_recording_in_one_line_with_the_run(
    result: Result, error: Exception
) -> None:
    lab = FakeLab()
    with pytest.raises(AirtollError) as caught:
        record(result, lab, [raise_at(2, error)], ignore)
    second = make_plan().runs[1].id
    assert str(caught.value).startswith(f"run {second}: ")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == (2 if isinstance(error, UsageError) else 1)
    assert lab.open_now == 0
    assert result.finished() == {make_plan().runs[0].id}
    assert result.verify() == []


@pytest.mark.parametrize("moment", ["open_fails", "close_fails"])
def test_a_failing_lab_ends_the_recording_and_the_run_is_not_stored(result: Result, moment: str) -> None:
    lab = FakeLab()
    setattr(lab, moment, AirtollError("the emulator ended (SIGKILL)"))
    message = rf"^run {make_plan().runs[0].id}: the emulator ended \(SIGKILL\)$"
    with pytest.raises(AirtollError, match=message):
        record(result, lab, [FakeProbe()], ignore)
    assert result.finished() == set()


def test_facts_without_a_json_form_are_one_line(result: Result) -> None:
    with pytest.raises(
        AirtollError, match=f"^run {make_plan().runs[0].id}: facts of the link cannot be stored as JSON"
    ):
        record(result, FakeLab(facts={"thing": object()}), [FakeProbe()], ignore)


def test_numbers_that_json_lacks_become_null(result: Result) -> None:
    record(result, FakeLab(facts={"snr_db": float("nan")}), [FakeProbe()], ignore)
    assert result.records()[0].link["snr_db"] is None
    assert result.verify() == []


@pytest.mark.parametrize("pcap", [False, True])
def test_ctrl_c_discards_the_current_run_and_keeps_the_others(result: Result, pcap: bool) -> None:
    def interrupt(number: int) -> None:
        if number == 2:
            signal.raise_signal(signal.SIGINT)

    lab = FakeLab()
    with pytest.raises(KeyboardInterrupt):
        record(result, lab, [FakeProbe(before=interrupt)], ignore, pcap=pcap)
    assert lab.open_now == 0
    assert result.finished() == {make_plan().runs[0].id}
    assert result.verify() == []
    assert not list(result.directory.rglob(".tmp-*"))


def test_impossible_studies_are_refused() -> None:
    cases = [
        (
            FakeLab(),
            [FakeProbe(), FakeProbe("sockperf", absent="apt-get install sockperf")],
            "apt-get install sockperf",
        ),
        (FakeLab(cannot="security 'ccmp': lab fake has open"), [FakeProbe()], "lab fake has open"),
        (FakeLab(), [FakeProbe(), FakeProbe()], "duplicate probe"),
    ]
    for lab, probes, message in cases:
        with pytest.raises(UsageError, match=message):
            check_ready(make_plan().runs, lab, probes)
        assert lab.opened == []


def test_a_result_is_continued_only_in_its_own_lab(result: Result) -> None:
    lab = FakeLab(name="other")
    with pytest.raises(UsageError, match="is recorded in lab fake, not in other"):
        record(result, lab, [FakeProbe()], ignore)
    assert lab.opened == []
    assert result.finished() == set()


def test_a_capture_of_the_air_is_kept_on_request(result: Result) -> None:
    record(result, FakeLab(), [FakeProbe()], ignore, pcap=True)
    for run in make_plan().runs:
        assert (result.run_directory(run.id) / "raw" / "air.pcap").stat().st_size == 24
    assert result.verify() == []
    assert not list(result.directory.glob(".tmp-*"))


def test_a_missing_capture_is_an_error(result: Result) -> None:
    with pytest.raises(AirtollError, match="lab fake wrote no capture"):
        record(result, FakeLab(writes_pcap=False), [FakeProbe()], ignore, pcap=True)
    assert not list(result.directory.glob(".tmp-*"))


def test_in_virtual_time_runs_are_stored_together_whatever_ends_the_recording(result: Result) -> None:
    stored: list[int] = []

    def see(event: Event) -> None:
        if isinstance(event, RunStarted):
            stored.append(len(result.finished()))

    with pytest.raises(KeyboardInterrupt):
        record(result, FakeLab(virtual=True), [raise_at(3, KeyboardInterrupt())], see)
    assert stored == [0, 0, 0]
    assert len(result.finished()) == 2
    record(result, FakeLab(virtual=True), [FakeProbe()], ignore)
    assert result.pending() == ()
    assert result.verify() == []


def test_missing_requirements_of_a_lab_are_reported_before_it_is_opened() -> None:
    lab = FakeLab(absent="lab fake needs a moon")
    with pytest.raises(UsageError, match=r"^lab fake needs a moon$"):
        check_ready(make_plan().runs, lab, [FakeProbe()])
    assert lab.opened == []


def test_an_invalid_run_is_repeated_after_its_block_and_stays_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = METHOD.model_copy(update={"retries": 1})
    monkeypatch.setattr(store_fakes, "METHOD", method)
    plan = make_plan(4).model_copy(update={"method": method})
    probe = FakeProbe()

    def before(measurement: int) -> None:
        probe.faults = ("the link was lost",) if measurement == 1 else ()

    probe.before = before
    idle, busy = other_load.OtherLoad(2, 0.0, 0.0), other_load.OtherLoad(2, 2.0, 0.0)
    loads = iter([busy, idle])
    wait = partial(other_load.wait_until_over, load=lambda: next(loads))
    monkeypatch.setattr(other_load, "wait_until_over", wait)
    events: list[Event] = []
    with Result.create(tmp_path / "r", STUDY, plan, "fake", quick=False) as result:
        record(result, FakeLab(), [probe], events.append, course=Course.of(result))
    waits = [event for event in events if isinstance(event, RepeatWaits)]
    assert [(wait.run.order, wait.run.attempt) for wait in waits] == [(1, 2)]
    assert waits[0].why == "other programs use 2.0 of 2 cores"
    assert next(loads, None) is None
    began = [(event.run.order, event.run.attempt) for event in events if isinstance(event, RunStarted)]
    assert began == [(1, 1), (2, 1), (1, 2), (3, 1), (4, 1)]
    assert [event.done for event in events if isinstance(event, RunFinished)] == [1, 2, 2, 3, 4]
    first, again, *_ = result.records()
    assert (first.verdict.valid, again.verdict.valid) == (False, True)
    assert again.run.id == f"{first.run.id}-attempt2"
    assert result.verify() == []
    assert len(result.samples()) == 5
