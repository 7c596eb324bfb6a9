"""The clocks that the hosts of a lab can have."""

from typing import Literal

Clock = Literal["real", "virtual"]
"""Real time passes by itself. Virtual time moves only while all programs of a guest sleep (`airtoll.guest`)."""

ClockChoice = Literal["real", "virtual", "auto"]
"""The clock that a study asks for. With `auto`, airtoll selects one clock for all runs (`airtoll.calibration`)."""
