"""p-values of a family of tests, adjusted so that the error rate of the family is at most that of one test.

Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6: the smallest
of m p-values is multiplied by m, the next by m - 1, and so on; none may be below the previous one. The procedure makes
no assumption about the dependence of the tests and is never weaker than Bonferroni's.
"""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the given order. A test without a p-value (None) stays None and is not counted.

    Raises ValueError if a p-value is not between 0 and 1.
    """
    bad = [p for p in p_values if p is not None and not 0 <= p <= 1]
    if bad:
        raise ValueError(f"a p-value must be between 0 and 1, not {bad[0]:g}")
    ranked = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, i) in enumerate(ranked):
        least = max(least, min(1.0, (len(ranked) - rank) * p))
        adjusted[i] = least
    return adjusted
