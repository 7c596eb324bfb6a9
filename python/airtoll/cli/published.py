"""`airtoll studies published`: a study's published figures, with their arithmetic checked."""

import json

import typer
from rich.table import Table

from airtoll.cli.tables import plain_console
from airtoll.errors import UsageError
from airtoll.published import finding_lines, findings, implied_points, point_rows, points_csv, published
from airtoll.published.publication import Publication

_HEADINGS = ("figure", "metric", "condition", "value", "unit", "place")
_LISTS = (
    ("Inconsistencies", False),
    ("Confirmed and implied", True),
)


def print_published(name: str, *, as_csv: bool, as_json: bool) -> None:
    """Print a publication's points and findings; CSV contains only the points."""
    if as_csv and as_json:
        raise UsageError("--csv and --json are mutually exclusive")
    publication = published(name)
    if as_csv:
        typer.echo(points_csv(publication), nl=False)
    elif as_json:
        typer.echo(_json(publication))
    else:
        _print(publication)


def _json(publication: Publication) -> str:
    """The complete publication; numbers are strings of the printed digits."""
    return json.dumps(
        {
            **publication.model_dump(mode="json"),
            "implied": [point.model_dump(mode="json") for point in implied_points(publication)],
            "findings": [finding.model_dump(mode="json") for finding in findings(publication)],
        },
        indent=2,
    )


def _print(publication: Publication) -> None:
    console = plain_console(soft_wrap=True)
    console.print(publication.title)
    about = (", ".join(publication.authors), publication.venue, publication.year and str(publication.year))
    console.print(". ".join(part for part in about if part))
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
