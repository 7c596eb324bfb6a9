"""The probes that a study can name, each declared in one line of `PROBES`.

A new probe is one file, which holds its class (and its traffic model for lab sim), and one line here. Studies, plans,
verdicts and `airtoll.probes` read the declaration. The class is imported only when it measures.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class ProbeEntry:
    """What a study has to know of a probe."""

    on_hosts: str  # "module:class" of the probe in labs with hosts
    in_sim: str | None = None  # "module:class" of its traffic model in lab sim
    transport: str | None = None  # the transport protocol that it needs; None: it measures both
    paced: bool = (
        False  # it sends at the rate that `offered` says, and takes the place of throughput over UDP
    )
    of_cpu: bool = False  # it measures the host's CPU alone: no traffic, no window, nothing in virtual time
    least_b: int = 0  # packet size that its own headers fill


PROBES: Final[dict[str, ProbeEntry]] = {
    "throughput": ProbeEntry(
        on_hosts="airtoll.probes.iperf3:Throughput", in_sim="airtoll.probes.simulated:SimulatedThroughput"
    ),
    "rtt": ProbeEntry(on_hosts="airtoll.probes.rtt:Rtt", in_sim="airtoll.probes.simulated:SimulatedRtt"),
    "irtt": ProbeEntry(
        on_hosts="airtoll.probes.irtt:Irtt",
        in_sim="airtoll.probes.simulated:SimulatedIrtt",
        transport="udp",
        least_b=60,  # both time stamps of both clocks, and counts
    ),
    "ftp": ProbeEntry(
        on_hosts="airtoll.probes.ftp:Ftp", in_sim="airtoll.probes.simulated:SimulatedFtp", transport="tcp"
    ),
    "video": ProbeEntry(
        on_hosts="airtoll.probes.video:Video",
        in_sim="airtoll.probes.simulated:SimulatedVideo",
        transport="udp",
        paced=True,
    ),
    "engine": ProbeEntry(on_hosts="airtoll.probes.engine:Engine", of_cpu=True),
}
"""The probes by name."""
