"""The machines of a link's hosts: namespaces of one kernel share its CPU and its clocks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from airtoll.host import Host
from airtoll.labs.base import Link

_STAT: Final = "/proc/stat"

_TICKS_PER_S: Final = 100  # USER_HZ of every Linux


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
        (text,) = host.texts(_STAT) if host.os == "linux" else [None]
        if text is not None:
            found[machine] = times_in(text)
    return found


def times_in(stat: str) -> MachineTimes:
    """The times in the text of /proc/stat."""
    # proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user and nice.
    ticks = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    return MachineTimes(
        steal_s=ticks[7] / _TICKS_PER_S, softirq_s=ticks[6] / _TICKS_PER_S, all_s=sum(ticks) / _TICKS_PER_S
    )


def with_machines(counters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """The link's counters, and under `machines` the times of its machines if they are known."""
    times = {machine: asdict(of_machine) for machine, of_machine in machine_times(link).items()}
    return {**counters, "machines": times} if times else dict(counters)
