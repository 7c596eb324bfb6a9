"""Performs cells on the cores of this machine.

Threads: the medium runs without the interpreter's lock, so that they scale as processes do, and nothing is left
running when airtoll is killed.
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
"""Place of the cell in the grid, and its scenario as JSON."""


@dataclass(frozen=True)
class Done:
    """A cell that was performed."""

    place: int  # in the grid
    answer: str  # of the medium, as JSON on one line
    origin: Origin  # that performed it


_AHEAD = 4  # jobs a worker that are handed out: enough that none waits, few enough to stop soon


def perform(job: Job, solver: Solver) -> Done:
    """Perform one cell. Raises AirtollError naming it if the medium refuses what it had let pass."""
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
    """Perform the jobs; each is given as it ends, in no order.

    Once `stop` says so no further job begins. Those that have begun are waited for and given: one of them cannot
    be stopped in its middle.
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
        pool.shutdown(wait=False, cancel_futures=True)  # who leaves early does not wait for what is under way
