"""Splits the measured cost of a security level by cause.

Variants in virtual time lead from the open cell to the secured cell. Each variant adds one effect:

| part          | added effect                                                                                       |
|---------------|----------------------------------------------------------------------------------------------------|
| aggregation   | WEP and TKIP forbid HT: no aggregation of MPDUs (IEEE Std 802.11-2020, 12.6.3, 9.4.2.24.2)           |
| legacy rate   | in addition, a legacy rate                                                                         |
| bytes         | the octets of the suite, each taking exactly its time at the PHY rate                              |
| symbols       | their real time: whole symbols, padded subframes, fewer MPDUs per PPDU                             |
| processor     | the time per frame of the engine or the card                                                       |
| unexplained   | the rest of the measured cost                                                                      |

Each part is the difference between two adjacent variants, so the parts add up to the measured cost. A negative part is
a gain.
"""

from dataclasses import dataclass
from typing import Final, Literal

from airtoll.prediction.predictions import INSTANT_CRYPTO, Case, Prediction, Predictions
from airtoll.study.cell import Cell
from airtoll.study.scenario import is_without_ht, scenario_of

PartName = Literal["aggregation", "legacy rate", "bytes", "symbols", "processor", "unexplained"]

PARTS: Final[tuple[PartName, ...]] = (
    "aggregation",
    "legacy rate",
    "bytes",
    "symbols",
    "processor",
    "unexplained",
)

ATTRIBUTED: Final = ("throughput", "rtt")
"""The metrics whose cost is split. A load below the link's capacity causes no cost in throughput."""


@dataclass(frozen=True)
class Part:
    """One cause of the cost."""

    name: PartName
    change: float
    """Secured minus open, in the metric's unit."""


@dataclass(frozen=True)
class Attribution:
    """The cost of a secured cell in one metric, with its causes."""

    metric: str
    open: float  # measured, in the metric's unit
    secured: float
    parts: tuple[Part, ...]

    @property
    def modelled(self) -> float:
        """The change that the model explains."""
        return sum(part.change for part in self.parts if part.name != "unexplained")

    @property
    def change(self) -> float:
        """Measured change: secured minus open."""
        return self.secured - self.open


def chain(secured: Case) -> dict[PartName, Case]:
    """The simulated variants by the part that each adds; the key "unexplained" is the open cell."""
    cell = secured.cell
    start = secured.with_cell(security="open")
    steps: dict[PartName, Case] = {"unexplained": start}
    if is_without_ht(cell.phy, cell.security):
        steps["aggregation"] = start.with_link(ampdu=False, amsdu=None)
        steps["legacy rate"] = _legacy(secured)
    steps["symbols"] = secured.with_link(**INSTANT_CRYPTO)
    steps["processor"] = secured
    return steps


def _legacy(secured: Case) -> Case:
    """The open cell at the rate to which the secured cell falls back."""
    scenario = scenario_of(secured.cell, secured.link).wire()
    levels = {name: scenario[name] for name in ("phy", "rate", "bandwidth", "gi", "streams")}
    return secured.with_cell(security="open", **levels).with_link(band=None, ampdu=None, amsdu=None)


def attribute(
    predictions: Predictions, secured: Case, metric: str, measured_open: float, measured: float
) -> Attribution | None:
    """The parts of a measured cost, or None if the medium does not predict the metric.

    `measured_open` and `measured` are in the metric's unit. The simulations are those of `chain`. To attribute many
    cells, call `Predictions.all` for all simulations first.
    """
    steps = {name: predictions[case] for name, case in chain(secured).items()}
    if any(metric not in step.values for step in steps.values()):
        return None
    reached = steps["unexplained"].values[metric]
    parts: list[Part] = []
    for name in ("aggregation", "legacy rate"):
        if name in steps:
            parts.append(Part(name, steps[name].values[metric] - reached))
            reached = steps[name].values[metric]
    sealed = steps["symbols"]
    fluid = _with_octets(
        secured.cell, metric, reached, steps.get("legacy rate", steps["unexplained"]), sealed
    )
    parts += [
        Part("bytes", fluid - reached),
        Part("symbols", sealed.values[metric] - fluid),
        Part("processor", steps["processor"].values[metric] - sealed.values[metric]),
    ]
    explained = sum(part.change for part in parts)
    parts.append(Part("unexplained", measured - measured_open - explained))
    return Attribution(metric, measured_open, measured, tuple(parts))


def modelled(predictions: Predictions, secured: Case, metric: str) -> Attribution | None:
    """The parts of the cost that the medium itself predicts; its unexplained part is 0."""
    plain, sealed = (
        predictions[case].values.get(metric) for case in (secured.with_cell(security="open"), secured)
    )
    if plain is None or sealed is None:
        return None
    return attribute(predictions, secured, metric, plain, sealed)


def _with_octets(cell: Cell, metric: str, before: float, plain: Prediction, sealed: Prediction) -> float:
    """The metric `before`, changed as if the suite's octets took exactly their time at the PHY rate."""
    assert sealed.mpdu_b is not None
    assert plain.mpdu_b is not None
    assert sealed.phy_rate_bit_per_s is not None
    per_mpdu_s = 8 * (sealed.mpdu_b - plain.mpdu_b) / sealed.phy_rate_bit_per_s
    if metric == "throughput":
        per_bit_s = per_mpdu_s * (sealed.mpdus_per_bit or 0.0)
        return 1 / (1 / before + per_bit_s)
    hops = 2 if cell.topology == "through-ap" else 1
    return before + 1e3 * 2 * hops * per_mpdu_s
