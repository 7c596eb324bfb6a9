"""The help says what is there and what happens with an option left out."""

import pytest
from cli_command import Airtoll


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("run", "results/STUDY-TIME"),
        ("report", "the result directory"),
        ("decrypt", "NAME-dec.pcap beside CAPTURE"),
        ("ciphers", "the fastest"),
        ("sweep", "results/GRID-TIME.parquet"),
    ],
)
def test_the_default_of_an_option_is_shown(airtoll: Airtoll, command: str, default: str) -> None:
    assert f"[default: ({default})]" in airtoll(command, "--help").stdout
