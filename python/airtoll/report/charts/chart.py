"""What all charts of a report are: a Vega-Lite specification, its title, and words that stand for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""As wide as the page lets it be."""

GREY = "#808a94"
"""Tells shapes apart on light and dark paper alike."""

IP_DASHES = ([1, 0], [5, 4])
"""Of lines, in the order of IP versions: as a scale it would dash the symbols of the legend, too."""


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
    main: bool = True  # False: of a metric that a page folds away


def named(name: str) -> Any:
    """A chart of data that `spec_of` adds: Altair would copy and check every row at every step."""
    return alt.Chart(alt.NamedData(name=name))


def spec_of(chart: Any, **datasets: list[dict[str, Any]]) -> dict[str, Any]:
    """The chart's specification with its data.

    Not checked against Vega-Lite's schema, which takes longer than all else about a chart: tests do that.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "datasets": datasets}


def ip_shapes(ips: Sequence[str]) -> Any:
    """IP versions by shape, with a legend where there are several; lines tell them by dash (`IP_DASHES`)."""
    legend = alt.Legend(
        symbolOpacity=1, symbolStrokeWidth=1.8, symbolStrokeColor=GREY, symbolFillColor="transparent"
    )
    return alt.Shape(
        "ip:N",
        title="IP version",
        sort=ips,
        scale=alt.Scale(domain=ips, range=["circle", "square"][: len(ips)]),
        legend=legend if len(ips) > 1 else None,
    )
