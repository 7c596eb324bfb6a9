"""The published points beside a measured cell."""

from collections.abc import Mapping

from airtoll.published.implied import implied_points
from airtoll.published.publication import Point, Publication


def matching(
    publication: Publication,
    levels: Mapping[str, str | int | float],
    metric: str,
    *,
    changes: bool = False,
) -> tuple[Point, ...]:
    """The study's own points of that metric, printed before implied, whose condition agrees with a cell's levels.

    A factor that either leaves open is no difference. A mean or an extreme over a factor is no value of one of its
    levels: it agrees only with levels that leave that factor open. `changes`: percents of open instead of values.
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
