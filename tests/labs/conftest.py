"""Lab air for tests: skipped, with the lab's own words, where the machine cannot have it."""

from collections.abc import Callable

import pytest

from airtoll.labs import air
from airtoll.labs.air import Air
from airtoll.study.cell import Cell


@pytest.fixture
def lab() -> Air:
    if reason := air.missing():
        pytest.skip(reason)
    return Air()


@pytest.fixture
def cell() -> Callable[..., Cell]:
    """A cell of the quickstart, with whatever levels a test wants otherwise."""

    def make(**levels: object) -> Cell:
        usual = {
            "lab": "air",
            "topology": "point-to-point",
            "phy": "ofdm",
            "bandwidth": 20,
            "gi": "long",
            "rate": "54 Mbit/s",
            "transport": "udp",
            "ip": "ipv4",
            "packet_size": 1408,
            "security": "ccmp",
        }
        return Cell.model_validate({**usual, **levels})

    return make
