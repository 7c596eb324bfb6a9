"""The cost of a scenario's security, its causes, and alternatives that change it, for `airtoll model`.

Three computations give a cost of the same cell. The leading answer is that of several simulations with different seeds,
because it alone has an interval and contains everything that the simulator models. The closed forms and the split by
causes stand below it, and their captions say what they leave out.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Any, Final

from rich.console import Console

from airtoll.cli.tables import figure, plain_table
from airtoll.labs.sim import obstacle, simulate
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
from airtoll.prediction.predictions import DURATION_S
from airtoll.report.material import text
from airtoll.stats import METRICS, PairedRatio, paired_ratio
from airtoll.study.scenario import Scenario

_ASKED = "throughput"

SEEDS: Final = 8
"""Simulations of each security level for the leading answer."""


@dataclass(frozen=True)
class Cost:
    """A cost and its alternatives, predicted in virtual time."""

    attributions: Sequence[Attribution]
    alternatives: Sequence[Alternative]
    # Secured to open throughput over `SEEDS` seeds; None without a saturated load.
    answer: PairedRatio | None = None

    def to_json(self) -> dict[str, Any]:
        """The keys of the JSON answer; changes are in the metric's unit: bit/s, ms."""
        answer = self.answer
        interval = None if answer is None else answer.percent_ci95_t
        return {
            "throughput_change": None
            if answer is None
            else {
                "percent": answer.percent,
                "ci95": None if interval is None else [interval.low, interval.high],
                "seeds": answer.n,
            },
            "cost": {of.metric: {part.name: part.change for part in _parts(of)} for of in self.attributions},
            "alternatives": [
                {"with": each.question, "metric": each.metric, "now": each.now, "then": each.then}
                for each in self.alternatives
            ],
        }

    def print_answer(self, console: Console, security: str) -> None:
        """Print the leading answer in one line."""
        if self.answer is not None:
            change = text.joined(
                text.signed_percent(self.answer.percent), text.percent_interval(self.answer.percent_ci95_t)
            )
            console.print(
                f"Throughput with {security} instead of open: {change}, 95 % interval, over {self.answer.n} "
                "simulations of each.",
                soft_wrap=True,
            )

    def print(self, console: Console) -> None:
        """Print the cost and the alternatives as tables."""
        if self.attributions:
            console.print(
                f"By cause, from one simulation of {DURATION_S:g} s per variant. Its total differs from the mean over "
                "several seeds by the backoffs that this run draws:",
                soft_wrap=True,
            )
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
    answer = _answer(scenario) if secured else None
    return Cost([of for of in found if of is not None], alternatives(predictions, case, _ASKED), answer)


def _answer(scenario: Scenario) -> PairedRatio | None:
    """The ratio of secured to open throughput over seeds; None if the traffic is not saturated or has no open form."""
    if scenario.offered is not None or scenario.traffic not in (None, "saturated"):
        return None
    plain = scenario.model_copy(update={"security": "open"})
    if obstacle(plain) is not None:
        return None
    runs = [
        one.model_copy(update={"seed": scenario.seed + place})
        for one in (plain, scenario)
        for place in range(SEEDS)
    ]
    with ThreadPoolExecutor(cpu_count()) as pool:  # the medium releases the interpreter's lock
        rates = [answer.values["throughput_mbps"] for answer in pool.map(simulate, runs)]
    return paired_ratio(rates[:SEEDS], rates[SEEDS:])


def _parts(of: Attribution) -> Sequence[Part]:
    return [part for part in of.parts if part.name != "unexplained"]


def _row(of: Attribution) -> tuple[str, ...]:
    metric = METRICS[of.metric]
    changes = (of.change, *(part.change for part in _parts(of)))
    shown = (f"{metric.display(change):+.3f}" for change in changes)
    return f"{metric.title.lower()}, {metric.display_unit}", figure(metric.display(of.open)), *shown
