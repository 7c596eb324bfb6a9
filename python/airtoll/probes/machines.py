"""The machines of a link's hosts: namespaces of one kernel share its CPU and its clocks."""

from collections.abc import Mapping
from typing import Any

from airtoll.host import Host
from airtoll.labs.base import Link


def machine_of(host: Host) -> str | None:
    """The boot identifier of the kernel under which the host runs, or None if unknown."""
    boot_id: Any = host.facts().get("boot_id")
    return boot_id if isinstance(boot_id, str) else None


def share_clocks(one: Host, other: Host) -> bool:
    """Whether both hosts read the same clocks, so that their times can be compared."""
    machine = machine_of(one)
    return machine is not None and machine == machine_of(other)


def machines(link: Link) -> Mapping[str, Host]:
    """One host per machine, by its role. The key is "machine" if all hosts are on the same machine."""
    found: dict[str, Host] = {}
    seen: set[str] = set()
    for role, host in link.hosts.items():
        machine = machine_of(host)
        if machine is None or machine not in seen:
            found[role] = host
        if machine is not None:
            seen.add(machine)
    return {"machine": next(iter(found.values()))} if len(found) == 1 else found
