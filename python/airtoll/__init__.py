"""airtoll measures what securing a wireless LAN costs, explains the cost and reduces it.

The sub-packages are the stages of the data flow. Each imports only packages to its left:
study -> labs -> probes -> store -> stats -> published -> prediction -> report -> judge -> cli.

`load` reads a result into frames of polars or pandas.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from airtoll.frames import Frames


def load(directory: str | Path, library: Literal["polars", "pandas"] | None = None) -> "Frames":
    """`airtoll.frames.load`, imported when it is called: commands start without it."""
    from airtoll import frames

    return frames.load(directory, library)


__all__ = ["load"]
