"""Runs of lab sim are performed side by side. Their number has no influence on the result."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from store_fakes import STUDY, FakeLab, FakeProbe, ignore, make_plan

from airtoll.errors import AirtollError
from airtoll.stats import per_run
from airtoll.store import Result, record
from airtoll.store.side_by_side import OnCores

STOPPING = """
title = "A stopping rule, and a load that follows from earlier runs"
lab = "sim"

[factors]
security = ["open", "ccmp"]
transport = ["tcp", "udp"]
ip = ["ipv4"]
packet_size = ["256 B", "1408 B"]
phy = ["ofdm"]
rate = [54]

[method]
repeats = 6
least_repeats = 2
discard_first = 1
stop = "agreement"
within = "0.5 %"
duration = "0.1 s"
warmup = "0 s"
udp_load = "tcp"
probes = ["throughput"]
"""


def test_workers_and_clock_change_neither_runs_nor_samples(
    tmp_path: Path, airtoll: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "stopping.toml").write_text(STOPPING)
    results = []
    for workers, clock in ((1, "real"), (4, "virtual")):  # lab sim is always in virtual time
        out, options = tmp_path / clock, ("--workers", workers, "--clock", clock)
        status, _, err = airtoll("run", "stopping.toml", *options, "--out", out)
        assert status == 0, err
        results.append(Result.open(out))
    first, second = ([(record.run, record.link) for record in result.records()] for result in results)
    assert first == second
    assert 4 * 3 < len(first) < len(results[0].plan.runs)  # the rule stopped some cells, and not all at once
    values = [list(per_run(result.samples())) for result in results]
    assert values[0] == values[1]
    assert results[1].verify() == []


def test_runs_are_in_progress_at_the_same_time(tmp_path: Path) -> None:
    result = Result.create(tmp_path / "r", STUDY, make_plan(4), "fake", quick=True)
    both = threading.Barrier(2, timeout=30)
    lab, probes = FakeLab(virtual=True), [FakeProbe(before=lambda _: both.wait())]
    record(result, lab, probes, ignore, performer=OnCores(lab, probes, workers=2))
    assert {one.run for one in result.records()} == set(make_plan(4).runs)


def test_a_failed_run_is_named_and_finished_runs_are_kept(tmp_path: Path) -> None:
    def before(measurement: int) -> None:
        if measurement == 3:
            raise AirtollError("the medium is gone")

    result = Result.create(tmp_path / "r", STUDY, make_plan(6), "fake", quick=True)
    lab, probes = FakeLab(virtual=True), [FakeProbe(before=before)]
    with pytest.raises(AirtollError, match=r"^run 0003-.*: the medium is gone$"):
        record(result, lab, probes, ignore, performer=OnCores(lab, probes, workers=1))
    assert [one.run.order for one in result.records()] == [1, 2]
