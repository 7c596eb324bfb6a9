"""Labs, in which a cell is measured. A lab brings a link up, describes it, and takes it down again.

`open_lab(name)` returns a lab. Every lab implements the protocols of `labs.base`:

- `air` (`labs.air`): an access point, stations and a server in network namespaces of this machine, joined by the
  emulator process, which builds, seals, queues, opens and delivers real MPDUs, in real time or in a guest's virtual
  time;
- `sim` (`labs.sim`): the same medium in virtual time, without hosts or programs.
"""

from collections.abc import Iterable, Mapping

from airtoll.clock import Clock
from airtoll.errors import UsageError
from airtoll.labs.base import Lab
from airtoll.study.cell import Cell
from airtoll.study.factors import StackName, level_text
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.plan import varying_factors
from airtoll.study.security import SecurityProfile

LABS = ("air", "linux", "sim")


def open_lab(
    name: str,
    link: LinkSettings | None = None,
    stacks: Mapping[StackName, Stack] | None = None,
    clock: Clock = "real",
    profiles: Mapping[str, SecurityProfile] | None = None,
) -> Lab:
    """Return the lab of that name with the study's settings: its tables [link], [stack.NAME] and [security.NAME].

    With the virtual clock, only a guest can open links (`airtoll.guest`). Raises UsageError for an unknown name.
    """
    # Imported here because reading results requires neither the emulator nor the simulator.
    if name == "air":
        from airtoll.labs.air import Air

        return Air(link, stacks, clock, profiles)
    if name == "linux":
        from airtoll.labs.linux import Linux

        return Linux(link, stacks, clock, profiles)
    if name == "sim":
        from airtoll.labs.sim import Sim

        return Sim(link, stacks, profiles)
    raise UsageError(f"lab: '{name}' is not one of {', '.join(LABS)}")


def check_cells(cells: Iterable[Cell], lab: Lab) -> None:
    """Raise UsageError for the first cell that the lab does not support, with its levels if it supports others."""
    distinct = tuple(dict.fromkeys(cells))
    for cell in distinct:
        if (obstacle := lab.check(cell)) is None:
            continue
        if all(lab.check(other) == obstacle for other in distinct):
            raise UsageError(obstacle)
        varying = varying_factors(distinct)
        levels = ", ".join(f"{name} {level_text(name, getattr(cell, name))}" for name in varying)
        raise UsageError(f"{obstacle} ({levels})")


__all__ = ["LABS", "Lab", "check_cells", "open_lab"]
