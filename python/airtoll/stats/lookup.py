"""Metrics by the names that users write."""

from typing import Final

from airtoll.stats.metrics import METRICS, Metric
from airtoll.study.quantity import show
from airtoll.study.values import did_you_mean, fate_of, renamed

FORMER_METRICS: Final[dict[str, str]] = {
    former: became
    for name, metric in METRICS.items()
    for former, became in renamed(name, metric.former).items()
}
"""The names of metrics in earlier versions."""


def find_metric(name: str) -> Metric:
    """The metric of that name. Raises ValueError with its new name, a similar name or all names."""
    if (metric := METRICS.get(name)) is not None:
        return metric
    hint = did_you_mean(name.lower(), METRICS) or f"; known metrics: {', '.join(METRICS)}"
    raise ValueError(fate_of(name, FORMER_METRICS) or f"{show(name)} is not a metric{hint}")
