"""The names of suites, and of schemes whose parts are timed: MIC, cipher, sealing and opening."""

from collections.abc import Mapping
from typing import Final

from airtoll import _rust

PAPER_LANES: Final = "paper-lanes"
"""The lanes of Hayajneh et al. as printed. Their frames can be forged, so only their times are measured."""

STANDARD: Final = "ccmp"
"""The suite that suites with lanes are compared with."""

SUITES: Final[Mapping[str, _rust.Suite]] = {suite.word: suite for suite in _rust.suites()[1:]}
"""All suites by name, with the facts that Rust declares."""


def printed_lanes(suite: str) -> str | None:
    """The scheme of the paper with the lanes of this suite: `paper-lanes4` for `enhanced4`; None without lanes."""
    lanes = SUITES[suite].lanes if suite in SUITES else None
    return None if lanes is None else f"{PAPER_LANES}{lanes}"
