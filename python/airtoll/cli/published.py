"""`airtoll studies published`: a study's published figures, with their arithmetic checked."""

from typing import Any

from rich.table import Table

from airtoll.cli.base import echo
from airtoll.cli.json_output import only_one, print_json
from airtoll.cli.tables import plain_console
from airtoll.published import finding_lines, findings, implied_points, point_rows, points_csv, published
from airtoll.published.publication import Publication

_HEADINGS = ("figure", "metric", "condition", "value", "unit", "place")
_LISTS = (
    ("Inconsistencies", False),
    ("Confirmed and implied", True),
)


def print_published(name: str, *, as_csv: bool, as_json: bool) -> None:
    """Print a publication's points and findings; CSV contains only the points."""
    only_one(csv=as_csv, json=as_json)
    publication = published(name)
    if as_csv:
        echo(points_csv(publication), nl=False)
    elif as_json:
        print_json(_json(publication))
    else:
        _print(publication)


def _json(publication: Publication) -> dict[str, Any]:
    """The complete publication; numbers are strings of the printed digits."""
    return {
        **publication.model_dump(mode="json"),
        "implied": [point.model_dump(mode="json") for point in implied_points(publication)],
        "findings": [finding.model_dump(mode="json") for finding in findings(publication)],
    }


def _print(publication: Publication) -> None:
    console = plain_console(soft_wrap=True)
    console.print(publication.title)
    console.print(f"{', '.join(publication.authors)}. {publication.published_in}")
    if publication.published_from is not None:
        console.print(f"Venue, year and DOI: from {publication.published_from}")
    if base := publication.condition.text():
        console.print(f"Condition of its own numbers: {base}")
    table = Table(box=None, pad_edge=False)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right" if heading == "value" else "left", overflow="fold")
    for row in point_rows(publication):
        table.add_row(*row)
    console.print()
    console.print(table, soft_wrap=False)
    for title, consistent in _LISTS:
        lines = finding_lines(publication, consistent=consistent)
        console.print(f"\n{title} ({len(lines)})")
        for line in lines:
            console.print(f"- {line}")
