"""A study with default levels, which tests override."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airtoll.study import Study


def make_study(
    method: Mapping[str, Any], *, claims: Sequence[Mapping[str, Any]] = (), **factors: Any
) -> Study:
    """Make a study named "made"; by default open and CCMP, 802.11a, UDP over IPv4 in 128 and 1408 B."""
    usual: dict[str, Any] = {
        "security": ["open", "ccmp"],
        "transport": ["udp"],
        "ip": ["ipv4"],
        "packet_size": [128, 1408],
        "phy": ["ofdm"],
        "rate": ["54 Mbit/s"],
    }
    return Study.model_validate(
        {
            "name": "made",
            "text": "",
            "path": Path("made.toml"),
            "title": "Made for a test",
            "factors": usual | factors,
            "method": {"repeats": 8, "duration": 1, **method},
            "claim": claims,
        }
    )
