"""Labs, in which a cell is measured. A lab brings a link up, describes it, and takes it down again.

`open_lab(name)` returns a lab. Every lab implements the protocols of `labs.base`:

- `air` (`labs.air`): an access point, stations and a server in network namespaces of this machine, joined by the
  emulator process, which builds, seals, queues, opens and delivers real MPDUs in real time;
- `sim` (`labs.sim`): the same medium in virtual time, without hosts or programs.
"""

from collections.abc import Mapping

from airtoll.errors import UsageError
from airtoll.labs.base import Lab
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack

LABS = ("air", "sim")


def open_lab(
    name: str, link: LinkSettings | None = None, stacks: Mapping[StackName, Stack] | None = None
) -> Lab:
    """Return the lab of that name with the study's settings. Raises UsageError for an unknown name."""
    # Imported here because reading results requires neither the emulator nor the simulator.
    if name == "air":
        from airtoll.labs.air import Air

        return Air(link, stacks)
    if name == "sim":
        from airtoll.labs.sim import Sim

        return Sim(link, stacks)
    raise UsageError(f"lab: '{name}' is not one of {', '.join(LABS)}")


__all__ = ["LABS", "Lab", "open_lab"]
