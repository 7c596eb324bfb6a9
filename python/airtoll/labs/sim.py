"""Lab `sim`: the medium of lab `air` in virtual time, with traffic models in the place of hosts and programs.

A run is a few calls of the medium (Rust, `wlan-air`): no clock, no host, no namespace, so that the same run gives
the same samples on every machine. Its link carries no commands; the probes that measure it are those of
`airtoll.probes.simulated`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airtoll import _rust
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.base import Link
from airtoll.study.cell import Cell
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.scenario import Scenario, scenario_of

Solver = Callable[[str], str]
"""From a scenario to what came of it, both as JSON; ValueError has the one line that says what cannot be."""

Check = Callable[[str], None]
"""Raises ValueError if a scenario, as JSON, cannot be; as cheap as reading it."""


@dataclass(frozen=True)
class Answer:
    """What the medium says of one scenario."""

    scenario: str  # as JSON
    text: str  # its answer as JSON, verbatim
    values: dict[str, Any] = field(repr=False)  # the same, read


def simulate(scenario: Scenario, solver: Solver = _rust.simulate) -> Answer:
    """Perform a scenario in virtual time. Raises UsageError if the medium cannot be so."""
    return _ask(scenario, solver)


def model(scenario: Scenario, solver: Solver = _rust.model) -> Answer:
    """What closed forms say of a scenario. Raises UsageError if the medium cannot be so."""
    return _ask(scenario, solver)


def obstacle(scenario: Scenario, check: Check = _rust.check_scenario) -> str | None:
    """Why the medium cannot be as the scenario says, in one line; None if it can."""
    try:
        check(scenario.to_json())
    except ValueError as error:
        return str(error)
    return None


def _ask(scenario: Scenario, solver: Solver) -> Answer:
    asked = scenario.to_json()
    try:
        text = solver(asked)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Answer(asked, text, json.loads(text))


@dataclass(frozen=True)
class SimulatedLink(Link):
    """A link in virtual time: it is asked for what a kind of traffic would measure."""

    simulate: Callable[..., Answer] = field(kw_only=True, repr=False)
    """Takes the words of a scenario that the cell does not say: traffic, duration, warmup."""


class Sim:
    """The medium in virtual time."""

    name = "sim"
    virtual = True

    def __init__(
        self,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        solver: Solver = _rust.simulate,
        check: Check = _rust.check_scenario,
    ) -> None:
        """`link` has the study's settings of the link, `stacks` its TCP/IP stacks."""
        self._link = link or LinkSettings()
        self._stacks = stacks or {}
        self._solver = solver
        self._check = check

    def check(self, cell: Cell) -> str | None:
        """Why this lab cannot do the cell, or None if it can."""
        return obstacle(self._scenario(cell), self._check)

    def missing(self) -> str | None:
        """Nothing: it works on every machine."""
        return None

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[SimulatedLink]:
        """A link in virtual time; nothing is brought up, so nothing is taken down."""
        if pcap is not None:
            raise UsageError("lab sim builds no frames, so that there is no capture of them")

        def ask(**words: Any) -> Answer:
            try:
                return simulate(self._scenario(cell, seed=seed, **words), self._solver)
            except UsageError as error:  # `check` has let it pass
                raise AirtollError(f"lab sim: {error}") from error

        yield SimulatedLink(
            hosts={},
            addresses={},
            facts={"simulated": True, "scenario": self._facts(cell)},
            counters=dict,
            simulate=ask,
        )

    def _facts(self, cell: Cell) -> dict[str, Any]:
        """What all simulations of the cell have in common; each is kept whole beside its answer."""
        own = ("traffic", "seed", "duration_s", "warmup_s")
        return {word: value for word, value in self._scenario(cell).wire().items() if word not in own}

    def _scenario(self, cell: Cell, **words: Any) -> Scenario:
        settings = self._link.with_stack(self._stacks.get(cell.stack))
        return scenario_of(cell, settings, **words)
