"""Where a cell is measured: a lab brings a link up, says what it is, and takes everything down again.

`open_lab(name)` gives a lab; every lab keeps to the contracts in `labs.base`:

- `air` (`labs.air`): an access point and a station in network namespaces of this machine, joined by the
  emulator process, which builds, seals, holds, opens and delivers real MPDUs in real time.
"""

from airtoll.errors import UsageError
from airtoll.labs.base import Lab

LABS = ("air",)


def open_lab(name: str) -> Lab:
    """The lab of that name; UsageError names those there are."""
    if name == "air":
        # Only who measures needs the emulator: results are read without it.
        from airtoll.labs.air import Air

        return Air()
    raise UsageError(f"lab: '{name}' is not one of {', '.join(LABS)}")


__all__ = ["LABS", "Lab", "open_lab"]
