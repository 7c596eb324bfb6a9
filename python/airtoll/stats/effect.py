"""Effect size in standard deviations of the differences, with its interval.

d_z is the mean of n differences divided by their standard deviation (Cohen 1988, section 2.3.5). For few pairs it is
too large: the expectation of d_z is the true effect over J(n - 1), so J d_z is free of that bias (Hedges 1981, equation
6e). The interval is that of the noncentrality of t: d_z sqrt(n) is distributed as noncentral t with n - 1 degrees of
freedom around delta sqrt(n) (Steiger and Fouladi 1997).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from airtoll.stats.summary import Floats, Interval, Summary

_LARGEST_T = 1000.0
"""Above this value, scipy's inverse loses precision and finally does not terminate."""


@dataclass(frozen=True)
class EffectSize:
    """Distance of the mean difference from 0, in standard deviations of the differences."""

    dz: float  # as computed from the sample, without correction
    corrected: float  # J dz
    ci95: Interval | None  # of the true effect; None if noncentral t cannot be inverted


def effect_sizes(differences: Sequence[Summary]) -> list[EffectSize | None]:
    """Effect sizes of paired differences; None for fewer than 3 pairs and for differences without spread.

    With 2 pairs, d_z has no expectation, so its bias is undefined.
    """
    known = [i for i, s in enumerate(differences) if s.n >= 3 and s.sd]
    n = np.array([differences[i].n for i in known], dtype=np.float64)
    dz = np.array(
        [(differences[i].mean or 0.0) / (differences[i].sd or 1.0) for i in known], dtype=np.float64
    )
    low, high = _interval(dz * np.sqrt(n), n - 1) / np.sqrt(n)
    result: list[EffectSize | None] = [None] * len(differences)
    corrected = bias_correction(n - 1) * dz
    for i, *(d, j, a, b) in zip(
        known, dz.tolist(), corrected.tolist(), low.tolist(), high.tolist(), strict=True
    ):
        result[i] = EffectSize(d, j, Interval(a, b) if np.isfinite(a) and np.isfinite(b) else None)
    return result


def bias_correction(df: Floats) -> Floats:
    """J of Hedges 1981, equation 6e, exact: gamma(df/2) / (sqrt(df/2) gamma((df-1)/2)), for df > 1."""
    log = special.gammaln(df / 2) - special.gammaln((df - 1) / 2) - np.log(df / 2) / 2
    return np.asarray(np.exp(log), dtype=np.float64)


def _interval(t: Floats, df: Floats) -> Floats:
    """The noncentralities for which t is the 97.5 % and the 2.5 % quantile. Inverted for t >= 0, where it converges."""
    size = np.abs(t)
    far_out = size > _LARGEST_T
    within = np.where(far_out, 1.0, size)
    ends = []
    for tail, quantile in ((0.975, 0.025), (0.025, 0.975)):
        # For large t, only the chi of the spread matters: the numerator of t is constant relative to its size.
        limit = size * np.sqrt(special.chdtri(df, 1 - quantile) / df)
        ends.append(np.where(far_out, limit, special.nctdtrinc(df, tail, within)))
    near, far = ends
    return np.where(t < 0, [-far, -near], [near, far])
