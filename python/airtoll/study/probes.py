"""The probes that a study can name, each declared in one line of `PROBES`.

A new probe is one file, which contains its class (and its traffic model for lab sim), and one line here. Studies,
plans, verdicts and `airtoll.probes` read the declaration. The class is imported only for a measurement.
"""

from dataclasses import dataclass
from typing import Final

from airtoll.study.values import renamed


@dataclass(frozen=True, kw_only=True)
class ProbeEntry:
    """The properties of a probe that studies rely on."""

    on_hosts: str  # "module:class" of the probe in labs with hosts
    in_sim: str | None = (
        None  # "module:class" of its traffic model in lab sim, which leaves out probes without one
    )
    transport: str | None = None  # required transport protocol; None: any
    paced: bool = False  # sends at the rate of `offered`, and replaces throughput over UDP
    ip: str | None = None  # required IP version; None: any
    of_cpu: bool = False  # measures only the host's CPU: no traffic, no window
    real_time: bool = False  # requires the machine's own clock: left out in virtual time
    without_agent: bool = False  # measures also with a station that runs no agent (macOS, Windows)
    cross_check: bool = False  # repeats another probe with another tool: never makes a run invalid
    windows: int = 1  # times that it measures for the duration of the method
    extra_s: float = 0.0  # time that it takes beyond its windows
    least_b: int = 0  # smallest packet size, which its own headers fill
    tool: str = ""  # the program on hosts, if several programs could measure the same
    measures: str = ""  # text of reports for its measurements; "": its name
    metrics: tuple[
        str, ...
    ] = ()  # metrics of `airtoll.stats` that it records and a study can name as `primary`
    former: tuple[str, ...] = ()  # names of the probe in earlier versions


PROBES: Final[dict[str, ProbeEntry]] = {
    "throughput": ProbeEntry(
        on_hosts="airtoll.probes.iperf3:Throughput",
        in_sim="airtoll.probes.simulated:SimulatedThroughput",
        without_agent=True,
        measures="throughput (for UDP also jitter and loss)",
        metrics=("throughput", "delay", "jitter", "loss", "cpu_system", "cpu_hosts", "cpu_crypto"),
    ),
    "rtt": ProbeEntry(
        on_hosts="airtoll.probes.rtt:Rtt",
        in_sim="airtoll.probes.simulated:SimulatedRtt",
        without_agent=True,
        tool="pingpong",
        measures="round-trip times",
        metrics=("rtt",),
    ),
    "sockperf": ProbeEntry(
        on_hosts="airtoll.probes.sockperf:Sockperf",
        ip="ipv4",  # sockperf 3.7 refuses IPv6 addresses
        real_time=True,  # reads the processor's time stamp counter
        cross_check=True,
        tool="sockperf",
        measures="round-trip times over IPv4 as a cross-check",
    ),
    "responsiveness": ProbeEntry(
        on_hosts="airtoll.probes.responsiveness:Responsiveness",
        transport="tcp",
        windows=2,
        extra_s=16.0,  # seven intervals of one second in each direction, and connections that end
        tool="load",
        measures="responsiveness and delay under load in each direction",
        metrics=tuple(
            f"{metric}_{way}"
            for way in ("up", "down")
            for metric in ("responsiveness", "response_time", "rtt_loaded")
        ),
    ),
    "irtt": ProbeEntry(
        on_hosts="airtoll.probes.irtt:Irtt",
        in_sim="airtoll.probes.simulated:SimulatedIrtt",
        transport="udp",
        least_b=60,  # two time stamps of two clocks each, and counts
        measures="delays and delay variation on an unloaded link (irtt)",
        metrics=("rtt",),
    ),
    "ftp": ProbeEntry(
        on_hosts="airtoll.probes.ftp:Ftp",
        in_sim="airtoll.probes.simulated:SimulatedFtp",
        transport="tcp",
        measures="FTP transfers",
        metrics=("ftp_rate",),
    ),
    "video": ProbeEntry(
        on_hosts="airtoll.probes.video:Video",
        in_sim="airtoll.probes.simulated:SimulatedVideo",
        transport="udp",
        paced=True,
        measures="HD video streams",
        metrics=(
            "video_rtt",
            "delay",
            "throughput",
            "jitter",
            "loss",
            "late_frames",
            "cpu_system",
            "cpu_hosts",
            "cpu_crypto",
        ),
    ),
    "engine": ProbeEntry(
        on_hosts="airtoll.probes.engine:Engine",
        of_cpu=True,
        real_time=True,
        measures="times of the engine on this CPU",
    ),
}
"""The probes by name."""

PROBES_OF: Final[dict[str, tuple[str, ...]]] = {
    metric: tuple(name for name, entry in PROBES.items() if metric in entry.metrics)
    for entry in PROBES.values()
    for metric in entry.metrics
}
"""The probes that record each metric that a study can name as `primary`."""

DEFAULT_PROBES: Final = ("throughput", "rtt")
"""The probes of a study that names none."""

FORMER_PROBES: Final[dict[str, str]] = {
    former: became for name, entry in PROBES.items() for former, became in renamed(name, entry.former).items()
}
"""The names of probes in earlier versions."""
