"""Fixtures that tests of several stages share."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
import virtual_time
from command_here import exit_status
from made_cell import make_cell

from airtoll.agent import binary
from airtoll.agent.connection import Connection
from airtoll.agent.host import AgentHost
from airtoll.study.cell import Cell

_AIR = {"kernel", "lab", "needs_air", "network", "veth_prefixes"}
"""The fixtures that make emulated air, guests or network namespaces."""


def pytest_configure(config: pytest.Config) -> None:
    """Let tests marked `virtual_time` run in guests, and property tests take any time: load must not fail them."""
    virtual_time.register(config)
    hypothesis.settings.register_profile("airtoll", deadline=None, max_examples=30)
    hypothesis.settings.register_profile("long", deadline=None, max_examples=300)
    hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=200_000, database=None)
    hypothesis.settings.load_profile(os.environ.get("AIRTOLL_HYPOTHESIS", "airtoll"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that send traffic, so that `-m 'not air'` leaves them out."""
    for item in items:
        if isinstance(item, pytest.Function) and not _AIR.isdisjoint(item.fixturenames):
            item.add_marker("air")


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_interrupts() -> None:
    """Restore Ctrl-C for tests that were started in the background, where the signal is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cell() -> Callable[..., Cell]:
    """A function that makes a cell of a study."""
    return make_cell


@pytest.fixture
def airtoll(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Run the command in an empty directory; its exit status and its output on both streams."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = exit_status(*arguments, folder=tmp_path)
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture
def host() -> Iterator[AgentHost]:
    """The machine of the tests, through an agent."""
    agent = str(binary.local())
    with Connection("here", [agent, "serve"]) as connection:
        yield AgentHost(connection)
