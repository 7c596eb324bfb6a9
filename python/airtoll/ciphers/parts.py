"""What one frame takes on this CPU, part by part: its MIC, its cipher, sealing and opening; a process of its own.

The process stays on one core where that is allowed, measures in turns (`docs/explanation/ciphers.md`) and prints one
JSON object. It is what the probe `engine` runs on a host; nothing is imported that takes long.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from typing import Any

from airtoll import _rust

COMMAND = (
    *(sys.executable, "-I", "-c"),
    "import sys; from airtoll.ciphers.parts import main; sys.exit(main(sys.argv[1:]))",
)
"""Takes the suite, the octets of the payload and the seconds that measuring may take."""


def measure(suite: str, payload_b: int, within_s: float) -> dict[str, Any]:
    """The parts of a suite on frames of one payload, with the machine that they were measured on.

    Keeps the calling thread on one core. Raises ValueError for what is no suite.
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
    """Keep this thread on the last core that it may use, the one that interrupts come to least; None if it may not."""
    try:
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
    except (AttributeError, OSError):
        return None
    return core


def main(argv: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    try:
        suite, payload_b, within_s = argv
        measured = measure(suite, int(payload_b), float(within_s))
    except (ValueError, RuntimeError) as error:
        print(f"parts: {error}", file=sys.stderr)
        return 1
    print(json.dumps(measured))
    return 0
