"""`airtoll studies card`: the processor of wireless cards that explains a paper, fitted by simulation."""

from collections.abc import Sequence
from typing import Any

import click

from airtoll.cli.json_output import print_json
from airtoll.cli.progress import counting
from airtoll.cli.tables import figure, plain_console, plain_table, print_table
from airtoll.prediction import FITTED, CardFit, Predictions, Residual, fit_card, rms_percent, targets_of
from airtoll.published import published
from airtoll.stats import METRICS
from airtoll.study import expand, find_study, load_study


def print_card(name: str, *, as_json: bool) -> None:
    """Fit the card of a published study; print its settings and the errors of its predictions."""
    publication = published(name)
    plan = expand(load_study(find_study(name)))
    cells = dict.fromkeys(run.cell.model_copy(update={"crypto_at": "card"}) for run in plan.runs)
    predictions = Predictions.of(plan)
    predictions.link = plan.link.model_copy(update=dict.fromkeys(FITTED))
    with counting(plain_console(stderr=True)) as progress:
        task = progress.add_task("trials of the card", total=None)
        fit = fit_card(
            targets_of(publication, list(cells)),
            predictions,
            progress=lambda: progress.advance(task),
        )
    if as_json:
        print_json(_json(fit))
    else:
        _print(fit)


def _print(fit: CardFit) -> None:
    console = plain_console()
    for heading, residuals in (("fitted", fit.fitted), ("held out", fit.held_out)):
        rows = [_row(residual) for residual in residuals]
        print_table(console, plain_table((heading, "unit", "published", "predicted", "error, %"), rows))
        console.print(f"root mean square error: {rms_percent(residuals):.1f} %\n")
    click.echo("[link]")
    for name, value in fit.settings.items():
        click.echo(f"{name} = {value:g}")


def _row(residual: Residual) -> tuple[str, ...]:
    target = residual.target
    metric = METRICS[target.metric]

    def shown(value: float) -> str:
        return figure(100 * (value - 1) if target.to_open else metric.display(value))

    unit = "% of open" if target.to_open else metric.display_unit
    return target.name, unit, shown(target.value), shown(residual.predicted), f"{residual.error_percent:+.1f}"


def _json(fit: CardFit) -> dict[str, Any]:
    def listed(residuals: Sequence[Residual]) -> list[dict[str, Any]]:
        return [
            {
                "figure": each.target.name,
                "metric": each.target.metric,
                "published": each.target.value,
                "predicted": each.predicted,
                "error_percent": each.error_percent,
            }
            for each in residuals
        ]

    return {
        "link": dict(fit.settings),
        "fitted": listed(fit.fitted),
        "held_out": listed(fit.held_out),
        "rms_error_percent": {
            "fitted": rms_percent(fit.fitted),
            "held_out": rms_percent(fit.held_out),
        },
    }
