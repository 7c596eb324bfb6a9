"""How a link is measured: probes, each a real tool, a parser of what it prints, and samples.

A probe gets a `Link` (hosts to run commands on, addresses, what is known of the link) and knows nothing of labs.
A new probe is one file here and one line in `airtoll.study.probes`, which names its class. It starts the
tool's server on the access point's host and the client on the station's, waits for conditions and never for a
guess, and ends both whatever happens. Parsers are pure functions from the tool's bytes to samples: any bytes
give samples or AirtollError. The tool's output goes into the result verbatim, so samples can be made again.

- `base`: the contract (Probe, Sample, Measurement)
- `iperf3`, `iperf3_report`: `Throughput`, for throughput, jitter, loss and TCP's own view
- `rtt`: `Rtt`, for round-trip time by ping-pong
- `irtt`: `Irtt`, for delay, its variation and loss in each direction
- `ftp`, `ftp_server`: `Ftp`, for the rate of a file transfer
- `video`: `Video`, for delay, jitter, loss and late frames of HD video over RTP
- `engine`: `Engine`, for what sealing and opening a frame take on the host's CPU, without a link
- `cpu`, `radio`: CPU load and what the radio did over the measured window of `Throughput` or `Video`, taken by them
- `process`, `window`, `flows`, `machines`: what these share: running a tool's two ends; which part of the time counts;
  who sends to whom; which hosts are one machine
- `simulated`: the same metrics from traffic models, for lab sim, where no tool can run
"""

from collections.abc import Iterable
from importlib import import_module

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Probe, Sample
from airtoll.study.probes import PROBES

DEFAULT_PROBES = ("throughput", "rtt")
"""The probes of a study that names none."""


def probes_of(names: Iterable[str] = DEFAULT_PROBES, lab: str = "air") -> tuple[Probe, ...]:
    """The probes of these names in that lab, in the order in which they measure: never two at a time.

    Lab sim has no CPU, so probes of the CPU alone are left out there. Raises UsageError for a name that is no probe.
    """
    found = []
    for name in names:
        entry = PROBES.get(name)
        if entry is not None and entry.of_cpu and lab == "sim":
            continue
        of_lab = entry and (entry.in_sim if lab == "sim" else entry.on_hosts)
        if not of_lab:
            known = [each for each, its in PROBES.items() if lab != "sim" or its.in_sim]
            raise UsageError(f"probe '{name}' is not one of {', '.join(known)}")
        found.append(_load(of_lab))
    return tuple(found)


def _load(place: str) -> Probe:
    # Only a probe that measures is imported: results are read without simulator and tools.
    module, name = place.split(":")
    probe: Probe = getattr(import_module(module), name)()
    return probe


__all__ = ["DEFAULT_PROBES", "PROBES", "Measurement", "Probe", "Sample", "probes_of"]
