"""`airtoll studies published`: a study's published figures beside its own, with the arithmetic of the paper checked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rich.table import Table

from airtoll.cli.base import echo
from airtoll.cli.json_output import only_one, print_json
from airtoll.cli.tables import plain_console, print_table
from airtoll.prediction import Gap, Predictions, Target, cases_of, gap_of, is_target, target_of
from airtoll.published import (
    Point,
    cells_of,
    finding_lines,
    findings,
    implied_points,
    point_rows,
    points_csv,
    required_publication,
)
from airtoll.published.publication import Publication
from airtoll.stats import Interval
from airtoll.stats.summary import describe
from airtoll.study import Study, cells_of_study, expand, find_study, load_study

_HEADINGS = ("figure", "metric", "condition", "value", "unit", "place")
_OURS = ("ours", "95 % interval", "ratio", "explained by")
_LISTS = (
    ("Inconsistencies", False),
    ("Confirmed and implied", True),
)

SEEDS: Final = (1, 2, 3)
"""Simulations of each figure, whose scatter gives its interval."""


@dataclass(frozen=True)
class Ours:
    """The simulated value of a published figure, in its metric's unit; for a change, the ratio to open."""

    target: Target
    value: float
    interval: Interval | None
    gap: Gap | None

    @property
    def ratio(self) -> float:
        """The simulated value divided by the published one."""
        return self.value / self.target.value

    @property
    def explanation(self) -> str:
        """The mechanisms that explain the figure, or "not explained"."""
        return "not explained" if self.gap is None else self.gap.explanation(self.value, self.interval)


def print_published(name: str, *, as_csv: bool, as_json: bool, printed_only: bool) -> None:
    """Print a publication's points beside their simulations, and its findings; CSV contains only the points."""
    only_one(csv=as_csv, json=as_json)
    study = load_study(find_study(name))
    publication = required_publication(study)
    if as_csv:
        echo(points_csv(publication), nl=False)
        return
    ours = {} if printed_only else simulated(study, publication)
    if as_json:
        print_json(_json(publication, ours))
    else:
        _print(publication, ours, printed_only=printed_only)


def simulated(study: Study, publication: Publication) -> dict[str, Ours]:
    """The study's own value of each figure, by the figure's id; without figures that the medium does not predict."""
    plan = expand(study)
    cells = cells_of_study(study)
    predictions = Predictions.of(plan)
    targets = list(_targets(publication, cells))
    cases = {
        id(target): [[predictions.case(cell).with_seed(seed) for cell in target.cells] for seed in SEEDS]
        for target in targets
    }
    predictions.all(case for target in targets for case in cases_of(target, cases[id(target)][0]))
    predictions.all(
        case for target in targets for of_seed in cases[id(target)] for case in target.with_open(of_seed)
    )
    found: dict[str, Ours] = {}
    for target in targets:
        values = [target.value_of(predictions, of_seed) for of_seed in cases[id(target)]]
        summary = describe(values)
        if target.point is not None and summary.mean is not None:
            gap = gap_of(predictions, target, cases[id(target)][0])
            found[target.point.id] = Ours(target, summary.mean, summary.ci95_t, gap)
    return found


def _targets(publication: Publication, cells: tuple[Any, ...]) -> Iterator[Target]:
    for point in (*publication.points, *implied_points(publication)):
        of_point = cells_of(point, cells) if is_target(point) else ()
        if of_point:
            yield target_of(point, of_point)


def _json(publication: Publication, ours: Mapping[str, Ours]) -> dict[str, Any]:
    """The complete publication, whose numbers are strings of the printed digits, and the simulated values."""
    return {
        **publication.model_dump(mode="json"),
        "implied": [point.model_dump(mode="json") for point in implied_points(publication)],
        "findings": [finding.model_dump(mode="json") for finding in findings(publication)],
        "simulated": {name: _of_figure(one) for name, one in ours.items()},
    }


def _of_figure(one: Ours) -> dict[str, Any]:
    shown = one.target.shown
    return {
        "unit": one.target.unit,
        "published": shown(one.target.value),
        "ours": shown(one.value),
        "ci95": None if one.interval is None else [shown(one.interval.low), shown(one.interval.high)],
        "ratio": one.ratio,
        "air_alone": None if one.gap is None else shown(one.gap.air),
        "explained_by": one.explanation,
    }


def _print(publication: Publication, ours: Mapping[str, Ours], *, printed_only: bool) -> None:
    console = plain_console(soft_wrap=True)
    console.print(publication.title)
    if publication.authors or publication.venue or publication.url:
        console.print(f"{', '.join(publication.authors)}. {publication.published_in}".removeprefix(". "))
    if publication.published_from is not None:
        console.print(f"Venue, year and DOI: from {publication.published_from}")
    if base := publication.condition.text():
        console.print(f"Condition of its own numbers: {base}")
    headings = _HEADINGS if printed_only else (*_HEADINGS[:-1], *_OURS)
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        right = heading in ("value", "ours", "95 % interval", "ratio")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    points = (*publication.points, *implied_points(publication))
    for point, row in zip(points, point_rows(publication), strict=True):
        table.add_row(*(row if printed_only else (*row[:-1], *_ours(point, ours.get(point.id)))))
    console.print()
    print_table(console, table)
    for title, consistent in _LISTS:
        lines = finding_lines(publication, consistent=consistent)
        console.print(f"\n{title} ({len(lines)})")
        for line in lines:
            console.print(f"- {line}")


def _ours(point: Point, one: Ours | None) -> tuple[str, ...]:
    """The simulated value in the unit of the metric; empty for a figure without simulation."""
    if one is None:
        return "", "", "", "not simulated" if is_target(point) else ""
    shown, unit = one.target.shown, one.target.unit
    between = (
        "" if one.interval is None else f"{shown(one.interval.low):.4g} to {shown(one.interval.high):.4g}"
    )
    return f"{shown(one.value):.4g} {unit}", between, f"{one.ratio:.2f}", one.explanation
