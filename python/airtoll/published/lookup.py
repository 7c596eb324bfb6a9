"""The published points of a measured cell, and the value of the cells of a point."""

from collections.abc import Callable, Collection, Mapping
from statistics import fmean, quantiles
from typing import Final

from airtoll.probes import cpu
from airtoll.published.implied import implied_points
from airtoll.published.publication import Point, Publication
from airtoll.study.cell import Cell


def cells_of(point: Point, cells: Collection[Cell]) -> tuple[Cell, ...]:
    """The cells whose value, mean or extreme the number is; empty if they do not vary in the factor of an extreme."""
    places = {cell.crypto_at for cell in cells}
    found = tuple(
        cell
        for cell in cells
        if is_of_paper(cell, point.metric, places)
        and point.condition.agrees(cell.model_dump(exclude={"lab"}))
    )
    if not point.over or point.statistic in (None, "mean"):
        return found
    varies = any(len({getattr(cell, name) for cell in found}) > 1 for name in point.over)
    return found if varies else ()


def is_of_paper(cell: Cell, metric: str, places: Collection[str]) -> bool:
    """Whether a paper's values of a metric refer to the cell. `places` are the levels of crypto_at in the study.

    In a study that encrypts on cards and on hosts, CPU loads refer to the hosts and all other metrics to the cards.
    """
    place = "host" if metric in cpu.METRICS else "card"
    return cell.crypto_at == place or not {"card", "host"} <= set(places)


def matching(
    publication: Publication,
    levels: Mapping[str, str | int | float],
    metric: str,
    *,
    changes: bool = False,
) -> tuple[Point, ...]:
    """The study's own points of a metric whose condition agrees with a cell's levels, printed before implied.

    A factor that is missing on either side agrees. A mean or an extreme over a factor is not the value of one level, so
    it agrees only if `levels` does not contain that factor. `changes` selects percentages of open instead of values.
    """
    return tuple(
        point
        for point in (*publication.points, *implied_points(publication))
        if point.metric == metric
        and not point.quoted
        and (point.change is not None) == changes
        and not any(factor in levels for factor in point.over)
        and point.condition.agrees(levels)
    )


_STATISTICS: Final[Mapping[str, Callable[[Collection[float]], float]]] = {
    "mean": fmean,
    "maximum": max,
    "minimum": min,
    "below": max,
    "at-least": min,
    "lower-quartile": lambda values: _quartile(values, 0),
    "upper-quartile": lambda values: _quartile(values, 2),
}
"""How the values of several cells become the value of a point."""


def _quartile(values: Collection[float], at: int) -> float:
    return quantiles(values, n=4, method="inclusive")[at] if len(values) > 1 else next(iter(values))


def merged(point: Point, values: Collection[float]) -> float:
    """The value of the point's cells. Decreases are ratios to open: the largest decrease is the smallest ratio."""
    merge = _STATISTICS[point.statistic or "mean"]
    return 1 - merge([1 - ratio for ratio in values]) if point.change == "lower" else merge(values)
