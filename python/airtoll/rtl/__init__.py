"""What the hardware half measured of its designs.

1. `results`: `results.json` as models; `load` reads it, `amend` replaces it as a whole.
2. `figures`: times, rates and ratios that follow, a record for each design point on each target.

What measures is not here: `rtl/syn/synthesise.py` does (logic, timing, cycles), and `rtl/power` (toggles). What shows
it is `airtoll.report.parts.hardware`.
"""

from airtoll.rtl.figures import PAYLOAD_B, DesignFigures, all_figures, payload_of
from airtoll.rtl.results import (
    Cycles,
    Energy,
    FrameCycles,
    Made,
    OneWay,
    Point,
    Results,
    Run,
    Target,
    Toggles,
    amend,
    default_file,
    load,
)

__all__ = [
    "PAYLOAD_B",
    "Cycles",
    "DesignFigures",
    "Energy",
    "FrameCycles",
    "Made",
    "OneWay",
    "Point",
    "Results",
    "Run",
    "Target",
    "Toggles",
    "all_figures",
    "amend",
    "default_file",
    "load",
    "payload_of",
]
