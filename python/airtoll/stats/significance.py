"""The decision whether a mean differs from 0, the same in reports, comparisons, gates and claims.

Values whose spread is below `summary.RESOLUTION` are equal, and rounding decides nothing. Their mean is exact: there is
no p-value, a mean of 0 is no difference, and any other mean is a difference.
"""

from typing import Final

from airtoll.stats.summary import Interval

ALPHA: Final = 0.05
"""The largest p-value of a significant difference, after correction where the test is one of several."""


def is_significant(p: float | None, ci95: Interval | None) -> bool:
    """Whether a mean with this p-value and 95 % interval differs from 0.

    A mean without an interval (of one value) decides nothing. A mean with an interval and no p-value is exact.
    """
    if ci95 is None:
        return False
    return not ci95.contains(0) if p is None else p < ALPHA
