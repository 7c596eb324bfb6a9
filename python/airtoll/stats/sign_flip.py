"""The exact sign-flip test of paired differences (Fisher 1935, section 21).

If security costs nothing, the two runs of a block could have swapped places: each difference might as well have the
other sign. p is the share of the 2^n ways of giving the differences signs whose sum is as far from 0 as the one
found. That asks for no distribution, and p can never be below 2 / 2^n: with 5 pairs not below 0.0625. So the t test
decides everywhere, and this p stands beside it: where they disagree the differences are far from normal.
"""

from collections.abc import Iterable

import numpy as np

from airtoll.stats.summary import Floats, present

MOST_PAIRS = 20
"""Beyond, the t test is robust enough that the check tells nothing new."""


def sign_flip(differences: Iterable[float | None]) -> float | None:
    """Two-sided p, exact; None for no differences and for more than `MOST_PAIRS`. Raises ValueError if one is infinite.

    Sums of the halves of the differences meet in the middle: of 20 pairs 1,024 sums a half, not a million.
    """
    array = present(differences)
    if not 0 < len(array) <= MOST_PAIRS:
        return None
    scale = np.abs(array).max()
    if scale == 0:
        return 1.0
    scaled = array / scale
    # Ways that tie with the one found count, whichever way their sums are rounded.
    found = abs(scaled.sum()) - 64 * np.finfo(np.float64).eps * len(scaled)
    left, right = _sums(scaled[: len(scaled) // 2]), np.sort(_sums(scaled[len(scaled) // 2 :]))
    above = len(right) - np.searchsorted(right, found - left, side="left")
    below = np.searchsorted(right, -found - left, side="right")
    # Where found is 0 or less every way counts, and those at 0 twice.
    return min(1.0, float(above.sum() + below.sum()) / float(2 ** len(scaled)))


def _sums(values: Floats) -> Floats:
    """The sums for all ways of giving the values signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return sums
