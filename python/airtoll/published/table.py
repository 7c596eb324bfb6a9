"""Points and findings as rows and lines."""

import csv
import io
from collections.abc import Iterable

from airtoll.published.arithmetic import shown
from airtoll.published.columns import COLUMNS
from airtoll.published.findings import findings
from airtoll.published.implied import implied_points
from airtoll.published.outcome import Finding
from airtoll.published.publication import Point, Publication
from airtoll.published.words import METRICS


def all_points(publication: Publication) -> tuple[Point, ...]:
    """Printed and implied points."""
    return (*publication.points, *implied_points(publication))


def points_csv(publication: Publication) -> str:
    """All points as CSV (RFC 4180, except that lines end with LF alone)."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for point in all_points(publication):
        writer.writerow(_row(publication, point))
    return out.getvalue()


def _row(publication: Publication, point: Point) -> dict[str, object]:
    row = {
        "study": publication.name,
        **{
            name: getattr(point, name)
            for name in (
                "id",
                "figure",
                "place",
                "metric",
                "unit",
                "uncertainty",
                "statistic",
                "change",
                "source",
            )
        },
        "subject": point.subject,
        "value": value_text(point),
        "approximate": str(point.approximate).lower(),
        "over": " ".join(point.over),
        "standard_value": shown(point.standard_value) if point.implied else f"{point.standard_value:f}",
        "standard_unit": METRICS[point.metric].unit if point.change is None else "x",
        **point.condition.given(),
    }
    if point.implied is not None:
        row |= {
            "implied_by": point.implied.claim,
            "convention": point.implied.convention,
            "low": shown(point.implied.low),
            "high": shown(point.implied.high),
        }
    return row


def value_text(point: Point) -> str:
    """The value as printed; an implied value with four significant digits."""
    return shown(point.value) if point.implied else f"{point.value:f}"


def point_rows(publication: Publication) -> list[tuple[str, ...]]:
    """Rows for people: figure, metric, condition, value, unit and place of every point."""
    return [
        (
            point.figure or "",
            point.metric,
            _condition(publication, point),
            _value(point),
            point.unit if point.change is None else f"{point.unit} {point.change}",
            point.place,
        )
        for point in all_points(publication)
    ]


def _condition(publication: Publication, point: Point) -> str:
    parts = [point.condition.text(None if point.quoted else publication.condition)]
    if point.subject:
        parts.append(point.subject)
    if point.statistic:
        parts.append(f"{point.statistic} over {' and '.join(point.over)}" if point.over else point.statistic)
    if point.quoted:
        parts.append(f"quoted: {point.source}")
    if point.implied:
        parts.append(f"implied, of the {point.implied.convention}")
    return ", ".join(part for part in parts if part)


def _value(point: Point) -> str:
    about = "~" if point.approximate and not point.implied else ""
    plus = f" +-{point.uncertainty}" if point.uncertainty is not None else ""
    return f"{about}{value_text(point)}{plus}"


def finding_lines(publication: Publication, *, consistent: bool) -> list[str]:
    """One line per finding: either the inconsistencies, or the confirmed and implied values."""
    return [line(finding) for finding in findings(publication) if finding.consistent is consistent]


def line(finding: Finding) -> str:
    """A finding in one line: its place, if any, and its text."""
    return ": ".join(_parts(finding))


def _parts(finding: Finding) -> Iterable[str]:
    if finding.place:
        yield finding.place
    yield finding.text
