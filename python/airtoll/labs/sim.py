"""Lab `sim`: the medium of lab `air` in virtual time, with traffic models in place of hosts and programs.

A run consists of a few calls of the medium (Rust, `wlan-air`), without a clock, a host or a namespace. The same run
therefore gives the same samples on every machine. The link runs no commands; the probes in `airtoll.probes.simulated`
measure it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airtoll import _rust
from airtoll.clock import Clock
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.base import Known, Lab, Link
from airtoll.study.cell import Cell
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.scenario import Scenario, scenario_of
from airtoll.study.security import SecurityProfile

Solver = Callable[[str], str]
"""Maps a scenario to its result, both as JSON. Raises ValueError with one line if the scenario is invalid."""

Check = Callable[[str], None]
"""Raises ValueError if a scenario, as JSON, is invalid. Takes no longer than parsing the scenario."""


@dataclass(frozen=True)
class Answer:
    """The medium's answer to one scenario."""

    scenario: str  # as JSON
    text: str  # the answer as JSON, verbatim
    values: dict[str, Any] = field(repr=False)  # the answer, parsed


def simulate(scenario: Scenario, solver: Solver = _rust.simulate) -> Answer:
    """Simulate a scenario in virtual time. Raises UsageError if the scenario is invalid."""
    return _ask(scenario, solver)


def closed_forms(scenario: Scenario, solver: Solver = _rust.model) -> Answer:
    """Evaluate the closed forms for a scenario. Raises UsageError if the scenario is invalid."""
    return _ask(scenario, solver)


def obstacle(scenario: Scenario, check: Check = _rust.check_scenario) -> str | None:
    """Return why the scenario is invalid, in one line, or None if it is valid."""
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
    """A link in virtual time, which simulates one kind of traffic per request."""

    simulate: Callable[..., Answer] = field(kw_only=True, repr=False)
    """Takes the scenario's keys that the cell does not set: traffic, duration, warmup."""


class Sim(Lab):
    """The medium in virtual time."""

    name = "sim"

    def __init__(
        self,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        profiles: Mapping[str, SecurityProfile] | None = None,
        clock: Clock = "real",
        solver: Solver = _rust.simulate,
        check: Check = _rust.check_scenario,
    ) -> None:
        """`solver` and `check` are those of the medium; the rest is as in `Lab`."""
        super().__init__(link, stacks, profiles, clock)
        self._solver = solver
        self._check = check

    def check(self, cell: Cell) -> str | None:
        """Return why the medium cannot simulate the cell, or None if it can."""
        return obstacle(self._scenario(cell), self._check)

    def capture_obstacle(self) -> str | None:
        """There are no frames."""
        return "lab sim builds no frames, so it cannot capture any"

    @contextmanager
    def open(self, cell: Cell, seed: int, pcap: Path | None = None) -> Iterator[SimulatedLink]:
        """A link in virtual time. It brings nothing up and takes nothing down."""
        if pcap is not None:
            raise UsageError(str(self.capture_obstacle()))

        def ask(**words: Any) -> Answer:
            try:
                return simulate(self._scenario(cell, seed=seed, **words), self._solver)
            except UsageError as error:  # although `check` accepted it
                raise AirtollError(f"lab sim: {error}") from error

        yield SimulatedLink(
            hosts={},
            addresses={},
            facts={"simulated": True, "scenario": self._facts(cell)},
            counters=dict,
            known=Known(pacing_timer_us=self._of_cipher(cell)[1].pacing_timer),
            simulate=ask,
        )

    def _facts(self, cell: Cell) -> dict[str, Any]:
        """The keys that all simulations of the cell share. Each full scenario is stored beside its answer."""
        own = ("traffic", "seed", "duration_s", "warmup_s")
        return {word: value for word, value in self._scenario(cell).wire().items() if word not in own}

    def _scenario(self, cell: Cell, **words: Any) -> Scenario:
        return scenario_of(*self._of_cipher(cell), **words)
