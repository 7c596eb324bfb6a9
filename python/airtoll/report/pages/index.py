"""An index page with links to the reports of several studies."""

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from airtoll import extras
from airtoll.durable import make_directory, publish, reporting
from airtoll.published import Publication
from airtoll.report.material.data import ReportData
from airtoll.report.material.grid import Grid
from airtoll.report.pages.figure_files import still
from airtoll.report.pages.page import environment, own, relative
from airtoll.report.parts import answer, figures, publications, sentences
from airtoll.store import Result
from airtoll.store.layout import check_target


@dataclass(frozen=True)
class Entry:
    """One study on the page."""

    data: ReportData
    link: str
    findings: answer.Findings
    ranges: Grid
    paper: Publication | None
    picture: str | None  # SVG in base 64
    picture_says: str
    picture_title: str


def write_index(results: Sequence[Result], directory: Path) -> Path:
    """Write index.html, which links to the report.html in the directory of each result.

    Without the extra `figures`, the page has no pictures. Raises UsageError as `check_target` and `make_directory`
    do, AirtollError if a result cannot be read or the file cannot be written.
    """
    for result in results:
        check_target(result.directory, directory)
    entries = [_entry(ReportData.of(result), directory) for result in results]
    template = environment().get_template("index.html.j2")
    page = template.render(entries=entries, sentences=sentences, style=own("report.css"))
    with reporting(f"cannot write the index into {directory}"):
        make_directory(directory.absolute())
        publish(directory, {"index.html": page.encode()})
    return directory / "index.html"


def _entry(data: ReportData, directory: Path) -> Entry:
    paper = publications.BesidePublication.of(data)
    drawn = ((figure, chart) for figure in figures.measured(data) for chart in figure.charts)
    figure, chart = next(drawn, (None, None))
    picture = None
    if chart is not None and extras.has("figures"):
        picture = extras.require("figures", "a picture").vegalite_to_svg(still(data, chart))
    return Entry(
        data=data,
        link=quote(os.fsencode(f"./{relative(data, directory)}/report.html")),
        findings=answer.find(data),
        ranges=answer.ranges(data),
        paper=paper.publication if paper else None,
        picture=None if picture is None else base64.b64encode(picture.encode()).decode(),
        picture_says="" if chart is None else chart.description,
        picture_title="" if figure is None or chart is None else f"{figure.title}: {chart.title}",
    )
