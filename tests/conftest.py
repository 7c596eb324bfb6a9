"""What tests of several stages share."""

import signal
from collections.abc import Callable

import pytest

from airtoll.study.cell import Cell


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_interrupts() -> None:
    """Also where the tests were started in the background, with the signal ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cell() -> Callable[..., Cell]:
    """A cell of a study, with whatever levels a test wants otherwise."""

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
            "security": "open",
        }
        return Cell.model_validate({**usual, **levels})

    return make
