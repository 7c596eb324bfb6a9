"""Dask clusters that airtoll refuses to use, and the local one."""

import pytest

from airtoll import _rust
from airtoll.errors import AirtollError
from airtoll.study.scenario import Scenario
from airtoll.sweep.cluster import LOCAL, connected, on_cluster


def test_a_worker_of_another_commit_is_refused_and_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    theirs = _rust.VERSION  # of the workers, which are separate processes
    jobs = [(0, Scenario(duration=0.1).to_json())]
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        monkeypatch.setattr(_rust, "VERSION", f"{theirs.partition('+')[0]}+gffffffffffff")
        with pytest.raises(AirtollError) as refused:
            list(on_cluster(jobs, cluster.scheduler_address, lambda: False))
    assert theirs in str(refused.value)
    assert _rust.VERSION in str(refused.value)


def test_a_local_cluster_executes_no_task_of_another_process() -> None:
    pytest.importorskip("distributed")
    with connected(LOCAL) as client:
        addresses = [client.scheduler.address, *client.nthreads()]
    assert len(addresses) > 1
    assert all(address.startswith("inproc://") for address in addresses)
