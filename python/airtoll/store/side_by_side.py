"""Several runs at the same time: only for virtual time, in which no run affects another.

course -> next decided run -> worker -> finished run, in the order in which runs end
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from airtoll.labs import Lab
from airtoll.probes.base import Probe
from airtoll.store.recorder import Event, NoLoadError, RunOrder, naming, perform, unmeasured
from airtoll.store.result import FinishedRun, Result
from airtoll.store.verdict import NO_LOAD
from airtoll.study.cell import Method, Run


def side_by_side(
    course: RunOrder,
    submit: Callable[[Run, Method], "Future[FinishedRun]"],
    workers: int,
    on_run: Callable[[Run], None],
) -> Iterator[FinishedRun]:
    """Perform the runs of the course, at most `workers` at a time, as `airtoll.store.recorder.Performer` describes."""
    begun: set[str] = set()
    running: set[Future[FinishedRun]] = set()
    while True:
        while len(running) < workers:
            run = next(course.decided(begun), None)
            if run is None:
                break
            begun.add(run.id)
            on_run(run)
            try:
                method = course.method(run)
            except NoLoadError as error:
                yield unmeasured(run, NO_LOAD, str(error))
            else:
                running.add(submit(run, method))
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


@dataclass(frozen=True)
class OnCores:
    """Performs runs of lab sim in threads of this process: the medium releases the interpreter's lock."""

    lab: Lab
    probes: Sequence[Probe]
    workers: int = field(kw_only=True)

    def __call__(
        self,
        result: Result,  # noqa: ARG002  (the runs have no files)
        course: RunOrder,
        on_run: Callable[[Run], None],
        on_event: Callable[[Event], None],
    ) -> Iterator[FinishedRun]:
        """Perform the runs of the course, as `airtoll.store.recorder.Performer` describes."""

        def performed(run: Run, method: Method) -> FinishedRun:
            with naming(run):
                return perform(run, self.lab, self.probes, method, on_event=on_event, capture=None)

        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="run")
        try:
            yield from side_by_side(
                course, lambda run, method: pool.submit(performed, run, method), self.workers, on_run
            )
        finally:
            pool.shutdown(cancel_futures=True)
