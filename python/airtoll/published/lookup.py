"""The published points of a measured cell."""

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
