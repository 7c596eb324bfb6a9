"""All simulations of configurations.py, one per processor at a time."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from configurations import SIMULATIONS, Simulation

Running = dict[str, Future[Path]]

# Names, simulations, and whether all tests run. Only `make test-long` runs all tests of a simulation with chosen tests.
CASES: list[tuple[str, Simulation, bool]] = [
    *((each.name, each, False) for each in SIMULATIONS if each.tests and not each.long),
    *((f"{each.name}-all" if each.tests else each.name, each, True) for each in SIMULATIONS),
]


@pytest.fixture(scope="session")
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    """Start the selected simulations."""
    wanted = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {
            name: pool.submit(simulation.run, all_tests=all_tests)
            for name, simulation, all_tests in CASES
            if name in wanted
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, id=name, marks=[pytest.mark.long] if all_tests and (each.long or each.tests) else []
        )
        for name, each, all_tests in CASES
    ],
)
def test_simulation(name: str, running: Running) -> None:
    running[name].result()
