"""Probes, which measure a link. Each consists of a real tool, a parser of the tool's output, and samples.

A probe receives a `Link` (hosts to run commands on, addresses, known properties) and knows nothing about labs. A new
probe is one file here and one line in `airtoll.study.probes`, which names its class. A probe starts the tool's server
on the access point's host and the client on the station's host, waits for conditions instead of fixed times, and ends
both in every case. Parsers are pure functions from the tool's bytes to samples: for any input they return samples or
raise AirtollError. The result stores the tool's output verbatim, so that samples can be derived again.

- `base`: the interfaces (Probe, Sample, Measurement)
- `iperf3`, `iperf3_report`: `Throughput`, for throughput, jitter, loss and TCP's own statistics
- `rtt`: `Rtt`, for round-trip time by ping-pong; `ping`: the same by ping, on a station without an agent; `sockperf`:
  `Sockperf`, the same by another program
- `responsiveness`: `Responsiveness`, for round trips per minute and delay under load in each direction
- `irtt`: `Irtt`, for delay, its variation and loss in each direction
- `ftp`: `Ftp`, for the rate of a file transfer
- `video`: `Video`, for delay, jitter, loss and late frames of HD video over RTP
- `engine`: `Engine`, for the time that sealing and opening a frame take on the host's CPU, without a link
- `watch`, `cpu`, `radio`: CPU load, energy and radio statistics over the measured window of `Throughput` or `Video`
- `sealing`: inference of the place where a station seals its frames, for `airtoll doctor`
- `process`, `window`, `flows`, `machines`, `clocks`: shared parts: both ends of a tool, the measured window, the flows
  of a cell, the machine of each host, and the differences of their clocks
- `simulated`: the same metrics from traffic models, for lab sim, where no tool can run
"""

from collections.abc import Iterable
from pkgutil import resolve_name

from airtoll.clock import Clock
from airtoll.errors import UsageError
from airtoll.labs.base import Lab
from airtoll.probes.base import Measurement, Probe, Sample
from airtoll.study.labs import lab_entry
from airtoll.study.probes import DEFAULT_PROBES, PROBES


def probes_of(
    names: Iterable[str] = DEFAULT_PROBES, lab: str = "air", clock: Clock = "real"
) -> tuple[Probe, ...]:
    """Return the named probes for that lab, in the order in which they measure. Probes never run at the same time.

    Virtual time leaves out probes that require the machine's own clock, and lab sim probes without a model. Raises
    UsageError for an unknown name.
    """
    has_hosts, found = lab_entry(lab).has_hosts, []
    for name in names:
        entry = PROBES.get(name)
        if entry is not None and (
            (entry.in_sim is None and not has_hosts) or (entry.real_time and clock == "virtual")
        ):
            continue
        of_lab = entry and (entry.on_hosts if has_hosts else entry.in_sim)
        if not of_lab:
            known = [each for each, its in PROBES.items() if has_hosts or its.in_sim]
            raise UsageError(f"probe '{name}' is not one of {', '.join(known)}")
        # Imported on demand because reading results requires neither the simulator nor the tools.
        found.append(resolve_name(of_lab)())
    return tuple(found)


def missing(probe: Probe, lab: Lab) -> str | None:
    """Return what the hosts of the lab lack for the probe, with the remedy, or None."""
    entry = PROBES.get(probe.name)
    if lab.agentless and (entry is None or not entry.without_agent):
        able = ", ".join(name for name, its in PROBES.items() if its.without_agent)
        return (
            f"requires an agent on host {lab.agentless[0]}, and agents exist only for Linux: "
            f"set method.probes to one of {able}"
        )
    return probe.missing(lab.lacks)


__all__ = ["DEFAULT_PROBES", "PROBES", "Measurement", "Probe", "Sample", "missing", "probes_of"]
