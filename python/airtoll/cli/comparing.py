"""`airtoll compare`: compares two results cell by cell; prints tables, Markdown or JSON."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from airtoll.cli.base import echo
from airtoll.cli.json_output import only_one, print_json
from airtoll.cli.tables import plain_console, plain_table, print_table
from airtoll.condition import damage, mixture
from airtoll.errors import UsageError
from airtoll.judge import CellDifference, Difference, Figures, Unlike, difference, unlike
from airtoll.judge.figures import cell_name, fixed_factors_of
from airtoll.report.material import text
from airtoll.report.material.grid import Grid
from airtoll.report.material.rows import scaled
from airtoll.stats import METRICS, Interval, Metric, Summary, find_metric
from airtoll.store import Result
from airtoll.study.levels import check_factor, parse_level
from airtoll.study.quantity import PERCENT, plain_number, show

_HEADS: Final = ("cell", "A", "B", "B - A [95 % CI]", "change [95 % CI]", "p", "finding")
_NAMED_MOST: Final = 12
"""A list names at most this many cells or differences; JSON has all."""


def compare_results(
    first: Path,
    second: Path,
    *,
    margin: str,
    metrics: Sequence[str],
    ignored: Sequence[str],
    where: Sequence[str],
    show_all: bool,
    as_json: bool,
    as_markdown: bool,
    fail_on_difference: bool,
) -> int:
    """Print how the second result differs from the first, and return the exit status."""
    only_one(json=as_json, markdown=as_markdown)
    percent = _margin(margin)
    _check_names(metrics, ignored)
    levels = _levels(where)
    a, b = (Figures.of(Result.open(directory)).where(levels) for directory in (first, second))
    found = difference(a, b, metrics=metrics, ignored=ignored, margin_percent=percent)
    apart = unlike(a, b)
    if as_json:
        print_json(_json(a, b, found, apart))
    elif as_markdown:
        echo(_markdown(a, b, found, apart, show_all=show_all), nl=False)
    else:
        _print(a, b, found, apart, show_all=show_all)
    return 1 if fail_on_difference and found.counts()["differs"] else 0


def _margin(margin: str) -> float:
    try:
        percent = float(PERCENT.parse(plain_number(margin)))
    except ValueError as error:
        raise UsageError(f"--margin: {error}") from None
    if percent >= 100:
        raise UsageError(f"--margin: '{margin}' is out of range (expected less than 100 %)")
    return percent


def _levels(where: Sequence[str]) -> Mapping[str, Collection[Any]]:
    """The selected levels by factor."""
    levels: dict[str, list[Any]] = {}
    for each in where:
        name, equals, level = (part.strip() for part in each.partition("="))
        if not equals:
            raise UsageError(f"--where: {show(each)} is not FACTOR=LEVEL, such as stack=default")
        try:
            levels.setdefault(name, []).append(parse_level(name, level))
        except ValueError as error:
            raise UsageError(f"--where: {error}") from None
    return levels


def _check_names(metrics: Sequence[str], ignored: Sequence[str]) -> None:
    for name in metrics:
        try:
            find_metric(name)
        except ValueError as error:
            raise UsageError(f"--metric: {error}") from None
    for name in ignored:
        try:
            check_factor(name)
        except ValueError as error:
            raise UsageError(f"--ignore: {error}") from None


def _print(a: Figures, b: Figures, found: Difference, apart: Sequence[Unlike], *, show_all: bool) -> None:
    console = plain_console(soft_wrap=True)
    for line in (*_head(a, b), *_summary(found), *_warnings(a, b, apart)):
        console.print(line)
    for metric, rows in _shown(found, show_all=show_all):
        console.print(f"\n{metric.title}, {metric.display_unit}")
        print_table(console, plain_table(_HEADS, [_row(row, _fixed(a, b)) for row in rows]))
    if not show_all and len(found.rows) > found.counts()["differs"]:
        console.print("\nuse --all to show the cells that do not differ as well")


def _head(a: Figures, b: Figures) -> list[str]:
    return [
        f"{name}: {figures.directory} ({head.plan.study}, lab {head.lab}, {head.created:%Y-%m-%d})"
        for name, figures, head in (("A", a, a.head), ("B", b, b.head))
    ]


def _summary(found: Difference) -> list[str]:
    ignored = f", ignoring {', '.join(found.ignored)}" if found.ignored else ""
    lines = [f"{text.counted(found.cells, 'cell')} compared{ignored}; margin {found.margin_percent:g} %"]
    for name in dict.fromkeys(row.metric.name for row in found.rows):
        counts = found.counts(name)
        differ = [row for row in found.rows if row.metric.name == name and row.worse is not None]
        worse = sum(row.worse is True for row in differ)
        within = counts["differs within the margin"]
        told = (
            f" ({worse} worse in B{f', {within} of them within the margin' if within else ''})"
            if differ
            else ""
        )
        lines.append(
            f"  {METRICS[name].title}: {len(differ)} differ{told}, {counts['equal']} equal within the margin, "
            f"{counts['undecided']} undecided"
        )
    for which, cells in (("A", found.only_a), ("B", found.only_b)):
        if cells:
            lines.append(f"only in {which}: {_listed([cell_name(cell) for cell in cells])}")
    if found.not_compared:
        lines.append(
            "not compared, because one of the results has no value: "
            + _listed([f"{metric} of {cell_name(cell)}" for cell, metric in found.not_compared])
        )
    return lines


def _warnings(a: Figures, b: Figures, apart: Sequence[Unlike]) -> list[str]:
    lines = []
    for name, figures in (("A", a), ("B", b)):
        damaged = damage(figures.directory)
        lines += [] if damaged is None else [f"warning: {name} is {damaged}"]
        lines += [f"warning: {name}: {line}" for line in mixture(figures.records)]
    method = [str(each) for each in apart if each.kind == "method"]
    if method:
        lines.append(f"warning: the methods differ: {_listed(method)}")
    environment = [str(each) for each in apart if each.kind == "environment"]
    if environment:
        lines.append(f"warning: machines or tools differ: {_listed(environment)}")
    return lines


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_MOST
    return "; ".join(names[:_NAMED_MOST]) + (f"; and {more} more" if more > 0 else "")


def _shown(found: Difference, *, show_all: bool) -> list[tuple[Metric, list[CellDifference]]]:
    by_metric: dict[str, list[CellDifference]] = {}
    for row in found.rows:
        if show_all or row.finding == "differs":
            by_metric.setdefault(row.metric.name, []).append(row)
    return [(METRICS[name], rows) for name, rows in by_metric.items()]


def _fixed(a: Figures, b: Figures) -> set[str]:
    return fixed_factors_of(a, b) | {"lab"}


def _row(row: CellDifference, fixed: set[str]) -> tuple[str, ...]:
    metric, decimals = row.metric, row.metric.decimals

    def shown(value: float | None, *, sign: bool = False) -> str:
        return text.number(None if value is None else metric.display(value), decimals, sign=sign)

    percent = row.ratio.percent if metric.relative else None
    change = text.MISSING if percent is None else f"{text.number(percent, 2, sign=True)} %"
    of_change = row.ratio.percent_ci95_t if metric.relative else None
    worse = {True: ", worse", False: ", better", None: ""}[row.worse]
    return (
        cell_name(row.cell, without=fixed),
        shown(row.a.mean),
        shown(row.b.mean),
        text.joined(
            shown(row.difference.mean, sign=True),
            text.interval(scaled(row.difference.ci95_t, metric), decimals, sign=True),
        ),
        text.joined(change, text.interval(of_change, 2, sign=True)),
        text.p_value(row.p_holm, row.difference.ci95_t),
        row.finding + worse,
    )


def _markdown(a: Figures, b: Figures, found: Difference, apart: Sequence[Unlike], *, show_all: bool) -> str:
    from airtoll.report.pages.markdown import grid_lines, in_markdown

    lines = [f"- {in_markdown(line)}" for line in (*_head(a, b), *_summary(found), *_warnings(a, b, apart))]
    for metric, rows in _shown(found, show_all=show_all):
        cells = tuple(_row(row, _fixed(a, b)) for row in rows)
        grid = Grid(metric.name, f"{metric.title}, {metric.display_unit}", "", _HEADS, cells)
        lines += ["", *grid_lines(grid, level=3)[:-1]]
    return "\n".join(lines) + "\n"


def _json(a: Figures, b: Figures, found: Difference, apart: Sequence[Unlike]) -> dict[str, Any]:
    return {
        "a": str(a.directory),
        "b": str(b.directory),
        "damage": {name: damage(figures.directory) for name, figures in (("a", a), ("b", b))},
        "margin_percent": found.margin_percent,
        "ignored": list(found.ignored),
        "cells": found.cells,
        "counts": found.counts(),
        "unlike": [{"kind": each.kind, "name": each.name, "a": each.a, "b": each.b} for each in apart],
        "only_a": [cell.model_dump() for cell in found.only_a],
        "only_b": [cell.model_dump() for cell in found.only_b],
        "not_compared": [
            {"cell": cell.model_dump(), "metric": metric} for cell, metric in found.not_compared
        ],
        "differences": [_json_row(row) for row in found.rows],
    }


def _json_row(row: CellDifference) -> dict[str, Any]:
    equivalence = row.equivalence
    return {
        "cell": row.cell.model_dump(),
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "finding": row.finding,
        "worse": row.worse,
        "a": _json_summary(row.a),
        "b": _json_summary(row.b),
        "difference": row.difference.mean,
        "difference_ci95": _ends(row.difference.ci95_t),
        "ratio": row.ratio.ratio,
        "ratio_ci95": _ends(row.ratio.ci95_t),
        "ratio_ci90": _ends(equivalence.ci90 if equivalence else None),
        "p": row.difference.p,
        "p_holm": row.p_holm,
    }


def _json_summary(summary: Summary) -> dict[str, Any]:
    return {"n": summary.n, "mean": summary.mean, "sd": summary.sd, "ci95": _ends(summary.ci95_t)}


def _ends(ci: Interval | None) -> list[float] | None:
    return None if ci is None else [ci.low, ci.high]
