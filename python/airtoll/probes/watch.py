"""Observation of the hosts, their radios and the link, over another probe's measured window or over a run.

CPU load, energy and the state of radios mean nothing without the traffic that causes them, and must not include the
warm-up. They are therefore not probes of their own: a probe that generates traffic calls `over` when its window opens,
which returns when the window closes, and passes the result to `cpu.samples` and `radio.samples`.

The agent of each host reads the host's state at a fixed rate. The link's counters are read only at both ends of the
window, because an emulator answers from the thread that keeps the air's time.

Events of the hosts' interfaces are kept over the whole run (`InterfaceEvents`), because a link that breaks spoils every
probe.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from airtoll.host import HostReading, Process, RadioRate, Sampling, ThreadTimes
from airtoll.labs.base import Link
from airtoll.probes.machines import MachineTimes, machine_times, machines
from airtoll.probes.window import NS_PER_S

MACHINE_HZ: Final = 4.0
"""Rate of readings of a machine. Idle time has steps of 1/100 s per core, which is 4 % of the time between readings."""

RADIO_HZ: Final = 10.0
"""Rate of readings of a radio."""

EVENT_HZ: Final = 1.0
"""Rate of readings of events over a run: the accuracy of their times is 1 s."""

_POLL_S: Final = 0.25


@dataclass(frozen=True)
class Totals:
    """Totals of the link up to one instant."""

    monotonic_ns: int
    counters: Mapping[str, Any]
    attempts: Mapping[tuple[str, str], Mapping[RadioRate, int]] = field(default_factory=dict)
    threads: Mapping[str, Mapping[str, ThreadTimes]] = field(default_factory=dict)  # by end, then by thread
    machines: Mapping[str, MachineTimes] = field(default_factory=dict)


@dataclass(frozen=True)
class Watched:
    """The observations of a window."""

    before: Totals
    after: Totals
    machines: Mapping[str, Sequence[HostReading]] = field(
        default_factory=dict
    )  # by the endpoint of the samples
    radios: Mapping[str, Sequence[HostReading]] = field(default_factory=dict)  # by the role of the host
    macs: Mapping[str, str] = field(default_factory=dict)  # roles by the MAC addresses of their radios

    @property
    def dur_ns(self) -> int:
        """Length of the window."""
        return self.after.monotonic_ns - self.before.monotonic_ns


class InterfaceEvents:
    """A context that keeps the events of the hosts' measured interfaces."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sampled: dict[str, Sampling] = {}

    def __enter__(self) -> Self:
        with ExitStack() as entering:
            for role, interface in self._link.interfaces.items():
                sampling = self._link.hosts[role].sampling(EVENT_HZ, [interface], machine=False)
                self._sampled[role] = entering.enter_context(sampling)
            self._sampling = entering.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sampling.__exit__(kind, error, trace)

    def end(self) -> list[dict[str, Any]]:
        """Stop, and return the events in order: `at_s` is the time since the start.

        Raises AirtollError if a host is lost.
        """
        self._sampling.close()
        found = [
            {
                "at_s": round((event.t_ns - sampled.readings[0].at_ns) / NS_PER_S, 3),
                "host": role,
                **{
                    key: value
                    for key, value in asdict(event).items()
                    if key not in ("t_ns", "interface") and value is not None
                },
            }
            for role, sampled in self._sampled.items()
            for reading in sampled.readings[1:]
            for event in reading.events
        ]
        return sorted(found, key=lambda event: event["at_s"])


def over(
    link: Link,
    running: Process,
    until_s: float,
    programs: Mapping[str, Sequence[Process]] | None = None,
) -> Watched:
    """Observe from now to `until_s` (time.monotonic). Stops early if the process ends.

    `programs` are the measuring programs by the end of the traffic: sender, receiver.
    """

    def totals() -> Totals:
        threads = {
            end: {
                f"{number}/{thread}": times
                for number, program in enumerate(of_end)
                for thread, times in program.threads().items()
            }
            for end, of_end in (programs or {}).items()
        }
        at_ns = time.monotonic_ns()
        return Totals(at_ns, link.counters(), link.attempts(), threads, machine_times(link))

    with ExitStack() as sampling:
        of_machines = {
            endpoint: sampling.enter_context(host.sampling(MACHINE_HZ))
            for endpoint, host in machines(link).items()
        }
        of_radios = {
            role: sampling.enter_context(link.hosts[role].sampling(RADIO_HZ, [interface], machine=False))
            for role, interface in link.interfaces.items()
        }
        before = totals()
        while (left_s := until_s - time.monotonic()) > 0 and running.poll() is None:
            # Popen.wait with a timeout would poll every few ms.
            time.sleep(min(left_s, _POLL_S))
        after = totals()
    return Watched(
        before,
        after,
        {endpoint: sampled.readings for endpoint, sampled in of_machines.items()},
        {role: sampled.readings for role, sampled in of_radios.items()},
        link.macs,
    )
