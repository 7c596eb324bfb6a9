"""The probes that a study can name, each declared in one line of `PROBES`.

A new probe is one file, which contains its class (and its traffic model for lab sim), and one line here. Studies,
plans, verdicts and `airtoll.probes` read the declaration. The class is imported only for a measurement.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from airtoll.clock import Clock
from airtoll.study.labs import lab_entry
from airtoll.study.quantity import one_of


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
    metrics: tuple[str, ...] = ()  # metrics of `airtoll.stats` that it records
    only_on_hosts: tuple[str, ...] = ()  # of those, the metrics that its model in lab sim does not give


OF_MACHINES: Final = (
    *("cpu_system", "cpu_hosts", "cpu_emulator", "cpu_crypto", "cpu_link", "cpu_core"),
    *("energy", "energy_per_gbit"),
)
"""CPU load and energy. In virtual time, programs take no time, so these metrics mean nothing."""

_OF_RADIOS: Final = ("airtime", "retries", "channel_busy", "phy_rate", "snr", "noise")

_OF_LOAD: Final = (
    *("throughput", "delay", "delay_p99", "jitter", "loss"),
    *_OF_RADIOS,
    *OF_MACHINES,
)
"""The metrics that the probes that load the link record."""

PROBES: Final[dict[str, ProbeEntry]] = {
    "throughput": ProbeEntry(
        on_hosts="airtoll.probes.iperf3:Throughput",
        in_sim="airtoll.probes.simulated:SimulatedThroughput",
        without_agent=True,
        measures="throughput (for UDP also jitter and loss)",
        metrics=_OF_LOAD,
        only_on_hosts=("channel_busy", *OF_MACHINES),
    ),
    "rtt": ProbeEntry(
        on_hosts="airtoll.probes.rtt:Rtt",
        in_sim="airtoll.probes.simulated:SimulatedRtt",
        without_agent=True,
        tool="pingpong",
        measures="round-trip times",
        metrics=("rtt", "rtt_p99"),
    ),
    "sockperf": ProbeEntry(
        on_hosts="airtoll.probes.sockperf:Sockperf",
        ip="ipv4",  # sockperf 3.7 refuses IPv6 addresses
        real_time=True,  # reads the processor's time stamp counter
        cross_check=True,
        tool="sockperf",
        metrics=("rtt_sockperf",),
        measures="round-trip times over IPv4 as a cross-check",
    ),
    "responsiveness": ProbeEntry(
        on_hosts="airtoll.probes.responsiveness:Responsiveness",
        transport="tcp",
        windows=2,
        extra_s=16.0,  # seven intervals of one second in each direction, and connections that end
        tool="load",
        measures="responsiveness and delay under load in each direction",
        metrics=(
            *("rtt_loaded", "clock_uncertainty"),
            *(
                f"{metric}_{way}"
                for way in ("up", "down")
                for metric in (
                    *("responsiveness", "response_time"),
                    *("rtt_loaded", "rtt_loaded_p99", "delay_loaded"),
                )
            ),
        ),
    ),
    "irtt": ProbeEntry(
        on_hosts="airtoll.probes.irtt:Irtt",
        in_sim="airtoll.probes.simulated:SimulatedIrtt",
        transport="udp",
        least_b=60,  # two time stamps of two clocks each, and counts
        measures="delays and delay variation on an unloaded link (irtt)",
        metrics=(
            *("rtt", "rtt_p99", "clock_uncertainty"),
            *("delay_idle_up", "delay_idle_down", "ipdv_up", "ipdv_down", "loss_idle_up", "loss_idle_down"),
        ),
        only_on_hosts=("clock_uncertainty", "ipdv_up", "ipdv_down"),
    ),
    "ftp": ProbeEntry(
        on_hosts="airtoll.probes.ftp:Ftp",
        in_sim="airtoll.probes.simulated:SimulatedFtp",
        transport="tcp",
        measures="FTP transfers",
        metrics=("ftp_rate", "ftp_rate_steady"),
    ),
    "video": ProbeEntry(
        on_hosts="airtoll.probes.video:Video",
        in_sim="airtoll.probes.simulated:SimulatedVideo",
        transport="udp",
        paced=True,
        measures="HD video streams",
        metrics=(
            *_OF_LOAD,
            *("video_rtt", "delay_mean", "frame_delay", "late_frames", "clock_uncertainty"),
        ),
        only_on_hosts=("frame_delay", "clock_uncertainty", *_OF_RADIOS, *OF_MACHINES),
    ),
    "engine": ProbeEntry(
        on_hosts="airtoll.probes.engine:Engine",
        of_cpu=True,
        real_time=True,
        measures="times of the engine on this CPU",
        metrics=(
            *("mic_time", "cipher_time", "seal_time", "open_time"),
            *("printed_mic_time", "printed_cipher_time"),
        ),
    ),
}
"""The probes by name."""

PROBES_OF: Final[dict[str, tuple[str, ...]]] = {
    metric: tuple(name for name, entry in PROBES.items() if metric in entry.metrics)
    for entry in PROBES.values()
    for metric in entry.metrics
}
"""The probes that record each metric."""


P99_OF: Final[dict[str, str]] = {
    "rtt_p99": "rtt",
    "rtt_loaded_p99_up": "rtt_loaded",
    "rtt_loaded_p99_down": "rtt_loaded",
    "delay_p99": "delay_p99",
}
"""The metrics that are a 99th percentile, with the samples from which they are taken."""


def lacks(metric: str, probes: Collection[str], lab: str, clock: Clock) -> str | None:
    """Why no measurement with these probes in this lab gives the metric, with the remedy; None if one does."""
    able = PROBES_OF[metric]
    if not lab_entry(lab).has_hosts:
        able = tuple(
            name for name in able if PROBES[name].in_sim and metric not in PROBES[name].only_on_hosts
        )
        if not able:
            return f"lab {lab} cannot measure {metric}, because it has no hosts: use lab air, linux or hosts"
    elif clock == "virtual":
        able = tuple(name for name in able if not PROBES[name].real_time and metric not in OF_MACHINES)
        if not able:
            return f"{metric} cannot be measured in virtual time: use clock real"
    if not set(able) & set(probes):
        return f"no probe of the study measures {metric}: add {one_of(able)} to method.probes"
    return None


DEFAULT_PROBES: Final = ("throughput", "rtt")
"""The probes of a study that names none."""
