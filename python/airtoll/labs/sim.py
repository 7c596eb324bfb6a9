"""Lab `sim`: the medium of lab `air` in virtual time, with traffic models in place of hosts and programs.

A run consists of a few calls of the medium (Rust, `wlan-air`), without a clock, a host or a namespace. The same run
therefore gives the same samples on every machine. The link runs no commands; the probes in `airtoll.probes.simulated`
measure it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airtoll import _rust
from airtoll.errors import AirtollError, UsageError
from airtoll.labs.base import Known, Link
from airtoll.study.cell import Cell, resolved
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.scenario import Scenario, scenario_of
from airtoll.study.security import SecurityProfile, with_ready_made

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


class Sim:
    """The medium in virtual time."""

    name = "sim"
    virtual = True
    survives_loss = False
    agentless: Sequence[str] = ()

    def __init__(
        self,
        link: LinkSettings | None = None,
        stacks: Mapping[StackName, Stack] | None = None,
        profiles: Mapping[str, SecurityProfile] | None = None,
        solver: Solver = _rust.simulate,
        check: Check = _rust.check_scenario,
    ) -> None:
        """`link`: the study's settings of the link; `stacks`: its TCP/IP stacks; `profiles`: its security profiles."""
        self._link = link or LinkSettings()
        self._stacks = stacks or {}
        self._profiles = with_ready_made(profiles)
        self._solver = solver
        self._check = check

    def check(self, cell: Cell) -> str | None:
        """Return why this lab cannot measure the cell, or None if it can."""
        return obstacle(self._scenario(cell), self._check)

    def missing(self) -> str | None:
        """None: this lab runs on every machine."""
        return None

    def lacks(self, packages: Mapping[str, str]) -> str | None:  # noqa: ARG002
        """None: this lab has no hosts, and runs no commands."""
        return None

    def begin(self, session: int | None) -> None:
        """Do nothing: each link is set up anew."""

    def close(self) -> None:
        """Do nothing: leaving a link restores its hosts."""

    def capture_obstacle(self) -> str | None:
        """Return why this lab cannot capture the air, or None if it can."""
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
            known=Known(pacing_timer_us=self._resolved(cell)[1].pacing_timer),
            simulate=ask,
        )

    def _facts(self, cell: Cell) -> dict[str, Any]:
        """The keys that all simulations of the cell share. Each full scenario is stored beside its answer."""
        own = ("traffic", "seed", "duration_s", "warmup_s")
        return {word: value for word, value in self._scenario(cell).wire().items() if word not in own}

    def _scenario(self, cell: Cell, **words: Any) -> Scenario:
        return scenario_of(*self._resolved(cell), **words)

    def _resolved(self, cell: Cell) -> tuple[Cell, LinkSettings]:
        """The cell with its cipher as its security level, and its settings of the link."""
        return resolved(cell, self._link, self._stacks, self._profiles)
