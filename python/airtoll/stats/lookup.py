"""Metrics by the names that users write."""

from airtoll.stats.metrics import METRICS, Metric
from airtoll.study.quantity import show
from airtoll.study.values import did_you_mean


def find_metric(name: str) -> Metric:
    """The metric of that name. Raises ValueError with a similar name or all names."""
    if (metric := METRICS.get(name)) is not None:
        return metric
    hint = did_you_mean(name.lower(), METRICS) or f"; known metrics: {', '.join(METRICS)}"
    raise ValueError(f"{show(name)} is not a metric{hint}")
