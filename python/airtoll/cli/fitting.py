"""`airtoll fit`: the settings of a study that explain published figures, fitted by simulation."""

from collections.abc import Sequence
from typing import Any

import click

from airtoll.cli.json_output import print_json
from airtoll.cli.progress import counting
from airtoll.cli.tables import figure, plain_console, plain_table, print_table
from airtoll.errors import UsageError
from airtoll.prediction import (
    GROUPS,
    OF_CARD,
    Explanation,
    Fit,
    Predictions,
    Residual,
    Target,
    explain,
    mean_percent,
    neutral,
    rms_percent,
    targets_of,
)
from airtoll.published import required_publication
from airtoll.stats import find_metric
from airtoll.study import cells_of_study, expand, find_study, load_study
from airtoll.study.cell import Cell
from airtoll.study.quantity import one_line, show
from airtoll.study.values import did_you_mean


def print_fit(name: str, vary: Sequence[str], metrics: Sequence[str], *, as_json: bool) -> None:
    """Fit the settings that may vary; print what each explains, and the errors at figures held out of the fit."""
    only = [_metric(metric) for metric in metrics]
    study = load_study(find_study(name))
    publication = required_publication(study)
    plan = expand(study)
    cells = cells_of_study(study)
    candidates = _candidates(vary, cells, one_line(str(study.path), most=4096))
    predictions = Predictions.of(plan)
    with counting(plain_console(stderr=True)) as progress:
        task = progress.add_task("trials of settings", total=None)
        targets = _predicted(targets_of(publication, cells, only or None), predictions, candidates)
        found = explain(targets, predictions, candidates, progress=lambda: progress.advance(task))
    if as_json:
        print_json(_json(found))
    else:
        _print(found)


def _metric(name: str) -> str:
    try:
        return find_metric(name).name
    except ValueError as error:
        raise UsageError(f"--metric: {error}") from None


def _candidates(vary: Sequence[str], cells: Sequence[Cell], file: str) -> list[tuple[str, ...]]:
    """The groups of settings to vary; by default, every group that has an effect in the study."""
    has_cards = any(cell.sealed_at == "card" for cell in cells)
    if not vary:
        return [(name,) for name in GROUPS if has_cards or name not in OF_CARD]
    candidates = [tuple(each.split("+")) for each in vary]
    for name in (name for each in candidates for name in each):
        if name not in GROUPS:
            raise UsageError(
                f"--vary: {show(name)} is not one of {', '.join(GROUPS)}{did_you_mean(name, GROUPS)}"
            )
        if name in OF_CARD and not has_cards:
            raise UsageError(f"--vary: {name} requires crypto_at 'card' in {file}")
    return candidates


def _predicted(
    targets: Sequence[Target], predictions: Predictions, candidates: Sequence[Sequence[str]]
) -> list[Target]:
    """The figures that the medium predicts."""
    unvaried = neutral(candidates)
    predictions.all(case for target in targets for case in target.cases(predictions, unvaried))
    return [target for target in targets if target.predicted(predictions, unvaried) is not None]


def _print(found: Explanation) -> None:
    console = plain_console()
    rows: list[tuple[str, ...]] = [("none", "", *_errors(found.unvaried), "")]
    rows += [
        (_name(fit), _settings(fit), *_errors(fit.residuals), str(_count(found, fit))) for fit in found.alone
    ]
    headings: tuple[str, ...] = (
        "setting alone",
        "fitted",
        "mean error, %",
        "rms error, %",
        "figures explained",
    )
    print_table(console, plain_table(headings, rows))
    console.print()
    rows = [
        (
            _name(fit),
            _settings(fit),
            f"{mean_percent(fit.fitted):.1f}",
            f"{mean_percent(fit.held_out):.1f}",
            f"{rms_percent(fit.held_out):.1f}",
        )
        for fit in found.together
    ]
    headings = ("settings together", "fitted", "mean error, %", "held out: mean error, %", "rms error, %")
    print_table(console, plain_table(headings, rows))
    console.print()
    held_out = {id(each.target): each for each in found.best.held_out}
    fitted = {id(each.target): each for each in found.best.fitted}
    rows = [
        (
            before.target.name,
            before.target.unit,
            figure(before.target.shown(before.target.value)),
            _error(before),
            _error(fitted.get(id(before.target))),
            _error(held_out.get(id(before.target))),
            found.of(before.target),
        )
        for before in found.unvaried
    ]
    headings = ("figure", "unit", "published", "error, %", "fitted, %", "held out, %", "explained by")
    print_table(console, plain_table(headings, rows))
    click.echo("\n[link]")
    for key, value in found.best.settings.items():
        click.echo(f"{key} = {value:g}" if key != "snr" else f"# factors.snr = [{value:g}]")


def _name(fit: Fit) -> str:
    return "+".join(fit.varied)


def _settings(fit: Fit) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in fit.settings.items() if value)


def _errors(residuals: Sequence[Residual]) -> tuple[str, str]:
    return f"{mean_percent(residuals):.1f}", f"{rms_percent(residuals):.1f}"


def _error(residual: Residual | None) -> str:
    return "" if residual is None else f"{residual.error_percent:+.1f}"


def _count(found: Explanation, fit: Fit) -> int:
    """The figures that the fit explains better than every other setting alone."""
    return sum(found.of(each.target) == _name(fit) for each in found.unvaried)


def _json(found: Explanation) -> dict[str, Any]:
    best = found.best
    return {
        "settings": dict(best.settings),
        "without": _listed(found.unvaried, found),
        "alone": [_of_fit(fit) for fit in found.alone],
        "together": [_of_fit(fit) for fit in found.together],
        "fitted": _listed(best.fitted, found),
        "held_out": _listed(best.held_out, found),
    }


def _of_fit(fit: Fit) -> dict[str, Any]:
    held_out = {"held_out": _summary(fit.held_out)} if fit.held_out else {}
    return {
        "varied": list(fit.varied),
        "settings": dict(fit.settings),
        "error_percent": _summary(fit.fitted),
        "all_figures": _summary(fit.residuals),
        **held_out,
    }


def _summary(residuals: Sequence[Residual]) -> dict[str, float]:
    return {"mean": mean_percent(residuals), "rms": rms_percent(residuals)}


def _listed(residuals: Sequence[Residual], found: Explanation) -> list[dict[str, Any]]:
    return [
        {
            "figure": each.target.name,
            "metric": each.target.metric,
            "published": each.target.value,
            "predicted": each.predicted,
            "error_percent": each.error_percent,
            "explained_by": found.of(each.target),
        }
        for each in residuals
    ]
