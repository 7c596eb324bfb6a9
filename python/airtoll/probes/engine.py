"""CPU time per frame of the cell on the host: measures only the engine that seals frames.

There is no traffic. On the first station's host, a part of the agent (crate `airtoll-agent`, module engine) seals and
opens frames of the cell's suite and packet size, one at a time under one key, on one core. The frame is that of a UDP
packet: LLC/SNAP (8 octets), IPv4 (20) or IPv6 (40) and UDP (8) before the payload. The cell's transport does not change
it, so that all cells of a packet size have the same frame.

| metric      | unit | meaning                                                                                |
|-------------|------|----------------------------------------------------------------------------------------|
| mic_time    | us   | only the MIC: CBC-MAC, GHASH; for TKIP Michael and ICV, for WEP the ICV                |
| cipher_time | us   | only the cipher: CTR; for TKIP key mixing and RC4, for WEP RC4                         |
| seal_time   | us   | sealing: less than the sum of these where MIC and CTR overlap in the CPU's AES unit    |
| open_time   | us   | opening                                                                                |

In a cell with lanes (`enhanced1` to `enhanced8`), a second process measures as many lanes as Hayajneh et al. print
them: `printed_mic_time` and `printed_cipher_time`. Frames of this scheme can be forged, so it protects no traffic.

Each metric has one sample, the median; the facts contain the quartiles. The times are those of the engine even if a
card seals the cell's frames: then they are the times that the host would have taken. The probe measures nothing in a
cell with level `open`, which seals no frames, or in virtual time, which has no CPU.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from airtoll.ciphers.parts import printed_lanes
from airtoll.documents import first_fault
from airtoll.errors import AirtollError
from airtoll.host import Host, succeed
from airtoll.labs.base import Link
from airtoll.probes import process
from airtoll.probes.base import Lacks, Measurement, Sample
from airtoll.probes.window import NS_PER_S
from airtoll.study.cell import Cell, Method
from airtoll.study.factors import Ip

FIGURE_S = 0.2
"""Measuring time of each part of a scheme. More time would gain less than the variation between runs."""

LLC_SNAP_B = 8
UDP_B = 8
IP_B: dict[Ip, int] = {"ipv4": 20, "ipv6": 40}

EnginePart = Literal["mic", "cipher", "seal", "open"]
PARTS: tuple[EnginePart, ...] = ("mic", "cipher", "seal", "open")
PRINTED: Final[tuple[EnginePart, ...]] = ("mic", "cipher")
"""The parts of Tables I and II, measured for the lanes as printed."""

_Time = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Part(_Model):
    part: EnginePart
    us: _Time
    us_quartiles: tuple[_Time, _Time]
    slices: int
    cycles: _Time | None


class EngineReport(_Model):
    """The output of the process."""

    version: str
    suite: str
    payload_bytes: int
    backend: str
    cpu_model: str | None
    architecture: str
    ghz: _Time | None
    core: int | None
    took_s: _Time
    parts: Annotated[list[_Part], FailFast()]


@dataclass(frozen=True)
class Times:
    """The report, as samples and facts."""

    samples: list[Sample]
    facts: dict[str, Any]


class Engine:
    """Measures the engine on the station's CPU."""

    name = "engine"

    def missing(self, lacks: Lacks) -> str | None:  # noqa: ARG002
        """None: the engine is part of airtoll."""
        return None

    def measure(self, link: Link, cell: Cell, method: Method) -> Measurement:
        """Measure the cell's suite once. Raises AirtollError with the last words of the process if it fails."""
        host = link.hosts[link.pairs[0][0]]
        within_s = min(method.duration, FIGURE_S * len(PARTS))
        suite = link.known.cipher or cell.security
        argv, output = _run(host, suite, frame_payload_b(cell), within_s)
        times = read(parse(output))
        measured = Measurement(times.samples, {"engine.json": output}, {**times.facts, "command": argv})
        if (scheme := printed_lanes(suite)) is None:
            return measured
        argv, output = _run(host, scheme, frame_payload_b(cell), within_s)
        printed = read(parse(output), PRINTED, "printed_")
        return Measurement(
            [*times.samples, *printed.samples],
            {**measured.raw, "engine-printed.json": output},
            {**measured.facts, "printed": {**printed.facts, "command": argv}},
        )


def _run(host: Host, scheme: str, payload_b: int, within_s: float) -> tuple[list[str], bytes]:
    argv = [*host.program("engine"), scheme, str(payload_b), str(within_s)]
    try:
        return argv, succeed(host, argv, within_s + process.GRACE_S, f"engine on {host.name}")
    except subprocess.TimeoutExpired:
        raise AirtollError(
            f"engine on {host.name} did not end within {within_s + process.GRACE_S:.1f} s"
        ) from None


def seal_us(host: Host, suite: str, payload_b: int) -> float | None:
    """The time that sealing a frame takes on the host; None if its clock is never steady. Raises AirtollError."""
    _, output = _run(host, suite, payload_b, FIGURE_S * len(PARTS))
    return next((one.us for one in parse(output).parts if one.part == "seal"), None)


def frame_payload_b(cell: Cell) -> int:
    """Octets of a frame with the cell's packet that the suite protects."""
    return LLC_SNAP_B + IP_B[cell.ip] + UDP_B + cell.packet_size


def parse(output: bytes) -> EngineReport:
    """Parse the output of the process. Raises AirtollError if it is not a complete report."""
    try:
        report = EngineReport.model_validate_json(output)
    except ValidationError as error:
        raise AirtollError(f"engine: its output of {len(output)} bytes: {first_fault(error)}") from None
    if len({one.part for one in report.parts}) != len(report.parts):
        raise AirtollError(f"engine: its output of {len(output)} bytes has a duplicate part")
    return report


def read(report: EngineReport, parts: Sequence[EnginePart] = PARTS, prefix: str = "") -> Times:
    """One sample per part; the name of its metric begins with `prefix`.

    The value is None if the machine was never quiet enough to measure the part. This is not a fault, because the link
    was measured nevertheless.
    """
    found = {one.part: one for one in report.parts}
    dur_ns = round(report.took_s * NS_PER_S)
    samples = [
        Sample(
            "engine",
            f"{prefix}{part}_time",
            "us",
            "sta",
            "",
            t_ns=0,
            dur_ns=dur_ns,
            value=found[part].us if part in found else None,
        )
        for part in parts
    ]
    facts = report.model_dump(exclude={"parts", "took_s"}) | {
        "parts": {one.part: one.model_dump(exclude={"part", "us"}) for one in report.parts}
    }
    return Times(samples, facts)
