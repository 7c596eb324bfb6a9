"""Lab air for tests, skipped with the lab's own message if the machine does not support it."""

import pytest
from virtual_time import clock

from airtoll.labs.air import Air


@pytest.fixture
def lab() -> Air:
    lab = Air(clock=clock())
    if reason := lab.missing():
        pytest.skip(reason)
    return lab
