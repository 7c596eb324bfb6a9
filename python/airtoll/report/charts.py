"""What all charts of a report are: a Vega-Lite specification, its title, and words that stand for it."""

from dataclasses import dataclass
from typing import Any

import altair as alt

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""As wide as the page lets it be."""


@dataclass(frozen=True)
class Chart:
    """One Vega-Lite chart and the words that stand for it."""

    id: str
    title: str
    description: str  # what a reader who cannot see it is told
    spec: dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """Charts that belong together, and their caption."""

    title: str
    caption: str
    charts: tuple[Chart, ...]


def named(name: str) -> Any:
    """A chart of data that `spec_of` adds: Altair would copy and check every row at every step."""
    return alt.Chart(alt.NamedData(name=name))


def spec_of(chart: Any, **datasets: list[dict[str, Any]]) -> dict[str, Any]:
    """The chart's specification with its data."""
    spec: dict[str, Any] = chart.to_dict()
    return {**spec, "datasets": datasets}
