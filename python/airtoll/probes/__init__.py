"""How a link is measured: probes, each a real tool, a parser of what it prints, and samples.

A probe gets a `Link` (hosts to run commands on, addresses, facts) and knows nothing of labs. It starts the
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

from collections.abc import Callable, Iterable, Mapping

from airtoll.errors import UsageError
from airtoll.probes.base import Measurement, Probe, Sample
from airtoll.probes.engine import Engine
from airtoll.probes.ftp import Ftp
from airtoll.probes.iperf3 import Throughput
from airtoll.probes.irtt import Irtt
from airtoll.probes.rtt import Rtt
from airtoll.probes.video import Video
from airtoll.study.rules import OF_THE_CPU

DEFAULT_PROBES = ("throughput", "rtt")
"""What a study measures that says nothing else."""

PROBES: Mapping[str, Callable[[], Probe]] = {
    "throughput": Throughput,
    "rtt": Rtt,
    "irtt": Irtt,
    "ftp": Ftp,
    "video": Video,
    "engine": Engine,
}
"""The probes of labs with hosts, by name; those of lab sim are in `simulated`."""


def probes_of(names: Iterable[str] = DEFAULT_PROBES, lab: str = "air") -> tuple[Probe, ...]:
    """The probes of these names in that lab, in the order in which they measure: never two at a time.

    Those of the CPU alone are left out in lab sim, whose virtual time has none. Raises UsageError for a name that is no
    probe.
    """
    names = tuple(names)
    known = PROBES
    if lab == "sim":
        known = _simulated()
        names = tuple(name for name in names if name not in OF_THE_CPU)
    for name in names:
        if name not in known:
            raise UsageError(f"probe '{name}' is not one of {', '.join(known)}")
    return tuple(known[name]() for name in names)


def _simulated() -> Mapping[str, Callable[[], Probe]]:
    # Only who measures needs the simulator: results are read without it.
    from airtoll.probes.simulated import PROBES as SIMULATED

    return SIMULATED


__all__ = [
    "DEFAULT_PROBES",
    "PROBES",
    "Engine",
    "Ftp",
    "Irtt",
    "Measurement",
    "Probe",
    "Rtt",
    "Sample",
    "Throughput",
    "Video",
    "probes_of",
]
