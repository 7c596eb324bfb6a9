"""Cells that lab sim cannot tell apart, because their scenarios are equal for the medium.

The medium knows a security level only by the length of its frames and the time to seal them. Two levels with the same
frame length and almost the same time are one experiment, although their names or their key management differ.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airtoll.study.cell import Cell

DISTINCT_US: Final = 1.0
"""Smaller differences in the time to seal a frame have no effect on the air, whose shortest slot has 9 us."""

_NAMES: Final = ("security", "wpa_key_mgmt", "ieee80211w")
"""Keys without effect on the medium: it sends no management frames but beacons, whose length they do not change."""

_TIMES: Final = ("processor_frame_us", "processor_byte_ns")


@dataclass(frozen=True)
class Simulated:
    """A cell as the medium knew it in one of its runs."""

    cell: Cell
    scenario: Mapping[str, Any]  # the keys that all simulations of the cell share
    facts: Mapping[str, Mapping[str, Any]]  # derived by the medium, by probe

    @property
    def text(self) -> str:
        """The scenario as the medium distinguishes it, without the time to seal a frame."""
        scenario = {key: value for key, value in self.scenario.items() if key not in _NAMES}
        facts = {
            probe: {key: value for key, value in of_probe.items() if key not in _TIMES}
            for probe, of_probe in self.facts.items()
        }
        return json.dumps([scenario, facts], sort_keys=True)

    @property
    def seal_us(self) -> tuple[float, ...]:
        """The time to seal one frame of each probe."""
        return tuple(
            (facts.get("processor_frame_us") or 0.0)
            + (facts.get("processor_byte_ns") or 0.0) * (facts.get("mpdu_bytes") or 0) / 1000
            for facts in self.facts.values()
        )


def first_of_each(simulated: Iterable[Simulated]) -> dict[Cell, Cell]:
    """The cells that are the same experiment as an earlier cell, with that cell."""
    known: dict[str, list[Simulated]] = defaultdict(list)
    found: dict[Cell, Cell] = {}
    for one in simulated:
        others = known[one.text]
        for first in others:
            if all(abs(a - b) < DISTINCT_US for a, b in zip(one.seal_us, first.seal_us, strict=True)):
                found[one.cell] = first.cell
                break
        else:
            others.append(one)
    return found
