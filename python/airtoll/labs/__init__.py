"""Labs, in which a cell is measured. A lab brings a link up, describes it, and takes it down again.

`open_lab` returns a lab. Every lab implements the protocols of `labs.base`:

- `air` (`labs.air`): an access point, stations and a server in network namespaces of this machine, joined by the
  emulator process, which builds, seals, queues, opens and delivers real MPDUs, in real time or in a guest's virtual
  time;
- `linux` (`labs.linux`): the same hosts with hostapd, wpa_supplicant and mac80211, above the same medium in a guest, or
  above radios of this machine;
- `hosts` (`labs.hosts`): real machines, which an inventory names;
- `sim` (`labs.sim`): the same medium in virtual time, without hosts or programs.
"""

from collections.abc import Iterable
from pathlib import Path

from airtoll.errors import UsageError
from airtoll.labs.base import Lab
from airtoll.study.cell import Cell, Plan
from airtoll.study.factors import level_text
from airtoll.study.plan import varying_factors

LABS = ("air", "linux", "sim", "hosts")


def open_lab(name: str, plan: Plan, inventory: Path | None = None) -> Lab:
    """Return the lab of that name with the settings of the plan: link, stacks, clock, security profiles and radios.

    Lab hosts requires an `inventory`. It is not that of the plan, because a plan may be a stranger's, and an inventory
    runs commands. With the virtual clock, only a guest can open links (`airtoll.guest`). Raises UsageError for an
    unknown name.
    """
    if plan.radios and name != "linux":
        raise UsageError(f"radios: lab {name} has no radios; lab linux has")
    # Imported here because reading results requires neither the emulator nor the simulator.
    if name == "air":
        from airtoll.labs.air import Air

        return Air(plan.link, plan.stacks, plan.clock, plan.profiles)
    if name == "linux":
        from airtoll.labs.linux import Linux

        return Linux(plan.link, plan.stacks, plan.clock, plan.profiles, plan.radios)
    if name == "sim":
        from airtoll.labs.sim import Sim

        return Sim(plan.link, plan.stacks, plan.profiles)
    if name == "hosts":
        from airtoll.labs.hosts import Hosts

        if plan.clock == "virtual":
            raise UsageError("--clock: the machines of lab hosts have real time")
        if inventory is None:
            raise UsageError("lab hosts requires an inventory: --inventory FILE")
        return Hosts(inventory, plan.link, plan.stacks, plan.profiles)
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
