"""All simulations of configurations.py, one per processor at a time."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from configurations import SIMULATIONS, Simulation

Running = dict[str, Future[Path]]


@pytest.fixture(scope="session")
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    """Start the selected simulations."""
    wanted = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {each.name: pool.submit(each.run) for each in SIMULATIONS if each.name in wanted}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(
    "simulation",
    [pytest.param(each, id=each.name, marks=[pytest.mark.long] if each.long else []) for each in SIMULATIONS],
)
def test_simulation(simulation: Simulation, running: Running) -> None:
    running[simulation.name].result()
