"""The labs, each declared in one entry of `LABS`.

A lab is one class (`airtoll.labs`) and one entry here. Code asks the entry for the properties of a lab, and never
compares its name.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class LabEntry:
    """The properties of a lab that studies, plans, verdicts and reports rely on."""

    lab: str  # "module:class"; "": the runs come from elsewhere
    has_hosts: bool = True  # programs on hosts measure; otherwise traffic models, always in virtual time
    has_machines: bool = False  # the hosts are the machines of an inventory, in real time
    has_radios: bool = False  # can use radios of this machine instead of emulated air
    has_tun: bool = False  # the emulator's queue holds the datagrams of a host, whose device is TUN
    virtual_by_default: bool = False  # unless the study names radios; a lab without hosts has no choice
    calibrated: bool = False  # clock `auto` measures whether this machine carries the study in real time


LABS: Final[dict[str, LabEntry]] = {
    "air": LabEntry(lab="airtoll.labs.air:Air", has_tun=True, calibrated=True),
    "linux": LabEntry(lab="airtoll.labs.linux:Linux", has_radios=True, virtual_by_default=True),
    "sim": LabEntry(lab="airtoll.labs.sim:Sim", has_hosts=False),
    "hosts": LabEntry(lab="airtoll.labs.hosts:Hosts", has_machines=True),
}
"""The labs by name."""

IMPORTED: Final = "imported"
"""The lab of imported runs in records."""

_ELSEWHERE: Final = LabEntry(lab="")


def lab_entry(name: str) -> LabEntry:
    """The entry of the lab with this name; the defaults for imported runs, and for a lab of another version."""
    return LABS.get(name, _ELSEWHERE)
