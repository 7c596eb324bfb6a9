"""A process that measures the processing time of one frame on this CPU: MIC, cipher, sealing and opening.

The process is pinned to one core if permitted, measures in turns (`docs/explanation/ciphers.md`) and prints one JSON
object. The probe `engine` runs it on a host, so this module imports nothing that loads slowly.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from typing import Any

from airtoll import _rust

PAPER_LANES = "paper-lanes"
"""The lanes of Hayajneh et al. as printed. Their frames can be forged, so only their times are measured."""

COMMAND = (
    *(sys.executable, "-I", "-c"),
    "import sys; from airtoll.ciphers.parts import main; sys.exit(main(sys.argv[1:]))",
)
"""The command; its arguments are the suite, the payload in octets and the time limit in seconds."""


def printed_lanes(suite: str) -> str | None:
    """The scheme of the paper with the lanes of this suite: `paper-lanes4` for `enhanced4`; None without lanes."""
    lanes = suite.removeprefix("enhanced")
    return None if lanes == suite else f"{PAPER_LANES}{lanes}"


def measure(suite: str, payload_b: int, within_s: float) -> dict[str, Any]:
    """Measure the parts of a suite or of the lanes as printed, on frames of one size, and describe the machine.

    Pins the calling thread to one core. Raises ValueError for an unknown suite.
    """
    core = _pin()
    host = _rust.speed_host()
    backend = host.backends[-1]
    began_s = time.monotonic()
    parts = _rust.measure_parts(suite, payload_b, backend, within_s)
    took_s = time.monotonic() - began_s
    return {
        "version": _rust.VERSION,
        "suite": suite,
        "payload_bytes": payload_b,
        "backend": backend,
        "cpu_model": host.cpu_model,
        "architecture": platform.machine(),
        "ghz": host.ghz,
        "core": core,
        "took_s": took_s,
        "parts": [
            {
                "part": part.part,
                "us": part.us,
                "us_quartiles": part.us_quartiles,
                "slices": part.slices,
                "cycles": part.cycles,
            }
            for part in parts
        ],
    }


def _pin() -> int | None:
    """Pin this thread to its last permitted core, which gets the fewest interrupts; None if that is not permitted."""
    try:
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
    except (AttributeError, OSError):
        return None
    return core


def main(argv: Sequence[str]) -> int:
    """Measure, print the result and return the exit status."""
    try:
        suite, payload_b, within_s = argv
        measured = measure(suite, int(payload_b), float(within_s))
    except (ValueError, RuntimeError) as error:
        print(f"parts: {error}", file=sys.stderr)
        return 1
    print(json.dumps(measured))
    return 0
