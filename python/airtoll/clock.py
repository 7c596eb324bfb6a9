"""The clocks that the hosts of a lab can have."""

from typing import Literal

Clock = Literal["real", "virtual"]
"""Real time passes by itself. Virtual time moves only while all programs of a guest sleep (`airtoll.guest`)."""
