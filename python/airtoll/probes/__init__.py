"""How a link is measured: probes, each a real tool, a parser of what it prints, and samples.

A probe gets a `Link` (hosts to run commands on, addresses, facts) and knows nothing of labs. It starts the
tool's server on the access point's host and the client on the station's, waits for conditions and never for a
guess, and ends both whatever happens. Parsers are pure functions from the tool's bytes to samples: any bytes
give samples or AirtollError. The tool's output goes into the result verbatim, so samples can be made again.

- `base`: the contract (Probe, Sample, Measurement)
- `iperf3`: `Throughput`, for throughput, jitter, loss and TCP's own view
- `rtt`: `Rtt`, for round-trip time by ping-pong
- `cpu`: CPU load over `Throughput`'s measured window, taken by it
- `process`, `window`: what these share: running a tool's two ends; which part of the time counts
- `simulated`: the same metrics from traffic models, for lab sim, where no tool can run
"""

from airtoll.probes.base import Measurement, Probe, Sample
from airtoll.probes.iperf3 import Throughput
from airtoll.probes.rtt import Rtt


def default_probes(lab: str = "air") -> tuple[Probe, ...]:
    """The probes of every run in that lab, in the order in which they measure: never two at a time."""
    if lab == "sim":
        from airtoll.probes.simulated import SimulatedRtt, SimulatedThroughput

        return (SimulatedThroughput(), SimulatedRtt())
    return (Throughput(), Rtt())


__all__ = ["Measurement", "Probe", "Rtt", "Sample", "Throughput", "default_probes"]
