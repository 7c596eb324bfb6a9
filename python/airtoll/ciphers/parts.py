"""The names of suites, and of schemes whose parts are timed: MIC, cipher, sealing and opening."""

from typing import Final

PAPER_LANES: Final = "paper-lanes"
"""The lanes of Hayajneh et al. as printed. Their frames can be forged, so only their times are measured."""


def is_bip(suite: str) -> bool:
    """Whether the suite is BIP, which protects management frames alone."""
    return suite.startswith("bip-")


def printed_lanes(suite: str) -> str | None:
    """The scheme of the paper with the lanes of this suite: `paper-lanes4` for `enhanced4`; None without lanes."""
    lanes = suite.removeprefix("enhanced")
    return None if lanes == suite else f"{PAPER_LANES}{lanes}"
