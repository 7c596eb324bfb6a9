"""The clocks that the hosts of a lab can have."""

from typing import Literal

Clock = Literal["real", "virtual"]
"""What moves the clock: time itself, or, in a guest, the end of all work (`airtoll.guest`)."""
