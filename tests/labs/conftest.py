"""Lab air for tests, skipped with the lab's own message if the machine does not support it."""

import pytest

from airtoll.labs import air
from airtoll.labs.air import Air


@pytest.fixture
def lab() -> Air:
    if reason := air.missing():
        pytest.skip(reason)
    return Air()
