"""Labs, in which a cell is measured. A lab brings a link up, describes it, and takes it down again.

`airtoll.study.labs` declares the labs, and `open_lab` returns one. Every lab is a `Lab` of `labs.base`:

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
from pkgutil import resolve_name

from airtoll.errors import UsageError
from airtoll.labs.base import Lab
from airtoll.study.cell import Cell, Plan
from airtoll.study.factors import level_text
from airtoll.study.labs import LABS, lab_entry
from airtoll.study.plan import varying_factors
from airtoll.study.quantity import one_of


def open_lab(name: str, plan: Plan, inventory: Path | None = None) -> Lab:
    """Return the lab of that name with the settings of the plan: link, stacks, clock, security profiles and radios.

    Lab hosts requires an `inventory`. It is not that of the plan, because a plan may be a stranger's, and an inventory
    runs commands. With the virtual clock, only a guest can open links (`airtoll.guest`). Raises UsageError for an
    unknown name.
    """
    if plan.radios and not lab_entry(name).has_radios:
        able = one_of([other for other, entry in LABS.items() if entry.has_radios])
        raise UsageError(f"radios: lab {name} has no radios; lab {able} has")
    if name not in LABS:
        raise UsageError(f"lab: '{name}' is not one of {', '.join(LABS)}")
    # Imported here because reading results requires neither the emulator nor the simulator.
    lab: type[Lab] = resolve_name(LABS[name].lab)
    return lab.of(plan, inventory)


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
