"""What tests of several stages share."""

import signal
from collections.abc import Callable

import pytest
from made_cell import make_cell

from airtoll.study.cell import Cell


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_interrupts() -> None:
    """Also where the tests were started in the background, with the signal ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cell() -> Callable[..., Cell]:
    """What makes a cell of a study."""
    return make_cell
