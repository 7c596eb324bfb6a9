"""Parts of Vega-Lite specifications that the charts of a report share."""

from collections.abc import Sequence
from typing import Any

import altair as alt

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""As wide as the page allows."""

GREY = "#808a94"
"""Visible on light and dark backgrounds, for legends of shapes."""

CROSS_SIZE = 70
"""The size of the cross of a published value, in square pixels."""

IP_DASHES = ([1, 0], [5, 4])
"""Dashes of lines, in the order of IP versions. As a Vega scale they would also dash the legend's symbols."""


def named(name: str) -> Any:
    """A chart of data that `spec_of` adds later: Altair would copy and check every row at every step."""
    return alt.Chart(alt.NamedData(name=name))


def spec_of(chart: Any, **datasets: list[dict[str, Any]]) -> dict[str, Any]:
    """The chart's specification with its data.

    It is not checked against Vega-Lite's schema, the slowest step of making a chart; the tests check it.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "datasets": datasets}


def reference_shape(field: str, shape: str) -> Any:
    """One shape for values from elsewhere, named in a legend above the chart: those below already fill its width.

    `field` is of type nominal and has one value, the name of the values.
    """
    legend = alt.Legend(title=None, orient="top", symbolStrokeColor=GREY, symbolFillColor=GREY, labelLimit=0)
    return alt.Shape(field, scale=alt.Scale(range=[shape]), legend=legend)


def ip_shapes(ips: Sequence[str]) -> Any:
    """IP versions as shapes, with a legend if there are several; lines show them as dashes (`IP_DASHES`)."""
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
