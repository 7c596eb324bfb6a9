"""Where a cell is measured: a lab brings a link up, says what it is, and takes everything down again.

`open_lab(name)` gives a lab; every lab keeps to the contracts in `labs.base`:

- `air` (`labs.air`): an access point, stations and a server in network namespaces of this machine, joined by the
  emulator process, which builds, seals, holds, opens and delivers real MPDUs in real time;
- `sim` (`labs.sim`): the same medium in virtual time, without hosts and programs.
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
    """The lab of that name with the study's settings; UsageError names the labs there are."""
    # Only who measures needs the emulator or the simulator: results are read without them.
    if name == "air":
        from airtoll.labs.air import Air

        return Air(link, stacks)
    if name == "sim":
        from airtoll.labs.sim import Sim

        return Sim(link, stacks)
    raise UsageError(f"lab: '{name}' is not one of {', '.join(LABS)}")


__all__ = ["LABS", "Lab", "open_lab"]
