"""The machines of a link's hosts: namespaces of one kernel share its CPU and its clocks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airtoll import proc_stat
from airtoll.host import Host
from airtoll.labs.base import Link


@dataclass(frozen=True)
class MachineTimes:
    """Times of all cores of a machine since boot."""

    steal_s: float  # taken by the hypervisor
    softirq_s: float  # of the kernel's network stack and timers
    all_s: float  # of all states, including idle


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


def machine_times(link: Link) -> dict[str, MachineTimes]:
    """The times of each machine, by the key of `machines`. Empty in virtual time, in which programs take no time."""
    if link.known.virtual_time:
        return {}
    found = {}
    for machine, host in machines(link).items():
        (text,) = host.texts(str(proc_stat.PATH)) if host.os == "linux" else [None]
        if (times := proc_stat.times_s(text or "").get("cpu")) is not None:
            found[machine] = MachineTimes(
                steal_s=times["steal"], softirq_s=times["softirq"], all_s=sum(times.values())
            )
    return found


def with_machines(counters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """The link's counters, and under `machines` the times of its machines if they are known."""
    times = {machine: asdict(of_machine) for machine, of_machine in machine_times(link).items()}
    return {**counters, "machines": times} if times else dict(counters)
