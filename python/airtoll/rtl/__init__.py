"""Measurements of the hardware designs.

1. `results`: models of `results.json`; `load` reads it, `amend` replaces it atomically.
2. `figures`: derived times, rates and ratios, one record per design point and target.

`rtl/syn/synthesise.py` measures logic, timing and cycles, `rtl/power` measures toggles, and
`airtoll.report.parts.hardware` prints the figures.
"""

from airtoll.rtl.figures import ALONE, PAYLOAD_B, DesignFigures, all_figures, payload_of
from airtoll.rtl.results import (
    Cycles,
    DesignPoint,
    Energy,
    FrameCycles,
    Made,
    MessageCycles,
    OneWay,
    PlacementRun,
    Results,
    Target,
    Toggles,
    amend,
    default_file,
    load,
)

__all__ = [
    "ALONE",
    "PAYLOAD_B",
    "Cycles",
    "DesignFigures",
    "DesignPoint",
    "Energy",
    "FrameCycles",
    "Made",
    "MessageCycles",
    "OneWay",
    "PlacementRun",
    "Results",
    "Target",
    "Toggles",
    "all_figures",
    "amend",
    "default_file",
    "load",
    "payload_of",
]
