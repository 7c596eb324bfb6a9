"""The cost of a scenario's security, its causes, and alternatives that change it, for `airtoll model`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from airtoll.cli.tables import figure, plain_table
from airtoll.prediction import (
    ATTRIBUTED,
    Alternative,
    Attribution,
    Part,
    Predictions,
    alternatives,
    case_of,
    modelled,
)
from airtoll.stats import METRICS
from airtoll.study.scenario import Scenario

_ASKED = "throughput"


@dataclass(frozen=True)
class Cost:
    """A cost and its alternatives, predicted in virtual time."""

    attributions: Sequence[Attribution]
    alternatives: Sequence[Alternative]

    def to_json(self) -> dict[str, Any]:
        """The keys of the JSON answer; changes are in the metric's unit: bit/s, ms."""
        return {
            "cost": {of.metric: {part.name: part.change for part in _parts(of)} for of in self.attributions},
            "alternatives": [
                {"with": each.question, "metric": each.metric, "now": each.now, "then": each.then}
                for each in self.alternatives
            ],
        }

    def print(self, console: Console) -> None:
        """Print the cost and the alternatives as tables."""
        if self.attributions:
            heads = (
                "cost of security",
                "open",
                "change",
                *(part.name for part in _parts(self.attributions[0])),
            )
            console.print(plain_table(heads, [_row(of) for of in self.attributions]))
        if self.alternatives:
            metric = METRICS[_ASKED]
            rows = [
                (each.question, figure(metric.display(each.then)), f"{each.percent:+.2f}")
                for each in self.alternatives
            ]
            title = f"{metric.title.lower()}, {metric.display_unit}"
            console.print(plain_table(("with", title, "change, %"), rows))


def cost_of(scenario: Scenario) -> Cost | None:
    """The cost of a scenario's security; None if no cell can express the scenario (matrices, path loss)."""
    case = case_of(scenario)
    if case is None:
        return None
    predictions = Predictions()
    secured = case.cell.security != "open"
    found = [modelled(predictions, case, metric) for metric in ATTRIBUTED if secured]
    return Cost([of for of in found if of is not None], alternatives(predictions, case, _ASKED))


def _parts(of: Attribution) -> Sequence[Part]:
    return [part for part in of.parts if part.name != "unexplained"]


def _row(of: Attribution) -> tuple[str, ...]:
    metric = METRICS[of.metric]
    changes = (of.change, *(part.change for part in _parts(of)))
    shown = (f"{metric.display(change):+.3f}" for change in changes)
    return f"{metric.title.lower()}, {metric.display_unit}", figure(metric.display(of.open)), *shown
