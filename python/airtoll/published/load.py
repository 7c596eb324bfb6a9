"""Publications: those of shipped studies by name, and those of users' studies from files beside them.

Both have one reader: the data file of a paper in the package and the figures of a user differ only in their folder. A
TOML file contains a complete publication. A CSV file contains its points, in the columns of
`airtoll studies published NAME --csv`.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from airtoll.errors import FAULTS_MOST, UsageError, listed
from airtoll.published.columns import COLUMNS, DERIVED
from airtoll.published.publication import (
    Equality,
    Interaction,
    Operand,
    Ordering,
    Point,
    PrintedFloat,
    Publication,
    Same,
    Trend,
)
from airtoll.published.words import FACTORS, METRICS, UNITS, Condition
from airtoll.stats import METRICS as MEASURED
from airtoll.study import Study, cells_of_study
from airtoll.study.cell import Cell
from airtoll.study.claims import END
from airtoll.study.levels import parse_level
from airtoll.study.load import Figures, dotted
from airtoll.study.quantity import one_line, one_of, show
from airtoll.study.toml import parse_toml
from airtoll.study.values import PROBLEM, did_you_mean

AnyOperand = TypeVar("AnyOperand", bound=Operand)

Where = tuple[str | int, ...]
"""A location in the raw data: ("point", 3, "unit")."""

Placed = Callable[[Where], str]
"""The place of a location in the file, as text."""

_WHAT: Final = "a file with published figures"


def names() -> tuple[str, ...]:
    """The names of all shipped publications, which are the names of their studies."""
    return tuple(sorted(path.stem for path in _data().glob("*.toml")))


@cache
def published(name: str) -> Publication:
    """The publication of a shipped study. Raises UsageError for an unknown name."""
    if name not in names():
        raise UsageError(
            f"{show(name)} is not a publication; expected one of {', '.join(names())}"
            f"{did_you_mean(name, names())}"
        )
    path = _data() / f"{name}.toml"
    return parse_figures(Figures.read(path, path.name))


def publication_of(study: Study) -> Publication | None:
    """The publication that the study repeats; None if it names none.

    Raises UsageError, with one line per error that has the file and the place in it, for figures of a file that are
    invalid, or that belong to no cell of the study.
    """
    if study.figures is None:
        return None if study.published is None else published(study.published)
    publication = parse_figures(study.figures)
    lacking = [
        f"{study.figures.name}: {words}" for words in _without_cell(publication, cells_of_study(study))
    ]
    if lacking:
        raise UsageError(listed(lacking))
    return publication


def required_publication(study: Study) -> Publication:
    """The publication that the study repeats. Raises UsageError also if it names none."""
    if (publication := publication_of(study)) is None:
        raise UsageError(
            f"{one_line(str(study.path), most=4096)}: published: missing key: the file with the published figures"
        )
    return publication


def parse_figures(figures: Figures) -> Publication:
    """The publication in the text of a file. Raises UsageError, with one line per error: file, place, problem."""
    raw, placed = (_of_csv if figures.suffix == ".csv" else _of_toml)(figures)
    for key in ("point", "operand", "claim"):
        for index, item in enumerate(raw.get(key, ()) if isinstance(raw.get(key), list) else ()):
            if isinstance(item, dict):
                item.setdefault("id", f"{key}-{index}")
    try:
        read = Publication.model_validate({"name": figures.stem, "title": figures.stem, **raw})
    except ValidationError as error:
        if (count := error.error_count()) > FAULTS_MOST:
            raise UsageError(f"{figures.name}: {count} values are invalid") from None
        details = error.errors(include_url=False)
        raise UsageError(
            listed([f"{figures.name}: {_explained(detail, raw, placed)}" for detail in details])
        ) from None
    read = read.model_copy(
        update={
            "points": _based(read.points, read.condition),
            "operands": _based(read.operands, read.condition),
        }
    )
    if doubled := [f"{figures.name}: {words}" for words in _doubled(read)]:
        raise UsageError(listed(doubled))
    return read


def _of_toml(figures: Figures) -> tuple[dict[str, Any], Placed]:
    return parse_toml(figures.text, figures.name, _WHAT, parse_float=PrintedFloat), dotted


def _of_csv(figures: Figures) -> tuple[dict[str, Any], Placed]:
    """The points of a CSV file: a row per point, whose columns are `COLUMNS`. An empty field is a missing key."""
    try:
        rows = list(csv.reader(io.StringIO(figures.text), strict=True))
    except csv.Error as error:
        raise UsageError(f"{figures.name}: is not CSV: {one_line(str(error))}") from None
    heads = [head.strip() for head in rows[0]] if rows else []
    for head in heads:
        if head not in COLUMNS:
            raise UsageError(
                f"{figures.name}: line 1: {show(head)} is not a column; columns: {', '.join(COLUMNS)}"
                f"{did_you_mean(head, COLUMNS)}"
            )
    if len(set(heads)) != len(heads):
        raise UsageError(f"{figures.name}: line 1: duplicate column")
    points: list[dict[str, Any]] = []
    lines: list[int] = []
    for line, row in enumerate(rows[1:], start=2):
        told = {head: text.strip() for head, text in zip(heads, row, strict=False) if text.strip()}
        if len(row) > len(heads):
            raise UsageError(
                f"{figures.name}: line {line}: has {len(row) - len(heads)} more fields than line 1"
            )
        if not told or "implied_by" in told:  # the file's claims imply the number again
            continue
        points.append({"id": f"line-{line}", **_point(told, f"{figures.name}: line {line}")})
        lines.append(line)

    def placed(where: Where) -> str:
        row = [lines[part] for part in where if isinstance(part, int)][:1]
        keys = [
            str(part) for part in where[2:] if part not in ("condition", "[key]") and isinstance(part, str)
        ]
        return ": ".join([*(f"line {line}" for line in row), *keys[-1:]])

    return {"point": points}, placed


def _point(told: Mapping[str, str], where: str) -> dict[str, Any]:
    condition: dict[str, Any] = {}
    for name in FACTORS:
        if name in told:
            try:
                condition[name] = parse_level(name, told[name])
            except ValueError as error:
                raise UsageError(f"{where}: {name}: {error}") from None
    own: dict[str, Any] = {
        key: text for key, text in told.items() if key not in DERIVED and key not in FACTORS
    }
    if "over" in own:
        own["over"] = told["over"].split()
    return {**own, "condition": condition}


def _explained(detail: ErrorDetails, raw: Mapping[str, Any], placed: Placed) -> str:
    where = detail["loc"]
    if where and where[0] == "claim" and len(where) > 2:  # the form of the claim, which no file spells
        where = (*where[:2], *where[3:])
    match detail["type"]:
        case "missing":
            words = f"missing key{_expected(where, raw)}"
        case "extra_forbidden":
            known = Point.model_fields if where[0] == "point" else ()
            words = f"unknown key{did_you_mean(str(where[-1]), known)}"
        case kind if kind == PROBLEM:
            words = detail["ctx"]["text"]
        case "value_error":
            words = str(detail["ctx"]["error"])
        case _:
            words = one_line(detail["msg"], most=200)
    place = placed(where)
    return f"{place}: {words}" if place else words


def _expected(where: Where, raw: Mapping[str, Any]) -> str:
    """The units of the metric, if a number has none."""
    if where[-1] != "unit" or len(where) != len(("point", 0, "unit")):
        return ""
    table: Any = raw.get(str(where[0]), ())
    metric = METRICS.get(table[where[1]].get("metric", ""))
    if metric is None:
        return ""
    alike = [unit for unit, (standard, _) in UNITS.items() if standard == UNITS[metric.unit][0]]
    return f"; expected {one_of(alike)}"


def _based(items: tuple[AnyOperand, ...], base: Condition) -> tuple[AnyOperand, ...]:
    """The items with the condition of the study added to each item that is not quoted."""
    return tuple(
        item
        if item.source is not None
        else item.model_copy(update={"condition": item.condition.with_base(base)})
        for item in items
    )


def _doubled(publication: Publication) -> Iterator[str]:
    """Measured numbers of one cell and metric. A paper may repeat a number elsewhere, or call two numbers the same."""
    same = [set(claim.of) for claim in publication.claims if isinstance(claim, Same)]
    first: dict[tuple[object, ...], Point] = {}
    for point in publication.points:
        kind = (point.metric, point.change, point.statistic, point.over, point.subject, point.condition)
        other = first.setdefault(kind, point)
        if other is point or point.quoted or point.metric not in MEASURED:
            continue
        is_repeated = other.place != point.place and other.standard_value == point.standard_value
        if not is_repeated and not any({other.id, point.id} <= each for each in same):
            yield f"{_place_of(point.id)}: doubles {_place_of(other.id)}; expected one number per metric and cell"


def _without_cell(publication: Publication, cells: Sequence[Cell]) -> Iterator[str]:
    """The numbers and claims that belong to no cell of the study. Quoted numbers belong to other studies."""
    levels = [cell.model_dump(exclude={"lab"}) for cell in cells]

    def lacks(condition: Condition, **more: Any) -> bool:
        stated = condition.model_copy(update=more)
        return not any(stated.agrees(each) for each in levels)

    for number in (*publication.points, *publication.operands):
        if number.metric in MEASURED and number.source is None and lacks(number.condition):
            yield f"{_place_of(number.id)}: the study has no cell with {number.condition.text()}"
    for claim in publication.claims:
        compared: list[tuple[str, Any]] = []
        match claim:
            case Ordering():
                compared = [(claim.factor, claim.better), (claim.factor, claim.worse)]
            case Equality():
                compared = [(claim.factor, level) for level in claim.of]
            case Interaction():
                compared = [(claim.factor, claim.better), (claim.factor, claim.worse)]
                compared += [
                    (claim.by, level) for level in (claim.larger, claim.smaller) if level not in (None, *END)
                ]
            case Trend():
                compared = [(claim.over, None)]
            case _:
                continue
        for factor, level in compared:
            if lacks(claim.where, **{factor: level}):
                stated = claim.where.model_copy(update={factor: level}).text()
                yield f"{_place_of(claim.id)}: the study has no cell with {stated}"
                break


def _place_of(number: str) -> str:
    """The place of a point, an operand or a claim whose id is that of `parse_figures`; otherwise its id."""
    return re.sub(
        r"^(point|operand|claim)-([0-9]+)$", r"\1[\2]", re.sub(r"^line-([0-9]+)$", r"line \1", number)
    )


def _data() -> Path:
    return Path(__file__).parent / "data"
