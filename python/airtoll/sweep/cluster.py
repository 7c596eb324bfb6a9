"""Simulates cells on a Dask cluster (the extra airtoll[dask]).

Cells are sent in chunks. If a worker dies, only its unfinished chunks are lost, and the scheduler sends them to other
workers. A cell's answer depends only on the cell, so it does not matter which worker simulates it, or whether two do.
"""

import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from airtoll import _rust, extras
from airtoll.errors import AirtollError, UsageError
from airtoll.sweep.workers import Done, Job, perform

LOCAL = "local"
"""Scheduler name for a cluster on this machine that exists for the duration of the sweep."""

CONNECT_TIMEOUT_S = 10
_CHUNKS_PER_WORKER = 16  # enough for workers to end at about the same time
_CHUNK_MAX = 100  # cells that are repeated when a worker dies


def on_cluster(jobs: Sequence[Job], scheduler: str, stop: Callable[[], bool]) -> Iterator[Done]:
    """Simulate the jobs on the cluster at that address. Yields the cells of each chunk when it ends, in any order.

    Cancels the remaining chunks once `stop` returns true. Raises UsageError if there is no cluster or dask.distributed
    is not installed, AirtollError if a chunk fails.
    """
    distributed = extras.require("dask", "--scheduler")
    with connected(scheduler) as client:
        workers = sum(client.nthreads().values()) or 1
        size = max(1, min(_CHUNK_MAX, len(jobs) // (workers * _CHUNKS_PER_WORKER)))
        chunks = [jobs[at : at + size] for at in range(0, len(jobs), size)]
        futures = client.map(_perform_all, chunks, pure=False)
        for future in distributed.as_completed(futures):
            try:
                version, done = future.result()
            except AirtollError:
                raise
            except Exception as error:
                raise AirtollError(f"--scheduler {scheduler}: {type(error).__name__}: {error}") from error
            if version != _rust.VERSION:
                raise AirtollError(
                    f"--scheduler {scheduler}: a worker has airtoll {version}, this is {_rust.VERSION}"
                )
            yield from done
            future.release()
            if stop():
                client.cancel(futures)
                return


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of the Dask cluster at that address.

    Raises UsageError if there is no cluster or dask.distributed is not installed.
    """
    distributed = extras.require("dask", "--scheduler")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are reported in one line
    with ExitStack() as stack:
        yield stack.enter_context(_client(distributed, scheduler, stack))


def _perform_all(jobs: Sequence[Job]) -> tuple[str, list[Done]]:
    """Runs on a worker: returns the worker's version of airtoll and the answers to the jobs."""
    return _rust.VERSION, [perform(job, _rust.simulate) for job in jobs]


def _client(distributed: Any, scheduler: str, stack: ExitStack) -> Any:
    if scheduler == LOCAL:
        # Ctrl-C must reach only this process, which ends the workers in order: workers inherit the ignored signal.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            cluster = distributed.LocalCluster(
                n_workers=os.cpu_count() or 1,
                threads_per_worker=1,
                processes=False,  # workers in processes would execute the tasks of every user, from a port
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
            return distributed.Client(stack.enter_context(cluster))
        finally:
            signal.signal(signal.SIGINT, before)
    try:
        return distributed.Client(scheduler, timeout=CONNECT_TIMEOUT_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"--scheduler {scheduler}: no Dask scheduler answers at this address") from error
