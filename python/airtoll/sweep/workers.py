"""Simulates cells on the cores of this machine.

Workers are threads: the medium releases the interpreter's lock, so threads scale like processes, and none remains when
airtoll is killed.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from itertools import islice

from airtoll.errors import AirtollError
from airtoll.labs.sim import Solver
from airtoll.store.origin import Origin

Job = tuple[int, str]
"""Position of the cell in the grid, and its scenario as JSON."""


@dataclass(frozen=True)
class Done:
    """A simulated cell."""

    place: int  # position in the grid
    answer: str  # the medium's answer, as JSON on one line
    origin: Origin  # code and machine that simulated the cell


_AHEAD = 4  # jobs submitted per worker: enough to keep workers busy, few enough to stop soon


def perform(job: Job, solver: Solver) -> Done:
    """Simulate one cell. Raises AirtollError with the cell's position if the medium refuses a checked cell."""
    place, scenario = job
    try:
        answer = solver(scenario)
    except ValueError as error:
        raise AirtollError(f"cell {place}: {error}: {scenario}") from None
    return Done(place, answer, _here())


@cache
def _here() -> Origin:
    return Origin.here()


def on_cores(
    jobs: Sequence[Job], solver: Solver, stop: Callable[[], bool], workers: int | None = None
) -> Iterator[Done]:
    """Simulate the jobs. Yields each cell when it ends, in any order.

    Once `stop` returns true, no further job starts. Jobs in progress cannot be interrupted: they are completed and
    yielded.
    """
    count = workers or os.cpu_count() or 1
    waiting = iter(jobs)
    running: set[Future[Done]] = set()
    pool = ThreadPoolExecutor(count, thread_name_prefix="sweep")
    try:
        while True:
            if stop():
                running = {future for future in running if not future.cancel()}
            else:
                begun = islice(waiting, _AHEAD * count - len(running))
                running |= {pool.submit(perform, job, solver) for job in begun}
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        # A caller that leaves early does not wait for jobs in progress.
        pool.shutdown(wait=False, cancel_futures=True)
