"""Which of a link's hosts are one machine: namespaces of one kernel share its CPU and its clocks."""

from collections.abc import Mapping
from typing import Any

from airtoll.labs.base import Host, Link


def machine_of(host: Host) -> str | None:
    """The kernel that the host runs under, by the identifier that it drew when it booted; None if it is not told."""
    boot_id: Any = host.facts().get("boot_id")
    return boot_id if isinstance(boot_id, str) else None


def share_clocks(one: Host, other: Host) -> bool:
    """Whether both read the same clocks, so that a time of one can be compared with a time of the other."""
    machine = machine_of(one)
    return machine is not None and machine == machine_of(other)


def machines(link: Link) -> Mapping[str, Host]:
    """One host for each distinct machine, by its role; by "machine" where all hosts are the same one."""
    found: dict[str, Host] = {}
    seen: set[str] = set()
    for role, host in link.hosts.items():
        machine = machine_of(host)
        if machine is None or machine not in seen:
            found[role] = host
        if machine is not None:
            seen.add(machine)
    return {"machine": next(iter(found.values()))} if len(found) == 1 else found
