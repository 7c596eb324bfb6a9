"""Dask clusters that airtoll refuses to use."""

import pytest

from airtoll import _rust
from airtoll.errors import AirtollError
from airtoll.study.scenario import Scenario
from airtoll.sweep.cluster import LOCAL, on_cluster


def test_a_worker_of_another_commit_is_refused_and_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    theirs = _rust.VERSION  # of the workers, which are separate processes
    monkeypatch.setattr(_rust, "VERSION", f"{theirs.partition('+')[0]}+gffffffffffff")
    jobs = [(0, Scenario(duration=0.1).to_json())]
    with pytest.raises(AirtollError) as refused:
        list(on_cluster(jobs, LOCAL, lambda: False))
    assert theirs in str(refused.value)
    assert _rust.VERSION in str(refused.value)
