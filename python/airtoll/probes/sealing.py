"""The place where a station seals its frames, inferred from the CPU time of a short load.

A host that seals frames itself is busy at least for the time of its sealing. The agent's engine measures this time on
the host (`airtoll.probes.engine`). If the host was busy for less than `SURELY` of it, its card sealed the frames. If it
was busy for longer, the place remains unknown, because the IP stack and other programs take time too.
"""

import subprocess
from dataclasses import dataclass
from typing import Final

from airtoll.errors import AirtollError
from airtoll.host import Host
from airtoll.probes import cpu, engine, process
from airtoll.probes.iperf3_report import parse
from airtoll.probes.watch import MACHINE_HZ

LOAD_S: Final = 3.0

SURELY: Final = 0.5
"""Share of the engine's time that any engine in software takes: Linux's may be faster than airtoll's, by less."""

TOOLS: Final = {"iperf3": "iperf3"}
"""The commands that both hosts require, with their Debian packages."""

_PORT: Final = 5211
_SEGMENT_B: Final = 1448
_FRAME_B: Final = 8 + 20 + 32 + _SEGMENT_B  # LLC/SNAP, IPv4, TCP with time stamps


@dataclass(frozen=True)
class SealingLoad:
    """A load that a station sent, with the CPU time of the station."""

    gbit: float
    busy_s: float  # all cores
    seal_us: float  # time of the station's engine per frame

    @property
    def software_s(self) -> float:
        """CPU time that sealing takes at least if the host does it."""
        return SURELY * self.seal_us * 1e-6 * self.gbit * 1e9 / 8 / _SEGMENT_B

    @property
    def is_in_hardware(self) -> bool:
        """Whether the host had no time to seal the frames. False means unknown."""
        return self.busy_s < self.software_s

    def sentence(self) -> str:
        """The inference, marked as one, with its figures."""
        figures = (
            f"the CPU was busy for {self.busy_s / self.gbit:.2f} s per Gbit, and sealing in software takes at least "
            f"{self.software_s / self.gbit:.2f} s"
        )
        if self.is_in_hardware:
            return f"Inferred from a load of {LOAD_S:.0f} s: the card seals the frames ({figures})."
        return f"A load of {LOAD_S:.0f} s does not tell where frames are sealed ({figures})."


def load(station: Host, server: Host, address: str, cipher: str) -> SealingLoad:
    """Send TCP from the station to the address of the server for `LOAD_S`.

    Raises AirtollError if a tool fails, or if the engine cannot be measured on the station.
    """
    argv = ["iperf3", "-J", "-p", str(_PORT)]
    who = f"iperf3 server on {server.name}"
    with process.serving(server, [*argv, "-s", "-1", "-B", address], "tcp", _PORT, who):
        client = ["-c", address, "-t", f"{LOAD_S:.0f}", "-M", str(_SEGMENT_B + 12)]
        with station.sampling(MACHINE_HZ) as sampled:
            try:
                done = station.run([*argv, *client], LOAD_S + process.GRACE_S)
            except subprocess.TimeoutExpired:
                raise AirtollError(f"iperf3 on {station.name} did not end in time") from None
    report = parse(done.stdout, done.stderr, f"iperf3 client on {station.name}")
    gbit = sum(8 * interval.sum.bytes for interval in report.intervals) / 1e9
    seal_us = engine.seal_us(station, cipher, _FRAME_B)
    if gbit == 0 or seal_us is None:
        raise AirtollError(f"host {station.name}: nothing was sent, or its clock is not steady enough")
    return SealingLoad(gbit, cpu.busy_s(sampled.readings[0], sampled.readings[-1]), seal_us)
